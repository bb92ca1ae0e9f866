//! Confidence intervals by resampling, for statistics that have no formula.
//!
//! 1,000 to 2,000 `resamples` are enough for a 95 % interval; fewer than 2 / (1 - confidence)
//! give `None`.

use crate::autocorrelation::autocorrelation_time;
use crate::distributions::{
    normal_cdf, normal_quantile, normal_two_sided, student_two_sided_quantile,
};
use crate::intervals::{Bounds, SERIES_MIN};
use crate::quantiles::interpolated;
use crate::random::Random;
use crate::{all_finite, median, proper, sorted};

/// The bias-corrected and accelerated interval of a statistic of independent values (Efron and
/// Tibshirani, "An Introduction to the Bootstrap", chapter 14).
///
/// The confidence is widened for the sample size (Hesterberg, "What Teachers Should Know About the
/// Bootstrap", on expanded percentile intervals). The acceleration is computed by leaving out one
/// value at a time, so the statistic is computed `resamples` + n times, on values in no particular
/// order. `None` for fewer than three values, and if a value or a statistic is not finite.
pub fn bca(
    values: &[f64],
    statistic: impl Fn(&[f64]) -> f64,
    confidence: f64,
    resamples: usize,
    seed: u64,
) -> Option<Bounds> {
    if values.len() < 3 || !all_finite(values) || !enough(resamples, confidence) {
        return None;
    }
    let mut random = Random::new(seed);
    let mut resample = vec![0.0; values.len()];
    let drawn: Vec<f64> = (0..resamples)
        .map(|_| {
            for slot in &mut resample {
                *slot = values[random.below(values.len())];
            }
            statistic(&resample)
        })
        .collect();
    let left_out: Vec<f64> = (0..values.len())
        .map(|index| {
            resample.clear();
            resample.extend_from_slice(&values[..index]);
            resample.extend_from_slice(&values[index + 1..]);
            statistic(&resample)
        })
        .collect();
    let acceleration = acceleration(&left_out)?;
    let confidence = widened(confidence, values.len());
    corrected(statistic(values), &drawn, acceleration, confidence)
}

/// The bias-corrected interval of median(new) / median(base) of two independent samples of
/// independent values. Medians are too coarse for an acceleration, so it is 0. `None` for fewer
/// than five values a side, or when a resampled median of `base` is 0.
pub fn ratio_of_medians(
    new: &[f64],
    base: &[f64],
    confidence: f64,
    resamples: usize,
    seed: u64,
) -> Option<Bounds> {
    if new.len() < 5 || base.len() < 5 || !enough(resamples, confidence) {
        return None;
    }
    let (new, base) = (sorted(new)?, sorted(base)?);
    let mut random = Random::new(seed);
    let mut counts = vec![0u32; new.len().max(base.len())];
    let drawn: Vec<f64> = (0..resamples)
        .map(|_| {
            let above = resampled_median(&new, &mut counts, &mut random);
            above / resampled_median(&base, &mut counts, &mut random)
        })
        .collect();
    let estimate = median(&new)? / median(&base)?;
    let size = new.len().min(base.len());
    corrected(estimate, &drawn, 0.0, widened(confidence, size))
}

/// The median of n draws with replacement from the ascending sample of n values. Draws are counted
/// per rank to avoid sorting.
fn resampled_median(sorted: &[f64], counts: &mut [u32], random: &mut Random) -> f64 {
    let n = sorted.len();
    counts[..n].fill(0);
    for _ in 0..n {
        counts[random.below(n)] += 1;
    }
    // The ranks (from 0) of the middle value or values.
    let (lower, upper) = ((n - 1) / 2, n / 2);
    let mut seen = 0;
    let mut low = None;
    for (value, &count) in sorted.iter().zip(&counts[..n]) {
        seen += count as usize;
        if seen > lower && low.is_none() {
            low = Some(*value);
        }
        if seen > upper {
            return low.map_or(*value, |low| low + (value - low) / 2.0);
        }
    }
    sorted[n - 1]
}

