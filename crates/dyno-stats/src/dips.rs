//! Recurring dips of a series: checkpoints, flushes, periodic jobs.
//!
//! A value is low if it is well below the upper part of the series: by [`DEPTH_MIN`] of the third
//! quartile, and by one of [`SPREADS`] in deviations. The deviation is estimated from the distance
//! between the median and that quartile, which dips do not widen as long as they take less than
//! half of the time. Consecutive low values are one dip. Random dips have geometric gaps, while
//! nearly all gaps of a cycle are equal. The p-value is the binomial tail of that many gaps near
//! their median.
//!
//! Deep and long dips need not recur ([`spells`]), because noise does not cause them.

use crate::distributions::binomial_upper_tail;
use crate::quantiles::quantile;

/// The shortest series in which recurring dips can be found.
pub const DIPS_MIN: usize = 30;

/// Minimum depth of a dip, as a share of the level.
const DEPTH_MIN: f64 = 0.15;

/// Minimum depth in deviations of the series without its dips. Each of these is tried: a dip that
/// straddles two values is half as deep in each, but noise causes dips, too.
const SPREADS: [f64; 3] = [2.5, 3.5, 5.0];

/// From a normal distribution's median to its third quartile, in deviations.
const QUARTILE: f64 = 0.6745;

/// With fewer gaps there is no period.
const GAPS_MIN: usize = 5;

/// Gaps are alike if they differ from their median by at most this share, or by one value.
const ALIKE: f64 = 0.2;

const SHARE_MIN: f64 = 0.75;

/// The largest p-value of the number of alike gaps.
const CHANCE_MAX: f64 = 1e-3;

/// Recurring dips.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dips {
    /// The number of dips.
    pub count: usize,
    /// The period, in values.
    pub period: f64,
    /// The depth of the deepest value of a dip below the level, as a share of the level. This is
    /// the median over the dips.
    pub depth: f64,
    /// The share of the level's sum that is lost in dips.
    pub lost: f64,
    /// The p-value against dips at random times, corrected for the number of bounds tried.
    pub p: f64,
}

/// The recurring dips of a series. `None` for fewer than [`DIPS_MIN`] values, and for values that
/// are not finite.
pub fn dips(series: &[f64]) -> Option<Dips> {
    if series.len() < DIPS_MIN {
        return None;
    }
    let (middle, upper) = upper_part(series)?;
    let deviation = (upper - middle) / QUARTILE;
    let bounds = SPREADS.map(|spread| (upper * (1.0 - DEPTH_MIN)).min(middle - spread * deviation));
    let found = bounds.iter().filter_map(|bound| under(series, *bound));
    found.min_by(|one, other| one.p.total_cmp(&other.p))
}

fn under(series: &[f64], bound: f64) -> Option<Dips> {
    if bound <= 0.0 {
        return None;
    }
    let found = below(series, bound);
    let gaps: Vec<f64> = found
        .windows(2)
        .map(|pair| pair[1].middle - pair[0].middle)
        .collect();
    let period = crate::median(&gaps).filter(|_| gaps.len() >= GAPS_MIN)?;
    let room = (ALIKE * period).max(1.0);
    let alike = gaps.iter().filter(|gap| (*gap - period).abs() <= room);
    let alike = alike.count();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let chance = geometric_within(mean, period, room);
    // Corrected for the number of bounds tried (Bonferroni).
    let p = binomial_upper_tail(gaps.len(), alike, chance) * SPREADS.len() as f64;
    let share = alike as f64 / gaps.len() as f64;
    if share < SHARE_MIN || p > CHANCE_MAX {
        return None;
    }
    let (depth, lost) = depth_and_loss(series, &found, bound)?;
    Some(Dips {
        count: found.len(),
        period: mean_alike(&gaps, period, room),
        depth,
        lost,
        p,
    })
}

/// The shortest series in which a spell can be found.
pub const SPELLS_MIN: usize = 10;

/// Minimum depth of a low spell, as a share of the level. Noise of 10 % goes this low in one
/// second of a thousand.
const SPELL_DEPTH: f64 = 0.3;

/// Minimum depth in standard deviations of the rest of the series. A short series needs more,
/// because its deviation is uncertain: 5.6 for 10 values, 3.7 for 120.
const SPELL_SPREAD: f64 = 3.5;
const SPELL_SPREAD_SHORT: f64 = 21.0;

/// Fewer low values may be noise with a long tail.
const SPELL_VALUES: usize = 3;

/// Periods in which a series was far below its level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spells {
    /// The number of spells.
    pub count: usize,
    /// The number of values in all of them.
    pub values: usize,
    /// How far the lowest value of a spell is below the level, as a share of it. This is the median
    /// over the spells.
    pub depth: f64,
    /// The share of the level's sum that is lost in them.
    pub lost: f64,
    /// Every value below this is in a spell.
    pub bound: f64,
}

/// The low spells of a series, whether they recur or not. A spell has three values or more, each of
/// them a third or more below the upper part of the series and far beyond its noise. `None` for
/// fewer than [`SPELLS_MIN`] values, and for values that are not finite. `None` also if half of the
/// values are low, because these are then the level.
pub fn spells(series: &[f64]) -> Option<Spells> {
    if series.len() < SPELLS_MIN {
        return None;
    }
    let (middle, upper) = upper_part(series)?;
    let deviation = (upper - middle) / QUARTILE;
    let spread = SPELL_SPREAD + SPELL_SPREAD_SHORT / series.len() as f64;
    let bound = (upper * (1.0 - SPELL_DEPTH)).min(middle - spread * deviation);
    let values = series.iter().filter(|x| **x < bound).count();
    if bound <= 0.0 || values < SPELL_VALUES {
        return None;
    }
    let found = below(series, bound);
    let (depth, lost) = depth_and_loss(series, &found, bound)?;
    Some(Spells {
        count: found.len(),
        values,
        depth,
        lost,
        bound,
    })
}

