//! A metric's value with what its uncertainty can be computed from.

use dyno_stats::Bounds;
use dyno_stats::intervals::{
    mean_interval_correlated, mover_ratio, ratio_interval, ratio_interval_correlated,
};
use dyno_stats::tests::{welch, welch_correlated};
use hdrhistogram::Histogram;

use crate::compare::Basis;

/// From so many runs a side on their own variance is used.
pub(super) const RUNS_MIN: usize = 3;

/// One side's value of a metric.
pub(super) struct Estimate {
    /// Over all runs, never a mean of percentiles.
    pub(super) value: f64,
    /// Each run's own.
    pub(super) runs: Vec<f64>,
    /// What the seconds within the runs tell.
    pub(super) within: Within,
}

/// How a value varies within runs.
pub(super) enum Within {
    /// Not to be told.
    Nothing,
    /// A series in time whose mean is the value, or near it.
    Series(Vec<f64>),
    /// A percentile: the share of latencies at or below it, second by second, and the
    /// distribution to read shares back as latencies.
    Shares(Vec<f64>, Box<Histogram<u64>>),
}

/// The ratio of two estimates.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ratio {
    pub(super) bounds: Option<Bounds>,
    pub(super) p: Option<f64>,
}

pub(super) fn ratio(base: &Estimate, new: &Estimate, basis: Basis, confidence: f64) -> Ratio {
    if basis == Basis::BetweenRuns {
        let bounds = ratio_interval(&new.runs, &base.runs, confidence);
        return Ratio {
            bounds: about(bounds, &new.runs, &base.runs, new.value / base.value),
            p: welch(&new.runs, &base.runs).map(|test| test.p),
        };
    }
    match (&base.within, &new.within) {
        (Within::Series(base_series), Within::Series(new_series)) => {
            let bounds = ratio_interval_correlated(new_series, base_series, confidence);
            Ratio {
                bounds: about(bounds, new_series, base_series, new.value / base.value),
                p: welch_correlated(new_series, base_series).map(|test| test.p),
            }
        }
        (Within::Shares(..), Within::Shares(..)) => Ratio {
            bounds: percentile_ratio(base, new, confidence),
            p: percentile_p(base, new),
        },
        _ => Ratio::default(),
    }
}

/// The bounds of a ratio of means, moved to the ratio that is shown: a rate over all runs is not
/// exactly the mean of its seconds, nor a percentile over all runs the mean of theirs.
fn about(bounds: Option<Bounds>, new: &[f64], base: &[f64], shown: f64) -> Option<Bounds> {
    let bounds = bounds?;
    let factor = shown / (dyno_stats::mean(new)? / dyno_stats::mean(base)?);
    factor.is_finite().then_some(Bounds {
        low: bounds.low * factor,
        high: bounds.high * factor,
    })
}

/// The interval of a percentile: that of the share below it, autocorrelation included, read back
/// as latencies (Woodruff, "Confidence Intervals for Medians and Other Position Measures").
fn percentile_bounds(estimate: &Estimate, confidence: f64) -> Option<Bounds> {
    let Within::Shares(shares, histogram) = &estimate.within else {
        return None;
    };
    let share = mean_interval_correlated(shares, confidence)?;
    // Beyond its ends a sample says nothing of the distribution.
    let most = 1.0 - 1.0 / histogram.len().max(1) as f64;
    if share.low <= 0.0 || share.high > most {
        return None;
    }
    let at = |share: f64| histogram.value_at_quantile(share) as f64 / 1e6;
    Some(Bounds {
        low: at(share.low),
        high: at(share.high),
    })
}

fn percentile_ratio(base: &Estimate, new: &Estimate, confidence: f64) -> Option<Bounds> {
    let (of_base, of_new) = (
        percentile_bounds(base, confidence)?,
        percentile_bounds(new, confidence)?,
    );
    mover_ratio(new.value, of_new, base.value, of_base)
}

/// The p-value that belongs to the interval: what is missing to 1 of the confidence at which it
/// just reaches a ratio of 1.
fn percentile_p(base: &Estimate, new: &Estimate) -> Option<f64> {
    // An interval that reaches beyond the sample excludes nothing.
    let excludes =
        |p: f64| percentile_ratio(base, new, 1.0 - p).is_some_and(|ratio| !ratio.contains(1.0));
    percentile_ratio(base, new, 0.5)?;
    let (mut never, mut always) = (1e-6, 1.0 - 1e-6);
    if excludes(never) {
        return Some(never);
    }
    if !excludes(always) {
        return Some(1.0);
    }
    for _ in 0..24 {
        let middle = f64::midpoint(never, always);
        if excludes(middle) {
            always = middle;
        } else {
            never = middle;
        }
    }
    Some(always)
}
