//! The range of an axis, its round values, and their positions.

use super::super::small_multiples::step;

/// The approximate number of steps of a value axis.
const STEPS: f64 = 5.0;
/// A range below this has no visible extent, and its logarithm or its step might be zero.
const RANGE_MIN: f64 = 1e-300;

/// The values that an axis shows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Range {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) log: bool,
    /// The labelled values.
    pub(super) ticks: Vec<f64>,
}

impl Range {
    /// From zero, or from below the lowest value, to a round value above the highest or to `max`.
    pub(super) fn linear(values: impl Iterator<Item = f64>, max: Option<f64>, unit: &str) -> Self {
        let (mut low, mut high) = (0.0_f64, 0.0_f64);
        for value in values.filter(|value| value.is_finite()) {
            (low, high) = (low.min(value), high.max(value));
        }
        let reach = max.unwrap_or(high).max(-low);
        let step = match reach > RANGE_MIN {
            // Multiples of powers of two are round in KiB and MiB.
            true if is_binary(unit) => 2_f64.powf((reach / STEPS).log2().ceil()),
            true => step(reach, STEPS),
            false => 1.0,
        };
        let from = (low / step).floor() * step;
        let to = max.unwrap_or_else(|| (high / step - 1e-9).ceil() * step);
        let to = to.max(from + step);
        let ticks = multiples(step, from, to);
        Self {
            from,
            to,
            log: false,
            ticks,
        }
    }

    /// A logarithmic range between round values around those above zero.
    pub(super) fn logarithmic(values: impl Iterator<Item = f64>) -> Self {
        let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
        for value in values.filter(|value| value.is_finite() && *value > RANGE_MIN) {
            (low, high) = (low.min(value), high.max(value));
        }
        if high <= 0.0 {
            (low, high) = (1.0, 10.0);
        }
        let marks = round_between(low, high);
        let below = marks.iter().rev().find(|mark| **mark <= low * 1.0001);
        let above = marks.iter().find(|mark| **mark >= high * 0.9999);
        let from = below.copied().unwrap_or(low);
        let to = above.copied().unwrap_or(high);
        let to = if to > from { to } else { from * 10.0 };
        Self::logarithmic_within(from, to)
    }

    /// A logarithmic range with exactly these ends, the first above zero.
    pub(super) fn logarithmic_within(from: f64, to: f64) -> Self {
        let from = from.max(RANGE_MIN);
        let to = if to > from { to } else { from * 10.0 };
        let within = |mark: &f64| *mark >= from * 0.9999 && *mark <= to * 1.0001;
        Self {
            from,
            to,
            log: true,
            ticks: round_between(from, to).into_iter().filter(within).collect(),
        }
    }

    /// The range on pixels from `start` to `end`.
    pub(super) fn scale(&self, start: f64, end: f64) -> Scale {
        Scale {
            from: self.from,
            to: self.to,
            log: self.log,
            start,
            end,
        }
    }
}

/// Whether a value in this unit is shown in KiB, MiB and so on.
fn is_binary(unit: &str) -> bool {
    unit.starts_with("bytes") || unit == "kb"
}

/// The multiples of a step within a range.
pub(super) fn multiples(step: f64, from: f64, to: f64) -> Vec<f64> {
    const MULTIPLES_MAX: usize = 100;
    let first = (from / step - 1e-9).ceil();
    (0..MULTIPLES_MAX)
        .map(|number| (first + number as f64) * step)
        .take_while(|value| *value <= to + step * 1e-9)
        .collect()
}

/// 1, 2 and 5 times powers of ten; only 1 and 3 times, or only powers of ten if they are many.
fn round_between(low: f64, high: f64) -> Vec<f64> {
    let decades = (high / low).log10();
    let factors: &[f64] = match decades {
        _ if decades > 3.0 => &[1.0],
        _ if decades > 1.7 => &[1.0, 3.0],
        _ => &[1.0, 2.0, 5.0],
    };
    let first = low.log10().floor() as i32 - 1;
    let last = high.log10().ceil() as i32;
    (first..=last)
        .flat_map(|power| factors.iter().map(move |factor| scaled(*factor, power)))
        .collect()
}

