//! Tests how well counts and gaps fit a distribution.

use super::{Test, kolmogorov_smirnov};
use crate::distributions::chi_square_upper;
use crate::sorted;

/// Pearson's chi-square test of observed counts against expected ones; each of the `estimated`
/// parameters fitted to the same counts costs a degree of freedom.
///
/// The sums of both should be equal, and expected counts at least 5: the caller joins cells. `None`
/// if the lists differ in length, an expected count is not positive, or no degree is left.
pub fn chi_square(observed: &[u64], expected: &[f64], estimated: usize) -> Option<Test> {
    if observed.len() != expected.len()
        || observed.len() < estimated + 2
        || !expected
            .iter()
            .all(|count| count.is_finite() && *count > 0.0)
    {
        return None;
    }
    let statistic = observed
        .iter()
        .zip(expected)
        .map(|(&observed, expected)| (observed as f64 - expected).powi(2) / expected)
        .sum();
    let degrees = (observed.len() - 1 - estimated) as f64;
    Some(Test {
        statistic,
        degrees_of_freedom: Some(degrees),
        p: chi_square_upper(statistic, degrees),
    })
}

/// Whether counts in equal intervals are those of a Poisson process of constant rate, by the index
/// of dispersion, which is variance over mean (Cox and Lewis, "The Statistical Analysis of Series
/// of Events", chapter 6).
///
/// The statistic is (n - 1) times the index, a chi-square; divided by the degrees of freedom it is
/// above 1 for bursts and below 1 for regular arrivals, and either makes p small. `None` for fewer
/// than two intervals or without an event.
pub fn poisson_dispersion(counts: &[u64]) -> Option<Test> {
    let values: Vec<f64> = counts.iter().map(|&count| count as f64).collect();
    let variance = crate::quantiles::variance(&values)?;
    let mean = crate::mean(&values)?;
    if mean <= 0.0 {
        return None;
    }
    let degrees = (counts.len() - 1) as f64;
    let statistic = degrees * variance / mean;
    let upper = chi_square_upper(statistic, degrees);
    Some(Test {
        statistic,
        degrees_of_freedom: Some(degrees),
        p: (2.0 * upper.min(1.0 - upper)).min(1.0),
    })
}

/// Whether gaps between arrivals are exponential, as in a Poisson process.
///
/// With a known `rate` (arrivals per unit of the gaps), the gaps are compared with that
/// distribution. Without one, only their shape is tested. The spacings of the sorted gaps, each
/// times the number of gaps above it, are exponential again. Their running sums, divided by their
/// total, are then uniform, whatever the rate (Lewis, "Some Results on Tests for Poisson
/// Processes"). Both use [`kolmogorov_smirnov`]. `None` for fewer than two gaps, for a negative
/// gap, and if all gaps are 0.
pub fn exponential_gaps(gaps: &[f64], rate: Option<f64>) -> Option<Test> {
    let sorted = sorted(gaps)?;
    if sorted.len() < 2 || sorted[0] < 0.0 {
        return None;
    }
    if let Some(rate) = rate {
        if !rate.is_finite() || rate <= 0.0 {
            return None;
        }
        return kolmogorov_smirnov(&sorted, |gap| -(-gap * rate).exp_m1());
    }
    let mut last = 0.0;
    let mut sum = 0.0;
    let sums: Vec<f64> = sorted
        .iter()
        .enumerate()
        .map(|(index, &gap)| {
            sum += (gap - last) * (sorted.len() - index) as f64;
            last = gap;
            sum
        })
        .collect();
    if !sum.is_finite() || sum <= 0.0 {
        return None;
    }
    let uniform: Vec<f64> = sums[..sums.len() - 1]
        .iter()
        .map(|partial| partial / sum)
        .collect();
    kolmogorov_smirnov(&uniform, |share| share.clamp(0.0, 1.0))
}
