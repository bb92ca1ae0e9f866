//! Single values of a record, with defaults for what rarely matters.

use dyno_analysis::summarize;
use dyno_core::cpu_profile::{CpuProfile, ProfiledProcess, Stacks};
use dyno_core::db::Family;
use dyno_core::finding::{Finding, Number, Outcome};
use dyno_core::interval::{Counters, Latencies};
use dyno_core::plan::{Drive, OptionValue, RandPlan};
use dyno_core::record::*;
use dyno_core::reported::{Better, Figure};
use dyno_core::states::IdleIn;
use dyno_core::summary::*;

/// The percentiles of [`head`].
pub const PERCENTS: [f64; 4] = [50.0, 95.0, 99.0, 99.9];

/// The source of facts and series that need no particular one.
pub const SOURCE: &str = "a sample";

/// The head of a run of `oltp_read_write` on MariaDB.
pub fn head(name: &str) -> RunHead {
    let options = [
        ("tables", OptionValue::Number(4.0)),
        ("table_size", OptionValue::Number(100_000.0)),
    ];
    RunHead {
        name: name.to_owned(),
        source: Source::Dyno,
        profile: Profile::Standard,
        tool: "dyno 0.1.0".to_owned(),
        created_unix_s: 1_795_265_112.0,
        plan: None,
        argv: ["dyno", "run", "oltp_read_write"].map(str::to_owned).into(),
        workload: workload(&options, &["table_size"]),
        script_sha256: "c0ffee".repeat(10) + "c0ff",
        target: target("mariadb://bench@127.0.0.1/bench", "MariaDB", "10.11.6"),
        drive: Some(Drive {
            sessions: 16,
            workers: 2,
            seed: 42,
            ..Drive::default()
        }),
        percentiles: PERCENTS.to_vec(),
        note: String::new(),
        factors: Default::default(),
        phase: None,
        trial: None,
    }
}

/// `oltp_read_write` with these options. `changed` names those that differ from their defaults.
pub fn workload(options: &[(&str, OptionValue)], changed: &[&str]) -> WorkloadSummary {
    let owned = |(name, value): &(&str, OptionValue)| ((*name).to_owned(), value.clone());
    WorkloadSummary {
        name: "oltp_read_write".to_owned(),
        command: "run".to_owned(),
        options: options.iter().map(owned).collect(),
        changed: changed.iter().map(|&name| name.to_owned()).collect(),
    }
}

/// A server of MySQL's family without TLS.
pub fn target(url: &str, product: &str, version: &str) -> TargetSummary {
    TargetSummary {
        url: url.to_owned(),
        family: Some(Family::Mysql),
        product: product.to_owned(),
        version: version.to_owned(),
        tls: None,
    }
}

/// The summary of a closed loop without latencies.
pub fn summary(head: &RunHead, measured_s: f64, totals: Counters) -> RunSummary {
    RunSummary {
        schema_version: SCHEMA_VERSION,
        tool: head.tool.clone(),
        started_unix_s: Some(head.created_unix_s + 2.0),
        workload: head.workload.clone(),
        target: head.target.clone(),
        drive: head.drive.clone(),
        rand: Some(RandPlan::default()),
        measured_s,
        elapsed_s: measured_s,
        totals,
        rates: summarize::rates(&totals, measured_s),
        endpoints: vec![EndpointSummary {
            name: "127.0.0.1:3306".to_owned(),
            queries: totals.queries(),
        }],
        ..RunSummary::default()
    }
}

/// A second that has events and nothing else.
pub fn interval(at_s: f64, events: u64) -> IntervalSummary {
    IntervalSummary {
        at_s,
        length_s: 1.0,
        sessions: None,
        states: None,
        counters: Counters {
            events,
            ..Counters::default()
        },
        printed: None,
        errors_seen: 0,
        percentiles: Vec::new(),
        max_ms: None,
        backlog: None,
        concurrency: None,
    }
}

/// Recorded latencies as a span.
pub fn span(from_s: f64, to_s: f64, latencies: &Latencies) -> Span {
    Span {
        from_s,
        to_s,
        count: latencies.service.len(),
        service_ns_sum: latencies.service_ns_sum,
        service_ns_min: latencies.service_ns_min,
        service_ns_max: latencies.service_ns_max,
        service: latencies.service.clone(),
        response: latencies.response.clone(),
    }
}

/// Percentiles in percent, with their values in milliseconds.
pub fn percentiles(all: &[(f64, Option<f64>)]) -> Vec<Percentile> {
    all.iter()
        .map(|&(percent, value_ms)| Percentile { percent, value_ms })
        .collect()
}

/// An operation of a closed loop without retries.
pub fn operation(name: &str, done_per_s: f64, service: LatencySummary) -> OperationSummary {
    OperationSummary {
        name: name.to_owned(),
        totals: Default::default(),
        done_per_s,
        service,
        response: None,
        first_tries: None,
    }
}

