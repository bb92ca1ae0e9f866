//! Laws that the figures of sysbench's report obey, each with the tolerance of the printed digits.
//! Figures that break one are left out.

use dyno_core::text::number_of;

use crate::consistency::{self, TIME_TOLERANCE};
use crate::laws::{Precision, Spread, Statistic};
use crate::sysbench::model::{Counted, Draft, Report};
use crate::sysbench::{histogram, host_laws};

/// sysbench subtracts times as unsigned nanoseconds, so a clock that goes back makes a time close
/// to 2^64 ns; half of it in milliseconds.
const OVERFLOW_MS: f64 = 9.2e12;
/// A thread's time in seconds above which it overflowed: three years.
const OVERFLOW_S: f64 = 1e8;
/// Half of the last digit of latencies and deviations (`%.2f`).
pub(super) const ROUNDING: f64 = 0.005;
/// Half of the last digit of seconds before 1.0, in milliseconds (`%.4fs`): its sums, and in old
/// versions of 0.4 all latencies.
const OLD_ROUNDING_MS: f64 = 0.05;
/// sysbench cuts means to whole nanoseconds.
const CUT_MS: f64 = 1e-6;
/// Half of the last digit of a thread's means (`%.4f`).
const MEAN_ROUNDING: f64 = 0.000_05;
/// sysbench reads the clock for the total time after the last event; allow for a second clock.
const CLOCKS: f64 = 0.001;
/// The allowance for a second clock in very short runs, in seconds.
pub(super) const CLOCKS_S: f64 = 0.01;
/// The last value of sysbench's histogram (`sb_histogram.c`: 100 s), in milliseconds, less one
/// bucket. Longer latencies count as that value.
const HISTOGRAM_END_MS: f64 = 98_000.0;
/// Buckets of the histogram are up to 2 % wide.
const BUCKET: f64 = 0.05;
/// Smaller differences of percentiles may be due to rounding.
const FEW_DIGITS_MS: f64 = 0.02;
const MEAN: Figure = Figure::Latency(Statistic::Mean);

/// A broken law.
#[derive(Debug, PartialEq)]
pub(crate) struct Broken {
    /// What cannot be, as a sentence without its end.
    pub(crate) text: String,
    figures: Vec<Figure>,
}

/// A figure of the report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Figure {
    /// A statistic of the latencies.
    Latency(Statistic),
    /// The sum of the latencies.
    Sum,
    /// The spread of events over threads.
    Events,
    /// The spread of the time in events over threads.
    Times,
    /// The distribution of the latencies.
    Histogram,
    /// One of [`Report::figures`].
    Named(&'static str),
}

impl Broken {
    pub(crate) fn new(what: &str, figures: &[Figure]) -> Self {
        let left_out = match figures {
            [] => "",
            [_] => "; it is left out",
            _ => "; they are left out",
        };
        Self {
            text: format!("{what}{left_out}"),
            figures: figures.to_vec(),
        }
    }
}

/// Leaves out times that sysbench computed as less than zero, with warnings: they are its own
/// error, not a contradiction.
pub(crate) fn leave_out_overflows(draft: &mut Draft) {
    let checkpoints = draft.checkpoints.iter_mut().map(|(_, report)| report);
    for report in checkpoints.chain(draft.report.as_mut()) {
        let line = Some(report.line);
        let times = [
            ("minimum", &mut report.min_ms),
            ("mean", &mut report.avg_ms),
            ("maximum", &mut report.max_ms),
            ("sum", &mut report.sum_ms),
        ];
        for (figure, value) in times {
            let Some(ms) = (*value).filter(|ms| *ms >= OVERFLOW_MS) else {
                continue;
            };
            *value = None;
            let text = format!(
                "the {figure} of the latencies, {ms:.2} ms, is a time below zero that overflowed \
                 in sysbench; it is left out"
            );
            draft.warnings.push((line, text));
        }
        let spread = report.time_spread;
        if spread.is_some_and(|(mean, stddev)| mean.max(stddev) >= OVERFLOW_S) {
            report.time_spread = None;
        }
    }
}

