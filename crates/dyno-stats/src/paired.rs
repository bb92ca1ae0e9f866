//! Ratios from paired blocks: two sides were measured in turns or at the same time, so that the
//! noise of the machine reaches both alike.
//!
//! The ratio is that of the sums, such as all events of one side over all of the other's in the
//! same time; a block without an event therefore needs no logarithm. Its error is that of the
//! linearised ratio (Cochran, "Sampling Techniques", chapter 6): in each block, the relative
//! deviation of one side from its mean minus that of the other. Common noise cancels, and the rest
//! is a series that is hardly correlated, because chance decides which side comes first. Its mean
//! has an interval by cosine transforms, which allows for the correlation that is left.

use crate::distributions::student_two_sided;
use crate::intervals::{Bounds, Mean};
use crate::quantiles::mean;

/// The fewest blocks that give a ratio. With fewer, a single disturbed block decides.
pub const PAIRS_MIN: usize = 20;

/// A ratio with its error, on the logarithmic scale.
#[derive(Clone, Copy, Debug)]
pub struct PairedRatio(Mean);

impl PairedRatio {
    /// The ratio of two sums: `new` over `base`. Block by block, both are amounts in equal times.
    /// `None` for fewer than [`PAIRS_MIN`] blocks, different numbers
    /// of blocks, values that are not finite, or a sum that is not positive.
    pub fn of_sums(new: &[f64], base: &[f64]) -> Option<Self> {
        Self::of_powers(&[(new, 1.0), (base, -1.0)])
    }

    /// The ratio of two costs per event: `(new, its events)` over `(base, its events)`. As
    /// [`Self::of_sums`].
    pub fn of_costs(new: (&[f64], &[f64]), base: (&[f64], &[f64])) -> Option<Self> {
        Self::of_powers(&[(new.0, 1.0), (new.1, -1.0), (base.0, -1.0), (base.1, 1.0)])
    }

    /// The ratio whose logarithm was estimated in each block, such as that of a percentile.
    pub fn of_logarithms(logarithms: &[f64]) -> Option<Self> {
        let known = (logarithms.len() >= PAIRS_MIN).then_some(logarithms);
        Mean::of_transforms(known?).map(Self)
    }

    /// The product of the sums, each to its power.
    fn of_powers(terms: &[(&[f64], f64)]) -> Option<Self> {
        let (first, _) = terms.first()?;
        if first.len() < PAIRS_MIN {
            return None;
        }
        let mut logarithm = 0.0;
        let mut errors = vec![0.0; first.len()];
        for (amounts, power) in terms {
            let mean = mean(amounts).filter(|mean| *mean > 0.0 && mean.is_finite())?;
            if amounts.len() != errors.len() {
                return None;
            }
            logarithm += power * mean.ln();
            for (error, amount) in errors.iter_mut().zip(*amounts) {
                *error += power * (amount / mean - 1.0);
            }
        }
        let noise = Mean::of_transforms(&errors)?;
        Some(Self(Mean {
            mean: logarithm,
            ..noise
        }))
    }

    /// The ratio.
    pub fn ratio(&self) -> f64 {
        self.0.mean.exp()
    }

    /// The p-value of a ratio of 1.
    pub fn p(&self) -> f64 {
        let deviation = self.0.variance.sqrt();
        match deviation > 0.0 {
            true => student_two_sided(self.0.mean / deviation, self.0.degrees),
            false if self.0.mean == 0.0 => 1.0,
            false => 0.0,
        }
    }

    /// Its interval by Student's t; `None` for an invalid confidence.
    pub fn interval(&self, confidence: f64) -> Option<Bounds> {
        let of_logarithm = self.0.bounds(confidence)?;
        Some(Bounds {
            low: of_logarithm.low.exp(),
            high: of_logarithm.high.exp(),
        })
    }

    /// How precisely the ratio is known: the upper end of its interval over the ratio, minus 1.
    /// 0.01 is 1 %.
    pub fn precision(&self, confidence: f64) -> Option<f64> {
        let of_logarithm = self.0.bounds(confidence)?;
        Some((of_logarithm.width() / 2.0).exp_m1())
    }

