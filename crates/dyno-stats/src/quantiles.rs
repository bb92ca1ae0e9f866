//! Quantiles and descriptive statistics.

use crate::distributions::normal_quantile;
use crate::{Bounds, proper, sorted};

/// Descriptive statistics of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Description {
    /// Number of values.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation with n - 1; 0 for a single value.
    pub sd: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// The 50 % quantile.
    pub median: f64,
    /// The 5 % quantile.
    pub p5: f64,
    /// The 95 % quantile.
    pub p95: f64,
    /// The 25 % quantile.
    pub q1: f64,
    /// The 75 % quantile.
    pub q3: f64,
    /// q3 - q1.
    pub iqr: f64,
    /// Coefficient of variation, sd / |mean|; `None` for a mean of 0 or a single value.
    pub cv: Option<f64>,
}

/// Describes a sample; `None` if it is empty or has values that are not finite.
pub fn describe(values: &[f64]) -> Option<Description> {
    let sorted = sorted(values)?;
    let at = |p| interpolated(&sorted, p);
    let mean = mean(values)?;
    let sd = variance(values).map_or(0.0, f64::sqrt);
    let (q1, q3) = (at(0.25), at(0.75));
    Some(Description {
        n: sorted.len(),
        mean,
        sd,
        min: sorted[0],
        max: sorted[sorted.len() - 1],
        median: at(0.5),
        p5: at(0.05),
        p95: at(0.95),
        q1,
        q3,
        iqr: q3 - q1,
        cv: (sorted.len() > 1 && mean != 0.0).then(|| sd / mean.abs()),
    })
}

/// The arithmetic mean; `None` for an empty sample or values that are not finite.
pub fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() || !crate::all_finite(values) {
        return None;
    }
    let n = values.len() as f64;
    let first = values.iter().sum::<f64>() / n;
    // A second pass restores the precision that rounding costs the first.
    Some(first + values.iter().map(|value| value - first).sum::<f64>() / n)
}

/// The variance with n - 1; `None` for fewer than two values or values that are not finite.
pub fn variance(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some(squares / (values.len() - 1) as f64)
}

/// The median: the middle value, or the mean of the two in the middle.
pub fn median(values: &[f64]) -> Option<f64> {
    if values.is_empty() || !crate::all_finite(values) {
        return None;
    }
    let mut values = values.to_vec();
    let middle = values.len() / 2;
    let odd = values.len() % 2 == 1;
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if odd {
        return Some(*upper);
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(lower.midpoint(*upper))
}

/// The quantile of an ascending sample for a probability in [0, 1], interpolated between the two
/// nearest values (type 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages").
pub fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&p) || !ends_finite(sorted) {
        return None;
    }
    Some(interpolated(sorted, p))
}

/// An interval for a quantile from two order statistics of an ascending sample, valid for any
/// distribution (Conover, "Practical Nonparametric Statistics", chapter 3).
///
/// The quantile is outside either end with at most half of 1 - `confidence`, so small samples give
/// more than the requested confidence. `None` if the sample is too small to reach it.
pub fn quantile_interval(sorted: &[f64], p: f64, confidence: f64) -> Option<Bounds> {
    if !ends_finite(sorted) {
        return None;
    }
    let (low, high) = ranks(sorted.len() as u64, p, confidence)?;
    Some(Bounds {
        low: sorted[low as usize - 1],
        high: sorted[high as usize - 1],
    })
}

/// [`quantile_interval`] of a histogram: `(value, count)` of its buckets, in ascending values.
pub fn quantile_interval_of_counts(
    buckets: &[(f64, u64)],
    p: f64,
    confidence: f64,
) -> Option<Bounds> {
    let total: u64 = buckets.iter().map(|&(_, count)| count).sum();
    let (low, high) = ranks(total, p, confidence)?;
    let low = value_at_rank(buckets, low)?;
    let high = value_at_rank(buckets, high)?;
    (low.is_finite() && high.is_finite()).then_some(Bounds { low, high })
}

/// The quantile of a histogram: the value of the bucket with the event of rank ceil(p n), for `p`
/// in [0, 1]; `None` for an empty histogram.
pub fn quantile_of_counts(buckets: &[(f64, u64)], p: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&p) {
        return None;
    }
    let total: u64 = buckets.iter().map(|&(_, count)| count).sum();
    value_at_rank(buckets, ((p * total as f64).ceil() as u64).max(1))
}

fn value_at_rank(buckets: &[(f64, u64)], rank: u64) -> Option<f64> {
    let mut seen = 0;
    for &(value, count) in buckets {
        seen += count;
        if seen >= rank {
            return Some(value);
        }
    }
    None
}

fn ends_finite(sorted: &[f64]) -> bool {
    matches!((sorted.first(), sorted.last()), (Some(first), Some(last))
        if first.is_finite() && last.is_finite())
}

/// Type 7 quantile of a non-empty sample.
pub(crate) fn interpolated(sorted: &[f64], p: f64) -> f64 {
    let position = (sorted.len() - 1) as f64 * p;
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    let share = position - below as f64;
    sorted[below] + share * (sorted[above] - sorted[below])
}

/// Above this number of events the normal approximation of the binomial is exact to a rank or two.
const BINOMIAL_EVENTS: u64 = 1_000_000_000;

/// The ranks (from 1) of the order statistics that bound a quantile: the largest `low` with
/// P(B < low) and the smallest `high` with P(B >= high) at most half of 1 - `confidence`, where B
/// is binomial.
fn ranks(n: u64, p: f64, confidence: f64) -> Option<(u64, u64)> {
    if n == 0 || !proper(p) || !proper(confidence) {
        return None;
    }
    let tail = (1.0 - confidence) / 2.0;
    let (low, high) = if n > BINOMIAL_EVENTS {
        let mean = n as f64 * p;
        let reach = normal_quantile(1.0 - tail) * (mean * (1.0 - p)).sqrt();
        (
            (mean - reach).floor() as u64,
            (mean + reach).ceil() as u64 + 1,
        )
    } else {
        let (first, weights) = binomial_weights(n, p);
        let limit = tail * weights.iter().sum::<f64>();
        let below = within(weights.iter(), limit);
        let above = within(weights.iter().rev(), limit);
        (first + below, first + weights.len() as u64 - above)
    };
    (low >= 1 && high <= n && low < high).then_some((low, high))
}

/// How many leading weights have a sum of at most `limit`.
fn within<'a>(weights: impl Iterator<Item = &'a f64>, limit: f64) -> u64 {
    let mut sum = 0.0;
    weights
        .take_while(|&&weight| {
            sum += weight;
            sum <= limit
        })
        .count() as u64
}

/// The binomial probabilities up to a common factor, without negligible ones, and the outcome that
/// the first belongs to. Ratios of neighbours need no special function.
fn binomial_weights(n: u64, p: f64) -> (u64, Vec<f64>) {
    const NEGLIGIBLE: f64 = 1e-20;
    let mode = (((n + 1) as f64 * p).floor() as u64).min(n);
    let odds = p / (1.0 - p);
    let mut weights = Vec::new();
    let (mut k, mut weight) = (mode, 1.0);
    while k > 0 && weight > NEGLIGIBLE {
        weight *= k as f64 / ((n - k + 1) as f64 * odds);
        k -= 1;
        weights.push(weight);
    }
    let first = k;
    weights.reverse();
    weights.push(1.0);
    (k, weight) = (mode, 1.0);
    while k < n && weight > NEGLIGIBLE {
        weight *= (n - k) as f64 * odds / (k + 1) as f64;
        k += 1;
        weights.push(weight);
    }
    (first, weights)
}