/// The broken laws.
pub(crate) fn broken(draft: &Draft) -> Vec<Broken> {
    let Some(report) = &draft.report else {
        return Vec::new();
    };
    let mut found = Vec::new();
    latencies(report, &mut found);
    host_laws::broken(draft, report, &mut found);
    // After a checkpoint the counts cover only part of the printed time, and sysbench prints it
    // while events end.
    if draft.checkpoints.is_empty() {
        means(report, &mut found);
        length(draft, report, &mut found);
        events_of_threads(draft, report, &mut found);
        times_of_threads(draft, report, &mut found);
    }
    distribution(draft, report, &mut found);
    found
}

/// Leaves out the figures that break laws.
pub(crate) fn leave_out(draft: &mut Draft, broken: &[Broken]) {
    let Some(report) = &mut draft.report else {
        return;
    };
    for figure in broken.iter().flat_map(|law| &law.figures) {
        match figure {
            Figure::Latency(Statistic::Min) => report.min_ms = None,
            Figure::Latency(Statistic::Mean) => report.avg_ms = None,
            Figure::Latency(Statistic::Max) => report.max_ms = None,
            Figure::Latency(Statistic::Percentile(percent)) => {
                report.percentiles.retain(|own| own.0 != *percent);
            }
            // The report has no deviation of latencies.
            Figure::Latency(Statistic::Deviation) => {}
            Figure::Sum => report.sum_ms = None,
            Figure::Events => report.events_spread = None,
            Figure::Times => report.time_spread = None,
            Figure::Histogram => {
                draft.histogram.clear();
                draft.histogram_left_out = Some(histogram::UNTRUE);
            }
            Figure::Named(name) => report.figures.retain(|own| own.0 != *name),
        }
    }
    // Without the mean, the sum would imply a mean that is not printed.
    if broken.iter().any(|law| law.figures.contains(&MEAN)) {
        report.sum_ms = None;
    }
    // Rates that imply different times are those of the counts over the printed time.
    let mut differ = false;
    consistency::rates(report, &mut |_: String| differ = true);
    if differ && report.total_time_s.is_some_and(|seconds| seconds > 0.0) {
        report.events_per_s = None;
        for counted in [
            &mut report.transactions,
            &mut report.queries,
            &mut report.errors,
            &mut report.reconnects,
        ] {
            *counted = counted.map(|counted| Counted {
                per_s: None,
                ..counted
            });
        }
    }
}

/// The laws of the latencies.
fn latencies(report: &Report, found: &mut Vec<Broken>) {
    // Of so few events, sysbench's rank of a percentile may be 0: then it prints the first bucket.
    let ranked = |percent: f64| {
        let events = report.events().unwrap_or(u64::MAX) as f64;
        (events * percent / 100.0 + 0.5).floor() >= 1.0
    };
    let percentiles = report.percentiles.iter().copied();
    let percentiles: Vec<(f64, f64)> = percentiles.filter(|own| ranked(own.0)).collect();
    let spread = Spread {
        what: "latencies",
        unit: "ms",
        precision: Precision {
            half_digit: rounding_ms(report),
            decimals: 2,
            bucket: BUCKET,
            last_bucket: HISTOGRAM_END_MS,
        },
        count: report.events().map(|events| events as f64),
        min: report.min_ms,
        mean: report.avg_ms,
        max: report.max_ms,
        stddev: None,
        percentiles: &percentiles,
    };
    for law in spread.broken() {
        let figures: Vec<Figure> = law.statistics.into_iter().map(Figure::Latency).collect();
        found.push(Broken::new(&law.text, &figures));
    }
}

fn rounding_ms(report: &Report) -> f64 {
    match report.is_old {
        true => OLD_ROUNDING_MS,
        false => ROUNDING,
    }
}

