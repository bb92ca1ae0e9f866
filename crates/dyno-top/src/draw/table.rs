//! The tables of a screen, below each other.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::{Look, below, put, wrapped};
use crate::figures::Cell;
use crate::format;
use crate::profile::{Figure, Kind, Screen, Table};
use crate::state::{State, View};

/// Lines of a table that shows nothing but why: its title and that.
const LINES_MIN: u16 = 3;
/// The widest column of text that is not the last.
const TEXT_MAX: usize = 32;
/// The last column of text has so much at least, whatever stands before it.
const LAST_MIN: usize = 12;

/// Draws all tables into the area.
pub fn draw_all(buffer: &mut Buffer, area: Rect, state: &State, screen: &Screen, look: &Look) {
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

/// The lines that a table would take.
fn wanted(state: &State, table: usize, width: u16) -> u16 {
    let view = &state.views()[table];
    let notes = view.notes.iter();
    let notes: usize = notes.map(|note| wrapped(note, width).len()).sum();
    let rows = match state.rows(table).len() {
        0 => {
            let tables = state.seen().map_or(&[][..], |screen| screen.tables);
            let why = tables.get(table).map(|table| why_empty(state, table, view));
            wrapped(&why.unwrap_or_default(), width).len()
        }
        rows => rows + 1,
    };
    // With its title and a line behind it.
    (rows + notes + 2).min(u16::MAX.into()) as u16
}

/// The heights of tables that want so much: what is too much for one is the others'.
fn shared(wanted: &[u16], height: u16) -> Vec<u16> {
    let mut heights = vec![0_u16; wanted.len()];
    let mut left = height;
    // A line for each in turn, which is fair and soon done: there are few.
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
        // The rows are what is looked for: notes leave them three lines.
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
    let first = view.first_column;
    let columns = &table.columns[first..];
    let widths = widths(columns, first, &rows, body.width.into());
    header(buffer, body, columns, &widths, view, first, look);
    let offset = view.offset.min(rows.len() - 1);
    let lines = below(body, 1);
    for (y, row) in (lines.y..lines.bottom()).zip(&rows[offset..]) {
        let mut x = lines.x;
        for ((column, width), cell) in columns.iter().zip(&widths).zip(&row[first..]) {
            let style = match cell {
                Cell::Absent => look.quiet(),
                _ => Style::new(),
            };
            let text = aligned(column.kind, &format::cell(column.kind, cell), *width);
            let room = lines.right().saturating_sub(x).min(*width as u16);
            put(buffer, x, y, room, &text, style);
            x = x.saturating_add(*width as u16 + 1);
        }
    }
}

fn title(table: &Table, view: &View, rows: &[&[Cell]], focused: bool) -> String {
    let mark = if focused { "▸ " } else { "" };
    let all = view.shown.rows.len();
    let count = match rows.len() {
        0 if all == 0 => String::new(),
        shown if shown == all => format!(", {all}"),
        shown => format!(", {shown} of {all}"),
    };
    let from = match view.offset {
        0 => String::new(),
        offset => format!(" from {}", offset + 1),
    };
    let missing = match &view.shown.missing[..] {
        [] => String::new(),
        missing => format!("  (not told by this server: {})", missing.join(", ")),
    };
    format!("{mark}{}{count}{from}{missing}", table.title)
}

fn why_empty(state: &State, table: &Table, view: &View) -> String {
    if !view.shown.rows.is_empty() {
        return format!("no row contains '{}'", state.filter);
    }
    if view.refused && !view.notes.is_empty() {
        // The notes above say it.
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
    columns: &[Figure],
    widths: &[usize],
    view: &View,
    first: usize,
    look: &Look,
) {
    let mut x = area.x;
    for (index, (column, width)) in columns.iter().zip(widths).enumerate() {
        let sorted = first + index == view.sort;
        let style = match sorted {
            true => look.coloured(Color::Green).add_modifier(Modifier::REVERSED),
            false => Style::new().add_modifier(Modifier::UNDERLINED),
        };
        let text = aligned(column.kind, column.title, *width);
        let room = area.right().saturating_sub(x).min(*width as u16);
        put(buffer, x, area.y, room, &text, style);
        x = x.saturating_add(*width as u16 + 1);
    }
}

/// How wide each column is. One takes what is left: that of statements, else the last one of text.
fn widths(columns: &[Figure], first: usize, rows: &[&[Cell]], width: usize) -> Vec<usize> {
    let lengths = columns.iter().enumerate().map(|(index, column)| {
        let cells = rows.iter().map(|row| &row[first + index]);
        let lengths = cells.map(|cell| format::cell(column.kind, cell).chars().count());
        let longest = lengths.max().unwrap_or(0);
        longest.max(column.title.chars().count())
    });
    let lengths: Vec<usize> = lengths.collect();
    let bounded = lengths.iter().zip(columns).map(|(length, column)| {
        let is_text = column.kind == Kind::Text;
        if is_text {
            (*length).min(TEXT_MAX)
        } else {
            *length
        }
    });
    let mut widths: Vec<usize> = bounded.collect();
    let last = columns.len() - 1;
    let statement = columns.iter().position(|column| column.masked);
    let flexible = statement.or((columns[last].kind == Kind::Text).then_some(last));
    if let Some(flexible) = flexible {
        let all: usize = widths.iter().map(|width| width + 1).sum();
        let others = all - widths[flexible];
        let least = if flexible == last {
            LAST_MIN
        } else {
            widths[flexible]
        };
        let most = if flexible == last {
            width
        } else {
            lengths[flexible]
        };
        let left = (width + 1).saturating_sub(others);
        widths[flexible] = left.min(most).max(least);
    }
    // Names that were cut have what is left over.
    let all: usize = widths.iter().map(|width| width + 1).sum();
    let mut left = (width + 1).saturating_sub(all);
    for (own, length) in widths.iter_mut().zip(&lengths) {
        let more = length.saturating_sub(*own).min(left);
        *own += more;
        left -= more;
    }
    widths
}

fn aligned(kind: Kind, text: &str, width: usize) -> String {
    match kind {
        Kind::Text => format!("{text:<width$}"),
        _ => format!("{text:>width$}"),
    }
}
