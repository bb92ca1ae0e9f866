//! Ratios of cells, block by block.

use dyno_conduct::lab::figures::Done;
use dyno_lab::Measured;
use dyno_stats::Margin;
use dyno_verdict::{Cell, Layout};

use super::mean;
use crate::commands::lab::equivalence::equivalence;

/// Replaces a cell's ratio with the blockwise one that claims and effects use.
pub(super) fn by_block(
    cell: &mut Cell,
    layout: &Layout,
    base: usize,
    (done, figure, margin): (&[&Done], &str, Option<Margin>),
) {
    let (across, at) = match &layout.columns {
        Some(columns) => (columns, cell.column),
        None => (&layout.rows, cell.row),
    };
    if cell.ratio.is_none() || at == base {
        return;
    }
    let others: Vec<&str> = across.0.split(", ").collect();
    let is_at = |trial: &Measured, (names, levels): &(String, Vec<String>), at: usize| {
        let own = names.split(", ").map(|name| trial.levels.get(name));
        let own: Option<Vec<&str>> = own.map(|level| level.map(String::as_str)).collect();
        own.is_some_and(|own| levels.get(at).is_some_and(|level| *level == own.join(", ")))
    };
    let in_row = |trial: &Measured| match &layout.columns {
        Some(_) => is_at(trial, &layout.rows, cell.row),
        None => true,
    };
    let of = |trial: &Measured| in_row(trial) && is_at(trial, across, at);
    let to = |trial: &Measured| in_row(trial) && is_at(trial, across, base);
    let trials: Vec<Measured> = done.iter().map(|done| done.measured.clone()).collect();
    let ratio = dyno_lab::between(&trials, (&of, &to), &others, figure);
    // Two methods would give two ratios for the same runs.
    cell.ratio = ratio.map(|ratio| ratio.value);
    let bounds = ratio.and_then(|ratio| ratio.bounds);
    cell.low = bounds.map(|own| own.low);
    cell.high = bounds.map(|own| own.high);
    cell.equivalence = ratio
        .zip(margin)
        .and_then(|(ratio, margin)| equivalence(&ratio, margin));
}

/// Replaces the figure of a cell whose trials are sides of duets: their runs also waited for the
/// other side.
pub(super) fn in_slices(cell: &mut Cell, done: &[&Done], figure: &str) {
    let is_of_cell = |one: &&&Done| one.measured.runs.iter().any(|run| cell.runs.contains(run));
    let trials: Vec<&Done> = done.iter().filter(is_of_cell).copied().collect();
    if trials.iter().any(|one| one.duet.is_some()) {
        cell.value = mean(&trials, figure);
    }
}
