//! What a run says of its own figures.

use dyno_core::summary::RunSummary;

use super::Block;
use crate::terminal::Ink;

/// The results of the conditions of `--fail-if`.
pub(crate) fn thresholds(run: &RunSummary) -> Vec<Block> {
    let row = run.thresholds.iter().map(|held| {
        let (ink, mark) = match held.failed {
            true => (Ink::Error, "✘ failed"),
            false => (Ink::Good, "✔ kept"),
        };
        Block::row(mark, ink, held.line())
    });
    row.collect()
}

/// What limits the figures, and warnings about them.
pub(crate) fn remarks(run: &RunSummary) -> impl Iterator<Item = Block> {
    let limits = run.limits.iter();
    let limits = limits.map(|limit| Block::row("limit", Ink::Strong, &**limit));
    let warnings = run.warnings.iter();
    limits.chain(warnings.map(|text| Block::row("warning", Ink::Warning, &**text)))
}
