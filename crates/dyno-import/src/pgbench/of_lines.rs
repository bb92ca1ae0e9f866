//! Compares the progress lines with the report of the same run.

use dyno_core::text::{number_of, verb};

use super::counts;
use super::output::Output;
use super::progress::Point;
use super::record::times;

/// Lines are printed late, and their times have one decimal of a second.
pub(super) const LINE_S: f64 = 0.15;
/// Means have three decimals of a millisecond.
const ROUNDING_MS: f64 = 0.001;
/// Relative tolerance between means: pgbench reads the counters of its threads without a lock.
const TOLERANCE: f64 = 0.02;
/// Lines with less than this share of the transactions do not represent the mean of all.
const HELD: f64 = 0.5;

/// Counts of the lines that the report contradicts.
pub(super) fn counts(output: &Output, processed: u64, tps: f64) -> Vec<String> {
    type Pick = fn(&Point) -> Option<u64>;
    let kinds: [(&str, Pick, Option<u64>); 3] = [
        ("skipped transaction", |point| point.skipped, output.skipped),
        ("failed transaction", |point| point.failed, output.failed),
        ("retried transaction", |point| point.retried, output.retried),
    ];
    let more = |pick: Pick, all: Option<u64>| {
        let sum = sum(output, pick)?;
        Some((sum, all.filter(|all| sum > *all)?))
    };
    let wrong = |(what, pick, all): (&str, Pick, Option<u64>)| {
        let (sum, all) = more(pick, all)?;
        let sum = number_of(sum, what);
        Some(format!(
            "the progress lines have {sum}, but the report says {all}"
        ))
    };
    let mut found: Vec<String> = kinds.into_iter().filter_map(wrong).collect();
    found.extend(
        more(|point| point.retries, output.retries).map(|(sum, all)| {
            let noun = verb(sum, "retry", "retries");
            format!("the progress lines have {sum} {noun}, but the report says {all}")
        }),
    );
    found.extend(skipped_later(output, processed, tps));
    found
}

/// The sum over the lines; the report includes at least as many.
fn sum(output: &Output, pick: fn(&Point) -> Option<u64>) -> Option<u64> {
    let lines = output.points.iter().filter(|point| !point.left_out);
    let counts: Vec<u64> = lines.filter_map(pick).collect();
    (!counts.is_empty()).then(|| counts.into_iter().fold(0, u64::saturating_add))
}

/// The report has more skipped transactions than the lines and the time after the last line.
fn skipped_later(output: &Output, processed: u64, tps: f64) -> Option<String> {
    /// A transaction that lasts longer than this many standard deviations is very rare, and it
    /// would have to end just after the last line.
    const LONG: f64 = 6.0;
    let (all, contained) = (output.skipped?, sum(output, |point| point.skipped)?);
    let (mean_ms, stddev_ms) = output.latency_ms.zip(output.stddev_ms)?;
    let steps: Vec<f64> = times(output, None)
        .map(|(_, length_s, _)| length_s)
        .collect();
    let usual_s = dyno_stats::median(&steps)?;
    let is_gapless = steps.iter().all(|step| *step < usual_s * 1.5);
    let (limit_ms, _) = output.limit?;
    let time_s = output.duration_s.filter(|_| tps > 0.0 && is_gapless)?;
    let end_s = time_s.max(processed as f64 / tps);
    let rest_s = (end_s - steps.iter().sum::<f64>()).max(0.0);
    // Transactions are skipped once a client is free again after it was busy for long.
    let busy_s = (mean_ms + LONG * stddev_ms + limit_ms) / 1e3;
    let due_per_s = counts::most(output, processed) as f64 / time_s;
    let later = due_per_s * (rest_s + LINE_S + busy_s);
    (all as f64 > contained as f64 + later + 1.0).then(|| {
        let contained = number_of(contained, "skipped transaction");
        format!("the progress lines have {contained}, but the report says {all}")
    })
}

/// A figure of the lines: its mean over their transactions, and how well it is known.
struct Held {
    /// Transactions in the lines.
    count: f64,
    mean: f64,
    /// How far the mean may be off because the lines' lengths are rounded.
    rounding: f64,
    /// The highest rate of a line.
    most_per_s: f64,
}

