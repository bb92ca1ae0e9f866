//! Ratios, their intervals and their p-values.

use dyno_core::figures::NamedFigure;
use dyno_samples::assert_has;

use super::{metric, run, sides};
use crate::tests::summary;

/// A few errors in a few seconds: linear intervals went below 0, and contradicted their p-values.
#[test]
fn ratios_are_positive_and_agree_with_their_p_values() {
    let with_errors = |seed: u64, from: usize, errors: u64| {
        let mut run = run(1000.0, seed);
        for interval in run.intervals.iter_mut().skip(from).step_by(7) {
            interval.counters.errors = errors;
        }
        let sum = run
            .intervals
            .iter()
            .map(|interval| interval.counters.errors);
        summary(&mut run).totals.errors = sum.sum();
        run
    };
    for (base, new) in [(1, 40), (40, 1), (9, 9), (1, 2), (0, 9)] {
        let comparison = sides(&[with_errors(1, 0, base)], &[with_errors(2, 3, new)]);
        for metric in &comparison.metrics {
            let Some(low) = metric.low else { continue };
            assert!(low >= 0.0, "{}: {low}", metric.name);
            let high = metric.high.unwrap_or(f64::INFINITY);
            // Without variation there is no p-value.
            let Some(p) = metric.p else { continue };
            let holds_one = low <= 1.0 && high >= 1.0;
            assert_eq!(
                p > 0.05,
                holds_one,
                "{}: {low} to {high}, p {p}",
                metric.name
            );
            if metric.high.is_none() {
                assert_has(&metric.remark, "no upper bound");
            }
        }
    }
}

#[test]
fn seconds_without_attempts_have_no_errors_and_no_error_share() {
    let failing = |seed: u64| {
        let mut run = run(1000.0, seed);
        for interval in &mut run.intervals {
            interval.counters.errors = interval.counters.events / 20;
        }
        run
    };
    let mut locked = failing(2);
    for interval in &mut locked.intervals[10..20] {
        interval.counters.events = 0;
        interval.counters.errors = 0;
    }
    let sums = (locked.intervals.iter()).fold((0, 0), |sums, interval| {
        let counters = &interval.counters;
        (sums.0 + counters.events, sums.1 + counters.errors)
    });
    let totals = &mut summary(&mut locked).totals;
    (totals.events, totals.errors) = sums;
    let mut whole = failing(1);
    let errors = whole
        .intervals
        .iter()
        .map(|interval| interval.counters.errors);
    summary(&mut whole).totals.errors = errors.sum();
    let comparison = sides(&[whole], &[locked]);
    let errors = metric(&comparison, "errors");
    assert!((errors.ratio.unwrap() - 1.0).abs() < 0.01, "{errors:?}");
    assert!(
        errors.p.unwrap() > 0.05 && !errors.significant,
        "{errors:?}"
    );
}

#[test]
fn the_median_has_an_interval_within_one_run() {
    let comparison = sides(&[run(1000.0, 1)], &[run(800.0, 2)]);
    let median = metric(&comparison, "events, median second");
    let (low, high) = (median.low.unwrap(), median.high.unwrap());
    assert!(low < 0.8 && 0.8 < high && high < 1.0, "{median:?}");
}

/// A limit on `p99`, or a column with it, means the response time of an open loop.
#[test]
fn metrics_have_the_names_of_limits() {
    let comparison = sides(&[run(1000.0, 1)], &[run(1000.0, 2)]);
    let mut own = comparison.metrics[0].clone();
    own.name = "response time, p99".to_owned();
    assert!(own.is_called("latency, p99") && own.is_called("Response time, p99"));
    assert!(!own.is_called("latency, p95") && !own.is_called("events"));
    own.name = "latency, p99".to_owned();
    assert!(own.is_called("latency, P99") && !own.is_called("response time, p99"));
}

#[test]
fn figures_of_conditions_and_tables_are_metrics_with_the_same_direction() {
    let comparison = sides(&[run(1000.0, 1)], &[run(1000.0, 2)]);
    // Nobody compares a minimum.
    for name in NamedFigure::compared().filter(|name| *name != "min") {
        let figure = NamedFigure::find(name).unwrap();
        let metric = metric(&comparison, &figure.metric().unwrap());
        assert_eq!(Some(metric.better), figure.row.better, "{name}");
    }
}
