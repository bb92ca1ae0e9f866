//! Tests whether counts are those of a Poisson process.

use crate::distributions::chi_square_upper;

/// The outcome of a test of counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dispersion {
    /// (n - 1) times the variance over the mean of the counts.
    pub statistic: f64,
    /// The probability of a statistic at least as extreme in a Poisson process.
    pub p: f64,
}

/// Whether counts in equal intervals are those of a Poisson process of constant rate, by the index
/// of dispersion, which is variance over mean (Cox and Lewis, "The Statistical Analysis of Series
/// of Events", chapter 6).
///
/// The statistic is (n - 1) times the index, a chi-square; divided by the degrees of freedom it is
/// above 1 for bursts and below 1 for regular arrivals, and either makes p small. `None` for fewer
/// than two intervals or without an event.
pub fn poisson_dispersion(counts: &[u64]) -> Option<Dispersion> {
    let values: Vec<f64> = counts.iter().map(|&count| count as f64).collect();
    let variance = crate::quantiles::variance(&values)?;
    let mean = crate::mean(&values)?;
    if mean <= 0.0 {
        return None;
    }
    let degrees = (counts.len() - 1) as f64;
    let statistic = degrees * variance / mean;
    let upper = chi_square_upper(statistic, degrees);
    Some(Dispersion {
        statistic,
        p: (2.0 * upper.min(1.0 - upper)).min(1.0),
    })
}
