//! Quantiles and descriptive statistics.

use crate::sorted;

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
