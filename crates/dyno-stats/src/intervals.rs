//! Intervals of confidence for means, medians and ratios, of independent values and of series.
//!
//! A benchmark's seconds are not independent: a fast second follows a fast one. The functions
//! whose names end in `_correlated` widen the interval by what the series itself shows; they need
//! the values in the order of time, and at least [`SERIES_MIN`] of them.

use crate::distributions::{normal_quantile, student_two_sided_quantile};
use crate::gls::Coefficient;
use crate::long_run::{self, LongRun};
use crate::quantiles::{self, interpolated, quantile_interval};
use crate::{all_finite, median, proper, sorted};

pub use crate::long_run::{SERIES_MIN, SHORT_MAX};

/// A closed interval in the unit of the values it was made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Bounds {
    /// Whether the value lies between the ends or on one.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// high - low.
    pub fn width(&self) -> f64 {
        self.high - self.low
    }
}

/// A mean with the variance of that mean, and how well the variance itself is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mean {
    pub(crate) mean: f64,
    pub(crate) variance: f64,
    pub(crate) degrees: f64,
}

impl Mean {
    /// Of independent values; none below two.
    pub(crate) fn independent(values: &[f64]) -> Option<Self> {
        Some(Self {
            mean: quantiles::mean(values)?,
            variance: quantiles::variance(values)? / values.len() as f64,
            degrees: (values.len() - 1) as f64,
        })
    }

    /// Of a series: what [`mean_interval_correlated`] says, as one Student's t.
    pub(crate) fn of_series(values: &[f64]) -> Option<Self> {
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
        let LongRun { variance, degrees } = long_run::long_run(values)?;
        Some(Self {
            mean: quantiles::mean(values)?,
            variance: variance / values.len() as f64,
            degrees,
        })
    }

    fn bounds(&self, confidence: f64) -> Option<Bounds> {
        if !proper(confidence) {
            return None;
        }
        let reach = student_two_sided_quantile(confidence, self.degrees) * self.variance.sqrt();
        Some(Bounds {
            low: self.mean - reach,
            high: self.mean + reach,
        })
    }
}

/// Degrees of freedom of a difference of two means (Welch, "The Generalization of Student's
/// Problem when Several Different Population Variances are Involved"); 1 without any variance.
pub(crate) fn joint_degrees(a: &Mean, b: &Mean) -> f64 {
    let sum = a.variance + b.variance;
    let spent = a.variance.powi(2) / a.degrees + b.variance.powi(2) / b.degrees;
    if spent > 0.0 { sum * sum / spent } else { 1.0 }
}

/// Student's t interval for the mean of independent values; none below two.
pub fn mean_interval(values: &[f64], confidence: f64) -> Option<Bounds> {
    Mean::independent(values)?.bounds(confidence)
}

/// An interval for the mean of a series, about its arithmetic mean.
///
/// Up to [`SHORT_MAX`] values: from a first-order autoregression under white noise, averaged over
/// what the series leaves open of its coefficient and of the noise (`gls`). Longer ones: Student's
/// t with the long-run variance from equal-weighted cosine transforms (Lazarus, Lewis, Stock and
/// Watson, "HAR Inference: Recommendations for Practice"), which assumes no law of the correlation.
/// None below [`SERIES_MIN`] values.
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

/// The variance of a series without any, 0.
fn constant(series: &[f64]) -> Option<f64> {
    let same = series.iter().all(|value| *value == series[0]);
    same.then_some(0.0)
}

/// An interval for the median of independent values from order statistics, see
/// [`quantile_interval`].
pub fn median_interval(values: &[f64], confidence: f64) -> Option<Bounds> {
    quantile_interval(&sorted(values)?, 0.5, confidence)
}

/// An interval for the median of a series, see [`quantile_interval_correlated`].
pub fn median_interval_correlated(series: &[f64], confidence: f64) -> Option<Bounds> {
    quantile_interval_correlated(series, 0.5, confidence)
}

/// An interval for a quantile of a series: the interval of the share of values below it, read
/// back as values (Woodruff, "Confidence Intervals for Medians and Other Position Measures").
/// None when that interval reaches beyond the sample.
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

