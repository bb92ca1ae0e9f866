//! The grid of loads, which are numbered.
//!
//! A whole number identifies a load, so that it can be stored exactly, and two loads are either
//! equal or differ by whole steps.

use super::goal::{Goal, Loads, Scale, SearchError};
use crate::Bounds;

/// The number of a load in its grid. It depends on the width and the scale, but not on the smallest
/// and the largest load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GridStep(pub i64);

/// Steps per width, for rates.
const STEPS: i64 = 4;
/// Rounding error of a logarithm in steps.
const ROUNDING: f64 = 1e-6;
/// Above this, whole loads and steps cannot be distinguished.
const LARGEST: f64 = 1e15;

/// The steps between the smallest and the largest load.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Grid {
    scale: Scale,
    width: f64,
    ln_step: f64,
    pub(super) min: GridStep,
    pub(super) max: GridStep,
}

impl Grid {
    pub(super) fn new(goal: &Goal, loads: Loads) -> Result<Self, SearchError> {
        let Loads { min, max, scale } = loads;
        let none = SearchError::Loads { min, max };
        if !(min > 0.0 && min <= max && max < LARGEST) {
            return Err(none);
        }
        let mut grid = Self {
            scale,
            width: goal.width,
            ln_step: goal.width.ln_1p() / STEPS as f64,
            min: GridStep(0),
            max: GridStep(0),
        };
        let (low, high) = (grid.position(min), grid.position(max));
        if !(low.abs() < LARGEST && high.abs() < LARGEST) {
            return Err(none);
        }
        grid.min = GridStep((low - ROUNDING).ceil() as i64);
        grid.max = GridStep((high + ROUNDING).floor() as i64);
        if grid.min > grid.max {
            return Err(none);
        }
        Ok(grid)
    }

    /// In events per second, or a whole number.
    pub(super) fn load(&self, step: GridStep) -> f64 {
        match self.scale {
            Scale::Rates => (step.0 as f64 * self.ln_step).exp(),
            Scale::Whole => step.0 as f64,
        }
    }

    /// Whether the step is within the range of this search.
    pub(super) fn contains(&self, step: GridStep) -> bool {
        self.min <= step && step <= self.max
    }

    pub(super) fn nearest(&self, load: f64) -> GridStep {
        let position = self.position(load).clamp(-LARGEST, LARGEST);
        GridStep(position.round() as i64).clamp(self.min, self.max)
    }

    /// Whether no load between these two needs to be tried.
    pub(super) fn narrow(&self, low: GridStep, high: GridStep) -> bool {
        let apart = match self.scale {
            Scale::Rates => high.0 - low.0 <= STEPS,
            Scale::Whole => self.load(high) <= self.load(low) * (1.0 + self.width),
        };
        apart || high.0 - low.0 <= 1
    }

    /// A step between two that are not adjacent, at the mean of their logarithms.
    pub(super) fn middle(&self, low: GridStep, high: GridStep) -> GridStep {
        let load = (self.load(low) * self.load(high)).sqrt();
        GridStep(self.nearest(load).0.clamp(low.0 + 1, high.0 - 1))
    }

    /// The middle of all loads, at the mean of their logarithms.
    pub(super) fn center(&self) -> GridStep {
        self.nearest((self.load(self.min) * self.load(self.max)).sqrt())
    }

    /// Twice the load, or the largest.
    pub(super) fn double(&self, step: GridStep) -> GridStep {
        self.nearest(2.0 * self.load(step))
            .max(GridStep(step.0 + 1))
            .min(self.max)
    }

    /// Half the load, or the smallest.
    pub(super) fn halve(&self, step: GridStep) -> GridStep {
        self.nearest(0.5 * self.load(step))
            .min(GridStep(step.0 - 1))
            .max(self.min)
    }

    /// The load a width below, or the smallest load.
    pub(super) fn width_below(&self, step: GridStep) -> GridStep {
        let below = match self.scale {
            Scale::Rates => step.0 - STEPS,
            Scale::Whole => {
                let load = self.load(step) / (1.0 + self.width);
                ((load - ROUNDING).ceil() as i64).min(step.0 - 1)
            }
        };
        GridStep(below).max(self.min)
    }

