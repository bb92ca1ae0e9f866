//! Random numbers and texts: the distributions behind `sysbench.rand` and generated tables.
//!
//! Everything here is a pure function of a [`Stream`]: the same stream gives the same values for
//! any worker, session or process.

use std::cell::Cell;

use crate::plan::{RandKind, RandPlan};
use crate::rand::Stream;

pub use shapes::{Zipf, bell, keyed, letters, normal, permute};
pub use text::{Pattern, TextMaker, varstring};
pub use unique::{UNIQUE_VALUES, Unique};

mod shapes;
mod text;
mod unique;
mod zipf;

#[cfg(test)]
mod tests;

const TWO_TO_32: f64 = (1u64 << 32) as f64;

/// The distributions with their shapes.
///
/// Bounds are inclusive and may be in either order. Draws never leave them.
#[derive(Clone, Debug)]
pub struct Distributions {
    default_kind: RandKind,
    pareto_power: f64,
    gaussian_draws: u32,
    special_hot_part: f64,
    /// In units of 2^-53.
    special_hot_draws: u64,
    zipf_exponent: f64,
    /// The constants of the last range: scripts draw from one range for hours.
    zipf: Cell<zipf::Constants>,
}

impl Distributions {
    /// Takes the shapes of a plan. Invalid shapes (a Pareto share outside ]0, 1[, a percentage
    /// above 100, a negative exponent) are moved to the nearest valid value; the command line's
    /// parser rejects them.
    pub fn new(plan: &RandPlan) -> Self {
        let share = if plan.pareto_h.is_nan() {
            RandPlan::default().pareto_h
        } else {
            plan.pareto_h.clamp(1e-9, 1.0 - 1e-9)
        };
        let zipf_exponent = zipf::sane_exponent(plan.zipfian_exp);
        Self {
            default_kind: plan.kind,
            // From (share of the range)^(1 / power) = 1 - share.
            pareto_power: share.ln() / (1.0 - share).ln(),
            gaussian_draws: plan.spec_iter.max(1),
            special_hot_part: f64::from(plan.spec_pct.min(100)) / 100.0,
            special_hot_draws: (1 << 53) * u64::from(plan.spec_res.min(100)) / 100,
            zipf_exponent,
            zipf: Cell::new(zipf::Constants::new(1, zipf_exponent)),
        }
    }

    /// The distribution of `sysbench.rand.default`.
    pub fn default_kind(&self) -> RandKind {
        self.default_kind
    }

    /// A value between `a` and `b`, both included.
    #[inline]
    pub fn draw(&self, kind: RandKind, stream: &mut Stream, a: u32, b: u32) -> u32 {
        if kind == RandKind::Uniform {
            // Within the bounds, so the value fits.
            return uniform(stream, u64::from(a.min(b)), u64::from(a.max(b))) as u32;
        }
        self.draw_u64(kind, stream, u64::from(a), u64::from(b)) as u32
    }

    /// A value between `a` and `b`, both included, for ids of 64 bits. Uniform draws are exact over
    /// the whole range; the other distributions resolve 53 bits of it.
    pub fn draw_u64(&self, kind: RandKind, stream: &mut Stream, a: u64, b: u64) -> u64 {
        let (low, high) = if a <= b { (a, b) } else { (b, a) };
        match kind {
            RandKind::Uniform => uniform(stream, low, high),
            RandKind::Gaussian => self.gaussian(stream, low, high),
            RandKind::Special => self.special(stream, low, high),
            RandKind::Pareto => at_part(
                low,
                high,
                (stream.next_f64().ln() * self.pareto_power).exp(),
            ),
            RandKind::Zipfian => self.zipfian(stream, low, high),
        }
    }

    /// The mean of several uniform draws (Irwin and Hall's bell).
    #[inline]
    fn gaussian(&self, stream: &mut Stream, low: u64, high: u64) -> u64 {
        let draws = self.gaussian_draws;
        if high - low <= u64::from(u32::MAX) {
            // Halves of 32 bits are precise enough for such a range, and cost half.
            let mut sum = 0;
            for _ in 0..draws / 2 {
                let both = stream.next_u64();
                sum += (both >> 32) + (both & u64::from(u32::MAX));
            }
            if draws % 2 == 1 {
                sum += stream.next_u64() >> 32;
            }
            // 32-bit numbers, at most 2^32 of them: their sum fits 64 bits.
            return at_part(low, high, sum as f64 / (f64::from(draws) * TWO_TO_32));
        }
        let mut sum = 0.0;
        for _ in 0..draws {
            sum += stream.next_f64();
        }
        at_part(low, high, sum / f64::from(draws))
    }

    /// A bell with a hot centre: a fixed share of the draws falls evenly on a fixed share of the
    /// range around its middle. At least one value is hot.
    #[inline]
    fn special(&self, stream: &mut Stream, low: u64, high: u64) -> u64 {
        if stream.next_u64() >> 11 >= self.special_hot_draws {
            return self.gaussian(stream, low, high);
        }
        let span = high - low;
        let size = span as f64 + 1.0;
        // Number of hot values after the first.
        let others = ((size * self.special_hot_part + 0.5) as u64)
            .saturating_sub(1)
            .min(span);
        let first = low + (span - others) / 2;
        uniform(stream, first, first + others)
    }

    /// Zipf's law: the lowest value is the most frequent, then its neighbours.
    fn zipfian(&self, stream: &mut Stream, low: u64, high: u64) -> u64 {
        let ranks = (high - low).saturating_add(1);
        let mut constants = self.zipf.get();
        if constants.ranks() != ranks {
            constants = zipf::Constants::new(ranks, self.zipf_exponent);
            self.zipf.set(constants);
        }
        low + (constants.rank(stream) - 1)
    }
}

/// Uniform without bias, over any range up to all 64 bits.
#[inline]
fn uniform(stream: &mut Stream, low: u64, high: u64) -> u64 {
    match (high - low).checked_add(1) {
        Some(size) => low + stream.below(size),
        None => stream.next_u64(),
    }
}

/// The value at `part` of the range, `part` in [0, 1). Rounding may raise it to 1, which must not
/// exceed the range.
#[inline]
fn at_part(low: u64, high: u64, part: f64) -> u64 {
    let span = high - low;
    low + (((span as f64 + 1.0) * part) as u64).min(span)
}
