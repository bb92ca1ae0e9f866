//! Tests of whether the ratios of an experiment are 1 within a margin.

use dyno_lab::{Ratio, Source};
use dyno_stats::Margin;
use dyno_verdict::{Amount, EquivalenceTest};

/// Whether a ratio is 1 within the margin; `None` without an interval.
pub(super) fn equivalence(ratio: &Ratio, margin: Margin) -> Option<EquivalenceTest> {
    let amount = match ratio.source {
        Source::Blocks(blocks) => Amount::Blocks(blocks),
        Source::Within | Source::Nothing => Amount::Unknown,
    };
    Some(EquivalenceTest::of(&ratio.tested()?, margin, amount))
}
