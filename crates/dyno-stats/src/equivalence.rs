//! Whether a ratio is 1 within a margin.
//!
//! A difference that is not significant may still be large: the data may be too few. Equivalence
//! needs its own test: two one-sided tests (Schuirmann, "A Comparison of the Two One-Sided
//! Tests Procedure and the Power Approach for Assessing the Equivalence of Average
//! Bioavailability"). Both reject at 5 % if the 90 % interval is within the margin.

use crate::Bounds;

/// The confidence of the interval that must be within the margin, if 1 minus `confidence` is the
/// level of each one-sided test: 0.9 for 0.95.
pub fn inner_confidence(confidence: f64) -> f64 {
    1.0 - 2.0 * (1.0 - confidence)
}

/// A difference that is too small to matter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margin {
    share: f64,
}

impl Margin {
    /// 0.02 is 2 %: ratios from 1/1.02 to 1.02. `None` unless the share is between 0 and 1.
    pub fn new(share: f64) -> Option<Self> {
        crate::proper(share).then_some(Self { share })
    }

    /// The largest ratio minus 1.
    pub fn share(self) -> f64 {
        self.share
    }

    /// The smallest and the largest ratio.
    pub fn bounds(self) -> Bounds {
        let high = 1.0 + self.share;
        Bounds {
            low: 1.0 / high,
            high,
        }
    }
}

/// A ratio with the intervals that decide about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tested {
    /// The ratio.
    pub ratio: f64,
    /// Its interval: if it excludes 1, there is a difference.
    pub interval: Bounds,
    /// Its interval at [`inner_confidence`]: if it is within the margin, so is the ratio.
    pub inner: Bounds,
}

/// The answer to whether a ratio is 1 within a margin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Equivalence {
    /// It is within the margin.
    Same,
    /// It is within the margin, but not 1.
    SameButMeasurable,
    /// It is not 1, and may be outside the margin.
    Different,
    /// It may be 1, and may be outside the margin.
    Undecided {
        /// How many times as much data would decide, if the ratio stays and the intervals shrink
        /// with the square root of the amount. At least 1; `None` if unknown.
        times: Option<f64>,
    },
}

impl Equivalence {
    /// The answer for a ratio.
    pub fn of(tested: &Tested, margin: Margin) -> Self {
        let Tested {
            ratio,
            interval,
            inner,
        } = *tested;
        let ends = [ratio, interval.low, interval.high, inner.low, inner.high];
        if ends.iter().any(|end| end.is_nan()) {
            return Self::Undecided { times: None };
        }
        let allowed = margin.bounds();
        let is_same = allowed.contains(inner.low) && allowed.contains(inner.high);
        match (is_same, interval.contains(1.0)) {
            (true, true) => Self::Same,
            (true, false) => Self::SameButMeasurable,
            (false, false) => Self::Different,
            (false, true) => Self::Undecided {
                times: times(tested, margin),
            },
        }
    }
}

