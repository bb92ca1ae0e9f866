//! The result of a duet.

use std::path::Path;

use anyhow::{Context as _, Result};
use dyno_analysis::duet::{DuetMeasurement, answer};
use dyno_core::catalogue::names;
use dyno_core::duet::{
    DUET_SCHEMA_VERSION, DuetDifference, DuetEnd, DuetFinding, DuetMode, DuetSide, DuetSummary,
};
use dyno_core::finding::{DurabilityClass, Finding, Outcome as Found, Verdict};
use dyno_core::record::Fact;
use dyno_core::summary::{RunEnd, RunSummary};
use dyno_load::{BLOCK, Slices};
use dyno_results::{Results, Scope};
use dyno_run::Measured;
use dyno_server::Settings;
use dyno_verdict::{CompareOptions, compare, concerns_ratio};

use super::DuetRequest;
use crate::outcome::Outcome;

/// The summary of both sides.
pub(super) fn summary(
    found: &DuetMeasurement,
    measured: &[Measured; 2],
    request: &DuetRequest,
    (slices, end, name): (Slices, DuetEnd, &str),
) -> DuetSummary {
    let [a, b] = measured;
    let block_s = (BLOCK * slices.length_ns) as f64 / 1e9;
    let measured_s = found.blocks.len() as f64 * block_s;
    let percents = a.summary.service.percentiles.iter();
    let percents: Vec<f64> = percents.map(|percentile| percentile.percent).collect();
    let mut findings = found.findings();
    findings.extend(of_side("A", &a.summary));
    findings.extend(of_side("B", &b.summary));
    let sides = [a, b]
        .into_iter()
        .enumerate()
        .map(|(number, own)| DuetSide {
            label: request.labels[number].clone(),
            server: server(&own.summary),
            run: own.summary.recorded.clone(),
            events: found.events(number),
            verdict: own.summary.verdict,
            durability: DurabilityClass::of(&own.summary.findings),
        });
    DuetSummary {
        schema_version: DUET_SCHEMA_VERSION,
        tool: concat!("dyno ", env!("CARGO_PKG_VERSION")).to_owned(),
        name: name.to_owned(),
        sides: sides.collect(),
        mode: match slices.together {
            true => DuetMode::Simultaneous,
            false => DuetMode::Alternating,
        },
        slice_ms: slices.length_ns as f64 / 1e6,
        cut_ms: slices.cut_ns as f64 / 1e6,
        blocks: found.blocks.len() as u64,
        measured_s,
        end,
        figures: found.figures(&percents),
        margin: request.margin,
        answer: answer(found.ratio().as_ref(), request.margin, measured_s),
        a_with_itself: None,
        differences: Vec::new(),
        verdict: judged(&findings),
        findings,
    }
}

/// The findings about a side that concern the ratio.
fn of_side(name: &str, side: &RunSummary) -> Vec<DuetFinding> {
    let is_against = |finding: &&Finding| {
        let counts = matches!(finding.outcome, Found::Doubt | Found::Refuse);
        counts && finding.waived.is_none() && concerns_ratio(&finding.check)
    };
    let against = side.findings.iter().filter(is_against);
    against
        .map(|finding| DuetFinding {
            check: finding.check.clone(),
            outcome: finding.outcome,
            evidence: format!("Side {name}: {}", finding.evidence),
            advice: finding.advice.clone(),
        })
        .collect()
}

/// The verdict: the worst finding.
fn judged(findings: &[DuetFinding]) -> Verdict {
    let verdicts = findings.iter().map(|finding| match finding.outcome {
        Found::Refuse => Verdict::Refused,
        Found::Doubt => Verdict::Doubtful,
        Found::Pass | Found::NotChecked => Verdict::Valid,
    });
    verdicts.max().unwrap_or(Verdict::Valid)
}

fn server(summary: &RunSummary) -> String {
    let target = &summary.target;
    format!("{} {}", target.product, target.version)
        .trim()
        .to_owned()
}

/// What the runs of both sides differ in, besides the settings that the duet changes. Empty if they
/// were not recorded.
///
/// # Errors
/// The results file cannot be read.
pub(super) fn differences(
    measured: &[Measured; 2],
    request: &DuetRequest,
) -> Result<Vec<DuetDifference>> {
    let mut records = Vec::new();
    for own in measured {
        let Some(run) = &own.summary.recorded else {
            return Ok(Vec::new());
        };
        let results = Results::open_read(Path::new(&run.file))?;
        records.push(results.load(run.id, &Scope::whole())?);
    }
    let switched = request.settings.iter().flat_map(Settings::iter);
    let options = CompareOptions {
        intended: switched.map(|(name, _)| name.to_owned()).collect(),
        other_workload: true,
        ..CompareOptions::default()
    };
    let compared = compare(&[&records[0]], &[&records[1]], &options)?;
    let found = compared.differences.into_iter();
    let others = found.filter(|own| !own.intended);
    Ok(others
        .map(|own| DuetDifference {
            what: own.what,
            a: own.base,
            b: own.new,
        })
        .collect())
}

/// Why a side failed, or its record is incomplete.
pub(super) fn failures(measured: &Measured) -> impl Iterator<Item = String> {
    let why = match &measured.summary.end {
        RunEnd::Failed(why) => Some(why.clone()),
        RunEnd::Completed | RunEnd::Interrupted => None,
    };
    let trouble = measured.trouble.as_ref().map(ToString::to_string);
    why.into_iter()
        .chain(measured.disconnected.clone())
        .chain(trouble)
}

/// How a duet of these sides ended.
pub(super) fn outcome(measured: &[Measured; 2], end: DuetEnd) -> Outcome {
    let is_failed =
        |own: &Measured| own.summary.totals.events == 0 || failures(own).next().is_some();
    match end {
        DuetEnd::Interrupted => Outcome::Interrupted,
        _ if measured.iter().any(is_failed) => Outcome::Failed,
        _ => Outcome::Done,
    }
}

/// Stores the result with both runs.
pub(super) fn store(summary: &DuetSummary) -> Result<()> {
    let runs = summary.sides.iter().map(|side| side.run.as_ref());
    let Some(runs) = runs.collect::<Option<Vec<_>>>() else {
        return Ok(());
    };
    let answer = serde_json::to_string(summary).context("cannot write the result as JSON")?;
    let verdict = summary.verdict.word().to_owned();
    let facts = [(names::DUET_ANSWER, answer), (names::DUET_VERDICT, verdict)]
        .map(|(name, value)| Fact::new(name, value, "dyno duet"));
    for run in runs {
        let mut results = Results::open(Path::new(&run.file))?;
        results.add_facts(&[run.id], &facts)?;
    }
    Ok(())
}
