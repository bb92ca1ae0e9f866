//! The tables of a screen, below each other.

use dyno_core::text::shortened;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::{Look, below, put, wrapped};
use crate::figures::Cell;
use crate::format;
use crate::profile::{Figure, Kind, Screen, Table};
use crate::state::{State, View};

/// Lines of a table without rows: its title and the reason.
const LINES_MIN: u16 = 3;
/// The widest column of text that is not the last.
const TEXT_MAX: usize = 32;
/// With less room, free text is left out.
const LAST_MIN: usize = 12;
/// Marks hidden columns.
const MORE: &str = "›";

/// Draws all tables into the area.
pub(super) fn draw_all(
    buffer: &mut Buffer,
    area: Rect,
    state: &State,
    screen: &Screen,
    look: &Look,
) {
    let wanted: Vec<u16> = (0..screen.tables.len())
        .map(|table| wanted(state, table, area.width))
        .collect();
    let heights = shared(&wanted, area.height);
    let mut rest = area;
    for (index, (table, height)) in screen.tables.iter().zip(heights).enumerate() {
        let own = Rect { height, ..rest };
        let several = screen.tables.len() > 1;
        let focused = several && index == state.focused();
        draw(buffer, own, state, index, table, focused, look);
        rest = below(rest, height);
    }
}

/// The lines that a table needs.
fn wanted(state: &State, table: usize, width: u16) -> u16 {
    let view = &state.views()[table];
    let notes = view.notes.iter();
    let notes: usize = notes.map(|note| wrapped(note, width).len()).sum();
    let rows = match state.rows(table).len() {
        0 => {
            let tables = state
                .visible_screen()
                .map_or(&[][..], |screen| screen.tables);
            let why = tables.get(table).map(|table| why_empty(state, table, view));
            wrapped(&why.unwrap_or_default(), width).len()
        }
        rows => rows + 1,
    };
    // With its title and a line after it.
    (rows + notes + 2).min(u16::MAX.into()) as u16
}

/// The heights of tables that need this many lines: one table's surplus goes to the others.
fn shared(wanted: &[u16], height: u16) -> Vec<u16> {
    let mut heights = vec![0_u16; wanted.len()];
    let mut left = height;
    // A line for each in turn: fair, and fast enough for a few tables.
    loop {
        let before = left;
        for (own, wanted) in heights.iter_mut().zip(wanted) {
            let step = if *own == 0 { LINES_MIN.min(left) } else { 1 };
            if *own < *wanted && left >= step && step > 0 {
                *own += step;
                left -= step;
            }
        }
        if left == before {
            break;
        }
    }
    heights
}

fn draw(
    buffer: &mut Buffer,
    area: Rect,
    state: &State,
    index: usize,
    table: &Table,
    focused: bool,
    look: &Look,
) {
    let view = &state.views()[index];
    let rows = state.rows(index);
    if area.height == 0 {
        return;
    }
    put(
        buffer,
        area.x,
        area.y,
        area.width,
        &title(table, view, &rows, focused),
        look.head(),
    );
    let mut body = below(area, 1);
    for line in view.notes.iter().flat_map(|note| wrapped(note, area.width)) {
        // The rows are most important: notes leave them three lines.
        if body.height > 3 || rows.is_empty() && body.height > 1 {
            put(
                buffer,
                body.x,
                body.y,
                body.width,
                &line,
                look.coloured(Color::Yellow),
            );
            body = below(body, 1);
        }
    }
    if rows.is_empty() {
        let why = why_empty(state, table, view);
        for (y, line) in (body.y..body.bottom()).zip(wrapped(&why, body.width)) {
            put(buffer, body.x, y, body.width, &line, look.quiet());
        }
        return;
    }
    let columns = fitting(table.columns, view, &rows, body.width.into());
    header(buffer, body, table.columns, &columns, view, look);
    let offset = view.offset.min(rows.len() - 1);
    let lines = below(body, 1);
    for (y, row) in (lines.y..lines.bottom()).zip(&rows[offset..]) {
        let mut x = lines.x;
        for Fit { index, width } in &columns {
            let kind = table.columns[*index].kind;
            let cell = &row[*index];
            let style = match cell {
                Cell::Absent => look.quiet(),
                _ => Style::new(),
            };
            let text = aligned(kind, &format::cell(kind, cell), *width);
            put(buffer, x, y, *width as u16, &text, style);
            x = x.saturating_add(*width as u16 + 1);
        }
    }
}

