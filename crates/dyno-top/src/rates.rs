//! Derives displayed rows from an answer and the answer before it.

use std::collections::HashMap;

use dyno_core::{redact, visible};

use crate::figures::{Cell, Fields as _, RowOf, cell};
use crate::mask;
use crate::profile::{Kind, Table};
use crate::source::Answer;

/// The rows of a table, one cell per column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    /// A cell for each column.
    pub rows: Vec<Vec<Cell>>,
    /// Titles of columns that the answer lacks.
    pub missing: Vec<&'static str>,
}

/// The display of an answer, given the one that came `seconds` before.
pub(crate) fn shown(table: &Table, now: &Answer, before: Option<(&Answer, f64)>) -> Shown {
    let earlier = before.map(|(answer, seconds)| (answer, by_key(table, answer), seconds));
    let own = by_key(table, now);
    let rows = (0..now.rows.len()).map(|row| {
        let this = RowOf { answer: now, row };
        let that = earlier.as_ref().and_then(|(answer, by_key, seconds)| {
            let key = key(table, this);
            // Rows without a unique key have no earlier row.
            own.get(&key).copied().flatten()?;
            let row = by_key.get(&key).copied().flatten()?;
            Some((RowOf { answer, row }, *seconds))
        });
        let that = that.as_ref().map(|(row, seconds)| (row, *seconds));
        let cells = table.columns.iter().map(|column| {
            let cell = cell(column, &this, that);
            clean(cell, column.masked)
        });
        cells.collect()
    });
    Shown {
        rows: rows.collect(),
        missing: missing(table, now),
    }
}

/// Text for display: without literals if it is a statement's, without secrets, and without
/// characters that control the terminal.
fn clean(cell: Cell, masked: bool) -> Cell {
    let Cell::Text(text) = cell else {
        return cell;
    };
    let text = match masked {
        true => mask::statement(&text),
        false => text,
    };
    let text = redact::text(&text);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Cell::Text(visible::text(&line).into_owned())
}

/// The key of a row.
pub(crate) fn key(table: &Table, row: RowOf<'_>) -> Vec<String> {
    let parts = table.key.iter();
    let part = |names: &&str| row.first(names).unwrap_or_default().to_owned();
    parts.map(part).collect()
}

/// The row of each key; `None` if several rows have it, as with hidden names.
fn by_key(table: &Table, answer: &Answer) -> HashMap<Vec<String>, Option<usize>> {
    let mut rows: HashMap<Vec<String>, Option<usize>> = HashMap::new();
    for row in 0..answer.rows.len() {
        let known = rows.entry(key(table, RowOf { answer, row }));
        known.and_modify(|row| *row = None).or_insert(Some(row));
    }
    rows
}

/// Columns without any of their names in the answer. An answer without names is not checked.
fn missing(table: &Table, answer: &Answer) -> Vec<&'static str> {
    if answer.names.is_empty() {
        return Vec::new();
    }
    let there = |from: &str| {
        from.split(['|', '+'])
            .any(|name| answer.column(name).is_some())
    };
    let missing = table.columns.iter().filter(|column| !there(column.from));
    missing.map(|column| column.title).collect()
}

/// The order of two cells: numbers before text, unknown values last.
pub(crate) fn order(kind: Kind, one: &Cell, other: &Cell) -> std::cmp::Ordering {
    match (one, other) {
        (Cell::Number(one), Cell::Number(other)) => one.total_cmp(other),
        (Cell::Text(one), Cell::Text(other)) => one.cmp(other),
        (Cell::Absent, Cell::Absent) => std::cmp::Ordering::Equal,
        (Cell::Absent, _) => std::cmp::Ordering::Less,
        (_, Cell::Absent) => std::cmp::Ordering::Greater,
        (Cell::Number(_), Cell::Text(_)) if kind == Kind::Text => std::cmp::Ordering::Less,
        (Cell::Number(_), Cell::Text(_)) => std::cmp::Ordering::Greater,
        (Cell::Text(_), Cell::Number(_)) if kind == Kind::Text => std::cmp::Ordering::Greater,
        (Cell::Text(_), Cell::Number(_)) => std::cmp::Ordering::Less,
    }
}
