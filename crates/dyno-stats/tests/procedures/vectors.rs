//! Checks each procedure against values of SciPy 1.17 and statsmodels, or of its definition.

use dyno_stats::autocorrelation::{autocorrelation, autocorrelation_time};
use dyno_stats::intervals::{mean_interval, ratio_interval};
use dyno_stats::multiple::holm;
use dyno_stats::quantiles::quantile;
use dyno_stats::stalls::{Run, STALL_SHARE, stalls};
use dyno_stats::steady::warm_up_end;
use dyno_stats::{jain, poisson_dispersion};

const A: [f64; 7] = [14.2, 15.1, 13.8, 16.0, 14.9, 15.5, 13.1];
const B: [f64; 9] = [16.4, 15.9, 17.2, 16.8, 18.1, 15.2, 16.6, 17.5, 19.0];

#[track_caller]
fn near(found: f64, expected: f64) {
    let error = (found - expected).abs();
    assert!(
        error <= 1e-9 * expected.abs().max(1e-3),
        "{found} is not {expected}"
    );
}

fn both() -> Vec<f64> {
    A.iter().chain(&B).copied().collect()
}

/// `t.interval(0.95, 6, mean(A), sem(A))`.
#[test]
fn student_interval() {
    let bounds = mean_interval(&A, 0.95).unwrap();
    near(bounds.low, 13.721_787_160_661_348);
    near(bounds.high, 15.592_498_553_624_365);
}

/// By the formula, with a quantile of Student's t from Simpson's rule on its density.
#[test]
fn ratio_of_means_on_logarithms() {
    let bounds = ratio_interval(&A, &B, 0.95).unwrap();
    near(bounds.low, 0.801_450_327_234);
    near(bounds.high, 0.930_367_619_408);
}

/// If an interval reaches 0, the ratio is unbounded on that side.
#[test]
fn a_ratio_of_values_that_may_be_zero_is_unbounded() {
    let rare = [0.0, 0.0, 3.0, 0.0, 1.0];
    let above = ratio_interval(&A, &rare, 0.95).unwrap();
    assert!(above.low > 0.0 && above.high == f64::INFINITY, "{above:?}");
    let below = ratio_interval(&rare, &A, 0.95).unwrap();
    assert!(below.low == 0.0 && below.high.is_finite(), "{below:?}");
    assert_eq!(ratio_interval(&A, &[0.0; 5], 0.95), None);
    let none = ratio_interval(&[0.0; 5], &A, 0.95).unwrap();
    assert_eq!((none.low, none.high), (0.0, 0.0));
}

/// `numpy.quantile`; type 7 is its default.
#[test]
fn quantiles() {
    let mut sorted = both();
    sorted.sort_by(f64::total_cmp);
    for (p, expected) in [
        (0.0, 13.1),
        (0.05, 13.625),
        (0.25, 15.05),
        (0.5, 15.95),
        (0.9, 17.8),
        (1.0, 19.0),
    ] {
        near(quantile(&sorted, p).unwrap(), expected);
    }
    near(dyno_stats::median(&both()).unwrap(), 15.95);
    near(dyno_stats::median(&A).unwrap(), 14.9);
}

/// `chi2.sf` of the index of dispersion.
#[test]
fn counts() {
    let test = poisson_dispersion(&[12, 15, 9, 11, 18, 14, 13, 10, 16, 12]).unwrap();
    near(test.statistic, 5.384_615_384_615_385);
    near(test.p, 0.400_850_277_637_174_7);
}

/// `statsmodels.stats.multitest.multipletests`.
#[test]
fn many_comparisons() {
    let p = [0.01, 0.04, 0.03, 0.005, 0.2];
    for (found, expected) in holm(&p).into_iter().zip([0.04, 0.09, 0.09, 0.025, 0.2]) {
        near(found, expected);
    }
}

/// `statsmodels.tsa.stattools.acf`.
#[test]
fn series() {
    let expected = [1.0, 0.267_670_78, 0.363_629_76, -0.038_393_76];
    for (lag, expected) in expected.into_iter().enumerate() {
        let found = autocorrelation(&both(), lag).unwrap();
        assert!((found - expected).abs() < 1e-8, "{found} at {lag}");
    }
}

#[test]
fn autocorrelation_time_of_a_long_wave_and_of_an_alternation() {
    let wave: Vec<f64> = (0..400).map(|i| (f64::from(i) / 30.0).sin()).collect();
    assert!(autocorrelation_time(&wave).unwrap() > 20.0);
    let alternation: Vec<f64> = (0..400).map(|i| f64::from(i % 2)).collect();
    assert!(autocorrelation_time(&alternation).unwrap() < 1.0);
}

#[test]
fn stalls_with_a_period_and_without() {
    let mut series = vec![1000.0; 100];
    for start in [10, 31, 50, 70, 91] {
        series[start] = 0.0;
        series[start + 1] = 40.0;
    }
    let found = stalls(&series, &series, STALL_SHARE).unwrap();
    let lengths: Vec<usize> = found.runs.iter().map(|run| run.length).collect();
    assert_eq!(lengths, [2; 5]);
    assert_eq!(
        found.runs[1],
        Run {
            start: 31,
            length: 2
        }
    );
    assert_eq!(found.period, Some(20.5));
    let mut series = vec![1000.0; 100];
    for start in [3, 9, 50, 52, 91] {
        series[start] = 50.0;
    }
    let found = stalls(&series, &series, STALL_SHARE).unwrap();
    assert_eq!((found.runs.len(), found.period), (5, None));
    series[0] = 50.1; // above a twentieth of the median
    let found = stalls(&series, &series, STALL_SHARE).unwrap();
    assert_eq!(found.runs.len(), 5);
}

#[test]
fn warm_up_ends_where_the_ramp_does() {
    let series: Vec<f64> = (0..100)
        .map(|i| f64::from(i.min(20)) * 50.0 + f64::from((i * 7) % 5))
        .collect();
    assert_eq!(warm_up_end(&series), 20);
    assert_eq!(warm_up_end(&[7.0; 50]), 0);
}

/// Jain, Chiu and Hawe: if k of n have it all, the index is k / n.
#[test]
fn fairness_index() {
    near(jain(&[5.0, 5.0, 0.0, 0.0, 0.0]).unwrap(), 0.4);
    assert_eq!(jain(&[0.0, 0.0]), None);
}
