//! Confidence intervals for means, medians and ratios, both of independent values and of series.
//!
//! The seconds of a benchmark are not independent: a fast second follows a fast one. Functions
//! whose names end in `_correlated` widen the interval by the measured autocorrelation. They need
//! at least [`SERIES_MIN`] values in order of time.

use crate::distributions::{fisher_upper, student_two_sided_quantile};
use crate::gls::Coefficient;
use crate::long_run::{self, LongRun};
use crate::quantiles::{self, interpolated};
use crate::{all_finite, median, proper, sorted};

pub use crate::long_run::{SERIES_MIN, SHORT_MAX};

/// A closed interval in the unit of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Bounds {
    /// Whether the interval contains the value. Both ends are included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// high - low.
    pub fn width(&self) -> f64 {
        self.high - self.low
    }
}

/// A mean with its variance and the degrees of freedom of that variance. It gives intervals of any
/// confidence without the values.
#[derive(Clone, Copy, Debug)]
pub struct Mean {
    pub(crate) mean: f64,
    pub(crate) variance: f64,
    pub(crate) degrees: f64,
}

impl Mean {
    /// The mean of independent values; `None` for fewer than two.
    pub fn independent(values: &[f64]) -> Option<Self> {
        Some(Self {
            mean: quantiles::mean(values)?,
            variance: quantiles::variance(values)? / values.len() as f64,
            degrees: (values.len() - 1) as f64,
        })
    }

    /// The mean of a series: [`mean_interval_correlated`] as one Student's t. `None` for fewer than
    /// [`SERIES_MIN`] values.
    pub fn of_series(values: &[f64]) -> Option<Self> {
        if values.len() < SERIES_MIN {
            return None;
        }
        if values.len() <= SHORT_MAX {
            let mean = quantiles::mean(values)?;
            let (variance, degrees) = match Coefficient::mean(values) {
                Some(found) => found.as_student(mean),
                None => (constant(values)?, (values.len() - 1) as f64),
            };
            return Some(Self {
                mean,
                variance,
                degrees,
            });
        }
        Self::of_transforms(values)
    }

    /// The mean of a series of any length by cosine transforms. For a short one that is strongly
    /// correlated, [`Self::of_series`] is safer. `None` for fewer than [`SERIES_MIN`] values.
    pub(crate) fn of_transforms(values: &[f64]) -> Option<Self> {
        let LongRun { variance, degrees } = long_run::long_run(values)?;
        Some(Self {
            mean: quantiles::mean(values)?,
            variance: variance / values.len() as f64,
            degrees,
        })
    }

    /// The mean.
    pub fn value(&self) -> f64 {
        self.mean
    }

    pub(crate) fn bounds(&self, confidence: f64) -> Option<Bounds> {
        proper(confidence).then(|| self.reaching(confidence, self.degrees))
    }

    /// Its interval by Student's t with these degrees of freedom.
    fn reaching(&self, confidence: f64, degrees: f64) -> Bounds {
        let reach = student_two_sided_quantile(confidence, degrees) * self.variance.sqrt();
        Bounds {
            low: self.mean - reach,
            high: self.mean + reach,
        }
    }

    fn relative(&self) -> Self {
        let square = self.mean * self.mean;
        let variance = if square > 0.0 {
            self.variance / square
        } else {
            self.variance
        };
        Self { variance, ..*self }
    }
}

/// If the p-value is below this, the variances of equally large samples are taken to differ.
const DIFFERENT: f64 = 0.05;

/// The degrees of freedom of a difference of two means. If the variances may be equal, they are
/// those of both sides (Student), otherwise fewer (Welch, "The Generalization of Student's Problem
/// when Several Different Population Variances are Involved"). 1 if nothing varies.
///
/// Welch's test alone reports a difference in 3.6 % of comparisons of three equal runs with three,
/// instead of in 5 %, and in 2.4 % if runs have outliers. The combination reports it in 4.9 and 3.8
/// %, in 5.5 % if one side's deviation is twice the other's, and in 7.1 % if it is three times the
/// other's.
fn joint_degrees(a: &Mean, b: &Mean) -> f64 {
    let (small, large) = (a.variance.min(b.variance), a.variance.max(b.variance));
    let chance = 2.0 * fisher_upper(large / small, a.degrees, b.degrees);
    if a.degrees == b.degrees && small > 0.0 && chance >= DIFFERENT {
        return a.degrees + b.degrees;
    }
    let sum = a.variance + b.variance;
    let spent = a.variance.powi(2) / a.degrees + b.variance.powi(2) / b.degrees;
    if spent > 0.0 { sum * sum / spent } else { 1.0 }
}

/// Student's t interval for the mean of independent values; `None` for fewer than two.
pub fn mean_interval(values: &[f64], confidence: f64) -> Option<Bounds> {
    Mean::independent(values)?.bounds(confidence)
}

/// An interval for the mean of a series, about its arithmetic mean.
///
/// Up to [`SHORT_MAX`] values: from a first-order autoregression plus white noise, averaged over
/// the uncertainty about its coefficient and the noise (`gls`). Longer series: Student's t with the
/// long-run variance from equal-weighted cosine transforms (Lazarus, Lewis, Stock and Watson, "HAR
/// Inference: Recommendations for Practice"), which assumes no form of correlation. `None` for
/// fewer than [`SERIES_MIN`] values.
pub fn mean_interval_correlated(series: &[f64], confidence: f64) -> Option<Bounds> {
    if !(SERIES_MIN..=SHORT_MAX).contains(&series.len()) {
        return Mean::of_series(series)?.bounds(confidence);
    }
    let mean = quantiles::mean(series)?;
    let reach = match Coefficient::mean(series) {
        Some(found) if proper(confidence) => found.reach(mean, confidence),
        Some(_) => return None,
        None => constant(series)?,
    };
    Some(Bounds {
        low: mean - reach,
        high: mean + reach,
    })
}