/// A role of eight sessions over half a minute. If a rate is requested, the role is in the
/// background.
pub fn role(name: &str, asked_per_s: Option<f64>, events_per_s: f64) -> RoleSummary {
    let events = (events_per_s * 30.0) as u64;
    RoleSummary {
        name: name.to_owned(),
        sessions: 8,
        background: asked_per_s.is_some(),
        unit: "events".to_owned(),
        per_event: 1.0,
        asked_per_s,
        events,
        events_per_s,
        not_done: 0,
        skipped: 0,
        events_min: events / 8,
        events_max: events / 8 + 3,
        finished_first_s: None,
        finished_last_s: None,
    }
}

/// The first of two phases.
pub fn phase(sequence: &str, name: &str) -> PhaseOf {
    PhaseOf {
        sequence: sequence.to_owned(),
        name: name.to_owned(),
        number: 1,
        of: 2,
        unit: "events".to_owned(),
        per_event: 1.0,
        before: None,
    }
}

/// The share of a session that was never idle.
pub fn share(session: u32, worker: u32, events: u64, busy_s: f64) -> SessionShare {
    SessionShare {
        session,
        worker,
        events,
        busy_s,
        state: None,
        idle: None,
    }
}

/// A time in which a session was idle.
pub fn idle(from_s: f64, to_s: f64, idle_in: IdleIn, attempts: u32) -> IdleSpan {
    IdleSpan {
        from_s,
        to_s,
        idle_in,
        attempts,
    }
}

/// A complete profile with these folded stacks.
pub fn profile(process: ProfiledProcess, folded: &str) -> CpuProfile {
    let stacks = Stacks::of_folded(folded);
    CpuProfile {
        process,
        frequency_hz: 99,
        samples: stacks.iter().map(|(_, count)| count).sum(),
        lost: 0,
        cut: None,
        stacks,
    }
}

/// A fact.
pub fn fact(name: &str, value: &str, source: &str) -> Fact {
    Fact {
        name: name.to_owned(),
        value: value.to_owned(),
        source: source.to_owned(),
    }
}

/// A setting with its values at the start and at the end.
pub fn setting(name: &str, start: &str, end: Option<&str>) -> Setting {
    Setting {
        name: name.to_owned(),
        start: Some(start.to_owned()),
        end: end.map(str::to_owned),
    }
}

/// A series' identity.
pub fn key(name: &str, unit: &str) -> SeriesKey {
    SeriesKey {
        name: name.to_owned(),
        unit: unit.to_owned(),
        source: SOURCE.to_owned(),
    }
}

/// A series of points (second, value).
pub fn series(name: &str, unit: &str, kind: SeriesKind, points: &[(f64, f64)]) -> Series {
    Series {
        key: key(name, unit),
        kind,
        points: points.to_vec(),
    }
}

/// An event without details.
pub fn event(at_s: f64, until_s: Option<f64>, kind: EventKind, text: &str) -> Event {
    Event {
        at_s,
        until_s,
        kind,
        text: text.to_owned(),
        detail: Default::default(),
    }
}

/// What could not be observed, and why.
pub fn gap(what: &str, why: &str) -> NotObserved {
    NotObserved {
        what: what.to_owned(),
        why: why.to_owned(),
    }
}

/// The cost of an event.
pub fn cost(name: &str, value: Option<f64>, unit: &str, source: &str) -> Cost {
    Cost {
        name: name.to_owned(),
        value,
        unit: unit.to_owned(),
        source: source.to_owned(),
        left_out: false,
        includes: None,
    }
}

/// A figure of the workload.
pub fn figure(name: &str, value: f64, unit: &str, better: Option<Better>) -> Figure {
    Figure {
        name: name.to_owned(),
        value,
        unit: unit.to_owned(),
        better,
    }
}

/// What a host test measured: a sentence about it, and one figure.
pub fn machine(about: &str, name: &str, value: f64, unit: &str) -> MachineSummary {
    MachineSummary {
        about: vec![about.to_owned()],
        figures: vec![MachineFigure {
            name: name.to_owned(),
            value,
            unit: unit.to_owned(),
        }],
        depth: 1,
    }
}

/// A number of a finding.
pub fn number(name: &str, value: Option<f64>, unit: &str) -> Number {
    Number {
        name: name.to_owned(),
        value,
        unit: unit.to_owned(),
    }
}

/// A finding. If it counts against the run, it has advice.
pub fn finding(check: &str, number: u8, outcome: Outcome, evidence: &str) -> Finding {
    let advice = if outcome > Outcome::NotChecked {
        "Offer less, or run longer."
    } else {
        ""
    };
    Finding {
        check: check.to_owned(),
        number,
        outcome,
        evidence: evidence.to_owned(),
        rule: "A rule with its threshold.".to_owned(),
        numbers: vec![self::number("a number", Some(0.5), "ratio")],
        advice: advice.to_owned(),
        waived: None,
        causes: Vec::new(),
        durability: None,
        stalls: None,
    }
}
