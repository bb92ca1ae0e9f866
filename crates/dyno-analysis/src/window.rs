//! Cuts a part out of a run. The part is a run as well.

use dyno_core::catalogue::names;
use dyno_core::plan::{Drive, Scheduled};
use dyno_core::record::{NotObserved, Operation, RunRecord, Span};
use dyno_core::summary::{IntervalSummary, OperationSummary, RunSummary};
use dyno_core::text::tenths;
use dyno_core::unknown::{ERRORS_BY_CODE, OTHER_OF_INTERVALS_UNKNOWN, OTHER_UNKNOWN};

use crate::bins::{self, ROOM_S};
use crate::summarize;
use crate::summary::{covered_s, merged, of_intervals};

/// A part of the measurement, in seconds from its start. Without an end, it goes to the end of the
/// run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    /// Its start.
    pub from_s: Option<f64>,
    /// Its end.
    pub to_s: Option<f64>,
}

/// Why no part of a run can be cut out.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WindowError {
    /// The run has no intervals.
    #[error("the run has no recorded intervals, so no part of it can be shown separately")]
    NoIntervals,
    /// The window begins after the end of the run.
    #[error("the window begins at {from_s} s, but the measurement is only {length_s:.0} s long")]
    Beyond {
        /// The window's start.
        from_s: f64,
        /// The run's length.
        length_s: f64,
    },
    /// The window ends before it begins.
    #[error("the window ends at {to_s} s, which is not after its beginning at {from_s} s")]
    Backwards {
        /// The window's start.
        from_s: f64,
        /// Its end.
        to_s: f64,
    },
    /// The window contains no whole interval.
    #[error(
        "no whole interval between {from_s} and {to_s} s; the run's intervals are {usual_s} s long"
    )]
    Nothing {
        /// The window's start.
        from_s: f64,
        /// Its end.
        to_s: f64,
        /// How long an interval usually is.
        usual_s: f64,
    },
}

/// Cuts out the part of a run in the window, as a run. Its times count from the first interval
/// inside; the time before is warm-up, and later records are left out. The findings are those of
/// the whole run and must be computed again.
///
/// # Errors
/// The window contains no whole interval.
pub fn cut(run: RunRecord, window: Window) -> Result<RunRecord, WindowError> {
    let (from_s, to_s) = bounds(&run, window)?;
    let inside: Vec<&IntervalSummary> = run
        .intervals
        .iter()
        .filter(|interval| {
            interval.length_s > 0.0
                && interval.at_s - interval.length_s >= from_s - ROOM_S
                && interval.at_s <= to_s + ROOM_S
        })
        .collect();
    let (Some(first), Some(last)) = (inside.first(), inside.last()) else {
        let lengths: Vec<f64> = run.intervals.iter().map(|one| one.length_s).collect();
        return Err(WindowError::Nothing {
            from_s,
            to_s,
            usual_s: dyno_stats::median(&lengths).unwrap_or(0.0),
        });
    };
    let (origin, end) = (first.at_s - first.length_s, last.at_s);
    let mut drive = run.head.drive.clone();
    drive = drive.or_else(|| run.summary.as_ref()?.drive.clone());
    if let Some(drive) = &mut drive {
        scheduled(drive, (origin, end));
    }
    let summary = summary(&run, drive.as_ref(), &inside, (origin, end));
    let profiled = !run.profiles.is_empty();
    let mut run = moved(run, origin, end);
    if let Some(drive) = &mut drive {
        let seconds = |s: f64| std::time::Duration::try_from_secs_f64(s.max(0.0));
        drive.warmup += seconds(origin).unwrap_or_default();
        // A limit that is not reached within the window does not apply to it.
        drive.time = seconds(end - origin).ok();
        drive.events = None;
    }
    run.head.drive.clone_from(&drive);
    run.not_observed.extend(unknown(&summary, profiled));
    let known = |run: &RunRecord| run.not_observed.iter().all(|gap| gap.what != OTHER_UNKNOWN);
    if lacks_other(&run) && known(&run) {
        run.not_observed.push(NotObserved {
            what: OTHER_UNKNOWN.to_owned(),
            why: "the intervals do not show statements other than reads and writes".to_owned(),
        });
    }
    run.summary = Some(RunSummary {
        drive,
        not_observed: run.not_observed.clone(),
        ..summary
    });
    Ok(run)
}

