//! Finds out whether the values of a series differ where a condition holds.
//!
//! The condition is a regressor in a linear model with autocorrelated errors (`gls`), because ten
//! low seconds in a row that belong to one slow swing are not ten independent observations.

use crate::gls::Coefficient;
use crate::mean;

/// The shortest series that [`contrast`] can judge.
pub const CONTRAST_MIN: usize = 10;

/// The means with and without the condition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    /// The mean where the condition holds.
    pub marked: f64,
    /// The mean elsewhere.
    pub others: f64,
    /// The p-value of the difference.
    pub p: f64,
}

/// Compares the values where `marks` is true with the others. `None` for fewer than
/// [`CONTRAST_MIN`] values, marks that are all equal, a different number of marks, and values that
/// are not finite.
pub fn contrast(series: &[f64], marks: &[bool]) -> Option<Contrast> {
    if series.len() < CONTRAST_MIN || marks.len() != series.len() || !crate::all_finite(series) {
        return None;
    }
    let of = |side: bool| -> Vec<f64> {
        let pairs = series.iter().zip(marks);
        pairs
            .filter(|(_, mark)| **mark == side)
            .map(|(x, _)| *x)
            .collect()
    };
    let (marked, others) = (mean(&of(true))?, mean(&of(false))?);
    let regressor: Vec<f64> = marks
        .iter()
        .map(|mark| f64::from(u8::from(*mark)))
        .collect();
    // The errors of two noiseless levels cannot be modelled.
    let p = match Coefficient::with_constant(series, &regressor) {
        Some(found) => found.chance_of_zero(),
        None if marked == others => 1.0,
        None => 0.0,
    };
    Some(Contrast { marked, others, p })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separates_a_difference_from_noise() {
        let noise = |at: usize| ((at * 7919) % 81) as f64 - 40.0;
        let series: Vec<f64> = (0..40).map(|at| 1000.0 + noise(at)).collect();
        let marks: Vec<bool> = (0..40).map(|at| at % 10 < 3).collect();
        assert!(contrast(&series, &marks).unwrap().p > 0.05);
        let low: Vec<f64> = series
            .iter()
            .zip(&marks)
            .map(|(x, mark)| if *mark { x - 200.0 } else { *x })
            .collect();
        let found = contrast(&low, &marks).unwrap();
        assert!(found.p < 1e-6, "{found:?}");
        assert!(
            (found.marked / found.others - 0.8).abs() < 0.03,
            "{found:?}"
        );
    }

    #[test]
    fn unusable_series_have_no_contrast() {
        let series: Vec<f64> = (0..20).map(f64::from).collect();
        assert_eq!(contrast(&series, &[true; 20]), None);
        assert_eq!(contrast(&series, &[false; 20]), None);
        assert_eq!(contrast(&series, &[true; 3]), None);
        assert_eq!(
            contrast(&series[..5], &[true, false, true, false, true]),
            None
        );
        let halves: Vec<bool> = (0..20).map(|at| at < 10).collect();
        let exact: Vec<f64> = halves
            .iter()
            .map(|half| if *half { 3.0 } else { 4.0 })
            .collect();
        assert_eq!(contrast(&exact, &halves).unwrap().p, 0.0);
        assert_eq!(contrast(&[3.0; 20], &halves).unwrap().p, 1.0);
    }
}
