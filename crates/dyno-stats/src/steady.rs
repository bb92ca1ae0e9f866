//! Whether a series has settled: warm-up, drift, steps.

use std::fmt;

use crate::change_points::{ChangePoint, ChangePoints, change_points};
use crate::distributions::{student_two_sided, student_two_sided_quantile};
use crate::intervals::{Bounds, ratio_interval_correlated};
use crate::long_run::{self, LongRun};
use crate::{all_finite, mean};

/// The shortest series that is judged.
pub const STEADY_MIN: usize = 20;

/// A drift over the whole series, or a step, of a smaller share of the mean is not held against a
/// run: repeated runs of the same benchmark on one host commonly differ by a few percent.
pub const MATERIAL_SHARE: f64 = 0.05;

/// The chance of a false alarm that each of the four tests of [`steady_state`], for drift, for
/// steps, and for a start or an end unlike the rest, may have, so that all share 5 %.
const SIGNIFICANCE: f64 = 0.0125;

/// Whether a series is steady, and what speaks against it.
#[derive(Clone, Debug, PartialEq)]
pub struct Steady {
    /// Where the warm-up ends by [`warm_up_end`], an index.
    pub warm_up_end: usize,
    /// The trend of the whole series with a 98.75 % interval; none below ten values.
    pub slope: Option<Slope>,
    /// Where the series changes, at 1.25 %; small changes as well as material ones.
    pub change_points: Vec<ChangePoint>,
    /// Mean of the second half over that of the first; none when that is 0.
    pub halves: Option<f64>,
    /// The 95 % interval of `halves`, valid for correlated values.
    pub halves_bounds: Option<Bounds>,
    /// The judgement.
    pub verdict: Steadiness,
}

/// The judgement on a series with its reason, which `Display` puts into words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Steadiness {
    /// Neither drift nor step that is both significant and material.
    Steady,
    /// Steady from the value with this index on, not before: a warm-up was counted in.
    SettlesLate {
        /// First value of the steady part; at most in the middle of the series.
        from: usize,
    },
    /// The series keeps rising or falling.
    Drifts {
        /// Change over the whole series as a share of its mean.
        relative: f64,
    },
    /// The series changes its level beyond its middle, or more than once.
    Steps {
        /// First value after the largest step.
        index: usize,
        /// Mean after it over the mean before it; infinite when that is 0.
        ratio: f64,
    },
    /// Too few values, or values that are not finite.
    Unknown {
        /// How many there are; [`STEADY_MIN`] are needed.
        values: usize,
    },
}

impl fmt::Display for Steadiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steady => write!(f, "steady: no drift and no step of 5 % or more"),
            Self::SettlesLate { from } => write!(f, "steady only after the first {from} values"),
            Self::Drifts { relative } => {
                write!(f, "drifts by {:+.1} % over its length", 100.0 * relative)
            }
            Self::Steps { index, ratio } => {
                write!(
                    f,
                    "changes to {ratio:.2} times its level after {index} values"
                )
            }
            Self::Unknown { values } => {
                write!(
                    f,
                    "not judged: {values} values, {STEADY_MIN} finite ones are needed"
                )
            }
        }
    }
}

/// Judges a series.
///
/// Drift is [`slope_with`]; steps are [`change_points`] with blocks of measured length; the first
/// tenth is held against the second half and the last tenth against the first half, as Geweke
/// does ("Evaluating the Accuracy of Sampling-Based Approaches to the Calculation of Posterior
/// Moments"), because permuted blocks are blind near the ends. Each must also reach
/// [`MATERIAL_SHARE`]. When drift and steps both speak, the one that explains more of the variance
/// is named. A series whose changes all lie in its first half, and whose rest passes on its own,
/// settles late.
pub fn steady_state(series: &[f64]) -> Steady {
    let slope = slope_with(series, 1.0 - SIGNIFICANCE);
    let change_points = change_points(
        series,
        &ChangePoints {
            significance: SIGNIFICANCE,
            ..ChangePoints::default()
        },
    );
    let (first, second) = series.split_at(series.len() / 2);
    let halves = mean(first)
        .zip(mean(second))
        .and_then(|(first, second)| crate::laws::ratio(second, first));
    let warm_up_end = warm_up_end(series);
    let verdict = judge(series, slope.as_ref(), &change_points, warm_up_end);
    Steady {
        warm_up_end,
        slope,
        change_points,
        halves,
        halves_bounds: ratio_interval_correlated(second, first, 0.95),
        verdict,
    }
}

