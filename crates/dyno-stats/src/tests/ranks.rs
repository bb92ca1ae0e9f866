//! Rank tests, which are robust against outliers.

use super::{Test, welch_correlated};
use crate::all_finite;
use crate::distributions::normal_two_sided;

/// The exact distribution is used up to this many values a side, as R's `wilcox.test` does.
const EXACT_VALUES: usize = 49;

/// Whether values of one sample tend to be larger than those of the other (Mann and Whitney, "On a
/// Test of Whether one of Two Random Variables is Stochastically Larger than the Other").
///
/// The statistic is U of `a`: the pairs in which `a` has the larger value, ties counting half.
/// Exact below 50 values a side without ties; otherwise normal, corrected for ties and continuity.
/// `None` for an empty sample, or when all values are equal.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<Test> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let pooled = Pooled::new(a, b)?;
    let (m, n) = (a.len() as f64, b.len() as f64);
    let statistic = pooled.ranks[..a.len()].iter().sum::<f64>() - m * (m + 1.0) / 2.0;
    let p = if pooled.ties == 0.0 && a.len().max(b.len()) <= EXACT_VALUES {
        exact_p(a.len(), b.len(), statistic)
    } else {
        let all = m + n;
        let variance = m * n / 12.0 * (all + 1.0 - pooled.ties / (all * (all - 1.0)));
        if variance <= 0.0 {
            return None;
        }
        let distance = ((statistic - m * n / 2.0).abs() - 0.5).max(0.0);
        normal_two_sided(distance / variance.sqrt())
    };
    Some(Test {
        statistic,
        degrees_of_freedom: None,
        p,
    })
}

/// [`mann_whitney`] for two series measured one after the other: Welch's test on the ranks of the
/// pooled values, with the variances of series.
pub fn mann_whitney_correlated(a: &[f64], b: &[f64]) -> Option<Test> {
    let pooled = Pooled::new(a, b)?;
    welch_correlated(&pooled.ranks[..a.len()], &pooled.ranks[a.len()..])
}

struct Pooled {
    /// Mean ranks from 1, the first sample first.
    ranks: Vec<f64>,
    /// The sum of t^3 - t over groups of t equal values.
    ties: f64,
}

impl Pooled {
    fn new(a: &[f64], b: &[f64]) -> Option<Self> {
        let values: Vec<f64> = a.iter().chain(b).copied().collect();
        if !all_finite(&values) {
            return None;
        }
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_unstable_by(|&i, &j| values[i].total_cmp(&values[j]));
        let mut ranks = vec![0.0; values.len()];
        let (mut ties, mut before) = (0.0, 0.0);
        for group in order.chunk_by(|&i, &j| values[i] == values[j]) {
            let count = group.len() as f64;
            ties += count * count * count - count;
            for &index in group {
                ranks[index] = before + (count + 1.0) / 2.0;
            }
            before += count;
        }
        Some(Self { ranks, ties })
    }
}

/// Twice the smaller tail of U without ties, at most 1.
fn exact_p(m: usize, n: usize, statistic: f64) -> f64 {
    let (m, n) = (m.min(n), m.max(n));
    // U is symmetric about mn/2: the lower tail of the smaller of U and mn - U.
    let u = statistic.round() as usize;
    let u = u.min(m * n - u.min(m * n));
    // In the Gaussian binomial coefficient, the coefficient of q^U is the number of ways to get U.
    // It is the product over i = 1..=m of (1 - q^(n+i)) / (1 - q^i), divided by C(m+n, i) as it
    // grows.
    let mut ways = vec![0.0; u + 1];
    ways[0] = 1.0;
    for i in 1..=m {
        for k in (n + i..=u).rev() {
            ways[k] -= ways[k - n - i];
        }
        for k in i..=u {
            ways[k] += ways[k - i];
        }
        let share = i as f64 / (n + i) as f64;
        for way in &mut ways {
            *way *= share;
        }
    }
    (2.0 * ways.iter().sum::<f64>()).min(1.0)
}
