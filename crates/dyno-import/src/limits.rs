//! Limits that no run of sysbench can exceed, and the parts of a complete report.

use dyno_core::record::Fact;
use dyno_core::text::number_of;

use crate::laws;
use crate::runs;
use crate::sysbench::model::{Draft, Report};

/// By how much the threads' time in events may exceed the available time: events that began in the
/// warm-up, and rounding.
const TOLERANCE: f64 = 0.05;
/// Means are printed with two decimals.
const MEAN_ROUNDING_MS: f64 = 0.005;

/// Threads cannot spend more time in events than there was. With a rate, latencies count from the
/// schedule and include time that no thread spent.
pub(crate) fn busy(draft: &Draft, report: &Report, contradict: &mut impl FnMut(String)) {
    let (Some(sum_ms), Some(threads), Some(time_s)) =
        (report.sum_ms, draft.threads, report.time_s())
    else {
        return;
    };
    let available_ms = f64::from(threads) * time_s * 1000.0;
    if threads > 0 && sum_ms > available_ms * (1.0 + TOLERANCE) && draft.rate_per_s.is_none() {
        contradict(format!(
            "the latencies add up to {:.1} s, but {} had {:.1} s in all",
            sum_ms / 1000.0,
            number_of(threads, "thread"),
            available_ms / 1000.0
        ));
    }
}

/// Little's law: the rate times the mean latency is the number of busy threads.
pub(crate) fn little(draft: &Draft, report: &Report, contradict: &mut impl FnMut(String)) {
    let (Some(rate), Some(mean_ms), Some(threads)) = (
        report.events_per_s(),
        report.avg_ms,
        draft.threads.filter(|threads| *threads > 0),
    ) else {
        return;
    };
    if draft.rate_per_s.is_some() {
        return;
    }
    let busy = laws::busy(rate, mean_ms - MEAN_ROUNDING_MS);
    // Each thread may have one event that began before the measurement, and one that ended after
    // it.
    let rounds = report.events().unwrap_or(0) as f64 / f64::from(threads);
    if busy > f64::from(threads) * (1.0 + TOLERANCE + 2.0 / rounds.max(1.0)) {
        let mean = format!("{mean_ms:.2}");
        let text = laws::busy_sessions((rate, "events"), &mean, busy, (threads, "threads"));
        contradict(text);
    }
}

/// The total time must not be 0 if there were events.
pub(crate) fn no_time(report: &Report, contradict: &mut impl FnMut(String)) {
    let events = report.events().filter(|events| *events > 0);
    if let (Some(events), Some(0.0)) = (events, report.total_time_s) {
        let events = number_of(events, "event");
        contradict(format!("{events} in a total time of 0 s"));
    }
}

/// The fact that a report lacks its end, with a warning; `None` if it is complete. All versions
/// print the total time and, in the last line, the threads' time in events.
pub(crate) fn cut_off(report: &Report, warn: &mut impl FnMut(String)) -> Option<Fact> {
    let time = report.total_time_s.is_some();
    let threads = report.time_spread.is_some() || report.events_spread.is_some();
    let unreadable = !report.unreadable.is_empty();
    let missing = match (time, threads) {
        _ if unreadable => return None,
        (true, true) => return None,
        (true, false) => "their last part, the threads' fairness",
        (false, true) => "the total time",
        (false, false) => "the total time and everything after it",
    };
    let text = format!("the statistics lack {missing}");
    warn(format!("the end of the log is missing: {text}"));
    Some(runs::cut_off(&text))
}
