//! A small record that has an example of everything, and one that has nothing.

use dyno_core::finding::{Outcome, Verdict};
use dyno_core::interval::Latencies;
use dyno_core::record::*;

use crate::{summaries, values};

/// When the measurement of [`record`] began.
pub const STARTED_UNIX_S: f64 = 1_795_266_468.5;

/// A run of an open loop with two operations, two seconds of warm-up and an example of everything.
pub fn record() -> RunRecord {
    let mut summary = summaries::overloaded();
    summary.started_unix_s = Some(STARTED_UNIX_S);
    let head = RunHead {
        created_unix_s: STARTED_UNIX_S - 3.0,
        workload: summary.workload.clone(),
        target: summary.target.clone(),
        drive: summary.drive.clone(),
        note: "a \"note\", with commas".into(),
        ..values::head("20261121-130748-oltp_read_write-3f9a")
    };
    let points = [(1.0, 83.0), (2.0, 81.5)];
    let mut user = values::series("host.cpu.user", "percent", SeriesKind::Rate, &points);
    user.key.source = "vmstat, column us".into();
    let evidence = "800 of 1500.5 events/s were achieved.";
    let doubt = values::finding("achieved-rate", 4, Outcome::Doubt, evidence);
    RunRecord {
        id: 7,
        state: RunState::Completed,
        intervals: std::mem::take(&mut summary.intervals),
        summary: Some(summary),
        operations: vec![operation("event", 3), operation("new order", 5)],
        series: vec![user],
        not_observed: vec![values::gap("host.pressure", "the kernel has none")],
        facts: vec![values::fact("host.cpu.threads", "2", "/proc/cpuinfo")],
        settings: vec![values::setting("sync_binlog", "1", None)],
        events: vec![values::event(1.5, None, EventKind::Note, "half of it")],
        sessions: vec![values::share(0, 0, 4000, 9.5)],
        findings: vec![doubt],
        verdict: Some(Verdict::Doubtful),
        ..RunRecord::new(head)
    }
}

/// An imported run that has no other data.
pub fn bare() -> RunRecord {
    let mut run = RunRecord::new(RunHead {
        source: Source::Sysbench,
        drive: None,
        ..record().head
    });
    run.state = RunState::Imported;
    run
}

/// Six spans of one second each, from two seconds before the start.
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
        values::span(f64::from(second) - 2.0, f64::from(second) - 1.0, &part)
    });
    let spans = spans.collect();
    Operation {
        name: name.into(),
        spans,
        total: Some(values::span(0.0, 4.0, &total)),
    }
}
