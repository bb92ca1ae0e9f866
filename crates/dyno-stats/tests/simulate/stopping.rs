//! Comparisons that stop once their interval is narrow.

#![allow(clippy::unwrap_used)] // helper functions are test code too

use dyno_stats::Bounds;
use dyno_stats::intervals::mean_interval;
use dyno_stats::stopping::{Look, Rule, look};

use super::Source;
use super::cases::{Asked, Case};

/// The log ratios of blocks are normal with a mean of `TRUTH` and a deviation of `DEVIATION`.
const TRUTH: f64 = 0.05;
const DEVIATION: f64 = 0.01;
const BLOCKS_MAX: usize = 400;

/// A rule with this half-width in deviations of a block.
fn rule(half_width: f64, blocks_max: usize) -> Rule {
    Rule {
        precision: (half_width * DEVIATION).exp_m1(),
        ..Rule::up_to(blocks_max)
    }
}

fn blocks(source: &mut Source) -> f64 {
    TRUTH + DEVIATION * source.normal()
}

fn by_rule(source: &mut Source, rule: &Rule) -> Look {
    let mut seen = Vec::new();
    loop {
        seen.push(blocks(source));
        let found = look(&seen, rule).unwrap();
        if found.stop.is_some() {
            return found;
        }
    }
}

/// Whether the interval covers the truth if the comparison stops by the rule.
pub(crate) fn holds(source: &mut Source, half_width: f64, blocks_max: usize) -> bool {
    let found = by_rule(source, &rule(half_width, blocks_max));
    found.interval.unwrap().contains(TRUTH.exp())
}

/// The same if it stops as soon as a 95 % interval is narrow, with a look after each block from
/// `first` on.
pub(crate) fn naive_holds(source: &mut Source, half_width: f64, first: usize) -> bool {
    let mut seen: Vec<f64> = (1..first).map(|_| blocks(source)).collect();
    let narrow = |own: &Bounds| own.width() / 2.0 <= half_width * DEVIATION;
    loop {
        seen.push(blocks(source));
        let found = mean_interval(&seen, 0.95).filter(narrow);
        if let Some(found) = found {
            return found.contains(TRUTH);
        }
    }
}

/// What comparisons promise that stop early, late, and in between.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for half_width in [1.5, 1.0, 0.5, 0.3] {
        for blocks_max in [20, BLOCKS_MAX] {
            let of = format!(
                "half width of {half_width} deviations, up to {blocks_max} blocks: holds the ratio"
            );
            let trial = move |source: &mut Source| holds(source, half_width, blocks_max);
            let asked = Asked::AtLeast(0.95);
            cases.push(Case::new("stopping when narrow", of, asked, trial));
        }
    }
    cases
}