fn judge(
    series: &[f64],
    slope: Option<&Slope>,
    change_points: &[ChangePoint],
    warm_up_end: usize,
) -> Steadiness {
    let values = series.len();
    if values < STEADY_MIN || !all_finite(series) {
        return Steadiness::Unknown { values };
    }
    let drift = material_drift(slope);
    let step = largest_step(change_points);
    let end = unlike_end(series);
    if drift.is_none() && step.is_none() && end.is_none() && !unlike_start(series) {
        return Steadiness::Steady;
    }
    if let Some(from) = settled_from(series, change_points, warm_up_end) {
        return Steadiness::SettlesLate { from };
    }
    match (drift, step.or(end)) {
        (Some(relative), None) => Steadiness::Drifts { relative },
        (Some(relative), Some(_)) if line_explains_more(series, change_points) => {
            Steadiness::Drifts { relative }
        }
        (_, Some((index, ratio))) => Steadiness::Steps { index, ratio },
        (None, None) => {
            let (index, ratio) = level_change(series);
            Steadiness::Steps { index, ratio }
        }
    }
}

/// Whether the first tenth differs from the second half.
fn unlike_start(series: &[f64]) -> bool {
    unlike(&series[..series.len() / 10], &series[series.len() / 2..])
}

/// The level change of a series whose last tenth differs from the first half.
fn unlike_end(series: &[f64]) -> Option<(usize, f64)> {
    let edge = &series[series.len() - series.len() / 10..];
    unlike(edge, &series[..series.len() / 2]).then(|| level_change(series))
}

/// Whether the mean of a short edge differs from that of a long body, significantly and
/// materially. Both are given the long-run variance of the body, which a warm-up does not touch.
fn unlike(edge: &[f64], body: &[f64]) -> bool {
    let (Some(edge_mean), Some(body_mean)) = (mean(edge), mean(body)) else {
        return false;
    };
    let Some(LongRun { variance, degrees }) = long_run::long_run(body) else {
        return false;
    };
    let gap = edge_mean - body_mean;
    let error = (variance * (1.0 / edge.len() as f64 + 1.0 / body.len() as f64)).sqrt();
    let material = gap.abs() >= MATERIAL_SHARE * edge_mean.abs().max(body_mean.abs());
    // A body without variance leaves any difference significant.
    gap != 0.0 && material && student_two_sided(gap / error, degrees) <= SIGNIFICANCE
}

/// The index that parts the series into the two levels that explain most of its variance, and
/// the ratio of the second to the first.
fn level_change(series: &[f64]) -> (usize, f64) {
    let n = series.len() as f64;
    let total: f64 = series.iter().sum();
    let (mut before, mut best) = (0.0, (0, f64::NEG_INFINITY, 1.0));
    for index in 1..series.len() {
        before += series[index - 1];
        let share = index as f64 / n;
        let explained = (before - share * total).powi(2) / (share * (1.0 - share));
        if explained > best.1 {
            let levels = (before / index as f64, (total - before) / (n - index as f64));
            best = (index, explained, levels.1 / levels.0);
        }
    }
    (best.0, best.2)
}

fn material_drift(slope: Option<&Slope>) -> Option<f64> {
    let slope = slope.filter(|slope| slope.significant())?;
    slope.relative.filter(|share| share.abs() >= MATERIAL_SHARE)
}

/// The index and the ratio of the largest material step.
fn largest_step(change_points: &[ChangePoint]) -> Option<(usize, f64)> {
    let size = |change: &ChangePoint| {
        let larger = change.before_mean.abs().max(change.after_mean.abs());
        (change.after_mean - change.before_mean).abs() / larger.max(f64::MIN_POSITIVE)
    };
    change_points
        .iter()
        .filter(|change| size(change) >= MATERIAL_SHARE)
        .max_by(|a, b| size(a).total_cmp(&size(b)))
        .map(|change| (change.index, change.after_mean / change.before_mean))
}