/// The mean is the sum divided by the number of events. A forced shutdown counts events in progress
/// in one of them.
fn means(report: &Report, found: &mut Vec<Broken>) {
    let (Some(events), Some(sum), Some(avg), None) = (
        report.events().filter(|events| *events > 0),
        report.sum_ms,
        report.avg_ms,
        report.unfinished,
    ) else {
        return;
    };
    let mean = sum / events as f64;
    let rounding = rounding_ms(report);
    // The last term is for floating point.
    let room = rounding + rounding / events as f64 + CUT_MS + mean * 1e-9;
    if (mean - avg).abs() > room {
        let text = format!(
            "the sum of latencies implies a mean of {mean:.2} ms, but the report says {avg:.2} ms"
        );
        found.push(Broken::new(&text, &[MEAN, Figure::Sum]));
    }
}

/// The rows of the histogram ascend, and have the report's count, mean, extremes and percentiles.
fn distribution(draft: &Draft, report: &Report, found: &mut Vec<Broken>) {
    let rows = &draft.histogram;
    if rows.is_empty() || !draft.checkpoints.is_empty() {
        return;
    }
    let count = histogram::count(rows);
    let other_count = || {
        let events = report.events().filter(|events| *events != count)?;
        let contained = number_of(count, "event");
        Some(format!(
            "the histogram holds {contained}, but the report {events}"
        ))
    };
    let mean = comparable_mean(report, found);
    let other_mean = || histogram::other_mean(rows, mean?, rounding_ms(report));
    let broken = histogram::disorder(rows).or_else(other_count);
    if let Some(text) = broken.or_else(other_mean) {
        found.push(Broken::new(&text, &[Figure::Histogram]));
        return;
    }
    let warms_up = draft.warmup_s.is_some_and(|seconds| seconds > 0.0);
    if mean.is_some() && !warms_up {
        extremes(rows, report, found);
    }
    for &(percent, printed_ms) in &report.percentiles {
        let Some(ms) = histogram::percentile(rows, count, percent) else {
            continue;
        };
        if (printed_ms - ms).abs() > (ms * BUCKET).max(FEW_DIGITS_MS) {
            let text = format!(
                "the {percent}th percentile is {printed_ms:.2} ms, but that of the histogram \
                 {ms:.2} ms"
            );
            let own = Figure::Latency(Statistic::Percentile(percent));
            // If the mean fits, too, the histogram is right.
            let both = [own, Figure::Histogram];
            let wrong = if mean.is_some() { 1 } else { 2 };
            found.push(Broken::new(&text, &both[..wrong]));
        }
    }
}

/// The extremes are in the first and the last row that have events. If the mean fits, too, the
/// histogram is right. At the end of a warm-up, sysbench clears rows and extremes one after the
/// other.
fn extremes(rows: &[(f64, u64)], report: &Report, found: &mut Vec<Broken>) {
    let mut used = rows.iter().filter(|row| row.1 > 0).map(|row| row.0);
    let Some(lowest_ms) = used.next() else {
        return;
    };
    let highest_ms = used.next_back().unwrap_or(lowest_ms);
    for (statistic, printed_ms, ms, end) in [
        (Statistic::Min, report.min_ms, lowest_ms, "begins"),
        (Statistic::Max, report.max_ms, highest_ms, "ends"),
    ] {
        let outside = |printed_ms: &f64| !histogram::may_hold(ms, *printed_ms, rounding_ms(report));
        if let Some(printed_ms) = printed_ms.filter(outside) {
            let text = format!(
                "{statistic} of the latencies is {printed_ms:.2} ms, but the histogram {end} at \
                 {ms:.2} ms"
            );
            found.push(Broken::new(&text, &[Figure::Latency(statistic)]));
        }
    }
}

