//! Hypothesis tests: do two samples differ, and do values follow a distribution?

mod fit;
mod kolmogorov;
mod ranks;

pub use fit::{chi_square, exponential_gaps, poisson_dispersion};
pub use kolmogorov::kolmogorov_smirnov;
pub use ranks::{mann_whitney, mann_whitney_correlated};

use crate::distributions::student_two_sided;
use crate::intervals::{Mean, joint_degrees};

/// The outcome of a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    /// The test statistic.
    pub statistic: f64,
    /// Degrees of freedom, if the distribution has them.
    pub degrees_of_freedom: Option<f64>,
    /// The probability of a statistic at least as extreme under the null hypothesis.
    pub p: f64,
}

/// Whether the means of two samples of independent values differ (Welch, "The Generalization of
/// Student's Problem when Several Different Population Variances are Involved").
///
/// The statistic is t, positive when `a` has the larger mean. `None` for fewer than two values a
/// side, or when neither varies.
pub fn welch(a: &[f64], b: &[f64]) -> Option<Test> {
    compare(&Mean::independent(a)?, &Mean::independent(b)?)
}

/// [`welch`] for two series measured one after the other: variances and degrees of freedom are
/// those of `mean_interval_correlated`, which account for autocorrelation.
pub fn welch_correlated(a: &[f64], b: &[f64]) -> Option<Test> {
    compare(&Mean::of_series(a)?, &Mean::of_series(b)?)
}

fn compare(a: &Mean, b: &Mean) -> Option<Test> {
    let variance = a.variance + b.variance;
    if variance <= 0.0 {
        return None;
    }
    let statistic = (a.mean - b.mean) / variance.sqrt();
    let degrees = joint_degrees(a, b);
    Some(Test {
        statistic,
        degrees_of_freedom: Some(degrees),
        p: student_two_sided(statistic, degrees),
    })
}
