//! The summary of a record, or of some of its intervals.

use dyno_core::interval::Latencies;
use dyno_core::plan::Drive;
use dyno_core::record::{EventKind, RunHead, RunRecord, RunState, Span};
use dyno_core::reported::{Better, Figure};
use dyno_core::summary::{
    IntervalSummary, OpenLoopSummary, Percentile, Recorded, RunEnd, RunSummary,
};
use dyno_core::tables;
use dyno_core::threshold::Threshold;

use crate::bins::{self, ROOM_S};
use crate::summarize;

/// The warning about a run without an end.
pub const UNFINISHED: &str = "The run did not finish: its process died, or it is still running.";

/// The warning about an imported log without totals or length.
const NO_TOTALS: &str = "the log does not show how much was done in what time";

/// The summary of a recorded run, including what is stored in separate tables, except for the
/// intervals, which may be many. For an unfinished run, the summary is rebuilt from the intervals.
pub fn recorded(run: &RunRecord, file: &str) -> RunSummary {
    let mut summary = match &run.summary {
        Some(summary) => summary.clone(),
        None => rebuild(run),
    };
    summary.intervals.clear();
    summary.findings.clone_from(&run.findings);
    summary.tables = tables::groups(&run.facts);
    summary.not_observed.clone_from(&run.not_observed);
    summary.verdict = run.verdict;
    summary.note.clone_from(&run.head.note);
    summary.factors.clone_from(&run.head.factors);
    let plan = run.head.plan.as_ref();
    let conditions = plan.map_or(&[][..], |plan| &plan.record.fail_if);
    summary = held(summary, conditions);
    summary.recorded = Some(Recorded {
        file: file.to_owned(),
        id: run.id,
        name: run.head.name.clone(),
    });
    summary
}

/// Adds the outcome of the `--fail-if` conditions to the summary.
pub fn held(mut summary: RunSummary, conditions: &[String]) -> RunSummary {
    let conditions = conditions.iter().filter_map(|text| text.parse().ok());
    let held = conditions.map(|one: Threshold| one.judge(&summary));
    summary.thresholds = held.collect();
    summary
}

/// The summary of a run that has intervals, and perhaps latencies, but no end: its process died, or
/// it is still running. The client's cost, errors by code and the spread over sessions are known
/// only at the end; they are left out, and a warning says so.
pub fn rebuild(run: &RunRecord) -> RunSummary {
    // No figure may include the warm-up.
    let measured = run.intervals.iter().filter(|one| one.at_s > ROOM_S);
    let measured: Vec<&IntervalSummary> = measured.collect();
    let event = run.operations.first();
    let spans = event.iter().flat_map(|operation| &operation.spans);
    let (latencies, _) = merged(spans.filter(|span| span.to_s > ROOM_S));
    let measured_s = run.intervals.last().map_or(0.0, |last| last.at_s.max(0.0));
    RunSummary {
        // The closest known time, unless the run was imported.
        started_unix_s: (run.state != RunState::Imported).then_some(run.head.created_unix_s),
        end: match run.state {
            RunState::Interrupted => RunEnd::Interrupted,
            _ => RunEnd::Failed(why(run)),
        },
        measured_s,
        elapsed_s: measured_s,
        warnings: vec![
            "What is only known at a run's end is missing: the client's cost, errors by code, the \
             spread over sessions."
                .to_owned(),
        ],
        verdict: run.verdict,
        findings: run.findings.clone(),
        not_observed: run.not_observed.clone(),
        intervals: run.intervals.clone(),
        ..of_intervals(&run.head, run.head.drive.as_ref(), &measured, &latencies)
    }
}

/// Why the run ended. This is the recorded reason if the run failed without a summary.
fn why(run: &RunRecord) -> String {
    let mut events = run.events.iter().rev();
    let noted = events.find(|event| event.kind == EventKind::Note);
    match noted.filter(|_| run.state == RunState::Failed) {
        Some(note) => note.text.clone(),
        None if run.state == RunState::Imported => NO_TOTALS.to_owned(),
        None => UNFINISHED.to_owned(),
    }
}

