//! Other measurements of a host test.

use dyno_core::summary::RunSummary;

use super::Block;
use crate::number::rate;
use crate::terminal::Ink;

/// The figures, and their meaning.
pub(crate) fn machine(run: &RunSummary) -> Vec<Block> {
    let mut rows = machine_figures(run);
    let about = run.machine.iter().map(|machine| machine.about.join("\n"));
    rows.extend(about.map(|about| Block::row("measured is", Ink::Plain, about)));
    rows
}

/// The figures.
pub(crate) fn machine_figures(run: &RunSummary) -> Vec<Block> {
    let figures = run.machine.iter().flat_map(|machine| &machine.figures);
    let row = figures.map(|figure| {
        let value = format!("{} {}", rate(figure.value), figure.unit);
        Block::row(&figure.name, Ink::Strong, value)
    });
    row.collect()
}
