use dyno_stats::Bounds;
use dyno_stats::intervals::{
    mean_interval, median_interval, median_ratio_interval, paired_ratio_interval,
    quantile_interval_correlated, ratio_interval,
};
use dyno_stats::quantiles::{quantile_interval, quantile_interval_of_counts};

use crate::covers;
use crate::simulate::{Source, TRIALS, intervals, share};

fn holds(bounds: Option<Bounds>, truth: f64) -> bool {
    bounds.is_some_and(|bounds| bounds.contains(truth))
}

#[test]
fn mean_of_few_values() {
    for n in [3, 10, 50] {
        covers(share(1, |source| {
            holds(mean_interval(&source.normals(n, 10.0, 2.0), 0.95), 10.0)
        }));
    }
}

/// This is why the correlated interval is needed.
#[test]
fn the_plain_interval_fails_on_series() {
    let covered = share(4, |source| {
        holds(
            mean_interval(&source.series(300, 0.8, 10.0, 2.0), 0.95),
            10.0,
        )
    });
    assert!(covered < 0.6, "covers in {covered}");
}

#[test]
fn median() {
    covers(share(5, |source| {
        let values: Vec<f64> = (0..100).map(|_| source.exponential()).collect();
        holds(median_interval(&values, 0.95), std::f64::consts::LN_2)
    }));
}

/// The 90 % quantile of a standard normal is 1.2816.
#[test]
fn quantile_of_series() {
    for (phi, n) in [(0.0, 400), (0.5, 600)] {
        covers(share(7, |source| {
            let series = source.series(n, phi, 0.0, 1.0);
            holds(
                quantile_interval_correlated(&series, 0.9, 0.95),
                1.281_551_565_544_6,
            )
        }));
    }
}

#[test]
fn quantile_of_values() {
    covers(share(8, |source| {
        let mut values = source.normals(300, 0.0, 1.0);
        values.sort_by(f64::total_cmp);
        holds(quantile_interval(&values, 0.9, 0.95), 1.281_551_565_544_6)
    }));
}

/// A histogram with buckets 0.1 wide, named by their upper ends: the quantile of the rounded values
/// is in the same bucket as the quantile. It is taken in the last tenth of an exponential.
#[test]
fn quantile_of_a_histogram() {
    let truth = (10.0 * 10f64.ln()).ceil() / 10.0;
    let covered = share(9, |source| {
        let mut counts = [0u64; 200];
        for _ in 0..500 {
            let bucket = (10.0 * source.exponential()) as usize;
            counts[bucket.min(199)] += 1;
        }
        let buckets: Vec<(f64, u64)> = (1..).map(|end| f64::from(end) / 10.0).zip(counts).collect();
        holds(quantile_interval_of_counts(&buckets, 0.9, 0.95), truth)
    });
    // Rounding to a bucket can only raise the coverage.
    assert!(covered >= 0.945, "covers in {covered}");
}

#[test]
fn ratio_of_means() {
    covers(share(10, |source| {
        let new = source.normals(12, 12.0, 2.0);
        let base = source.normals(8, 10.0, 1.0);
        holds(ratio_interval(&new, &base, 0.95), 1.2)
    }));
}

/// Three runs a side, which is usual: equal ones, some with outliers, and some with one side twice
/// as variable.
#[test]
fn ratio_of_three_runs_a_side() {
    let outliers = |source: &mut Source| -> Vec<f64> {
        let double = |source: &mut Source| source.exponential() - source.exponential();
        (0..3).map(|_| 100.0 + double(source)).collect()
    };
    for (seed, deviation) in [(21, 1.0), (22, 2.0)] {
        covers(share(seed, |source| {
            let new = source.normals(3, 100.0, deviation);
            let base = source.normals(3, 100.0, 1.0);
            holds(ratio_interval(&new, &base, 0.95), 1.0)
        }));
    }
    covers(share(23, |source| {
        let (new, base) = (outliers(source), outliers(source));
        holds(ratio_interval(&new, &base, 0.95), 1.0)
    }));
}

#[test]
fn paired_ratios() {
    covers(share(12, |source| {
        let ratios = source.normals(8, 0.97, 0.03);
        holds(paired_ratio_interval(&ratios, 0.95), 0.97)
    }));
}

fn skewed(source: &mut Source, n: usize, scale: f64) -> Vec<f64> {
    (0..n)
        .map(|_| scale * (0.4 * source.normal()).exp())
        .collect()
}

#[test]
fn ratio_of_medians() {
    covers(share(13, |source| {
        let new = skewed(source, 80, 3.0);
        let base = skewed(source, 120, 2.0);
        holds(median_ratio_interval(&new, &base, 0.95), 1.5)
    }));
}

/// Runs a thousand or ten thousand trials.
fn all_hold(trials: usize) {
    for case in intervals::cases() {
        case.hold(trials);
    }
}

#[test]
fn of_series() {
    all_hold(300);
}

#[test]
#[ignore = "minutes"]
fn of_series_in_full() {
    all_hold(TRIALS);
}
