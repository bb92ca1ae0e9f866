//! Checks a log of sums (`--aggregate-interval`) for contradictions.

use dyno_core::text::number_of;

use super::output::Output;
use super::transactions::Sum;

/// Relative tolerance of sums: they are printed in full, but sums of squares exceed the digits of a
/// floating-point number.
const ROUNDING: f64 = 1e-6;
/// Tolerance between the time of the log and the report's: a share, and seconds.
const LENGTH_TOLERANCE: (f64, f64) = (0.05, 2.0);
/// The report's longest lag has three decimals of a millisecond.
const LAG_ROUNDING_MS: f64 = 0.001;
/// Tolerance between the deviation of the log and the report's: a share, and milliseconds. Both are
/// of the same times, but versions may round them or read the clock again.
const DEVIATION_TOLERANCE: (f64, f64) = (0.05, 0.01);

/// Why a log cannot be true, or be of the report's run.
pub(super) fn contradiction(sums: &[Sum], output: &Output) -> Option<String> {
    sums.iter()
        .find_map(itself)
        .or_else(|| report(sums, output))
}

/// The printed figures of one distribution, in microseconds.
struct Spread {
    sum: f64,
    squares: f64,
    min: f64,
    max: f64,
}

/// Why a line contradicts itself.
fn itself(line: &Sum) -> Option<String> {
    let count = line.count;
    let latency = Spread {
        sum: line.latency_us,
        squares: line.latency_us_squared,
        min: line.min_us,
        max: line.max_us,
    };
    let lag = line
        .lag_us
        .zip(line.lag_more)
        .map(|(sum, [squares, min, max])| Spread {
            sum,
            squares,
            min,
            max,
        });
    let what = [("latencies", Some(latency)), ("lags", lag)];
    let wrong = what.into_iter().find_map(|(what, spread)| {
        let why = spread?.wrong(count as f64)?;
        Some(format!("the {what} {why}"))
    })?;
    Some(format!(
        "of the {count} transactions from {} s since 1970, {wrong}",
        line.from_s
    ))
}

impl Spread {
    /// Why this number of values cannot have these figures.
    fn wrong(&self, count: f64) -> Option<String> {
        let Self {
            sum,
            squares,
            min,
            max,
        } = *self;
        if count == 0.0 || (sum == 0.0 && max == 0.0) {
            return None;
        }
        let above = |low: f64, high: f64| low > high * (1.0 + ROUNDING) + 1.0;
        let mean = sum / count;
        // Each value x has (x - min) (max - x) >= 0.
        let squares_most = (min + max) * sum - count * min * max;
        // The difference of large products has their rounding error.
        let room = (min + max) * (1.0 + ROUNDING * sum);
        match () {
            () if min > max => Some(format!(
                "have the minimum {min} µs above the maximum {max} µs"
            )),
            () if above(sum, count * max) => Some(format!(
                "have the mean {mean:.0} µs above the maximum {max} µs"
            )),
            () if above(count * min, sum) => Some(format!(
                "have the mean {mean:.0} µs below the minimum {min} µs"
            )),
            () if above(sum * mean, squares) => {
                Some("have a sum of squares that is too small for their mean".to_owned())
            }
            () if above(squares, squares_most + room) => Some(
                "have a sum of squares that is too large for their minimum, mean and maximum"
                    .to_owned(),
            ),
            () => None,
        }
    }
}

/// Why a log contradicts the report. It may lack the last time and files of other threads.
fn report(sums: &[Sum], output: &Output) -> Option<String> {
    let processed = output.processed?;
    let count = total(sums, |sum| sum.count);
    if count > processed {
        let count = number_of(count, "transaction");
        return Some(format!(
            "the log has {count}, more than the {processed} of the report"
        ));
    }
    let skipped = total(sums, |sum| sum.skipped.unwrap_or(0));
    if let Some(printed) = output.skipped.filter(|printed| skipped > *printed) {
        let skipped = number_of(skipped, "skipped transaction");
        return Some(format!("the log has {skipped}, but the report {printed}"));
    }
    let lags = sums.iter().filter_map(|sum| sum.lag_more);
    let lag_ms = lags.fold(0.0, |most: f64, [.., max]| most.max(max)) / 1e3;
    if let Some((_, longest_ms)) = output.lag_ms
        && lag_ms > longest_ms + LAG_ROUNDING_MS
    {
        return Some(format!(
            "the longest lag behind the schedule is {lag_ms:.3} ms in the log, but \
             {longest_ms:.3} ms in the report"
        ));
    }
    let add = |pick: fn(&Sum) -> f64| sums.iter().map(pick).sum::<f64>();
    let (latency, squares) = (add(|sum| sum.latency_us), add(|sum| sum.latency_us_squared));
    length(sums, output, processed).or_else(|| deviation(count, latency, squares, output))
}

/// Checks the deviation of a log with exactly the report's transactions by their sum in
/// microseconds, and the sum of their squares. Old reports include skipped transactions.
pub(super) fn deviation(count: u64, sum: f64, squares: f64, output: &Output) -> Option<String> {
    let skips = output.skipped.is_some_and(|skipped| skipped > 0);
    let is_all = count > 0 && output.processed == Some(count) && !skips;
    let printed_ms = output.stddev_ms.filter(|_| is_all)?;
    let mean = sum / count as f64;
    let ms = (squares / count as f64 - mean * mean).max(0.0).sqrt() / 1e3;
    let (share, room_ms) = DEVIATION_TOLERANCE;
    ((ms - printed_ms).abs() > share * ms.max(printed_ms) + room_ms).then(|| {
        format!(
            "the latencies deviate by {ms:.3} ms in the log, but by {printed_ms:.3} ms in the \
             report"
        )
    })
}

fn total(sums: &[Sum], pick: fn(&Sum) -> u64) -> u64 {
    sums.iter().map(pick).fold(0, u64::saturating_add)
}

/// The times begin with the run, truncated to a second, and end with it.
fn length(sums: &[Sum], output: &Output, processed: u64) -> Option<String> {
    let from_s = sums.iter().map(|sum| sum.from_s).min()?;
    let to_s = sums.iter().map(|sum| sum.from_s).max()?;
    let tps = output.tps_with_connecting.or(output.tps);
    let report_s = processed as f64 / tps.filter(|tps| *tps > 0.0)?;
    let log_s = (to_s - from_s) as f64;
    let (share, seconds) = LENGTH_TOLERANCE;
    (log_s > report_s * (1.0 + share) + seconds).then(|| {
        format!(
            "the log is at least {log_s:.0} s long, but the report's figures imply {report_s:.1} s"
        )
    })
}
