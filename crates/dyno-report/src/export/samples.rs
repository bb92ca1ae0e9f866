//! Records for the tests of exports.

use dyno_core::finding::{Finding, Number, Outcome, Verdict};
use dyno_core::interval::Latencies;
use dyno_core::record::*;

use dyno_samples::summaries as samples;

/// When the measurement of [`record`] began.
pub(crate) const STARTED_UNIX_S: f64 = 1_795_266_468.5;

/// A run of an open loop with two operations, two seconds of warm-up and an example of everything.
pub(crate) fn record() -> RunRecord {
    let mut summary = samples::overloaded();
    summary.started_unix_s = Some(STARTED_UNIX_S);
    let intervals = std::mem::take(&mut summary.intervals);
    let head = RunHead {
        name: "20261121-130748-oltp_read_write-3f9a".into(),
        source: Source::Dyno,
        profile: Profile::Standard,
        tool: summary.tool.clone(),
        created_unix_s: STARTED_UNIX_S - 3.0,
        argv: vec!["dyno".into()],
        workload: summary.workload.clone(),
        script_sha256: "00".repeat(32),
        target: summary.target.clone(),
        drive: summary.drive.clone(),
        percentiles: vec![50.0, 95.0, 99.0, 99.9],
        factors: Default::default(),
        note: "a \"note\", with commas".into(),
        phase: None,
        trial: None,
        plan: None,
    };
    RunRecord {
        id: 7,
        state: RunState::Completed,
        head,
        summary: Some(summary),
        intervals,
        operations: vec![operation("event", 3), operation("new order", 5)],
        series: vec![Series {
            key: SeriesKey {
                name: "host.cpu.user".into(),
                unit: "percent".into(),
                source: "vmstat, column us".into(),
            },
            kind: SeriesKind::Rate,
            points: vec![(1.0, 83.0), (2.0, 81.5)],
        }],
        not_observed: vec![no_pressure()],
        facts: vec![Fact {
            name: "host.cpu.threads".into(),
            value: "2".into(),
            source: "/proc/cpuinfo".into(),
        }],
        settings: vec![Setting {
            name: "sync_binlog".into(),
            start: Some("1".into()),
            end: None,
        }],
        events: vec![Event {
            at_s: 1.5,
            until_s: None,
            kind: EventKind::Note,
            text: "half of it".into(),
            detail: Default::default(),
        }],
        sessions: vec![SessionShare {
            session: 0,
            worker: 0,
            events: 4000,
            busy_s: 9.5,
            state: None,
            idle: None,
        }],
        profiles: Vec::new(),
        findings: vec![finding()],
        verdict: Some(Verdict::Doubtful),
    }
}

fn no_pressure() -> NotObserved {
    NotObserved {
        what: "host.pressure".into(),
        why: "the kernel has none".into(),
    }
}

/// A run without any further data.
pub(crate) fn bare() -> RunRecord {
    let full = record();
    let mut run = RunRecord::new(RunHead {
        source: Source::Sysbench,
        drive: None,
        ..full.head
    });
    run.state = RunState::Imported;
    run
}

fn finding() -> Finding {
    Finding {
        check: "achieved-rate".into(),
        number: 4,
        outcome: Outcome::Doubt,
        evidence: "800 of 1500.5 events/s were achieved.".into(),
        rule: "At least 99 % are achieved.".into(),
        numbers: vec![Number {
            name: "achieved".into(),
            value: Some(800.0),
            unit: "count/s".into(),
        }],
        advice: "Lower the rate.".into(),
        waived: None,
        causes: Vec::new(),
        durability: None,
        stalls: None,
    }
}

/// Six seconds from two before the start, one span each.
fn operation(name: &str, step: u64) -> Operation {
    let mut total = Latencies::default();
    let spans = (0..6_u32).map(|second| {
        let mut part = Latencies::default();
        for i in 0..200 {
            let ns = 1_000_000 + u64::from(second) * 10_000 + i * i * step * 100;
            part.record_service(ns);
            part.record_response(ns * 2);
        }
        if second >= 2 {
            total.merge(&part);
        }
        span(&part, f64::from(second) - 2.0, f64::from(second) - 1.0)
    });
    let spans = spans.collect();
    Operation {
        name: name.into(),
        spans,
        total: Some(span(&total, 0.0, 4.0)),
    }
}

fn span(latencies: &Latencies, from_s: f64, to_s: f64) -> Span {
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