/// The mean of the report, if it must be that of the histogram: both are of the same events.
fn comparable_mean(report: &Report, found: &[Broken]) -> Option<f64> {
    let whole = report.unfinished.is_none() && report.events().is_some_and(|events| events > 0);
    let beyond = report.max_ms.is_some_and(|ms| ms >= HISTOGRAM_END_MS);
    let broken = found.iter().any(|law| law.figures.contains(&MEAN));
    report.avg_ms.filter(|_| whole && !beyond && !broken)
}

/// The longest time that the run can have taken, in seconds. Events may have begun in the warm-up.
fn longest_s(draft: &Draft, report: &Report) -> Option<f64> {
    let printed = report.total_time_s.filter(|seconds| *seconds > 0.0);
    let implied = report.implied_time_s();
    let implied = implied.map(|seconds| match printed {
        Some(_) => seconds,
        None => seconds * (1.0 + TIME_TOLERANCE),
    });
    let longest = printed.into_iter().chain(implied).reduce(f64::max)?;
    Some(longest * (1.0 + CLOCKS) + CLOCKS_S + draft.warmup_s.unwrap_or(0.0))
}

/// No event takes longer than the run, which ends with its last event.
fn length(draft: &Draft, report: &Report, found: &mut Vec<Broken>) {
    let (Some(max_ms), Some(longest_s)) = (report.max_ms, longest_s(draft, report)) else {
        return;
    };
    if max_ms > longest_s * 1000.0 {
        let text = format!(
            "the maximum of the latencies, {max_ms:.2} ms, is longer than the run, {:.1} s",
            report.time_s().unwrap_or(longest_s)
        );
        found.push(Broken::new(&text, &[Figure::Latency(Statistic::Max)]));
    }
}

/// The number of threads, if there are several and their spread covers the same events as the rest
/// of the report. Without an event sysbench prints uninitialised memory, and a forced shutdown adds
/// events in progress.
fn spread_threads(draft: &Draft, report: &Report) -> Option<f64> {
    let whole = report.unfinished.is_none() && report.events().is_some_and(|events| events > 0);
    let threads = draft.threads.filter(|threads| *threads > 1 && whole)?;
    Some(f64::from(threads))
}

/// The standard deviation of n figures that are not negative is at most their mean times the root
/// of n - 1: if one of them has everything.
fn events_of_threads(draft: &Draft, report: &Report, found: &mut Vec<Broken>) {
    let (Some(threads), Some((mean, stddev))) =
        (spread_threads(draft, report), report.events_spread)
    else {
        return;
    };
    let most = (mean + MEAN_ROUNDING) * (threads - 1.0).sqrt();
    if stddev > most + ROUNDING {
        let text = format!(
            "the events of {} deviate by {stddev:.2}, but with a mean of {mean:.1} by at most \
             {most:.1}",
            number_of(threads, "thread")
        );
        found.push(Broken::new(&text, &[Figure::Events]));
    }
}

/// The same of the threads' times in events, each of which is at most as long as the run: the
/// variance of figures up to B with the mean m is at most m (B - m). With a rate, they include time
/// that no thread spent.
fn times_of_threads(draft: &Draft, report: &Report, found: &mut Vec<Broken>) {
    let (Some(threads), Some((mean_s, stddev_s))) =
        (spread_threads(draft, report), report.time_spread)
    else {
        return;
    };
    let mut most_s = (mean_s + MEAN_ROUNDING) * (threads - 1.0).sqrt();
    let longest_s = longest_s(draft, report).filter(|_| draft.rate_per_s.is_none());
    if let Some(longest_s) = longest_s.filter(|longest_s| *longest_s >= mean_s) {
        most_s = most_s.min((mean_s * (longest_s - mean_s)).sqrt());
    }
    if stddev_s > most_s + ROUNDING {
        let text = format!(
            "the times of {} in events deviate by {stddev_s:.2} s, but with a mean of {mean_s:.1} \
             s by at most {most_s:.2} s",
            number_of(threads, "thread")
        );
        found.push(Broken::new(&text, &[Figure::Times]));
    }
}