/// Sets the requested load within the window.
fn scheduled(drive: &mut Drive, (origin, end): (f64, f64)) {
    let Some(schedule) = drive.schedule.take() else {
        return;
    };
    let within = schedule.within(origin, end);
    match schedule.of {
        Scheduled::Rate => {
            if let Some(open) = &mut drive.open_loop {
                open.per_second = schedule.mean_within(origin, end);
            }
        }
        Scheduled::Sessions => drive.sessions = within.max().round() as u32,
    }
    drive.schedule = within.constant().is_none().then_some(within);
}

fn bounds(run: &RunRecord, window: Window) -> Result<(f64, f64), WindowError> {
    if run.intervals.is_empty() {
        return Err(WindowError::NoIntervals);
    }
    let length_s = bins::length_s(run);
    let from_s = window.from_s.unwrap_or(0.0);
    if from_s >= length_s {
        return Err(WindowError::Beyond { from_s, length_s });
    }
    let to_s = window.to_s.unwrap_or(length_s);
    if to_s <= from_s {
        return Err(WindowError::Backwards { from_s, to_s });
    }
    Ok((from_s, to_s.min(length_s)))
}

fn within(span: &&Span, (origin, end): (f64, f64)) -> bool {
    span.from_s >= origin - ROOM_S && span.to_s <= end + ROOM_S
}

/// The summary of the window, without what is counted only over the whole run.
fn summary(
    run: &RunRecord,
    drive: Option<&Drive>,
    inside: &[&IntervalSummary],
    bounds: (f64, f64),
) -> RunSummary {
    let (origin, _) = bounds;
    let of_head = || RunSummary::of(&run.head);
    let whole = run.summary.clone().unwrap_or_else(of_head);
    let percents = &run.head.percentiles;
    let events = run.operations.first();
    let spans = events.iter().flat_map(|operation| &operation.spans);
    let (latencies, spanned_s) = merged(spans.filter(|span| within(span, bounds)));
    let mut part = of_intervals(&run.head, drive, inside, &latencies);
    if lacks_other(run) {
        part.rates.queries_per_s = None;
    }
    let spanned_s = (part.service.count > 0).then_some(spanned_s);
    let covered = (part.measured_s, covered_s(inside));
    let mut warnings = warnings(run, covered, bounds, spanned_s);
    warnings.extend(whole.warnings.iter().cloned());
    let last = inside.last();
    let operations = run.operations.iter().skip(1);
    RunSummary {
        started_unix_s: whole.started_unix_s.map(|started| started + origin),
        measured_s: part.measured_s,
        elapsed_s: part.elapsed_s,
        totals: part.totals,
        rates: part.rates,
        service: part.service,
        response: part.response,
        open_loop: part.open_loop,
        // Without its end, what was in flight is not known.
        events_in_grace: whole.events_in_grace.map(|_| 0),
        events_unfinished: whole.events_unfinished.map(|_| 0),
        errors: Default::default(),
        connect_errors: Default::default(),
        states: last.and_then(|interval| interval.states),
        fairness: None,
        endpoints: Vec::new(),
        client: None,
        limits: Vec::new(),
        warnings,
        operations: operations
            .map(|operation| operation_summary(operation, bounds, (part.measured_s, percents)))
            .collect(),
        roles: Vec::new(),
        statements: Vec::new(),
        parts: Vec::new(),
        digests: None,
        latency_limit: None,
        machine: None,
        figures: part.figures,
        costs: Vec::new(),
        ..whole
    }
}