/// The figures of these intervals, and of the latencies of the events in the same time, if known.
/// Rates refer to the time that the intervals cover, and are not rounded if the log printed rates.
/// The length is from the start of the first interval to the end of the last.
pub fn of_intervals(
    head: &RunHead,
    drive: Option<&Drive>,
    intervals: &[&IntervalSummary],
    latencies: &Latencies,
) -> RunSummary {
    let mut part = RunSummary {
        drive: drive.cloned(),
        ..RunSummary::of(head)
    };
    let (mut events, mut statements) = (0.0, 0.0);
    let mut bounds: Option<(f64, f64)> = None;
    for interval in intervals {
        part.totals.merge(&interval.counters);
        let of = bins::exact(interval);
        (events, statements) = (events + of.0, statements + of.1);
        let start = interval.at_s - interval.length_s;
        let (from, to) = bounds.unwrap_or((start, interval.at_s));
        bounds = Some((from.min(start), to.max(interval.at_s)));
    }
    let covered_s = covered_s(intervals);
    part.rates = summarize::rates(&part.totals, covered_s);
    if covered_s > 0.0 {
        part.rates.events_per_s = events / covered_s;
        part.rates.queries_per_s = Some(statements / covered_s);
    }
    part.measured_s = bounds.map_or(0.0, |(from, to)| to - from);
    part.elapsed_s = part.measured_s;
    let open = drive.and_then(|drive| drive.open_loop);
    part.open_loop = open.map(|open| OpenLoopSummary {
        offered_per_s: open.per_second,
        achieved_per_s: part.rates.events_per_s,
        backlog: intervals.last().and_then(|interval| interval.backlog),
        backlog_max: intervals.iter().filter_map(|one| one.backlog).max(),
        pacing_lag: None,
    });
    part.service = summarize::service(latencies, &head.percentiles);
    if part.service.count == 0 {
        part.figures = of_percentiles(intervals);
    } else if open.is_some() {
        part.response = Some(summarize::response(latencies, &head.percentiles));
    }
    part
}

/// The time that these intervals cover, in seconds.
pub(crate) fn covered_s(intervals: &[&IntervalSummary]) -> f64 {
    let lengths = intervals.iter().map(|interval| interval.length_s.max(0.0));
    lengths.fold(0.0, |sum, length_s| sum + length_s)
}

/// The latencies of these spans, merged, and the time that they cover.
pub(crate) fn merged<'a>(spans: impl Iterator<Item = &'a Span>) -> (Latencies, f64) {
    let mut all = Latencies::default();
    let mut covered_s = 0.0;
    for span in spans {
        covered_s += span.to_s - span.from_s;
        if span.count == 0 {
            continue;
        }
        // All spans have the same bounds, so adding cannot fail.
        let _ = all.service.add(&span.service);
        let _ = all.response.add(&span.response);
        all.service_ns_sum += span.service_ns_sum;
        all.service_ns_min = all.service_ns_min.min(span.service_ns_min);
        all.service_ns_max = all.service_ns_max.max(span.service_ns_max);
    }
    if !all.response.is_empty() {
        // Exact extremes are recorded only for service times. These are the histogram's.
        (all.response_ns_min, all.response_ns_max) = (all.response.min(), all.response.max());
        all.response_ns_sum = (all.response.mean() * all.response.len() as f64) as u64;
    }
    (all, covered_s)
}

/// Figures of the latencies if only the percentiles of each interval are known: the median and the
/// highest of each.
fn of_percentiles(intervals: &[&IntervalSummary]) -> Vec<Figure> {
    let all = intervals.iter().flat_map(|interval| &interval.percentiles);
    let mut percents: Vec<f64> = all.map(|percentile| percentile.percent).collect();
    percents.sort_by(f64::total_cmp);
    percents.dedup();
    let mut figures = Vec::new();
    for percent in percents {
        let own = |interval: &&IntervalSummary| Percentile::of(&interval.percentiles, percent);
        let values: Vec<f64> = intervals.iter().filter_map(own).collect();
        let highest = values.iter().copied().reduce(f64::max);
        let median = dyno_stats::median(&values);
        for (which, value) in [("median", median), ("highest", highest)] {
            figures.extend(value.filter(|ms| ms.is_finite()).map(|value| Figure {
                name: format!("p{percent} of intervals, {which}"),
                value,
                unit: "ms".to_owned(),
                better: Some(Better::Lower),
            }));
        }
    }
    figures
}