/// An interval for a statistic of a series from circular moving blocks (Politis and Romano, "A
/// Circular Block-Resampling Procedure for Stationary Data").
///
/// `block` is the length of a block. By default it is derived from the autocorrelation time. A few
/// blocks understate the spread, so the percentiles are stretched about the estimate by the ratio
/// of Student's t for the number of blocks to the normal quantile. `None` for fewer than ten
/// values, for a series shorter than two blocks, and if a statistic is not finite.
pub fn moving_block(
    series: &[f64],
    statistic: impl Fn(&[f64]) -> f64,
    block: Option<usize>,
    confidence: f64,
    resamples: usize,
    seed: u64,
) -> Option<Bounds> {
    let n = series.len();
    if n < SERIES_MIN || !all_finite(series) || !enough(resamples, confidence) {
        return None;
    }
    let block = block.unwrap_or_else(|| block_length(series));
    if block == 0 || block > n / 2 {
        return None;
    }
    let mut random = Random::new(seed);
    let mut resample = Vec::with_capacity(n + block);
    let mut drawn: Vec<f64> = (0..resamples)
        .map(|_| {
            resample.clear();
            while resample.len() < n {
                let start = random.below(n);
                let whole = (start + block).min(n);
                resample.extend_from_slice(&series[start..whole]);
                resample.extend_from_slice(&series[..block - (whole - start)]);
            }
            statistic(&resample[..n])
        })
        .collect();
    let estimate = statistic(series);
    if !estimate.is_finite() || !all_finite(&drawn) {
        return None;
    }
    drawn.sort_unstable_by(f64::total_cmp);
    let blocks = n as f64 / block as f64;
    let stretch = student_two_sided_quantile(confidence, blocks - 1.0)
        / -normal_quantile((1.0 - confidence) / 2.0)
        * (blocks / (blocks - 1.0)).sqrt();
    let at = |p| estimate + stretch * (interpolated(&drawn, p) - estimate);
    Some(Bounds {
        low: at((1.0 - confidence) / 2.0),
        high: at((1.0 + confidence) / 2.0),
    })
}

/// Three times the length that balances two errors. Short blocks have a bias of (t - 1 / t) / (2 b)
/// of the variance, where t is the autocorrelation time. A few long blocks have a spread, which
/// grows with the third root of n (Kunsch, "The Jackknife and the Bootstrap for General Stationary
/// Observations"). The balance minimises the error of the variance, but only the bias reduces
/// coverage, because Student's t compensates for the spread.
fn block_length(series: &[f64]) -> usize {
    let time = autocorrelation_time(series).unwrap_or(1.0).max(1.0);
    let bias = (time - 1.0 / time) / 2.0;
    let block = (3.0 * (bias * bias * series.len() as f64).cbrt()).ceil();
    (block as usize).clamp(1, (series.len() / 8).max(1))
}

fn enough(resamples: usize, confidence: f64) -> bool {
    proper(confidence) && resamples as f64 >= 2.0 / (1.0 - confidence)
}

/// The confidence that corrects two errors: resamples of n values spread too little by the root of
/// (n - 1) / n, and the normal quantile is smaller than Student's t (Hesterberg, see [`bca`]).
fn widened(confidence: f64, n: usize) -> f64 {
    let n = n as f64;
    let reach = (n / (n - 1.0)).sqrt() * student_two_sided_quantile(confidence, n - 1.0);
    1.0 - normal_two_sided(reach)
}

/// The skewness of the influence of single values; 0 if no value has any.
fn acceleration(left_out: &[f64]) -> Option<f64> {
    let mean = crate::mean(left_out)?;
    let (mut squares, mut cubes) = (0.0, 0.0);
    for value in left_out {
        let influence = mean - value;
        squares += influence * influence;
        cubes += influence * influence * influence;
    }
    let acceleration = cubes / (6.0 * f64::powf(squares, 1.5));
    Some(if acceleration.is_finite() {
        acceleration
    } else {
        0.0
    })
}

/// The percentiles of the drawn statistics, corrected for bias and acceleration.
fn corrected(estimate: f64, drawn: &[f64], acceleration: f64, confidence: f64) -> Option<Bounds> {
    let sorted = sorted(drawn)?;
    if !estimate.is_finite() {
        return None;
    }
    let count = sorted.len() as f64;
    // Draws that equal the estimate count half, because statistics of few values often tie.
    let below = sorted.partition_point(|&value| value < estimate) as f64;
    let upto = sorted.partition_point(|&value| value <= estimate) as f64;
    let share = ((below + upto) / 2.0).clamp(0.5, count - 0.5) / count;
    let bias = normal_quantile(share);
    let at = |p: f64| {
        let z = bias + normal_quantile(p);
        let p = normal_cdf(bias + z / (1.0 - acceleration * z));
        interpolated(&sorted, p.clamp(0.0, 1.0))
    };
    Some(Bounds {
        low: at((1.0 - confidence) / 2.0),
        high: at((1.0 + confidence) / 2.0),
    })
}
