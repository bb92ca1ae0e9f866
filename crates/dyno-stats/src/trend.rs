//! Finds out whether a rate rises or falls, by how much, and in what shape.
//!
//! The logarithms of the values are fitted by a constant and one of three shapes: a straight line,
//! a curve that changes most at first (data that grows, a cache that fills), and its mirror image
//! (a resource that runs out). The errors about each shape are correlated in an unknown way
//! (`gls`), so the shape must fit. Otherwise, the errors of a straight line through a curve would
//! look like strong autocorrelation, which explains any trend. The p-value is corrected for the
//! number of shapes (Bonferroni).

use crate::gls::Coefficient;
use crate::intervals::Bounds;
use crate::logarithm::logarithms;
use crate::mean;

/// The shortest series in which a trend can be found.
pub const TREND_MIN: usize = 6;

/// A longer series is reduced to this many means of equal length.
const CELLS_MAX: usize = 100;

/// How many times steeper a bent shape is at its steep end than at its flat end.
const BEND: f64 = 20.0;

/// The shape of a trend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The same factor from each value to the next.
    Even,
    /// Larger changes at first.
    AtFirst,
    /// Larger changes towards the end.
    AtLast,
}

/// A trend of one shape.
#[derive(Clone, Debug)]
pub struct Trend {
    /// Its shape.
    pub shape: Shape,
    /// The change from the first value to the last, as a share of the first. -1 is a fall to 0.
    pub change: f64,
    /// The p-value, corrected for the number of shapes.
    pub p: f64,
    by: f64,
    /// `None` if the shape fits without any error.
    errors: Option<Coefficient>,
}

/// The trends of a series, one of each shape.
#[derive(Clone, Debug)]
pub struct Trends([Trend; 3]);

impl Trend {
    /// The interval of `change` if no other shape had been tried.
    pub fn alone(&self, confidence: f64) -> Bounds {
        let reach = (self.errors.as_ref()).map_or(0.0, |found| found.reach(self.by, confidence));
        Bounds {
            low: (self.by - reach).exp_m1(),
            high: (self.by + reach).exp_m1(),
        }
    }

    /// The interval of `change` with this confidence for all shapes together.
    pub fn bounds(&self, confidence: f64) -> Bounds {
        self.alone(1.0 - (1.0 - confidence) / SHAPES.len() as f64)
    }
}

impl Trends {
    /// The even trend.
    pub fn even(&self) -> &Trend {
        &self.0[0]
    }

    /// The trend with the smallest p-value.
    pub fn surest(&self) -> &Trend {
        let [even, at_first, at_last] = &self.0;
        let bent = if at_last.p < at_first.p {
            at_last
        } else {
            at_first
        };
        if bent.p < even.p { bent } else { even }
    }
}

const SHAPES: [Shape; 3] = [Shape::Even, Shape::AtFirst, Shape::AtLast];

impl Shape {
    /// 0 at the first of `count` values and 1 at the last.
    fn at(self, index: usize, count: usize) -> f64 {
        let way = index as f64 / (count - 1) as f64;
        let bent = |way: f64| (1.0 + (BEND - 1.0) * way).ln() / BEND.ln();
        match self {
            Self::Even => way,
            Self::AtFirst => bent(way),
            Self::AtLast => 1.0 - bent(1.0 - way),
        }
    }

    fn values(self, count: usize) -> Vec<f64> {
        (0..count).map(|index| self.at(index, count)).collect()
    }
}

/// The trends of a series. `None` for fewer than [`TREND_MIN`] values, for values that are not
/// finite, and for a series that is not a rate, because it has a negative value or no positive one.
pub fn trends(series: &[f64]) -> Option<Trends> {
    let sound = crate::all_finite(series) && series.iter().all(|x| *x >= 0.0);
    if series.len() < TREND_MIN || !sound || series.iter().all(|x| *x <= 0.0) {
        return None;
    }
    let cell = series.len().div_ceil(CELLS_MAX);
    let cells: Vec<f64> = series.chunks_exact(cell).filter_map(mean).collect();
    let values = logarithms(&cells);
    let middle = mean(&values)?;
    let of = |shape: Shape| {
        let regressor = shape.values(values.len());
        let (by, _) = least_squares(&values, &regressor, middle);
        let errors = Coefficient::with_constant(&values, &regressor);
        let chance = match &errors {
            Some(found) => found.chance_of_zero(),
            None if by == 0.0 => 1.0,
            None => 0.0,
        };
        Trend {
            shape,
            change: by.exp_m1(),
            p: (chance * SHAPES.len() as f64).min(1.0),
            by,
            errors,
        }
    };
    Some(Trends(SHAPES.map(of)))
}

/// The smallest sum of squares that any shape leaves.
pub(crate) fn about_best(values: &[f64]) -> f64 {
    let middle = mean(values).unwrap_or_default();
    let left = |shape: Shape| least_squares(values, &shape.values(values.len()), middle).1;
    SHAPES.map(left).into_iter().fold(f64::INFINITY, f64::min)
}

/// The coefficient of a regressor next to a constant, and the residual sum of squares.
fn least_squares(values: &[f64], regressor: &[f64], middle: f64) -> (f64, f64) {
    let centre = mean(regressor).unwrap_or_default();
    let (mut products, mut spread, mut squares) = (0.0, 0.0, 0.0);
    for (value, x) in values.iter().zip(regressor) {
        products += (value - middle) * (x - centre);
        spread += (x - centre).powi(2);
        squares += (value - middle).powi(2);
    }
    let by = products / spread;
    (by, (squares - by * products).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Repeating noise of ±4 %.
    fn noise(at: usize) -> f64 {
        1.0 + (((at * 7919) % 81) as f64 - 40.0) / 1000.0
    }

    #[test]
    fn a_growing_table_is_a_trend_not_autocorrelation() {
        let rates: Vec<f64> = (0..20)
            .map(|at| 3593.0 / (1.0 + 3.3 * at as f64).sqrt() * noise(at))
            .collect();
        let found = trends(&rates).unwrap();
        let surest = found.surest();
        assert_eq!(surest.shape, Shape::AtFirst);
        assert!(surest.p < 0.001, "{surest:?}");
        let bounds = surest.bounds(0.99);
        assert!((-1.0..-0.8).contains(&bounds.low), "{bounds:?}");
        assert!((-0.9..-0.6).contains(&bounds.high), "{bounds:?}");
        let late: Vec<f64> = rates.iter().rev().map(|x| 1e7 / x).collect();
        assert_eq!(trends(&late).unwrap().surest().shape, Shape::AtLast);
    }

    #[test]
    fn a_fall_never_exceeds_100_percent() {
        let rates: Vec<f64> = (0..12).map(|at| 1000.0 * 0.5_f64.powi(at)).collect();
        let found = trends(&rates).unwrap();
        assert!(found.surest().p < 0.001);
        for trend in [found.even(), found.surest()] {
            let bounds = trend.bounds(0.99);
            assert!(trend.change > -1.0 && bounds.low >= -1.0, "{trend:?}");
        }
    }

    #[test]
    fn a_level_has_no_trend() {
        let rates: Vec<f64> = (0..40).map(noise).collect();
        assert!(trends(&rates).unwrap().surest().p > 0.01);
        let still = trends(&[7.0; 12]).unwrap();
        assert_eq!((still.surest().change, still.surest().p), (0.0, 1.0));
        for broken in [&[1.0; 5][..], &[0.0; 12], &[-1.0; 12], &[f64::NAN; 12]] {
            assert!(trends(broken).is_none());
        }
    }
}