fn title(table: &Table, view: &View, rows: &[&[Cell]], focused: bool) -> String {
    let mark = if focused { "▸ " } else { "" };
    let all = view.shown.rows.len();
    let count = match rows.len() {
        0 if all == 0 => String::new(),
        1 if all == 1 => ", 1 row".to_owned(),
        shown if shown == all => format!(", {all} rows"),
        shown => format!(", {shown} of {all} rows"),
    };
    let from = match view.offset {
        0 => String::new(),
        offset => format!(" from {}", offset + 1),
    };
    let missing = match &view.shown.missing[..] {
        [] => String::new(),
        missing => format!("  (not provided by this server: {})", missing.join(", ")),
    };
    format!("{mark}{}{count}{from}{missing}", table.title)
}

fn why_empty(state: &State, table: &Table, view: &View) -> String {
    if !view.shown.rows.is_empty() {
        return format!("no row contains '{}'", state.filter);
    }
    if view.refused && !view.notes.is_empty() {
        // The notes above already say it.
        return String::new();
    }
    match view.is_answered() {
        true => table.empty.to_owned(),
        false => "reading …".to_owned(),
    }
}

fn header(
    buffer: &mut Buffer,
    area: Rect,
    all: &[Figure],
    columns: &[Fit],
    view: &View,
    look: &Look,
) {
    let mut x = area.x;
    for Fit { index, width } in columns {
        let style = match *index == view.sort {
            true => look.coloured(Color::Green).add_modifier(Modifier::REVERSED),
            false => Style::new().add_modifier(Modifier::UNDERLINED),
        };
        let column = &all[*index];
        let text = aligned(column.kind, &heading(column, *index, view), *width);
        put(buffer, x, area.y, *width as u16, &text, style);
        x = x.saturating_add(*width as u16 + 1);
    }
    if columns
        .last()
        .is_some_and(|last| last.index + 1 < all.len())
    {
        put(buffer, area.right() - 1, area.y, 1, MORE, look.head());
    }
}

/// A column's title, with the sort order if the rows are sorted by it.
fn heading(column: &Figure, index: usize, view: &View) -> String {
    let ascending = (column.kind == Kind::Text) != view.inverted;
    let arrow = match (index == view.sort, ascending) {
        (false, _) => "",
        (true, true) => "▲",
        (true, false) => "▼",
    };
    format!("{}{arrow}", column.title)
}

/// A drawn column, by its index.
struct Fit {
    index: usize,
    width: usize,
}

/// As many whole columns as fit, from the first visible one on. Only free text may be cut.
fn fitting(columns: &[Figure], view: &View, rows: &[&[Cell]], width: usize) -> Vec<Fit> {
    let is_filled = |index: usize| rows.iter().any(|row| row[index] != Cell::Absent);
    let places = view.first_column..columns.len();
    let places = places.filter(|index| !columns[*index].sparse || is_filled(*index));
    let lengths = places.map(|index| {
        let cells = rows.iter().map(|row| &row[index]);
        let lengths = cells.map(|cell| format::cell(columns[index].kind, cell).chars().count());
        let title = heading(&columns[index], index, view).chars().count();
        (index, lengths.max().unwrap_or(0).max(title))
    });
    let lengths: Vec<(usize, usize)> = lengths.collect();
    let taken = taken(columns, &lengths, width);
    if taken.len() == lengths.len() {
        return taken;
    }
    // Leaves room for the mark of hidden columns.
    self::taken(columns, &lengths, width.saturating_sub(2))
}

fn taken(columns: &[Figure], lengths: &[(usize, usize)], width: usize) -> Vec<Fit> {
    let mut taken: Vec<Fit> = Vec::new();
    let mut left = width + 1;
    for (index, length) in lengths.iter().copied() {
        let column = &columns[index];
        let is_text = column.kind == Kind::Text;
        let wanted = if is_text {
            length.min(TEXT_MAX)
        } else {
            length
        };
        let room = left.saturating_sub(1);
        let is_free = column.masked || is_text && index + 1 == columns.len();
        let own = if wanted <= room {
            wanted
        } else if is_free && room >= LAST_MIN || taken.is_empty() {
            room
        } else {
            break;
        };
        taken.push(Fit { index, width: own });
        left = left.saturating_sub(own + 1);
    }
    // Cut columns get the remaining room, statements first.
    for statements in [true, false] {
        for fit in &mut taken {
            let length = lengths.iter().find(|(index, _)| *index == fit.index);
            let length = length.map_or(0, |(_, length)| *length);
            if columns[fit.index].masked == statements {
                let more = length.saturating_sub(fit.width).min(left);
                fit.width += more;
                left -= more;
            }
        }
    }
    taken
}

fn aligned(kind: Kind, text: &str, width: usize) -> String {
    let text = shortened(text, width);
    match kind {
        Kind::Text => format!("{text:<width$}"),
        _ => format!("{text:>width$}"),
    }
}
