//! How a run ended, its conditions, and remarks about its figures.

use dyno_analysis::summary::UNFINISHED;
use dyno_core::summary::{RunEnd, RunSummary};

use super::Block;
use crate::terminal::Ink;

/// How the run ended, unless it completed.
pub(crate) fn ended(run: &RunSummary, full: bool) -> Option<Block> {
    let rest = if full {
        "\nThe figures cover what ran before."
    } else {
        ""
    };
    match &run.end {
        RunEnd::Completed => None,
        RunEnd::Interrupted => {
            let text = match full {
                true => "The run was stopped early; the figures cover what ran before.",
                false => "before its time was up",
            };
            Some(Block::row("interrupted", Ink::Warning, text))
        }
        RunEnd::Failed(why) => {
            let state = match why == UNFINISHED {
                true => "unfinished",
                false => "failed",
            };
            Some(Block::row(state, Ink::Error, format!("{why}{rest}")))
        }
    }
}

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
