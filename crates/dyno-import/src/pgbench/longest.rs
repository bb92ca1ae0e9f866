//! The longest transaction that a report allows.

use super::connecting;
use super::doubts::LATENCY_ROUNDING_MS;
use super::output::Output;

/// A transaction took no longer than this, in seconds; infinite if nothing in the report limits it.
pub(super) fn longest_s(output: &Output, processed: u64) -> f64 {
    let count = processed as f64;
    let Some(mean_ms) = output.latency_ms else {
        return f64::INFINITY;
    };
    // One took no longer than all together. Without another bound, runs of several clients may end
    // arbitrarily late: nothing says how long their last transactions took.
    let together_ms = count * mean_ms;
    // No latency includes the time to connect or that of failed transactions.
    if connecting::is_slow(output) || output.failed.is_some_and(|failed| failed > 0) {
        return together_ms / 1e3;
    }
    // A value of n is at most √(n - 1) standard deviations above their mean (Samuelson).
    let apart_ms = output.stddev_ms.map_or(f64::INFINITY, |stddev_ms| {
        mean_ms + (stddev_ms + LATENCY_ROUNDING_MS) * count.sqrt()
    });
    let none_above = output.limit.filter(|(_, above)| *above == 0);
    let limit_ms = none_above.map_or(f64::INFINITY, |(limit_ms, _)| limit_ms);
    let logged_ms = output.longest_ms.unwrap_or(f64::INFINITY);
    [apart_ms, limit_ms, logged_ms]
        .into_iter()
        .fold(together_ms, f64::min)
        / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_limit_the_longest_transaction() {
        let mut output = Output::default();
        assert_eq!(longest_s(&output, 10_000), f64::INFINITY);
        output.latency_ms = Some(5.0);
        assert_eq!(longest_s(&output, 10_000), 50.0);
        output.stddev_ms = Some(1.999);
        assert!((longest_s(&output, 10_000) - 0.205).abs() < 1e-9);
        output.limit = Some((150.0, 1));
        assert!((longest_s(&output, 10_000) - 0.205).abs() < 1e-9);
        output.limit = Some((150.0, 0));
        assert_eq!(longest_s(&output, 10_000), 0.15);
        output.longest_ms = Some(120.0);
        assert_eq!(longest_s(&output, 10_000), 0.12);
        output.failed = Some(1);
        assert_eq!(longest_s(&output, 10_000), 50.0);
        (output.failed, output.reconnecting_ms) = (None, Some(1.0));
        assert_eq!(longest_s(&output, 10_000), 50.0);
    }
}
