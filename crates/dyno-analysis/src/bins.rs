//! The measurement of a run in bins of at least a second.

use dyno_core::interval::Counters;
use dyno_core::record::{RunRecord, RunState};
use dyno_core::summary::IntervalSummary;

/// An interval is whole if it lasts at least this share of the usual length. Several short
/// intervals make a second if together they last at least this share of one.
const WHOLE: f64 = 0.9;
/// Tolerance for comparing times, in seconds, because recorded times are rounded.
pub const ROOM_S: f64 = 1e-3;

/// One interval of the measurement, or several short ones that together last a second.
#[derive(Clone, Debug, Default)]
pub struct Bin {
    /// The end, in seconds since the start of the measurement.
    pub at_s: f64,
    /// The length in seconds.
    pub length_s: f64,
    /// The fewest sessions that ran at the same time; `None` if unknown.
    pub sessions: Option<u32>,
    /// The counters.
    pub counters: Counters,
    /// Events. Unlike `counters`, these are not rounded if the log printed rates.
    pub events: f64,
    /// Statements, which are not rounded, either.
    pub statements: f64,
    /// Events that were due but had not begun at the end; `None` if unknown.
    pub backlog: Option<u64>,
    /// Events in flight at the end; `None` if unknown.
    pub concurrency: Option<u32>,
    /// The lowest percentile that was requested, as the largest value of the intervals in the bin.
    pub latency_ms: Option<f64>,
}

impl Bin {
    /// Events per second.
    pub fn events_per_s(&self) -> f64 {
        self.events / self.length_s
    }

    /// The start, in seconds since the start of the measurement.
    pub fn from_s(&self) -> f64 {
        self.at_s - self.length_s
    }
}

/// Whether bins of this usual length are seconds. A log may have only longer intervals.
pub fn is_second(length_s: f64) -> bool {
    (0.5..1.5).contains(&length_s)
}

/// Events per second of each second; empty if the bins are longer.
pub fn seconds(bins: &[Bin]) -> Vec<f64> {
    let all_s: f64 = bins.iter().map(|bin| bin.length_s).sum();
    let known = is_second(all_s / bins.len() as f64);
    let bins = bins.iter().filter(|_| known);
    bins.map(Bin::events_per_s).collect()
}

/// The length of the measurement, from the summary or else to the end of the last interval.
pub fn length_s(run: &RunRecord) -> f64 {
    let stated = run.summary.as_ref().map(|summary| summary.measured_s);
    let last = || run.intervals.iter().map(|interval| interval.at_s);
    stated
        .filter(|length| length.is_finite() && *length > 0.0)
        .or_else(|| last().filter(|at| at.is_finite()).reduce(f64::max))
        .unwrap_or(0.0)
        .max(0.0)
}

/// The end of the time in which events began, in seconds, if a log has intervals after it: in those
/// the sessions only finish their last events.
fn last_start_s(run: &RunRecord) -> f64 {
    /// Tools print the end of an interval late.
    const LATE_S: f64 = 0.2;
    let of_summary = || run.summary.as_ref().and_then(|own| own.drive.as_ref());
    let drive = run.head.drive.as_ref().or_else(of_summary);
    let time_s = drive.and_then(|drive| drive.time);
    let time_s = time_s.map_or(0.0, |time| time.as_secs_f64());
    // A time that is far from the length is that of another run.
    match run.state == RunState::Imported && length_s(run) <= 2.0 * time_s {
        true => time_s - LATE_S,
        false => f64::INFINITY,
    }
}

/// The measurement in bins of at least a second, without the warm-up, the grace and truncated bins.
pub fn of(run: &RunRecord) -> Vec<Bin> {
    let length_s = length_s(run);
    let end_s = last_start_s(run);
    let mut bins: Vec<Bin> = Vec::new();
    let mut open: Option<Bin> = None;
    for interval in &run.intervals {
        let fits = interval.length_s.is_finite()
            && interval.length_s > 0.0
            && interval.at_s - interval.length_s >= -ROOM_S
            && interval.at_s <= length_s + ROOM_S
            && interval.at_s - interval.length_s < end_s;
        if !fits {
            continue;
        }
        let bin = open.get_or_insert_with(Bin::default);
        bin.at_s = interval.at_s;
        bin.length_s += interval.length_s;
        bin.sessions = [bin.sessions, interval.sessions]
            .into_iter()
            .flatten()
            .min();
        bin.counters.merge(&interval.counters);
        let (events, statements) = exact(interval);
        bin.events += events;
        bin.statements += statements;
        bin.backlog = interval.backlog;
        bin.concurrency = interval.concurrency;
        let lowest = interval.percentiles.first().and_then(|p| p.value_ms);
        bin.latency_ms = match (bin.latency_ms, lowest.filter(|ms| ms.is_finite())) {
            (Some(one), Some(other)) => Some(one.max(other)),
            (one, other) => one.or(other),
        };
        if bin.length_s >= WHOLE {
            bins.extend(open.take());
        }
    }
    whole(bins)
}

/// Events and statements of an interval, as precisely as recorded.
pub(crate) fn exact(interval: &IntervalSummary) -> (f64, f64) {
    let of = |printed: Option<f64>, count: u64| match printed {
        Some(per_s) => per_s * interval.length_s,
        None => count as f64,
    };
    let printed = interval.printed.unwrap_or_default();
    let counters = &interval.counters;
    (
        of(printed.events_per_s, counters.events),
        of(printed.queries_per_s, counters.queries()),
    )
}

/// Removes bins that were cut short.
fn whole(mut bins: Vec<Bin>) -> Vec<Bin> {
    let lengths: Vec<f64> = bins.iter().map(|bin| bin.length_s).collect();
    if let Some(usual) = dyno_stats::median(&lengths) {
        bins.retain(|bin| bin.length_s >= usual * WHOLE);
    }
    bins
}