    /// By which factor the measurement must be longer to reach this precision, if the error falls
    /// with the root of the time. 1 or less: it is reached.
    pub fn longer_by(&self, precision: f64, confidence: f64) -> Option<f64> {
        let reach = self.0.bounds(confidence)?.width() / 2.0;
        (precision > 0.0).then(|| (reach / precision.ln_1p()).powi(2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Alternating around a mean.
    fn around(mean: f64, swing: f64, count: usize) -> Vec<f64> {
        let sign = |at: usize| if at.is_multiple_of(2) { 1.0 } else { -1.0 };
        (0..count).map(|at| mean + swing * sign(at)).collect()
    }

    #[test]
    fn common_noise_cancels() {
        let base = around(100.0, 50.0, 40);
        let new: Vec<f64> = base.iter().map(|amount| 0.9 * amount).collect();
        let found = PairedRatio::of_sums(&new, &base).unwrap();
        assert!((found.ratio() - 0.9).abs() < 1e-12);
        assert!(found.precision(0.95).unwrap() < 1e-9);
        let others: Vec<f64> = around(90.0, -45.0, 40);
        let noisy = PairedRatio::of_sums(&others, &base).unwrap();
        assert!((noisy.ratio() - 0.9).abs() < 1e-12);
        assert!(noisy.precision(0.95).unwrap() > 1e-3);
    }

    #[test]
    fn a_cost_is_relative_to_the_events() {
        let events = around(100.0, 20.0, 20);
        let fewer: Vec<f64> = events.iter().map(|events| events / 2.0).collect();
        let cpu: Vec<f64> = events.iter().map(|events| 3.0 * events).collect();
        // The same CPU time for half of the events.
        let found = PairedRatio::of_costs((&cpu, &fewer), (&cpu, &events)).unwrap();
        assert!((found.ratio() - 2.0).abs() < 1e-12);
        assert!(found.precision(0.95).unwrap() < 1e-9);
    }

    #[test]
    fn a_block_without_events_counts() {
        let mut new = around(10.0, 1.0, 20);
        new[3] = 0.0;
        let base = around(10.0, 1.0, 20);
        let found = PairedRatio::of_sums(&new, &base).unwrap();
        let expected = new.iter().sum::<f64>() / base.iter().sum::<f64>();
        assert!((found.ratio() - expected).abs() < 1e-12);
    }

    #[test]
    fn the_time_needed_grows_with_the_square() {
        let found = PairedRatio::of_logarithms(&around(0.0, 0.1, 50)).unwrap();
        let precision = found.precision(0.95).unwrap();
        let longer = found.longer_by(precision / 2.0, 0.95).unwrap();
        assert!((longer - 4.0).abs() < 0.2, "{longer}");
        assert!(found.longer_by(precision, 0.95).unwrap() <= 1.0 + 1e-9);
    }

    #[test]
    fn the_p_value_agrees_with_the_interval() {
        let found = PairedRatio::of_logarithms(&around(0.02, 0.1, 50)).unwrap();
        let p = found.p();
        let contains = |confidence| found.interval(confidence).unwrap().contains(1.0);
        assert!(contains(1.0 - 0.9 * p) && !contains(1.0 - 1.1 * p), "{p}");
        assert_eq!(PairedRatio::of_logarithms(&[0.0; 20]).unwrap().p(), 1.0);
        assert!(PairedRatio::of_logarithms(&[0.1; 20]).unwrap().p() < 1e-12);
    }

    #[test]
    fn unusable_blocks_have_no_ratio() {
        let good = around(10.0, 1.0, 20);
        assert!(PairedRatio::of_sums(&good[..19], &good[..19]).is_none());
        assert!(PairedRatio::of_sums(&good, &good[..19]).is_none());
        assert!(PairedRatio::of_sums(&[0.0; 20], &good).is_none());
        assert!(PairedRatio::of_sums(&good, &[0.0; 20]).is_none());
        let mut broken = good.clone();
        broken[0] = f64::NAN;
        assert!(PairedRatio::of_sums(&broken, &good).is_none());
        let found = PairedRatio::of_sums(&good, &good).unwrap();
        assert!(found.interval(1.0).is_none());
        assert!(found.longer_by(0.0, 0.95).is_none());
    }
}
