//! Runs in which every text is an attack.

use dyno_core::catalogue::names;
use dyno_core::cpu_profile::{CpuProfile, OF_KERNEL, ProfiledProcess};
use dyno_core::interval::ErrorCount;
use dyno_core::plan::OptionValue;
use dyno_core::record::{Cost, EventKind, RunRecord};
use dyno_samples::values;
use dyno_verdict::Cell;

use super::Pivot;
use super::tests::{Several, several};

/// Ends scripts, comments, attributes and lines, controls terminals and reverses text.
pub(super) const HOSTILE: &str = "</script><script>alert(1)</script>\
     <img src=x onerror=\"alert(2)\">\
     '--><!--\u{2028}{{\
     \u{1b}]0;x\u{7}\u{9b}2J\u{202e}\u{2066}";

/// Hostile text wherever a server, a script or a user could put it.
pub(super) fn hostile(text: &str) -> Several {
    let mut all = several();
    for run in &mut all.runs {
        head(run, text);
        series(run, text);
        facts(run, text);
        findings_and_errors(run, text);
        profiled(run, text);
    }
    for compared in all.compared.iter_mut().flatten() {
        let metric = &mut compared.metrics[0];
        (metric.name, metric.unit, metric.remark) = (text.into(), text.into(), text.into());
        let difference = &mut compared.differences[0];
        (difference.what, difference.base) = (text.into(), text.into());
        difference.new = text.into();
        for finding in &mut compared.findings {
            (finding.evidence, finding.advice) = (text.into(), text.into());
        }
    }
    all.compared.push(Err(text.into()));
    let cell = |column, value| Cell {
        row: 0,
        column,
        runs: vec![],
        value: Some(value),
        ratio: Some(1.0),
        low: None,
        high: None,
        equivalence: None,
        stalled_s: None,
        verdict: None,
        thin: false,
        includes: None,
    };
    all.pivot = Some(Pivot {
        figure: text.into(),
        unit: text.into(),
        rows: (text.into(), vec![text.into()]),
        columns: Some((text.into(), vec![text.into(), text.into()])),
        base: text.into(),
        cells: vec![cell(0, 1.0), cell(1, f64::NAN)],
        runs: vec![vec![0], vec![1, 2]],
        by_block: false,
        pooled: Some(text.into()),
    });
    all
}

fn profiled(run: &mut RunRecord, text: &str) {
    let folded = format!("{text};{text};{text}{OF_KERNEL} 5");
    run.profiles.push(CpuProfile {
        cut: Some(text.into()),
        ..values::profile(ProfiledProcess::Client, &folded)
    });
    run.not_observed
        .push(values::gap(names::PROFILE_SERVER, text));
}

fn head(run: &mut RunRecord, text: &str) {
    run.head.name = text.into();
    run.head.note = text.into();
    run.head
        .factors
        .insert(text.into(), format!("{text}{}", run.id));
    run.head.tool = text.into();
    run.head.argv.push(text.into());
    run.head.script_sha256 = text.into();
    run.head.workload.name = text.into();
    let option = (text.into(), OptionValue::Text(text.into()));
    run.head.workload.options.push(option);
    run.head.target.url = text.into();
    run.head.target.product = text.into();
    run.head.target.version = text.into();
    run.head.target.tls = Some(text.into());
    run.operations
        .iter_mut()
        .for_each(|operation| operation.name = text.into());
    if let Some(summary) = &mut run.summary {
        summary.machine = Some(values::machine(text, text, f64::NAN, text));
        summary.figures = vec![values::figure(text, f64::NAN, text, None)];
    }
}

fn series(run: &mut RunRecord, text: &str) {
    for series in &mut run.series {
        series.key.name += text;
        series.key.source = text.into();
        series.key.unit = text.into();
    }
    // A series that a chart uses by name, with the rest hostile.
    let mut state = run.series[0].clone();
    state.key.name = names::HOST_CPU_USER.into();
    let mut disk = run.series[0].clone();
    disk.key.name = format!("host.disk[{text}].read_bytes");
    run.series.extend([state, disk]);
}

fn facts(run: &mut RunRecord, text: &str) {
    run.facts.iter_mut().for_each(|fact| {
        fact.name += text;
        fact.value = text.into();
        fact.source = text.into();
    });
    run.settings
        .iter_mut()
        .for_each(|setting| setting.end = Some(text.into()));
    run.not_observed.iter_mut().for_each(|gap| {
        gap.what += text;
        gap.why = text.into();
    });
    let event = values::event(3.0, None, EventKind::Note, text);
    run.events.push(event);
}

fn findings_and_errors(run: &mut RunRecord, text: &str) {
    for finding in &mut run.findings {
        finding.check = format!("{}{text}", finding.number);
        finding.evidence = text.into();
        finding.rule = text.into();
        finding.advice = text.into();
        finding
            .numbers
            .iter_mut()
            .for_each(|number| number.name = text.into());
        finding
            .numbers
            .iter_mut()
            .for_each(|number| number.unit = text.into());
    }
    if let Some(summary) = &mut run.summary {
        let error = summary.errors.values().next().unwrap().clone();
        summary.errors.insert(
            text.into(),
            ErrorCount {
                sample: text.into(),
                ..error
            },
        );
        summary.endpoints[0].name = text.into();
        summary.warnings.push(text.into());
        summary.limits.push(text.into());
    }
}

/// Costs, with one that the report looks up by name.
pub(super) fn hostile_costs(text: &str) -> Vec<Cost> {
    ["server CPU", text]
        .map(|name| values::cost(name, Some(1.0), text, text))
        .into()
}
