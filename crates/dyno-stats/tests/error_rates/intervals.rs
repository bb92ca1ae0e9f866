use dyno_stats::Bounds;
use dyno_stats::intervals::{mean_interval, quantile_interval_correlated, ratio_interval};

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
