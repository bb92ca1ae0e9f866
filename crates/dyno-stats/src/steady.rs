//! Whether a series has settled: warm-up, drift, steps.

use crate::distributions::student_two_sided_quantile;
use crate::intervals::Bounds;
use crate::long_run::{self, LongRun};
use crate::mean;

/// The trend of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// Change from one value to the next, by least squares; in the unit of the values.
    pub per_step: f64,
    /// The interval of `per_step`, valid for correlated values.
    pub bounds: Bounds,
    /// Change over the whole length of the series as a share of its mean; none for a mean of 0.
    pub relative: Option<f64>,
}

impl Slope {
    /// Whether the interval leaves out 0: there is a trend, however small.
    pub fn significant(&self) -> bool {
        !self.bounds.contains(0.0)
    }
}

/// The trend of a series with its 95 % interval; none below ten values.
pub fn slope(series: &[f64]) -> Option<Slope> {
    slope_with(series, 0.95)
}

/// [`slope`] at another confidence. The variance is the long-run variance of the residuals, as in
/// `intervals::mean_interval_correlated`.
pub fn slope_with(series: &[f64], confidence: f64) -> Option<Slope> {
    if !crate::proper(confidence) {
        return None;
    }
    let mean = mean(series)?;
    let n = series.len() as f64;
    let middle = (n - 1.0) / 2.0;
    let spread = n * (n * n - 1.0) / 12.0;
    let at = |step: usize| step as f64 - middle;
    let products: f64 = (0..)
        .zip(series)
        .map(|(step, x)| at(step) * (x - mean))
        .sum();
    let per_step = products / spread;
    let residuals: Vec<f64> = (0..)
        .zip(series)
        .map(|(step, x)| x - mean - per_step * at(step))
        .collect();
    let LongRun { variance, degrees } = long_run::long_run_of_residuals(&residuals)?;
    let reach = student_two_sided_quantile(confidence, degrees) * (variance / spread).sqrt();
    Some(Slope {
        per_step,
        bounds: Bounds {
            low: per_step - reach,
            high: per_step + reach,
        },
        relative: (mean != 0.0).then(|| per_step * (n - 1.0) / mean.abs()),
    })
}
