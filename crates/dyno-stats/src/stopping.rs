//! Decides when a comparison has measured enough blocks: once the interval is narrow.
//!
//! Looking after each block and stopping as soon as the interval is narrow often stops by luck,
//! when the blocks happen to agree. With simulated, normally distributed blocks, a 95 % interval
//! that is inspected from the second block on covers the truth in 88 to 92 % of comparisons. If it
//! is inspected from the eighth block on, it covers the truth in 93 to 95 %. The first look
//! therefore comes after [`BLOCKS_MIN`] blocks, and an early stop requires an interval of 97 %
//! ([`early_confidence`]), which covers the truth in 95 % or more.
//!
//! That applies to ratios of blocks, which are close enough to normal.

use crate::Bounds;
use crate::intervals::mean_interval;
use crate::mean;

/// The number of blocks before the first look.
pub const BLOCKS_MIN: usize = 8;

/// After repeated looks, a 95 % interval misses the truth up to 2 points more often. An early
/// interval therefore may miss it with only this share of the requested chance.
const EARLY: f64 = 0.6;

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The target width of the interval: its upper end over the ratio, minus 1. 0.01 is 1 %.
    pub precision: f64,
    /// The confidence of the interval, in (0, 1).
    pub confidence: f64,
    /// The number of blocks before the first look.
    pub blocks_min: usize,
    /// The largest number of blocks.
    pub blocks_max: usize,
}

impl Rule {
    /// Within 1 % with a confidence of 95 %, from [`BLOCKS_MIN`] blocks to this many.
    pub fn up_to(blocks_max: usize) -> Self {
        Self {
            precision: 0.01,
            confidence: 0.95,
            blocks_min: BLOCKS_MIN,
            blocks_max,
        }
    }
}

/// The state of a comparison after a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Why to stop; `None` to continue.
    pub stop: Option<Reason>,
    /// The ratio: the geometric mean of the ratios of the blocks.
    pub ratio: f64,
    /// Its interval; `None` for a single block.
    pub interval: Option<Bounds>,
    /// The confidence of the interval. After the last block it is that of the rule. Before that it
    /// is higher, because a look may stop the comparison.
    pub made_with: f64,
    /// Whether the interval is as narrow as requested, no matter why the comparison stops.
    pub narrow: bool,
}

/// Why a comparison stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The interval is as narrow as requested.
    Narrow,
    /// All blocks have been measured.
    BlocksMax,
}

/// Looks at a comparison after a block. `log_ratios` are the natural logarithms of new / base, one
/// per finished block. They are assumed to be independent draws from one normal distribution:
/// Student's t with n - 1. `None` without a block, for a value that is not finite, and for a rule
/// whose confidence or precision is invalid.
pub fn look(log_ratios: &[f64], rule: &Rule) -> Option<Look> {
    let positive = rule.precision > 0.0 && rule.precision.is_finite();
    if !positive || !crate::proper(rule.confidence) {
        return None;
    }
    let center = mean(log_ratios)?;
    let blocks = log_ratios.len();
    let last = blocks >= rule.blocks_max;
    let early = early_confidence(rule.confidence);
    // After the last block, there is no early decision to correct for.
    let made_with = if last { rule.confidence } else { early };
    let interval = mean_interval(log_ratios, made_with);
    let narrow = interval.is_some_and(|own| own.width() / 2.0 <= rule.precision.ln_1p());
    let stop = match (last, narrow && blocks >= rule.blocks_min) {
        (true, _) => Some(Reason::BlocksMax),
        (false, true) => Some(Reason::Narrow),
        (false, false) => None,
    };
    Some(Look {
        stop,
        ratio: center.exp(),
        interval: interval.map(|own| Bounds {
            low: own.low.exp(),
            high: own.high.exp(),
        }),
        made_with,
        narrow,
    })
}

/// The confidence of an interval that decides when to stop, such that it covers the truth with the
/// given confidence: 0.97 for 0.95.
pub fn early_confidence(confidence: f64) -> f64 {
    1.0 - EARLY * (1.0 - confidence)
}

#[cfg(test)]
mod checks {
    use super::*;

    /// Log ratios about ln 1.2 with a standard deviation of 1 %.
    fn blocks(count: usize) -> Vec<f64> {
        let pattern = [1.0, -1.0, 0.5, -0.5, 1.2, -1.2];
        let at = |index: usize| 1.2f64.ln() + 0.01 * pattern[index % pattern.len()];
        (0..count).map(at).collect()
    }

    #[test]
    fn nothing_stops_before_eight_blocks() {
        let alike = [0.1; 8];
        let rule = Rule::up_to(20);
        for count in 1..8 {
            assert_eq!(look(&alike[..count], &rule).unwrap().stop, None);
        }
        assert_eq!(look(&alike[..1], &rule).unwrap().interval, None);
        let stopped = look(&alike, &rule).unwrap();
        assert_eq!(stopped.stop, Some(Reason::Narrow));
        assert!((stopped.ratio - 0.1f64.exp()).abs() < 1e-12);
    }

    #[test]
    fn early_stops_have_wider_intervals() {
        let rule = Rule::up_to(100);
        let stop = (1..100).find(|&count| look(&blocks(count), &rule).unwrap().stop.is_some());
        // A half-width of 1 % at a deviation of 1 % needs t(n - 1) <= the root of n, so 8 blocks.
        assert_eq!(stop, Some(8));
        let early = look(&blocks(8), &rule).unwrap();
        assert!((early.made_with - 0.97).abs() < 1e-12 && early.narrow);
        let found = early.interval.unwrap();
        assert!(found.high / early.ratio <= 1.01);
        let plain = look(&blocks(8), &Rule::up_to(8)).unwrap();
        assert_eq!(
            (plain.stop, plain.made_with),
            (Some(Reason::BlocksMax), 0.95)
        );
        assert!(plain.interval.unwrap().width() < found.width());
    }

    #[test]
    fn the_last_block_stops_it_however_wide_the_interval() {
        let rule = Rule {
            precision: 0.001,
            ..Rule::up_to(12)
        };
        assert_eq!(look(&blocks(11), &rule).unwrap().stop, None);
        let last = look(&blocks(12), &rule).unwrap();
        assert_eq!((last.stop, last.narrow), (Some(Reason::BlocksMax), false));
    }

    #[test]
    fn invalid_samples_and_rules_have_no_answer() {
        let rule = Rule::up_to(20);
        assert_eq!(look(&[], &rule), None);
        assert_eq!(look(&[0.1, f64::NAN], &rule), None);
        let precision = 0.0;
        assert_eq!(look(&[0.1, 0.2], &Rule { precision, ..rule }), None);
        let confidence = 1.0;
        assert_eq!(look(&[0.1, 0.2], &Rule { confidence, ..rule }), None);
    }
}