/// The median and the third quartile; `None` if a value is not finite.
fn upper_part(series: &[f64]) -> Option<(f64, f64)> {
    let sorted = crate::sorted(series)?;
    Some((quantile(&sorted, 0.5)?, quantile(&sorted, 0.75)?))
}

/// The depth of the dips below a bound, as a share of the level (the median over the dips), and
/// what is lost in them, as a share of the sum of the level.
fn depth_and_loss(series: &[f64], dips: &[Dip], bound: f64) -> Option<(f64, f64)> {
    let others: Vec<f64> = series.iter().copied().filter(|x| *x >= bound).collect();
    let level = crate::mean(&others)?;
    let missing: f64 = (series.iter().filter(|x| **x < bound))
        .map(|x| level - x)
        .sum();
    let depths: Vec<f64> = dips.iter().map(|dip| 1.0 - dip.lowest / level).collect();
    Some((
        crate::median(&depths)?,
        missing / (level * series.len() as f64),
    ))
}

struct Dip {
    middle: f64,
    lowest: f64,
}

fn below(series: &[f64], bound: f64) -> Vec<Dip> {
    let mut dips = Vec::new();
    let mut at = 0;
    while at < series.len() {
        let length = series[at..].iter().take_while(|x| **x < bound).count();
        if length > 0 {
            let own = &series[at..at + length];
            dips.push(Dip {
                middle: at as f64 + (length as f64 - 1.0) / 2.0,
                lowest: own.iter().copied().fold(f64::INFINITY, f64::min),
            });
        }
        at += length.max(1);
    }
    dips
}

/// The mean of the gaps that are alike, which is more exact than their median.
fn mean_alike(gaps: &[f64], period: f64, room: f64) -> f64 {
    let alike = gaps.iter().filter(|gap| (*gap - period).abs() <= room);
    let (sum, count) = alike.fold((0.0, 0.0), |(sum, count), gap| (sum + gap, count + 1.0));
    sum / count
}

/// The chance that a geometric gap with this mean, of two values or more, is within `room` of
/// `period`.
fn geometric_within(mean: f64, period: f64, room: f64) -> f64 {
    // The gap between dips of several values cannot be shorter than a dip.
    let chance = 1.0 / (mean - 1.0).max(1.0);
    let beyond = |gap: f64| (1.0 - chance).powf((gap - 2.0).max(0.0));
    let (low, high) = ((period - room).ceil(), (period + room).floor());
    (beyond(low) - beyond(high + 1.0)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(n: usize) -> Vec<f64> {
        let noise = |at: usize| ((at * 7919) % 81) as f64 - 40.0;
        (0..n).map(|at| 1000.0 + noise(at)).collect()
    }

    #[test]
    fn detects_the_dips_of_a_cycle() {
        let mut series = level(600);
        for at in (4..600).step_by(10) {
            series[at] = 400.0;
        }
        let found = dips(&series).unwrap();
        assert_eq!((found.count, found.period), (60, 10.0));
        assert!((found.depth - 0.6).abs() < 0.02, "{found:?}");
        assert!((found.lost - 0.06).abs() < 0.01, "{found:?}");
        // Some dips are missing, and some extra ones come between.
        for at in (4..600).step_by(200) {
            series[at] = 1000.0;
            series[at + 23] = 300.0;
        }
        assert!((dips(&series).unwrap().period - 10.0).abs() < 0.5);
    }

    #[test]
    fn dips_at_random_have_no_period() {
        assert_eq!(dips(&level(600)), None);
        let mut series = level(600);
        for n in 0..60 {
            series[(n * n * 31) % 600] = 400.0;
        }
        assert_eq!(dips(&series), None);
        // Five dips are not enough.
        let mut series = level(100);
        for at in (5..100).step_by(20) {
            series[at] = 400.0;
        }
        assert_eq!(dips(&series), None);
        assert_eq!(dips(&[1.0; 20]), None);
        assert_eq!(dips(&[0.0; 60]), None);
    }
    #[test]
    fn deep_dips_need_not_recur() {
        for (n, period, length) in [(120, 40, 5), (200, 40, 5), (12, 100, 4)] {
            let mut series = level(n);
            for at in (3..n).filter(|at| at % period >= 3 && at % period < 3 + length) {
                series[at] *= 0.4;
            }
            let found = spells(&series).unwrap();
            assert_eq!(found.count, n.div_ceil(period), "{found:?}");
            assert_eq!(found.values, found.count * length, "{found:?}");
            assert!((0.55..0.65).contains(&found.depth), "{found:?}");
            assert!((0.06..0.25).contains(&found.lost), "{found:?}");
        }
        assert_eq!(spells(&level(120)), None);
        // One or two low seconds are noise, and half of the time is a level.
        let mut series = level(12);
        series[3..5].fill(400.0);
        assert_eq!(spells(&series), None);
        series[2..8].fill(400.0);
        assert_eq!(spells(&series), None);
        assert_eq!(spells(&[f64::NAN; 12]), None);
        assert_eq!(spells(&[0.0; 12]), None);
    }
}