/// How many times as much data would show that the ratio is within the margin, or that it is not 1,
/// whichever needs less.
fn times(tested: &Tested, margin: Margin) -> Option<f64> {
    let center = tested.ratio.ln();
    let allowed = margin.share.ln_1p();
    let shrunk = |reach: f64, room: f64| match room > 0.0 {
        true => (reach / room).powi(2),
        false => f64::INFINITY,
    };
    let below = |bounds: Bounds| center - bounds.low.ln();
    let above = |bounds: Bounds| bounds.high.ln() - center;
    let same = shrunk(below(tested.inner), allowed + center)
        .max(shrunk(above(tested.inner), allowed - center));
    let different = match center > 0.0 {
        true => shrunk(below(tested.interval), center),
        false => shrunk(above(tested.interval), -center),
    };
    let least = same.min(different);
    least.is_finite().then(|| least.max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer within 2 % for a ratio with its 95 % and 90 % intervals.
    fn answer(ratio: f64, (low, high): (f64, f64), inner: (f64, f64)) -> Equivalence {
        let tested = Tested {
            ratio,
            interval: Bounds { low, high },
            inner: Bounds {
                low: inner.0,
                high: inner.1,
            },
        };
        Equivalence::of(&tested, Margin::new(0.02).unwrap())
    }

    fn is_undecided(answer: Equivalence) -> bool {
        matches!(answer, Equivalence::Undecided { .. })
    }

    #[test]
    fn intervals_have_answers() {
        use Equivalence::{Different, Same, SameButMeasurable};
        for (ratio, interval, inner, expected) in [
            (1.0, (0.99, 1.01), (0.992, 1.008), Same),
            // Only the 90 % interval must be within the margin.
            (1.0, (0.979, 1.021), (0.985, 1.015), Same),
            // The margin is a ratio: 1/1.02 is 0.9804.
            (0.99, (0.979, 1.001), (0.9805, 1.0), Same),
            (1.004, (1.001, 1.007), (1.002, 1.006), SameButMeasurable),
            (0.99, (0.982, 0.998), (0.984, 0.996), SameButMeasurable),
            (1.015, (1.005, 1.025), (1.007, 1.023), Different),
            (1.1, (1.05, 1.15), (1.06, 1.14), Different),
            (0.8, (0.75, 0.85), (0.76, 0.84), Different),
            // Without variation.
            (1.0, (1.0, 1.0), (1.0, 1.0), Same),
            (1.01, (1.01, 1.01), (1.01, 1.01), SameButMeasurable),
            (1.03, (1.03, 1.03), (1.03, 1.03), Different),
            (1.5, (1.2, f64::INFINITY), (1.3, f64::INFINITY), Different),
        ] {
            assert_eq!(answer(ratio, interval, inner), expected, "{interval:?}");
        }
        for (ratio, interval, inner) in [
            (1.0, (0.9, 1.1), (0.92, 1.08)),
            (1.015, (0.995, 1.035), (0.998, 1.032)),
            (0.99, (0.978, 1.002), (0.9803, 1.0)),
            (1.0, (0.0, f64::INFINITY), (0.0, f64::INFINITY)),
        ] {
            let found = answer(ratio, interval, inner);
            assert!(is_undecided(found), "{interval:?}: {found:?}");
        }
    }

    #[test]
    fn undecided_ratios_need_so_many_times_the_data() {
        let times = |ratio: f64, reach: f64, inner: f64| {
            let about = |reach: f64| (ratio * (-reach).exp(), ratio * reach.exp());
            match answer(ratio, about(reach), about(inner)) {
                Equivalence::Undecided { times } => times.unwrap(),
                other => panic!("{other:?}"),
            }
        };
        let margin = 1.02_f64.ln();
        let near = |found: f64, expected: f64| {
            assert!((found / expected - 1.0).abs() < 1e-6, "{found} {expected}");
        };
        // Twice the half-width is four times the data.
        near(times(1.0, 2.4 * margin, 2.0 * margin), 4.0);
        // Half of the margin is left.
        near(times((margin / 2.0).exp(), 1.2 * margin, margin), 4.0);
        // Outside the margin, data show a difference.
        near(times(1.05, 2.0 * 1.05_f64.ln(), 1.05_f64.ln()), 4.0);
        near(times(1.0 / 1.05, 2.0 * 1.05_f64.ln(), 1.05_f64.ln()), 4.0);
    }

    #[test]
    fn unusable_values_are_undecided() {
        let unknown = Equivalence::Undecided { times: None };
        let wide = (0.0, f64::INFINITY);
        assert_eq!(answer(f64::NAN, (0.9, 1.1), (0.95, 1.05)), unknown);
        assert_eq!(answer(1.0, (f64::NAN, 1.1), (0.95, 1.05)), unknown);
        assert_eq!(answer(1.0, wide, wide), unknown);
        assert_eq!(answer(0.0, wide, wide), unknown);
        for share in [0.0, -0.02, 1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Margin::new(share), None, "{share}");
        }
    }
}