/// The values at two shares of an ascending sample; none when a share lies beyond it.
fn between(sorted: &[f64], low: f64, high: f64) -> Option<Bounds> {
    (low >= 0.0 && high <= 1.0).then(|| Bounds {
        low: interpolated(sorted, low),
        high: interpolated(sorted, high),
    })
}

/// An interval for mean(new) / mean(base) of two independent samples of independent values
/// (Fieller, "Some Problems in Interval Estimation"), variances not assumed equal.
///
/// None below two values a side, or when the mean of `base` cannot be told from 0.
pub fn ratio_interval(new: &[f64], base: &[f64], confidence: f64) -> Option<Bounds> {
    fieller(
        &Mean::independent(new)?,
        &Mean::independent(base)?,
        confidence,
    )
}

/// [`ratio_interval`] of two series that were measured one after the other.
pub fn ratio_interval_correlated(new: &[f64], base: &[f64], confidence: f64) -> Option<Bounds> {
    fieller(&Mean::of_series(new)?, &Mean::of_series(base)?, confidence)
}

/// An interval for the mean of ratios that were each taken from a pair: Student's t on them.
pub fn paired_ratio_interval(ratios: &[f64], confidence: f64) -> Option<Bounds> {
    mean_interval(ratios, confidence)
}

/// An interval for the ratio of two medians of independent samples, from an interval of each by
/// the normal limit of its rank, joined on the scale of logarithms (MOVER: Donner and Zou,
/// "Closed-form Confidence Intervals for Functions of the Normal Mean and Standard Deviation").
/// Positive values only.
pub fn median_ratio_interval(new: &[f64], base: &[f64], confidence: f64) -> Option<Bounds> {
    // Order statistics alone would add their excess of confidence twice.
    let interval = |values: &[f64]| {
        let sorted = sorted(values)?;
        let deviation = 0.5 / (sorted.len() as f64).sqrt();
        let reach = normal_quantile(0.5 + confidence / 2.0) * deviation;
        between(&sorted, 0.5 - reach, 0.5 + reach)
    };
    if !proper(confidence) {
        return None;
    }
    mover_ratio(median(new)?, interval(new)?, median(base)?, interval(base)?)
}

/// [`median_ratio_interval`] of two series that were measured one after the other.
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

/// The interval of new / base from an estimate and an interval of each, all positive. It also
/// serves percentiles of two histograms, each with its interval by order statistics.
pub fn mover_ratio(new: f64, new_bounds: Bounds, base: f64, base_bounds: Bounds) -> Option<Bounds> {
    let all = [
        new,
        base,
        new_bounds.low,
        new_bounds.high,
        base_bounds.low,
        base_bounds.high,
    ];
    if !all_finite(&all) || all.iter().any(|&value| value <= 0.0) {
        return None;
    }
    let ratio = new / base;
    let down = (new / new_bounds.low)
        .ln()
        .hypot((base_bounds.high / base).ln());
    let up = (new_bounds.high / new)
        .ln()
        .hypot((base / base_bounds.low).ln());
    Some(Bounds {
        low: ratio * (-down).exp(),
        high: ratio * up.exp(),
    })
}

fn fieller(new: &Mean, base: &Mean, confidence: f64) -> Option<Bounds> {
    if !proper(confidence) || base.mean == 0.0 {
        return None;
    }
    let ratio = new.mean / base.mean;
    let scaled = Mean {
        variance: ratio * ratio * base.variance,
        ..*base
    };
    let t = student_two_sided_quantile(confidence, joint_degrees(new, &scaled));
    let t2 = t * t;
    let denominator = base.mean * base.mean - t2 * base.variance;
    if denominator <= 0.0 {
        return None;
    }
    let inner = new.mean * new.mean * base.variance + base.mean * base.mean * new.variance
        - t2 * new.variance * base.variance;
    let reach = t * inner.max(0.0).sqrt();
    let centre = new.mean * base.mean;
    Some(Bounds {
        low: (centre - reach) / denominator,
        high: (centre + reach) / denominator,
    })
}
