//! The summary of an unfinished run, from its saved data.

use dyno_core::record::{EventKind, RunRecord, RunState};
use dyno_core::summary::{IntervalSummary, RunEnd, RunSummary, SCHEMA_VERSION};

use dyno_analysis::bins::ROOM_S;
use dyno_analysis::{summarize, window};

/// The summary of a run that has intervals, and perhaps latencies, but no end: its process died, or
/// it is still running. Client cost, errors by code and the spread over sessions are known only at
/// the end; they are missing, as a warning says.
pub fn rebuild(run: &RunRecord) -> RunSummary {
    let head = &run.head;
    let drive = head.drive.clone();
    // No figure includes the warm-up.
    let measured = run
        .intervals
        .iter()
        .filter(|interval| interval.at_s > ROOM_S);
    let part = window::part_figures(measured.clone());
    let measured_s = run
        .intervals
        .last()
        .map_or(0.0, |interval| interval.at_s.max(0.0));
    let (totals, rates) = (part.totals, part.rates);
    let event = run.operations.first();
    let spans = event.iter().flat_map(|operation| &operation.spans);
    let (latencies, _) = window::merged(spans.filter(|span| span.to_s > ROOM_S));
    let known = !latencies.service.is_empty();
    let measured: Vec<&IntervalSummary> = measured.collect();
    let open = drive.as_ref().and_then(|drive| drive.open_loop);
    RunSummary {
        schema_version: SCHEMA_VERSION,
        tool: head.tool.clone(),
        // The closest known time, for a run that was not imported.
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
        figures: match known {
            true => Vec::new(),
            false => window::of_percentiles(&measured),
        },
        response: open.map(|_| summarize::response(&latencies, &head.percentiles)),
        open_loop: open.map(|open| part.open_loop(open, run.intervals.last())),
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

/// The warning for a run without an end.
pub(crate) const UNFINISHED: &str =
    "The run did not finish: its process died, or it is still running.";

/// The warning for an imported log without totals or length.
const NO_TOTALS: &str = "the log does not show how much was done in what time";

/// The reason for the end, as recorded if the run failed without a summary.
fn why(run: &RunRecord) -> String {
    let noted = run
        .events
        .iter()
        .rev()
        .find(|event| event.kind == EventKind::Note);
    match noted.filter(|_| run.state == RunState::Failed) {
        Some(note) => note.text.clone(),
        None if run.state == RunState::Imported => NO_TOTALS.to_owned(),
        None => UNFINISHED.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::interval::Latencies;
    use dyno_core::record::{Operation, RunHead};
    use dyno_samples::{summaries as samples, values};

    #[test]
    fn a_run_without_an_end_is_summarised_from_its_intervals() {
        let good = samples::good();
        let mut latencies = Latencies::default();
        for i in 0..1000 {
            latencies.record_service(1_000_000 + i * 1000);
        }
        let mut run = RunRecord::new(RunHead {
            drive: good.drive.clone(),
            percentiles: vec![50.0],
            ..values::head("x")
        });
        run.id = 1;
        run.intervals.clone_from(&good.intervals);
        run.operations.push(Operation {
            name: "event".into(),
            spans: vec![values::span(0.0, 1.0, &latencies)],
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
