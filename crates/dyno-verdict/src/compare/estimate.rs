//! A metric's value with the data for its uncertainty.

use dyno_stats::Bounds;
use dyno_stats::intervals::{
    Mean, mean_interval_correlated, median_ratio_interval_correlated, mover_ratio, ratio_of_means,
};
use hdrhistogram::Histogram;

use crate::compare::Basis;

/// The number of runs a side from which their own variance is used.
pub(super) const RUNS_MIN: usize = 3;

/// The smallest distinguishable p-value.
const P_MIN: f64 = 1e-9;

pub(super) struct Estimate {
    /// Over all runs, never a mean of percentiles.
    pub(super) value: f64,
    pub(super) runs: Vec<f64>,
    pub(super) within: Within,
}

/// How a value varies within runs.
pub(super) enum Within {
    /// Unknown.
    Nothing,
    /// A time series with approximately the value as its mean.
    Series(Vec<f64>),
    /// A time series with the value as its median.
    Median(Vec<f64>),
    /// A percentile: the share of latencies at or below it, second by second, and the distribution
    /// that converts shares back to latencies.
    Shares(Vec<f64>, Box<Histogram<u64>>),
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ratio {
    pub(super) bounds: Option<Bounds>,
    pub(super) p: Option<f64>,
}

/// The ratio with its interval and the p-value of the same interval.
pub(super) fn ratio(base: &Estimate, new: &Estimate, basis: Basis, confidence: f64) -> Ratio {
    let shown = new.value / base.value;
    if basis == Basis::BetweenRuns {
        let (of_new, of_base) = (Mean::independent(&new.runs), Mean::independent(&base.runs));
        return of_means(of_new, of_base, shown, confidence);
    }
    match (&base.within, &new.within) {
        (Within::Series(of_base), Within::Series(of_new)) => {
            let (of_new, of_base) = (Mean::of_series(of_new), Mean::of_series(of_base));
            of_means(of_new, of_base, shown, confidence)
        }
        // Only the mean is tested for a change of the rate: a test of the median too would be one
        // more comparison to correct for.
        (Within::Median(of_base), Within::Median(of_new)) => Ratio {
            bounds: median_ratio_interval_correlated(of_new, of_base, confidence),
            p: None,
        },
        (Within::Shares(..), Within::Shares(..)) => inverted(confidence, |confidence| {
            percentile_ratio(base, new, confidence)
        }),
        _ => Ratio::default(),
    }
}

/// The ratio of two means, shifted to the shown ratio: a rate over all runs is not exactly the mean
/// of its seconds, nor a percentile over all runs the mean of theirs.
fn of_means(new: Option<Mean>, base: Option<Mean>, shown: f64, confidence: f64) -> Ratio {
    let (Some(new), Some(base)) = (new, base) else {
        return Ratio::default();
    };
    let factor = match new.value() > 0.0 {
        true => shown / (new.value() / base.value()),
        false => 1.0,
    };
    inverted(confidence, |confidence| {
        let bounds = ratio_of_means(&new, &base, confidence)?;
        factor.is_finite().then_some(Bounds {
            low: bounds.low * factor,
            high: bounds.high * factor,
        })
    })
}

/// The interval of a percentile: that of the share below it, including autocorrelation, converted
/// back to latencies (Woodruff, "Confidence Intervals for Medians and Other Position Measures").
/// The interval of a share is computed on the scale of its log odds, where it never reaches 0 or 1
/// (Dean and Pagano, "Evaluating Confidence Interval Methods for Binomial Proportions in Clustered
/// Surveys").
fn percentile_bounds(estimate: &Estimate, confidence: f64) -> Option<Bounds> {
    let Within::Shares(shares, histogram) = &estimate.within else {
        return None;
    };
    let share = within_odds(mean_interval_correlated(shares, confidence)?)?;
    // A sample says nothing about the distribution beyond its ends.
    let least = 1.0 / histogram.len().max(1) as f64;
    if share.low < least || share.high > 1.0 - least {
        return None;
    }
    let at = |share: f64| histogram.value_at_quantile(share) as f64 / 1e6;
    Some(Bounds {
        low: at(share.low),
        high: at(share.high),
    })
}

/// The interval of a share with the same half-width about its middle on the log-odds scale; `None`
/// about 0 or 1.
fn within_odds(share: Bounds) -> Option<Bounds> {
    let (middle, reach) = (
        (share.low + share.high) / 2.0,
        (share.high - share.low) / 2.0,
    );
    if !(middle > 0.0 && middle < 1.0) {
        return None;
    }
    let odds = (middle / (1.0 - middle)).ln();
    let reach = reach / (middle * (1.0 - middle));
    let share = |odds: f64| 1.0 / (1.0 + (-odds).exp());
    Some(Bounds {
        low: share(odds - reach),
        high: share(odds + reach),
    })
}

fn percentile_ratio(base: &Estimate, new: &Estimate, confidence: f64) -> Option<Bounds> {
    let (of_base, of_new) = (
        percentile_bounds(base, confidence)?,
        percentile_bounds(new, confidence)?,
    );
    mover_ratio(new.value, of_new, base.value, of_base)
}

/// An interval with its p-value: 1 minus the confidence at which it just reaches a ratio of 1.
fn inverted(confidence: f64, interval: impl Fn(f64) -> Option<Bounds>) -> Ratio {
    let bounds = interval(confidence);
    // Without variation on either side there is no p-value.
    let varies = interval(0.5).is_some_and(|inner| inner.low < inner.high);
    Ratio {
        bounds,
        p: varies.then(|| p_value(interval)).flatten(),
    }
}

fn p_value(interval: impl Fn(f64) -> Option<Bounds>) -> Option<f64> {
    // An interval beyond the sample excludes nothing.
    let excludes = |p: f64| interval(1.0 - p).is_some_and(|ratio| !ratio.contains(1.0));
    let (mut never, mut always) = (P_MIN, 1.0 - 1e-6);
    if excludes(never) {
        return Some(never);
    }
    if !excludes(always) {
        return Some(1.0);
    }
    for _ in 0..24 {
        // Small p-values differ by magnitude.
        let middle = (never * always).sqrt();
        if excludes(middle) {
            always = middle;
        } else {
            never = middle;
        }
    }
    Some(always)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten seconds of a thousand exponential latencies each; their mean varies by a fifth from
    /// second to second.
    fn ten_seconds(seed: u64) -> Estimate {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        // Marsaglia, "Xorshift RNGs".
        let mut uniform = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut whole = Histogram::<u64>::new(3).unwrap();
        let mut seconds = Vec::new();
        for _ in 0..10 {
            let normal = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
            let mean = (0.2 * normal).exp();
            let latencies: Vec<u64> = (0..1000)
                .map(|_| (-(1.0 - uniform()).ln() * mean * 1e6) as u64)
                .collect();
            for ns in &latencies {
                whole.record(*ns).unwrap();
            }
            seconds.push(latencies);
        }
        let at = whole.value_at_quantile(0.95);
        let share = |second: &Vec<u64>| second.iter().filter(|ns| **ns <= at).count() as f64 / 1e3;
        Estimate {
            value: at as f64 / 1e6,
            runs: Vec::new(),
            within: Within::Shares(seconds.iter().map(share).collect(), Box::new(whole)),
        }
    }

    /// The true 95th percentile over all possible seconds is 3.116 ms. Linear intervals reached
    /// beyond the whole distribution in four of ten runs.
    #[test]
    fn intervals_of_percentiles_cover_the_true_value_in_ten_uneven_seconds() {
        let all = (0..200).map(|seed| percentile_bounds(&ten_seconds(seed + 1), 0.95));
        let held = all.filter(|bounds| bounds.is_some_and(|bounds| bounds.contains(3.116)));
        let held = held.count();
        assert!(held >= 186, "held in {held} of 200");
    }

    #[test]
    fn intervals_of_shares_stay_between_0_and_1() {
        let share = |low, high| within_odds(Bounds { low, high }).unwrap();
        let near_one = share(0.90, 1.02);
        assert!(near_one.low < 0.90 && near_one.high < 1.0, "{near_one:?}");
        let half = share(0.499, 0.501);
        assert!((half.low - 0.499).abs() < 1e-6 && (half.high - 0.501).abs() < 1e-6);
        let constant = share(0.95, 0.95);
        assert!((constant.low - 0.95).abs() < 1e-12 && (constant.high - 0.95).abs() < 1e-12);
        assert!(
            within_odds(Bounds {
                low: 1.0,
                high: 1.0
            })
            .is_none()
        );
    }
}
