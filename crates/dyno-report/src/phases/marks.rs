//! Marks in a column.

use super::{Cell, Mark};

/// Which end of a column is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Good {
    High,
    Low,
}

/// Marks the lowest and the highest quarter of a column's range. If the lowest is at least four
/// fifths of the highest, nothing is bad. Figures that missed the background's rate do not count.
pub(super) fn mark_quarters<'a>(column: impl Iterator<Item = &'a mut Cell>, good: Good) {
    let mut cells: Vec<&mut Cell> = column
        .filter(|cell| cell.value.is_some() && cell.mark != Mark::Missed)
        .collect();
    let values = || cells.iter().filter_map(|cell| cell.value);
    let low = values().fold(f64::INFINITY, f64::min);
    let high = values().fold(f64::NEG_INFINITY, f64::max);
    if cells.len() < 2 || low >= high {
        return;
    }
    let quarter = (high - low) / 4.0;
    let differ = low < 0.8 * high;
    for cell in &mut cells {
        let value = cell.value.unwrap_or_default();
        let (at_top, at_bottom) = (value >= high - quarter, value <= low + quarter);
        let (best, worst) = match good {
            Good::High => (at_top, at_bottom),
            Good::Low => (at_bottom, at_top),
        };
        if best {
            cell.mark = Mark::High;
        } else if worst && differ {
            cell.mark = Mark::Low;
        }
    }
}
