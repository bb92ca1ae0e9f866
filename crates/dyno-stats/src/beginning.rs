//! Finds out whether a series begins at a different level, because the warm-up was too short.
//!
//! Beginnings of 3, 6, 12, … values, up to a fifth of the series, are each tried as a step in a
//! linear model with autocorrelated errors (`gls`). A beginning of 3·2^k values is tried on means
//! of 2^k values, which gives the same answer in less time. Values are clamped to four robust
//! deviations about the median of their part, which is the beginning or the rest. Outliers such as
//! stalls then do not inflate the noise, and the step keeps its height. The means that are reported
//! are those of the values before clamping. The p-value is corrected for the number of beginnings
//! (Bonferroni).

use crate::gls::Coefficient;
use crate::{mean, median};

/// The shortest series that [`beginning`] can judge.
pub const BEGINNING_MIN: usize = 10;

/// The number of values, or means, in the shortest beginning.
const FIRST: usize = 3;

/// Values are clamped to this many robust deviations about the median of their part.
const CLAMP: f64 = 4.0;

/// The standard deviation of a normal distribution over its median absolute deviation.
const NORMAL: f64 = 1.4826;

/// The beginning of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beginning {
    /// How many values it has.
    pub length: usize,
    /// The mean of these values.
    pub first: f64,
    /// The mean of all other values.
    pub rest: f64,
    /// The p-value, corrected for the number of beginnings tried.
    pub p: f64,
}

/// The beginning that differs most significantly from the rest. `None` for fewer than
/// [`BEGINNING_MIN`] values, a constant series, and values that are not finite.
pub fn beginning(series: &[f64]) -> Option<Beginning> {
    beginnings(series)
        .into_iter()
        .min_by(|one, other| one.p.total_cmp(&other.p))
}

/// All beginnings, the shortest first. None where [`beginning`] finds none.
pub fn beginnings(series: &[f64]) -> Vec<Beginning> {
    if series.len() < BEGINNING_MIN || !crate::all_finite(series) {
        return Vec::new();
    }
    let longest = (series.len() / 5).max(FIRST);
    let steps = (0..).map(|power| 1_usize << power);
    let steps: Vec<usize> = steps.take_while(|step| FIRST * step <= longest).collect();
    let tried = steps.len() as f64;
    let of = |step: usize| {
        let length = FIRST * step;
        let clamped = clamped(series, length)?;
        let means: Vec<f64> = clamped.chunks_exact(step).filter_map(mean).collect();
        let mut begins = vec![0.0; means.len()];
        begins[..FIRST].fill(1.0);
        let chance = Coefficient::with_constant(&means, &begins)?.chance_of_zero();
        Some(Beginning {
            length,
            first: mean(&series[..length])?,
            rest: mean(&series[length..])?,
            p: (chance * tried).min(1.0),
        })
    };
    steps.into_iter().filter_map(of).collect()
}

/// Clamps the values to [`CLAMP`] robust deviations about the median of the first `length` or of
/// the others. A part in which more than half of the values equal the median is unchanged.
fn clamped(series: &[f64], length: usize) -> Option<Vec<f64>> {
    let (first, rest) = series.split_at_checked(length)?;
    let medians = [median(first)?, median(rest)?];
    let with_median = || {
        let of_first = first.iter().map(|x| (*x, medians[0]));
        of_first.chain(rest.iter().map(|x| (*x, medians[1])))
    };
    let off: Vec<f64> = with_median()
        .map(|(x, middle)| (x - middle).abs())
        .collect();
    let reach = CLAMP * NORMAL * median(&off)?;
    let within = |(x, middle): (f64, f64)| match reach > 0.0 {
        true => x.clamp(middle - reach, middle + reach),
        false => x,
    };
    Some(with_median().map(within).collect())
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
    fn detects_a_cold_start_in_a_series_of_any_length() {
        for n in [20, 60, 300, 3600] {
            let mut series = level(n);
            assert!(beginning(&series).unwrap().p > 0.01, "{n}");
            series[..3].fill(150.0);
            let found = beginning(&series).unwrap();
            assert!(found.p < 0.01, "{n}: {found:?}");
            assert!(found.first < 600.0, "{n}: {found:?}");
            // Later stalls do not hide it.
            for second in (10..n).step_by(10) {
                series[second] = 0.0;
            }
            let found = beginning(&series).unwrap();
            assert!(found.p < 0.01, "{n}: {found:?}");
        }
    }

    #[test]
    fn a_step_far_above_the_noise_is_certain() {
        let mut series: Vec<f64> = level(11).iter().map(|x| 988.0 + x / 500.0).collect();
        series[..3].copy_from_slice(&[247.0, 248.0, 249.0]);
        let found = beginning(&series).unwrap();
        assert!(found.p < 1e-6, "{found:?}");
        // Nor does a stall within the beginning.
        series[1] = 0.0;
        assert!(beginning(&series).unwrap().p < 1e-6);
    }

    #[test]
    fn stalls_are_not_a_slow_beginning() {
        let mut series = level(120);
        for second in (9..120).step_by(20) {
            series[second] = 0.0;
        }
        assert!(beginning(&series).unwrap().p > 0.05);
    }

    #[test]
    fn unusable_series_have_no_beginning() {
        assert_eq!(beginning(&level(9)), None);
        assert_eq!(beginning(&[7.0; 60]), None);
        let mut broken = level(30);
        broken[4] = f64::NAN;
        assert_eq!(beginning(&broken), None);
    }
}
