use dyno_stats::bootstrap::{bca, moving_block, ratio_of_medians};
use dyno_stats::median;

use crate::covers;
use crate::simulate::{share, share_of};

fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn mean_by_bca() {
    covers(share(50, |source| {
        let values = source.normals(50, 10.0, 2.0);
        bca(&values, average, 0.95, 300, 1).is_some_and(|bounds| bounds.contains(10.0))
    }));
}

/// The standard deviation of a uniform distribution is the root of a twelfth.
#[test]
fn spread_by_bca() {
    covers(share_of(2_000, 51, |source| {
        let values: Vec<f64> = (0..60).map(|_| source.uniform()).collect();
        let spread = |values: &[f64]| {
            let mean = average(values);
            let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
            (squares / (values.len() - 1) as f64).sqrt()
        };
        bca(&values, spread, 0.95, 400, 1)
            .is_some_and(|bounds| bounds.contains((1.0f64 / 12.0).sqrt()))
    }));
}

#[test]
fn medians_of_two_samples() {
    covers(share(52, |source| {
        let mut sample = |n: usize, scale: f64| -> Vec<f64> {
            (0..n)
                .map(|_| scale * (0.3 * source.normal()).exp())
                .collect()
        };
        let (new, base) = (sample(41, 3.0), sample(31, 2.0));
        ratio_of_medians(&new, &base, 0.95, 300, 1).is_some_and(|bounds| bounds.contains(1.5))
    }));
}

#[test]
fn mean_of_series_by_blocks() {
    for (phi, n) in [(0.0, 100), (0.5, 300), (0.8, 600)] {
        covers(share(53, |source| {
            let series = source.series(n, phi, 10.0, 1.0);
            moving_block(&series, average, None, 0.95, 200, 1)
                .is_some_and(|bounds| bounds.contains(10.0))
        }));
    }
}

#[test]
fn median_of_series_by_blocks() {
    covers(share_of(1_000, 54, |source| {
        let series = source.series(300, 0.5, 10.0, 1.0);
        let middle = |values: &[f64]| median(values).unwrap_or(f64::NAN);
        moving_block(&series, middle, None, 0.95, 200, 1)
            .is_some_and(|bounds| bounds.contains(10.0))
    }));
}