/// Where the series is steady from, if that is after a start in its first half.
fn settled_from(
    series: &[f64],
    change_points: &[ChangePoint],
    warm_up_end: usize,
) -> Option<usize> {
    let last = change_points.last().map_or(0, |change| change.index);
    let from = last.max(warm_up_end);
    if from == 0 || from > series.len() / 2 || series.len() - from < STEADY_MIN {
        return None;
    }
    let rest = &series[from..];
    let drift = material_drift(slope_with(rest, 1.0 - SIGNIFICANCE).as_ref());
    let settled = drift.is_none() && !unlike_start(rest) && unlike_end(rest).is_none();
    settled.then_some(from)
}

/// Whether a straight line leaves less of the variance than the levels between change points.
fn line_explains_more(series: &[f64], change_points: &[ChangePoint]) -> bool {
    let Some(fitted) = slope(series) else {
        return false;
    };
    let n = series.len() as f64;
    let squares = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        values.iter().map(|x| (x - mean).powi(2)).sum::<f64>()
    };
    let by_line = fitted.per_step.powi(2) * n * (n * n - 1.0) / 12.0;
    // A single level change: a ramp can always be cut into enough levels to look like steps.
    let by_step = change_points
        .iter()
        .map(|change| {
            let (before, after) = series.split_at(change.index.min(series.len()));
            squares(series) - squares(before) - squares(after)
        })
        .fold(0.0, f64::max);
    by_line > by_step
}

/// Values in a batch of [`warm_up_end`].
const BATCH: usize = 5;

/// Where the warm-up ends: the index, a multiple of five, from which the rest has the smallest
/// standard error of its mean, reckoned from means of five (MSER-5: White, Cobb and Spratt, "A
/// Comparison of Five Steady-State Truncation Heuristics for Simulation").
///
/// At most half of the series is taken for warm-up; an answer there means that it has not ended.
/// On noise alone the answer is small but need not be 0. 0 for a series too short to tell.
pub fn warm_up_end(series: &[f64]) -> usize {
    if !all_finite(series) {
        return 0;
    }
    let batches: Vec<f64> = series
        .chunks_exact(BATCH)
        .map(|batch| batch.iter().sum::<f64>() / BATCH as f64)
        .collect();
    // From the end backwards, so that sums grow by one batch at a time (Welford's recurrence).
    let (mut n, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (start, batch) in batches.iter().enumerate().rev() {
        n += 1.0;
        let step = batch - mean;
        mean += step / n;
        squares += step * (batch - mean);
        let error = squares / (n * n);
        if start <= batches.len() / 2 && error <= best.0 {
            best = (error, start);
        }
    }
    best.1 * BATCH
}

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

/// Kendall's tau of a series against time: 1 where each value is larger than those before it, -1
/// where each is smaller, near 0 without a trend, whatever a trend's shape. Ties count for neither
/// (tau-a). A long series is compared as [`TAU_PARTS`] means of parts of equal length. `None` for
/// fewer than two values. Source: Maurice Kendall, "A New Measure of Rank Correlation".
pub fn tau(series: &[f64]) -> Option<f64> {
    let length = series.len().div_ceil(TAU_PARTS).max(1);
    let parts: Vec<f64> = series.chunks_exact(length).filter_map(mean).collect();
    if parts.len() < 2 {
        return None;
    }
    let pairs = parts
        .iter()
        .enumerate()
        .flat_map(|(at, one)| parts[at + 1..].iter().map(move |other| other - one));
    let (sum, count) = pairs.fold((0.0, 0.0), |(sum, count), step| {
        let order = if step == 0.0 { 0.0 } else { step.signum() };
        (sum + order, count + 1.0)
    });
    Some(sum / count)
}

/// So many parts have 7140 pairs: as many as a verdict may take the time for.
pub const TAU_PARTS: usize = 120;

#[cfg(test)]
mod tests {
    use super::tau;

    #[test]
    fn tau_is_the_order_and_not_the_shape() {
        let curve: Vec<f64> = (1..=15).map(|step| 1000.0 / f64::from(step)).collect();
        assert_eq!(tau(&curve), Some(-1.0));
        assert_eq!(tau(&[1.0, 2.0, 2.0, 3.0]), Some(5.0 / 6.0));
        assert_eq!(tau(&[5.0; 9]), Some(0.0));
        assert_eq!(tau(&[1.0]), None);
        // One value out of its place among four: five pairs in order, one not.
        assert_eq!(tau(&[1.0, 3.0, 2.0, 4.0]), Some(4.0 / 6.0));
        let long: Vec<f64> = (0..100_000).map(f64::from).collect();
        assert_eq!(tau(&long), Some(1.0));
    }
}