fn constant(series: &[f64]) -> Option<f64> {
    let same = series.iter().all(|value| *value == series[0]);
    same.then_some(0.0)
}

/// An interval for the median of a series, see [`quantile_interval_correlated`].
pub fn median_interval_correlated(series: &[f64], confidence: f64) -> Option<Bounds> {
    quantile_interval_correlated(series, 0.5, confidence)
}

/// An interval for a quantile of a series: the interval of the share of values below it, converted
/// back to values (Woodruff, "Confidence Intervals for Medians and Other Position Measures").
/// `None` if that interval exceeds the sample.
pub fn quantile_interval_correlated(series: &[f64], p: f64, confidence: f64) -> Option<Bounds> {
    let sorted = sorted(series)?;
    if !proper(p) || !proper(confidence) {
        return None;
    }
    let at = interpolated(&sorted, p);
    let below: Vec<f64> = series
        .iter()
        .map(|&x| f64::from(u8::from(x <= at)))
        .collect();
    let share = Mean::of_series(&below)?;
    let reach = student_two_sided_quantile(confidence, share.degrees) * share.variance.sqrt();
    between(&sorted, p - reach, p + reach)
}

/// The values at two shares of an ascending sample; `None` if a share is outside it.
fn between(sorted: &[f64], low: f64, high: f64) -> Option<Bounds> {
    (low >= 0.0 && high <= 1.0).then(|| Bounds {
        low: interpolated(sorted, low),
        high: interpolated(sorted, high),
    })
}

/// An interval for mean(new) / mean(base) of two independent samples of independent positive values
/// with possibly unequal variances: see [`ratio_of_means`]. `None` for fewer than two values
/// a side.
pub fn ratio_interval(new: &[f64], base: &[f64], confidence: f64) -> Option<Bounds> {
    let (new, base) = (Mean::independent(new)?, Mean::independent(base)?);
    ratio_of_means(&new, &base, confidence)
}

/// [`ratio_interval`] of two series measured one after the other.
pub fn ratio_interval_correlated(new: &[f64], base: &[f64], confidence: f64) -> Option<Bounds> {
    ratio_of_means(&Mean::of_series(new)?, &Mean::of_series(base)?, confidence)
}

/// An interval for the ratio of two means of non-negative quantities, from an interval of each, see
/// [`mover_ratio`]. Both use Student's t with the degrees of freedom of the difference of the
/// logarithms, which for few values is more than either has alone.
pub fn ratio_of_means(new: &Mean, base: &Mean, confidence: f64) -> Option<Bounds> {
    if !proper(confidence) {
        return None;
    }
    let degrees = joint_degrees(&new.relative(), &base.relative());
    let reaching = |mean: &Mean| mean.reaching(confidence, degrees);
    mover_ratio(new.mean, reaching(new), base.mean, reaching(base))
}

/// An interval for the ratio of two medians of series measured one after the other, from an
/// interval of each, see [`mover_ratio`].
pub fn median_ratio_interval_correlated(
    new: &[f64],
    base: &[f64],
    confidence: f64,
) -> Option<Bounds> {
    let intervals = (
        median_interval_correlated(new, confidence)?,
        median_interval_correlated(base, confidence)?,
    );
    mover_ratio(median(new)?, intervals.0, median(base)?, intervals.1)
}

/// The interval of new / base from an estimate and an interval of each, for non-negative
/// quantities, combined on the logarithmic scale (MOVER: Donner and Zou, "Closed-form Confidence
/// Intervals for Functions of the Normal Mean and Standard Deviation"). It also serves percentiles
/// of two histograms, each with its interval by order statistics.
///
/// If the interval of `new` reaches 0, so does that of the ratio; if that of `base` does, the upper
/// end is infinity. `None` if an estimate is negative or that of `base` is 0.
pub fn mover_ratio(new: f64, new_bounds: Bounds, base: f64, base_bounds: Bounds) -> Option<Bounds> {
    let ends = [
        new_bounds.low,
        new_bounds.high,
        base_bounds.low,
        base_bounds.high,
    ];
    if !all_finite(&ends) || !all_finite(&[new, base]) || new < 0.0 || base <= 0.0 {
        return None;
    }
    let unbounded = base_bounds.low <= 0.0;
    if new == 0.0 {
        // 0 has no logarithm, so the upper end is at most the ratio of the ends.
        let high = if unbounded {
            f64::INFINITY
        } else {
            new_bounds.high.max(0.0) / base_bounds.low
        };
        return Some(Bounds { low: 0.0, high });
    }
    let ratio = new / base;
    let low = if new_bounds.low <= 0.0 {
        0.0
    } else {
        let down = (new / new_bounds.low)
            .ln()
            .hypot((base_bounds.high / base).ln());
        ratio * (-down).exp()
    };
    let high = if unbounded {
        f64::INFINITY
    } else {
        let up = (new_bounds.high / new)
            .ln()
            .hypot((base / base_bounds.low).ln());
        ratio * up.exp()
    };
    Some(Bounds { low, high })
}