/// The warnings about a part of a run of this length, with the time that its intervals cover.
/// `spanned_s` is how many seconds have latencies, if any do.
fn warnings(
    run: &RunRecord,
    (length_s, covered_s): (f64, f64),
    bounds: (f64, f64),
    spanned_s: Option<f64>,
) -> Vec<String> {
    let (origin, end) = bounds;
    let mut warnings = vec![format!(
        "These figures cover {} to {} s of a run of {} s.",
        tenths(origin),
        tenths(end),
        tenths(bins::length_s(run)),
    )];
    let least_s = length_s * 0.99 - ROOM_S;
    if let Some(spanned_s) = spanned_s.filter(|spanned_s| *spanned_s < least_s) {
        warnings.push(format!(
            "The latencies cover {} of these {} s: later hours of a run are stored in longer \
             spans, and spans that cross an end of the window are left out.",
            tenths(spanned_s),
            tenths(length_s),
        ));
    }
    if covered_s < least_s {
        warnings.push(format!(
            "Intervals cover {} of these {} s; rates refer to the covered time.",
            tenths(covered_s),
            tenths(length_s)
        ));
    }
    warnings
}

fn operation_summary(
    operation: &Operation,
    bounds: (f64, f64),
    (length_s, percents): (f64, &[f64]),
) -> OperationSummary {
    let spans = operation.spans.iter().filter(|span| within(span, bounds));
    let (latencies, _) = merged(spans);
    let mut part = dyno_core::interval::OperationInterval::default();
    part.counters.done = latencies.service.len();
    part.latencies = latencies;
    let open = !part.latencies.response.is_empty();
    let counters = part.counters;
    summarize::operation(
        &operation.name,
        Some(&part),
        &counters,
        length_s,
        (open, percents),
    )
}

/// The record with its times counted from `origin`, and without records after the end.
fn moved(mut run: RunRecord, origin: f64, end: f64) -> RunRecord {
    run.intervals
        .retain(|interval| interval.at_s <= end + ROOM_S);
    for interval in &mut run.intervals {
        interval.at_s -= origin;
    }
    for operation in &mut run.operations {
        operation.spans.retain(|span| span.to_s <= end + ROOM_S);
        for span in &mut operation.spans {
            span.from_s -= origin;
            span.to_s -= origin;
        }
        let inside = operation.spans.iter().filter(|span| span.from_s >= -ROOM_S);
        let (latencies, covered_s) = merged(inside);
        operation.total = (covered_s > 0.0).then(|| Span {
            from_s: 0.0,
            to_s: end - origin,
            count: latencies.service.len(),
            service_ns_sum: latencies.service_ns_sum,
            service_ns_min: match latencies.service_ns_min {
                u64::MAX => 0,
                least => least,
            },
            service_ns_max: latencies.service_ns_max,
            service: latencies.service,
            response: latencies.response,
        });
    }
    for series in &mut run.series {
        series.points.retain(|(at, _)| *at <= end + ROOM_S);
        series.points.iter_mut().for_each(|(at, _)| *at -= origin);
    }
    run.events.retain(|event| event.at_s <= end);
    for event in &mut run.events {
        event.at_s -= origin;
        event.until_s = event.until_s.map(|until| until - origin);
    }
    run.sessions.clear();
    run.profiles.clear();
    run
}

/// Whether the intervals have reads and writes, but no other statements.
fn lacks_other(run: &RunRecord) -> bool {
    run.not_observed
        .iter()
        .any(|gap| gap.what == OTHER_OF_INTERVALS_UNKNOWN)
}

/// The values known only for the whole run.
fn unknown(summary: &RunSummary, profiled: bool) -> Vec<NotObserved> {
    let gap = |what: &str, why: &str| NotObserved {
        what: what.to_owned(),
        why: format!("{why}, not for a part of it"),
    };
    let mut gaps = vec![
        gap(
            "fairness",
            "each session's share is known for the whole run",
        ),
        gap(
            names::CLIENT_COST,
            "the client's own cost is known for the whole run",
        ),
        gap(
            ERRORS_BY_CODE,
            "errors are counted by code for the whole run",
        ),
    ];
    if summary.service.count == 0 {
        gaps.push(gap(
            "service",
            "latencies are known for the whole run and as percentiles of intervals",
        ));
    }
    if profiled {
        gaps.push(gap(
            "profile",
            "CPU time by function is known for the whole run",
        ));
    }
    gaps
}

#[cfg(test)]
mod tests;