impl Held {
    fn of(output: &Output, started: Option<f64>, pick: fn(&Point) -> Option<f64>) -> Option<Self> {
        let lines = times(output, started)
            .filter_map(|(_, length_s, point)| Some((point.tps, length_s, pick(point)?)));
        let lines: Vec<(f64, f64, f64)> = lines.collect();
        let count: f64 = lines.iter().map(|(tps, length_s, _)| tps * length_s).sum();
        let sum: f64 = lines
            .iter()
            .map(|(tps, length_s, ms)| tps * length_s * ms)
            .sum();
        let least = lines
            .iter()
            .fold(f64::INFINITY, |low, line| low.min(line.2));
        let most = lines.iter().fold(0.0, |high: f64, line| high.max(line.2));
        let shortest_s = lines
            .iter()
            .fold(f64::INFINITY, |low, line| low.min(line.1));
        (count > 0.0).then(|| Self {
            count,
            mean: sum / count,
            rounding: (most - least) * (LINE_S / shortest_s).min(1.0),
            most_per_s: lines.iter().fold(0.0, |high: f64, line| high.max(line.0)),
        })
    }

    /// The number of transactions that may not be in the lines: those after the last one.
    fn others(&self, output: &Output, processed: f64) -> f64 {
        let clients = f64::from(output.clients.unwrap_or(1));
        (processed - self.count).max(0.0) + 2.0 * LINE_S * self.most_per_s + clients
    }
}

/// A difference between a mean of the lines and of the report that the others cannot explain.
fn difference(
    output: &Output,
    (held, mean): (&Held, f64),
    processed: u64,
    explained: impl Fn(f64, f64) -> f64,
) -> bool {
    let all = processed as f64;
    let others = held.others(output, all);
    let own = all - others;
    let room = ROUNDING_MS + held.rounding + mean * TOLERANCE + explained(others, own);
    own >= all * HELD && (held.mean - mean).abs() > room
}

/// The mean latency of the lines differs from the report's by more than the transactions after the
/// last line can explain: with a standard deviation of `s`, the mean of all but `k` of `n` values
/// differs from that of all by at most `s √(k / (n - k))`.
pub(super) fn mean(output: &Output, started: Option<f64>, processed: u64) -> Option<String> {
    let (mean_ms, stddev_ms) = output.latency_ms.zip(output.stddev_ms)?;
    let contained = Held::of(output, started, |point| point.latency_ms)?;
    let explained = |others: f64, own: f64| stddev_ms * (others / own).sqrt();
    difference(output, (&contained, mean_ms), processed, explained).then(|| {
        format!(
            "the progress lines have a mean latency of {:.3} ms, but the report says \
             {mean_ms:.3} ms",
            contained.mean
        )
    })
}

/// The same for the lag behind the schedule, of which the maximum is known.
pub(super) fn lag(output: &Output, started: Option<f64>, processed: u64) -> Option<String> {
    let (mean_ms, longest_ms) = output.lag_ms?;
    let contained = Held::of(output, started, |point| point.lag_ms)?;
    let explained = |others: f64, own: f64| longest_ms * others / own;
    difference(output, (&contained, mean_ms), processed, explained).then(|| {
        format!(
            "the progress lines have a mean lag behind the schedule of {:.3} ms, but the report \
             says {mean_ms:.3} ms",
            contained.mean
        )
    })
}

/// Removes latencies that would keep more clients busy than there are, and says so. Transactions
/// that end during a line may have begun at any time before it, so the sum up to a line counts.
pub(super) fn leave_out_latencies(output: &mut Output, started: Option<f64>) -> Option<String> {
    let clients = f64::from(output.clients.filter(|clients| *clients > 0)?);
    let mut busy_s = 0.0;
    let mut wrong: Vec<(usize, f64)> = Vec::new();
    for (at_s, length_s, point) in times(output, started) {
        let Some(ms) = point.latency_ms else {
            continue;
        };
        let own_ms = ms - point.lag_ms.unwrap_or(0.0);
        // Rates have one decimal, and latencies three.
        let each = (own_ms - ROUNDING_MS).max(0.0) / 1e3;
        let own_s = (point.tps - 0.05).max(0.0) * length_s * each;
        let room_s = clients * (at_s + 2.0 * LINE_S) * (1.0 + TOLERANCE) + clients * each;
        match busy_s + own_s > room_s {
            true => wrong.push((point.line, point.tps * own_ms / 1e3)),
            false => busy_s += own_s,
        }
    }
    let &(line, busy) = wrong.first()?;
    let points = output.points.iter_mut();
    for point in points.filter(|point| wrong.iter().any(|(line, _)| *line == point.line)) {
        (point.latency_ms, point.stddev_ms, point.lag_ms) = (None, None, None);
    }
    let more = match wrong.len() {
        1 => String::new(),
        lines => format!(" (the first of {lines} such lines)"),
    };
    Some(format!(
        "the latency of the progress line {line}{more} keeps {busy:.1} clients busy, but there \
         were {clients}"
    ))
}
