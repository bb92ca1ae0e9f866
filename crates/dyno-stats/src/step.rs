//! Finds out whether the level of a series changes once, and where.
//!
//! The step is where two levels of the logarithms fit best. Places near the ends are excluded. Its
//! height is a coefficient in a linear model with autocorrelated errors (`gls`). The best of many
//! places is large by chance, so its significance follows the distribution of the largest (Andrews,
//! "Tests for Parameter Instability and Structural Change with Unknown Change Point", with the tail
//! of DeLong, "Crossing Probabilities for a Square Root Boundary by a Bessel Process"), or, if
//! there are few places, Bonferroni's bound.

use crate::distributions::normal_quantile;
use crate::gls::Coefficient;
use crate::logarithm::logarithms;
use crate::{mean, trend};

/// The shortest series in which a step can be found.
pub const STEP_MIN: usize = 6;

/// A longer series is reduced to this many cells of equal length.
const CELLS_MAX: usize = 100;

/// This share of the series is excluded at either end, because `beginning` covers shorter levels.
const MARGIN: f64 = 0.15;

/// A step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Index of the first value after it.
    pub index: usize,
    /// The mean before it.
    pub before: f64,
    /// The mean after it.
    pub after: f64,
    /// The p-value against the hypothesis of no step anywhere.
    pub p: f64,
    /// The residual variance about two levels, divided by that about the best trend of any shape.
    /// If it is below 1, the series has a step rather than a drift.
    pub of_drift: f64,
}

/// The place where two levels fit best. `None` for fewer than [`STEP_MIN`] values, a constant
/// series, and values that are not finite.
pub fn step(series: &[f64]) -> Option<Step> {
    if series.len() < STEP_MIN || !crate::all_finite(series) {
        return None;
    }
    let cell = series.len().div_ceil(CELLS_MAX);
    let cells: Vec<f64> = series.chunks_exact(cell).filter_map(mean).collect();
    let cells = logarithms(&cells);
    let margin = ((MARGIN * cells.len() as f64).ceil() as usize).max(2);
    let at = best(&cells, margin, cells.len() - margin)?;
    let regressor: Vec<f64> = (0..cells.len())
        .map(|index| f64::from(u8::from(index >= at)))
        .collect();
    // The errors of two noiseless levels cannot be modelled.
    let chance =
        Coefficient::with_constant(&cells, &regressor).map_or(0.0, |found| found.chance_of_zero());
    let index = match cell {
        1 => at,
        _ => {
            let near = (at - 1) * cell..((at + 1) * cell).min(series.len());
            best(&logarithms(series), near.start.max(1), near.end - 1)?
        }
    };
    Some(Step {
        index,
        before: mean(&series[..index])?,
        after: mean(&series[index..])?,
        p: chance_anywhere(chance, cells.len(), margin),
        of_drift: about_levels(&cells, at) / trend::about_best(&cells).max(f64::MIN_POSITIVE),
    })
}

/// The split within `from..=to` with the smallest sum of squares. `None` for a constant series.
pub(crate) fn best(series: &[f64], from: usize, to: usize) -> Option<usize> {
    let n = series.len() as f64;
    let middle = mean(series)?;
    let mut before: f64 = series[..from].iter().map(|x| x - middle).sum();
    let mut found = (0.0, None);
    for index in from..=to {
        let share = index as f64 / n;
        // The reduction in the sum of squares, up to constant factors.
        let gain = before * before / (share * (1.0 - share));
        if gain > found.0 {
            found = (gain, Some(index));
        }
        before += series.get(index).copied().unwrap_or_default() - middle;
    }
    found.1
}

/// The chance of a two-sided p-value this small at any of the places tried.
pub(crate) fn chance_anywhere(chance: f64, cells: usize, margin: usize) -> f64 {
    let places = (cells + 1 - 2 * margin) as f64;
    let each = chance * places;
    let square = normal_quantile(chance / 2.0).powi(2);
    if square < 1.0 || !square.is_finite() {
        return each.min(1.0);
    }
    let share = margin as f64 / cells as f64;
    let span = 2.0 * ((1.0 - share) / share).ln();
    let density = (square / 2.0).sqrt() * (-square / 2.0).exp() / std::f64::consts::PI.sqrt();
    let tail = density * ((1.0 - 1.0 / square) * span + 2.0 / square);
    tail.min(each).clamp(chance, 1.0)
}

/// The sum of squares about two levels.
fn about_levels(series: &[f64], index: usize) -> f64 {
    let (before, after) = series.split_at(index);
    let about = |part: &[f64]| {
        let middle = mean(part).unwrap_or_default();
        part.iter().map(|x| (x - middle).powi(2)).sum::<f64>()
    };
    about(before) + about(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A level of 1000, with noise of ±40 that repeats.
    fn level(n: usize) -> Vec<f64> {
        let noise = |at: usize| ((at * 7919) % 81) as f64 - 40.0;
        (0..n).map(|at| 1000.0 + noise(at)).collect()
    }

    #[test]
    fn detects_a_step_in_the_right_place() {
        for (n, at) in [(20, 12), (30, 12), (60, 40), (300, 100), (3600, 1000)] {
            let mut series = level(n);
            assert!(step(&series).unwrap().p > 0.01, "{n}");
            series[at..].iter_mut().for_each(|x| *x *= 0.8);
            let found = step(&series).unwrap();
            assert_eq!(found.index, at, "{found:?}");
            assert!(found.p < 1e-3, "{found:?}");
            assert!((found.after / found.before - 0.8).abs() < 0.03, "{found:?}");
            assert!(found.of_drift < 0.8, "{found:?}");
        }
    }

    #[test]
    fn a_drift_is_not_a_step() {
        let drift: Vec<f64> = level(60)
            .iter()
            .enumerate()
            .map(|(at, x)| x + 10.0 * at as f64)
            .collect();
        assert!(step(&drift).unwrap().of_drift > 1.5);
    }

    #[test]
    fn unusable_series_have_no_step() {
        assert_eq!(step(&level(STEP_MIN - 1)), None);
        assert_eq!(step(&[7.0; 60]), None);
        let mut broken = level(30);
        broken[4] = f64::NAN;
        assert_eq!(step(&broken), None);
        let exact: Vec<f64> = (0..30).map(|at| if at < 12 { 5.0 } else { 4.0 }).collect();
        let found = step(&exact).unwrap();
        assert_eq!((found.index, found.p), (12, 0.0));
    }

    /// Andrews' critical values of the maximum, with 15 % excluded at either end: 8.68 at 5 % and
    /// 12.16 at 1 %.
    #[test]
    fn the_p_value_accounts_for_the_places_tried() {
        for (square, expected) in [(8.68_f64, 0.05), (12.16, 0.01)] {
            let chance = crate::distributions::normal_two_sided(square.sqrt());
            let found = chance_anywhere(chance, 10_000, 1_500);
            assert!(
                (found / expected - 1.0).abs() < 0.1,
                "{found} for {expected}"
            );
        }
        // With few places, the chance is multiplied by no more than their number.
        assert!(chance_anywhere(0.004, 12, 2) <= 0.004 * 9.0);
    }
}