    /// From a width below one load to a width above another. May exceed the range.
    pub(super) fn widened(&self, low: GridStep, high: GridStep) -> Bounds {
        let factor = 1.0 + self.width;
        let (low, high) = (self.load(low), self.load(high));
        match self.scale {
            Scale::Rates => Bounds {
                low: low / factor,
                high: high * factor,
            },
            Scale::Whole => Bounds {
                low: (low / factor).ceil().min(low - 1.0),
                high: (high * factor).floor().max(high + 1.0),
            },
        }
    }

    /// The position of a positive load, in steps.
    fn position(&self, load: f64) -> f64 {
        match self.scale {
            Scale::Rates => load.ln() / self.ln_step,
            Scale::Whole => load,
        }
    }
}

#[cfg(test)]
mod checks {
    use super::*;

    fn grid(min: f64, max: f64, scale: Scale) -> Grid {
        Grid::new(&Goal::new(0.01), Loads { min, max, scale }).unwrap()
    }

    #[test]
    fn four_steps_are_a_width_whatever_the_bounds() {
        let near = grid(5_000.0, 20_000.0, Scale::Rates);
        let far = grid(1.0, 1e6, Scale::Rates);
        let step = near.nearest(9_080.0);
        assert_eq!(step, far.nearest(9_080.0));
        let wider = GridStep(step.0 + 4);
        assert!((near.load(wider) / near.load(step) - 1.02).abs() < 1e-9);
        assert!(near.narrow(step, wider));
        assert!(!near.narrow(step, GridStep(step.0 + 5)));
        assert_eq!(near.width_below(wider), step);
        assert!((near.load(step) / 9_080.0).ln().abs() < 0.003);
        assert!((near.load(near.double(step)) / 18_160.0).ln().abs() < 0.005);
        assert_eq!(near.double(near.double(step)), near.max);
        assert_eq!(near.halve(near.halve(step)), near.min);
    }

    #[test]
    fn bounds_hold_the_grid() {
        let grid = grid(1_000.0, 2_000.0, Scale::Rates);
        assert!(grid.load(grid.min) >= 999.999 && grid.load(grid.min) < 1_005.0);
        assert!(grid.load(grid.max) <= 2_000.001 && grid.load(grid.max) > 1_990.0);
    }

    #[test]
    fn sessions_are_whole() {
        let grid = grid(1.0, 300.0, Scale::Whole);
        assert_eq!(grid.middle(GridStep(1), GridStep(3)), GridStep(2));
        assert_eq!(grid.middle(GridStep(16), GridStep(256)), GridStep(64));
        assert!(grid.narrow(GridStep(7), GridStep(8)));
        assert!(!grid.narrow(GridStep(7), GridStep(9)));
        assert!(grid.narrow(GridStep(100), GridStep(102)));
        assert!(!grid.narrow(GridStep(100), GridStep(103)));
        assert_eq!(grid.width_below(GridStep(102)), GridStep(100));
        assert_eq!(grid.width_below(GridStep(8)), GridStep(7));
        assert_eq!(grid.double(GridStep(200)), GridStep(300));
        assert_eq!(grid.halve(GridStep(1)), GridStep(1));
        let widened = grid.widened(GridStep(7), GridStep(102));
        assert_eq!((widened.low, widened.high), (6.0, 104.0));
    }

    #[test]
    fn refuses_invalid_ranges() {
        for (min, max) in [
            (0.0, 10.0),
            (10.0, 5.0),
            (f64::NAN, 10.0),
            (1.0, f64::INFINITY),
            (10.01, 10.011),
        ] {
            let loads = Loads::rates(min, max);
            let found = Grid::new(&Goal::new(0.01), loads);
            assert!(matches!(found, Err(SearchError::Loads { .. })), "{loads:?}");
        }
    }
}
