//! Finds out whether a series is steady: its warm-up, drift and swings.

use crate::{all_finite, mean};

/// Values in a batch of [`warm_up_end`].
const BATCH: usize = 5;

/// The end of the warm-up: the index, a multiple of five, from which the rest has the smallest
/// standard error of its mean, computed from means of five (MSER-5: White, Cobb and Spratt, "A
/// Comparison of Five Steady-State Truncation Heuristics for Simulation").
///
/// At most half of the series counts as warm-up; a result of half means that it never ended.
/// For pure noise the answer is small but need not be 0. It is 0 for a series that is too short.
pub fn warm_up_end(series: &[f64]) -> usize {
    if !all_finite(series) {
        return 0;
    }
    let batches: Vec<f64> = series
        .chunks_exact(BATCH)
        .map(|batch| batch.iter().sum::<f64>() / BATCH as f64)
        .collect();
    // Backwards from the end, so that sums grow by one batch at a time (Welford's recurrence).
    let (mut n, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (start, batch) in batches.iter().enumerate().rev() {
        n += 1.0;
        let step = batch - mean;
        mean += step / n;
        squares += step * (batch - mean);
        let error = squares / (n * n);
        if start <= batches.len() / 2 && error <= best.0 {
            best = (error, start);
        }
    }
    best.1 * BATCH
}

/// Kendall's tau of a series against time. It is 1 if each value is larger than those before it, -1
/// if each is smaller, and near 0 without a trend. The shape of the trend does not matter. Ties
/// count for neither side (tau-a). A long series is compared as [`TAU_PARTS`] means of parts of
/// equal length. `None` for fewer than two values. Source: Maurice Kendall, "A New Measure of Rank
/// Correlation".
pub fn tau(series: &[f64]) -> Option<f64> {
    let length = series.len().div_ceil(TAU_PARTS).max(1);
    let parts: Vec<f64> = series.chunks_exact(length).filter_map(mean).collect();
    if parts.len() < 2 {
        return None;
    }
    let pairs = parts
        .iter()
        .enumerate()
        .flat_map(|(at, one)| parts[at + 1..].iter().map(move |other| other - one));
    let (sum, count) = pairs.fold((0.0, 0.0), |(sum, count), step| {
        let order = if step == 0.0 { 0.0 } else { step.signum() };
        (sum + order, count + 1.0)
    });
    Some(sum / count)
}

/// Values in a part that [`swing`] looks at.
const PART: usize = 20;

/// Fewer parts do not show swings.
const PARTS_MIN: usize = 30;

/// The largest mean square of the steps from part to part, divided by twice the variance of the
/// parts (von Neumann, "Distribution of the Ratio of the Mean Square Successive Difference to the
/// Variance"). The ratio is 1 for independent parts, 0.7 for an autoregression of single values
/// with a coefficient of 0.9, and 0.2 for a sine of ten parts.
const RATIO_MAX: f64 = 0.3;

/// The size of slow swings, whose periods are between some ten parts of twenty values and the
/// length of the series. It is the distance between the 5 % and the 95 % quantile of the parts, as
/// a share of the mean. It is 0 if successive parts vary as noise does, however large the noise is.
/// `None` for fewer than 600 values, and for a mean that is not positive.
pub fn swing(series: &[f64]) -> Option<f64> {
    let parts: Vec<f64> = series.chunks_exact(PART).filter_map(mean).collect();
    let middle = mean(&parts).filter(|mean| *mean > 0.0)?;
    if parts.len() < PARTS_MIN {
        return None;
    }
    let squares: f64 = parts.iter().map(|part| (part - middle).powi(2)).sum();
    let steps: f64 = parts
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).powi(2))
        .sum();
    if steps > RATIO_MAX * 2.0 * squares || squares <= 0.0 {
        return Some(0.0);
    }
    let sorted = crate::sorted(&parts)?;
    let at = |share: f64| crate::quantiles::interpolated(&sorted, share);
    Some((at(0.95) - at(0.05)) / middle)
}

/// The number of parts that [`tau`] compares. A verdict has time for no more than their 7140 pairs.
pub const TAU_PARTS: usize = 120;

#[cfg(test)]
mod tests {
    use super::{swing, tau};

    #[test]
    fn detects_slow_swings_and_not_noise() {
        let noise = |at: usize| ((at * 7919) % 401) as f64 - 200.0;
        let noisy: Vec<f64> = (0..3600).map(|at| 1000.0 + 2.0 * noise(at)).collect();
        assert_eq!(swing(&noisy), Some(0.0));
        for period in [200.0, 450.0, 900.0] {
            let angle = |at: usize| at as f64 / period * std::f64::consts::TAU;
            let swings: Vec<f64> = (0..3600)
                .map(|at| 1000.0 + 200.0 * angle(at).sin() + 0.1 * noise(at))
                .collect();
            let found = swing(&swings).unwrap_or_default();
            assert!((0.3..0.45).contains(&found), "{period}: {found}");
        }
        assert_eq!(swing(&noisy[..500]), None);
    }

    #[test]
    fn tau_depends_on_the_order_and_not_on_the_shape() {
        let curve: Vec<f64> = (1..=15).map(|step| 1000.0 / f64::from(step)).collect();
        assert_eq!(tau(&curve), Some(-1.0));
        assert_eq!(tau(&[1.0, 2.0, 2.0, 3.0]), Some(5.0 / 6.0));
        assert_eq!(tau(&[5.0; 9]), Some(0.0));
        assert_eq!(tau(&[1.0]), None);
        // If one of four values is out of place, five pairs are in order and one is not.
        assert_eq!(tau(&[1.0, 3.0, 2.0, 4.0]), Some(4.0 / 6.0));
        let long: Vec<f64> = (0..100_000).map(f64::from).collect();
        assert_eq!(tau(&long), Some(1.0));
    }
}
