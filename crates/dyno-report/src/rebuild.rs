//! The summary of a run that never finished, from what was saved of it.

use dyno_core::interval::{Counters, Latencies};
use dyno_core::record::{EventKind, RunRecord, RunState};
use dyno_core::summary::{OpenLoopSummary, RunEnd, RunSummary, SCHEMA_VERSION};

use dyno_analysis::summarize;

/// What can be told of a run that has intervals, and perhaps latencies, but no end: its process
/// died, or it is still going on. Client cost, errors by code and the spread over sessions are
/// only known at the end; they are missing here, and a warning says so.
pub fn rebuild(run: &RunRecord) -> RunSummary {
    let head = &run.head;
    let drive = head.drive.clone();
    let mut totals = Counters::default();
    for interval in &run.intervals {
        totals.merge(&interval.counters);
    }
    let measured_s = run.intervals.last().map_or(0.0, |interval| interval.at_s);
    let rates = summarize::rates(&totals, measured_s);
    let latencies = merged(run);
    let open = drive.as_ref().and_then(|drive| drive.open_loop);
    let last = run.intervals.last();
    RunSummary {
        schema_version: SCHEMA_VERSION,
        tool: head.tool.clone(),
        // What is closest to it, where the head is of a run that began here.
        started_unix_s: (run.state != RunState::Imported).then_some(head.created_unix_s),
        end: RunEnd::Failed(why(run)),
        workload: head.workload.clone(),
        target: head.target.clone(),
        rand: None,
        measured_s,
        elapsed_s: measured_s,
        totals,
        rates,
        service: summarize::service(&latencies, &head.percentiles),
        response: open.map(|_| summarize::response(&latencies, &head.percentiles)),
        open_loop: open.map(|open| OpenLoopSummary {
            offered_per_s: open.per_second,
            achieved_per_s: rates.events_per_s,
            backlog: last.map_or(0, |interval| interval.backlog),
            backlog_max: run.intervals.iter().map(|i| i.backlog).max().unwrap_or(0),
            pacing_lag: None,
        }),
        events_in_grace: 0,
        events_unfinished: 0,
        errors: Default::default(),
        fairness: None,
        endpoints: Vec::new(),
        client: None,
        warnings: vec![
            "What is only known at a run's end is missing: the client's cost, errors by code, the \
             spread over sessions."
                .to_owned(),
        ],
        verdict: run.verdict,
        findings: run.findings.clone(),
        not_observed: run.not_observed.clone(),
        note: head.note.clone(),
        factors: head.factors.clone(),
        intervals: run.intervals.clone(),
        drive,
        ..RunSummary::default()
    }
}

/// What is said of a run without an end.
pub(crate) const UNFINISHED: &str =
    "The run was not finished: its process died, or it is still going on.";

/// What ended the run, as it noted itself where it failed before there was anything to sum up.
fn why(run: &RunRecord) -> String {
    let noted = run
        .events
        .iter()
        .rev()
        .find(|event| event.kind == EventKind::Note);
    match noted.filter(|_| run.state == RunState::Failed) {
        Some(note) => note.text.clone(),
        None => UNFINISHED.to_owned(),
    }
}

/// All spans of events as one.
fn merged(run: &RunRecord) -> Latencies {
    let mut all = Latencies::default();
    let event = run.operations.first();
    for span in event.iter().flat_map(|operation| &operation.spans) {
        if span.count == 0 {
            continue;
        }
        // What a span holds was measured within the same bounds, so that adding cannot fail.
        let _ = all.service.add(&span.service);
        let _ = all.response.add(&span.response);
        all.service_ns_sum += span.service_ns_sum;
        all.service_ns_min = all.service_ns_min.min(span.service_ns_min);
        all.service_ns_max = all.service_ns_max.max(span.service_ns_max);
    }
    if !all.response.is_empty() {
        // Exact extremes are kept of service times only; the histogram's are within its digits.
        (all.response_ns_min, all.response_ns_max) = (all.response.min(), all.response.max());
        all.response_ns_sum = (all.response.mean() * all.response.len() as f64) as u64;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use dyno_core::record::{Operation, Profile, RunHead, Source, Span};

    #[test]
    fn a_run_without_an_end_is_told_by_its_intervals() {
        let good = samples::good();
        let mut latencies = Latencies::default();
        for i in 0..1000 {
            latencies.record_service(1_000_000 + i * 1000);
        }
        let span = Span {
            from_s: 0.0,
            to_s: 1.0,
            count: 1000,
            service_ns_sum: latencies.service_ns_sum,
            service_ns_min: latencies.service_ns_min,
            service_ns_max: latencies.service_ns_max,
            service: latencies.service.clone(),
            response: latencies.response.clone(),
        };
        let mut run = RunRecord::new(RunHead {
            name: "x".into(),
            source: Source::Dyno,
            profile: Profile::Standard,
            tool: good.tool.clone(),
            created_unix_s: 1.0,
            argv: Vec::new(),
            workload: good.workload.clone(),
            script_sha256: String::new(),
            target: good.target.clone(),
            drive: good.drive.clone(),
            percentiles: vec![50.0],
            factors: Default::default(),
            note: String::new(),
            phase: None,
            plan: None,
        });
        run.id = 1;
        run.intervals.clone_from(&good.intervals);
        run.operations.push(Operation {
            name: "event".into(),
            spans: vec![span],
            total: None,
        });
        let rebuilt = rebuild(&run);
        assert_eq!(rebuilt.totals.events, good.totals.events);
        assert_eq!(rebuilt.measured_s, 30.0);
        assert!((rebuilt.rates.events_per_s - good.rates.events_per_s).abs() < 1e-9);
        assert_eq!(rebuilt.service.count, 1000);
        assert_eq!(rebuilt.service.min_ms, 1.0);
        assert!(matches!(rebuilt.end, RunEnd::Failed(_)));
    }
}
