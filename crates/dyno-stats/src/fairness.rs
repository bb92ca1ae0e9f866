//! How evenly work or time was shared.

use crate::mean;

/// Jain's index of non-negative shares, in (0, 1]: 1 when all are equal, k/n when k of n have it
/// all (Jain, Chiu and Hawe, "A Quantitative Measure of Fairness and Discrimination"). `None` for
/// an empty list, and when all are 0.
pub fn jain(shares: &[f64]) -> Option<f64> {
    let mean = mean(shares)?;
    if shares.iter().any(|&share| share < 0.0) {
        return None;
    }
    let squares = shares
        .iter()
        .map(|share| (share / mean).powi(2))
        .sum::<f64>();
    (mean > 0.0).then(|| shares.len() as f64 / squares)
}