/// Divides by powers below one: 5 · 10⁻³ is 0.005, not 0.005000000000000001.
fn scaled(factor: f64, power: i32) -> f64 {
    match power < 0 {
        true => factor / 10_f64.powi(-power),
        false => factor * 10_f64.powi(power),
    }
}

/// Positions of values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    from: f64,
    to: f64,
    log: bool,
    start: f64,
    end: f64,
}

impl Scale {
    /// The position of a value, within the axis.
    pub(super) fn at(&self, value: f64) -> f64 {
        let place = |value: f64| match self.log {
            true => value.max(RANGE_MIN).ln(),
            false => value,
        };
        let (from, to) = (place(self.from), place(self.to));
        let share = (place(value) - from) / (to - from);
        let share = if share.is_nan() { 0.0 } else { share };
        self.start + share.clamp(0.0, 1.0) * (self.end - self.start)
    }

    /// Whether a value has a position: a missing one does not, nor zero on a logarithmic axis.
    pub(super) fn has(&self, value: f64) -> bool {
        value.is_finite() && (!self.log || value > 0.0)
    }

    /// The position of the lowest value, from which bars and areas rise.
    pub(super) fn base(&self) -> f64 {
        match self.log {
            true => self.start,
            false => self.at(0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linear(values: &[f64], unit: &str) -> (f64, f64, usize) {
        let range = Range::linear(values.iter().copied(), None, unit);
        (range.from, range.to, range.ticks.len())
    }

    #[test]
    fn linear_ranges_end_at_round_values() {
        assert_eq!(linear(&[3.0, f64::NAN, 4_870.0], "count"), (0.0, 5000.0, 6));
        assert_eq!(linear(&[0.0], "count"), (0.0, 1.0, 2));
        assert_eq!(linear(&[], "count"), (0.0, 1.0, 2));
        assert_eq!(linear(&[-3.0, 10.0], "count"), (-4.0, 10.0, 8));
        assert_eq!(linear(&[5e6], "bytes"), (0.0, 5_242_880.0, 6));
        assert_eq!(linear(&[f64::MIN_POSITIVE], "count").1, 1.0);
        let full = Range::linear([12.0].into_iter(), Some(100.0), "percent");
        assert_eq!(full.ticks, [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
    }

    #[test]
    fn logarithmic_ranges_have_round_ticks() {
        let ticks = |values: &[f64]| Range::logarithmic(values.iter().copied()).ticks;
        assert_eq!(ticks(&[12.0, 0.0, 88.0]), [10.0, 20.0, 50.0, 100.0]);
        assert_eq!(ticks(&[0.004, 0.3]), [0.003, 0.01, 0.03, 0.1, 0.3]);
        assert_eq!(ticks(&[1.0, 40_000.0]).len(), 6);
        assert_eq!(ticks(&[2.0]), [2.0, 5.0, 10.0, 20.0]);
        assert_eq!(ticks(&[]), ticks(&[1.0, 10.0]));
        assert_eq!(ticks(&[0.005])[0], 0.005);
    }

    #[test]
    fn positions_stay_on_the_axis() {
        let scale = Range::linear([100.0].into_iter(), None, "count").scale(300.0, 50.0);
        assert_eq!((scale.at(0.0), scale.at(50.0)), (300.0, 175.0));
        assert_eq!((scale.at(1e300), scale.at(-5.0)), (50.0, 300.0));
        assert_eq!((scale.at(f64::NAN), scale.at(f64::INFINITY)), (300.0, 50.0));
        let scale = Range::logarithmic([1.0, 100.0].into_iter()).scale(0.0, 100.0);
        assert!((scale.at(10.0) - 50.0).abs() < 1e-9);
        assert_eq!((scale.at(0.0), scale.base()), (0.0, 0.0));
        assert!(scale.has(0.1) && !scale.has(0.0) && !scale.has(f64::NAN));
    }
}
