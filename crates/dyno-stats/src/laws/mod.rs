//! Laws that relate load, throughput and response time, and the ratios that reports show.

mod scaling;

pub use scaling::{Scaling, amdahl, universal_scalability};

use crate::mean;

/// A measured level of load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Sessions, threads, or another unit of load.
    pub n: f64,
    /// Throughput at that load, per unit of time.
    pub throughput: f64,
}

/// Little's law: the mean response time of `n` sessions that complete `throughput` per unit of time
/// (Little, "A Proof for the Queuing Formula: L = lambda W"), in that unit; `None` for a throughput
/// that is not positive.
pub fn response_time(level: Level) -> Option<f64> {
    let time = level.n / level.throughput;
    (level.throughput > 0.0 && time.is_finite()).then_some(time)
}

/// The response time of each level relative to the first; 1 means no queueing.
pub fn saturation(levels: &[Level]) -> Option<Vec<f64>> {
    let first = response_time(*levels.first()?).filter(|&time| time > 0.0)?;
    levels
        .iter()
        .map(|&level| Some(response_time(level)? / first))
        .collect()
}

/// The saturation point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// The largest load up to which the response time is at most twice that of the first level.
    pub by_saturation: f64,
    /// The load with the most throughput per response time, X / R ("power": Kleinrock, "Power and
    /// Deterministic Rules of Thumb for Probabilistic Problems in Computer Communications").
    pub by_power: f64,
}

/// The saturation point is where the response time exceeds the unloaded one by this factor.
pub const KNEE_SATURATION: f64 = 2.0;

/// The saturation point of levels in ascending load; `None` if a throughput is not positive.
pub fn knee(levels: &[Level]) -> Option<Knee> {
    let saturation = saturation(levels)?;
    let below = saturation
        .iter()
        .take_while(|&&times| times <= KNEE_SATURATION)
        .count();
    let power = |level: &Level| level.throughput * level.throughput / level.n;
    let best = levels.iter().max_by(|a, b| power(a).total_cmp(&power(b)))?;
    Some(Knee {
        by_saturation: levels[below.max(1) - 1].n,
        by_power: best.n,
    })
}

/// New over base; `None` for a base of 0.
pub fn ratio(new: f64, base: f64) -> Option<f64> {
    let ratio = new / base;
    (base != 0.0 && ratio.is_finite()).then_some(ratio)
}

/// The loss relative to `base`: 1 - new / base. A base 1.30 times as fast is a penalty of 23 %,
/// not 30.
pub fn penalty(new: f64, base: f64) -> Option<f64> {
    Some(1.0 - ratio(new, base)?)
}

/// The throughput of each level relative to the first.
pub fn speed_up(levels: &[Level]) -> Option<Vec<f64>> {
    let first = levels.first()?.throughput;
    levels
        .iter()
        .map(|level| ratio(level.throughput, first))
        .collect()
}

/// Speed-up over the factor by which resources grew; 1 is linear scaling.
pub fn efficiency(speed_up: f64, factor: f64) -> Option<f64> {
    ratio(speed_up, factor)
}

/// Seconds in the month of a price list: thirty days.
pub const SECONDS_PER_MONTH: f64 = 30.0 * 86_400.0;

/// The price per unit of work, for a price per month of thirty days and a rate per second; in the
/// currency of the price.
pub fn price_per_unit(price_per_month: f64, rate: f64) -> Option<f64> {
    ratio(price_per_month / SECONDS_PER_MONTH, rate)
}

/// How evenly work or time was shared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fairness {
    /// Smallest share.
    pub min: f64,
    /// Largest share.
    pub max: f64,
    /// max - min.
    pub difference: f64,
    /// 100 (max - min) / min, in percent; `None` for a minimum of 0.
    pub percent: Option<f64>,
    /// Jain's index in (0, 1]: 1 when all are equal, k/n when k of n have it all (Jain, Chiu and
    /// Hawe, "A Quantitative Measure of Fairness and Discrimination"). `None` when all are 0.
    pub jain: Option<f64>,
}

/// The fairness of non-negative shares; `None` for an empty list.
pub fn fairness(shares: &[f64]) -> Option<Fairness> {
    let mean = mean(shares)?;
    if shares.iter().any(|&share| share < 0.0) {
        return None;
    }
    let min = shares.iter().copied().fold(f64::INFINITY, f64::min);
    let max = shares.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let squares = shares
        .iter()
        .map(|share| (share / mean).powi(2))
        .sum::<f64>();
    Some(Fairness {
        min,
        max,
        difference: max - min,
        percent: ratio(100.0 * (max - min), min),
        jain: (mean > 0.0).then(|| shares.len() as f64 / squares),
    })
}
