//! Figures above the tables: a title and a value in each cell of a grid.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::{Look, put};
use crate::figures::Cell;
use crate::format;
use crate::profile::Figure;
use crate::state::State;

/// A cell of the grid: title, value, and the space after it.
const CELL_WIDTH: u16 = 26;
/// Characters of a value.
const VALUE_WIDTH: usize = 10;

/// Draws as many as fit; returns the lines used.
pub(super) fn draw(
    buffer: &mut Buffer,
    area: Rect,
    figures: &[Figure],
    state: &State,
    look: &Look,
) -> u16 {
    let is_shown = |figure: &&Figure| !figure.sparse || state.figure(figure) != Cell::Absent;
    let figures: Vec<&Figure> = figures.iter().filter(is_shown).collect();
    let across = (area.width / CELL_WIDTH).max(1);
    let wide = area.width / across;
    let lines = (figures.len() as u16).div_ceil(across).min(area.height);
    // Down each column first, so that neighbours in the list are below each other.
    for (index, figure) in figures.iter().enumerate() {
        let (column, line) = (index as u16 / lines.max(1), index as u16 % lines.max(1));
        if column >= across {
            break;
        }
        let (x, y) = (area.x + column * wide, area.y + line);
        let cell = state.figure(figure);
        let value = format::cell(figure.kind, &cell);
        let title_width = wide.saturating_sub(VALUE_WIDTH as u16 + 3);
        put(buffer, x, y, title_width, figure.title, look.quiet());
        let style = match cell {
            Cell::Absent => look.quiet(),
            _ => Style::new().add_modifier(Modifier::BOLD),
        };
        let value = format!("{value:>VALUE_WIDTH$}");
        put(
            buffer,
            x + title_width,
            y,
            wide - title_width,
            &value,
            style,
        );
    }
    lines
}
