//! Sequences of phases as tables: configurations below each other, phases side by side.

mod charts;
mod detail;
mod ladder;
mod marks;
mod metrics;
mod page;
mod tables;
mod text;

#[cfg(test)]
pub(crate) mod tests;

use dyno_core::record::RunRecord;

pub use ladder::{ladder, step};
pub use page::html;
pub use tables::tables;
pub use text::{terminal, tsv};

/// The runs of one command, in order.
pub struct Sequence {
    /// Its distinguishing name, e.g. the server's version or the user's note.
    pub label: String,
    /// Its runs.
    pub runs: Vec<RunRecord>,
    /// It begins a group, separated from the rows before.
    pub begins_group: bool,
}

impl Sequence {
    /// The runs of one command, named by the user's note, else by the server's version.
    pub fn of(runs: Vec<RunRecord>) -> Self {
        let label = runs.first().map_or_else(String::new, |run| {
            let target = &run.head.target;
            match run.head.note.as_str() {
                "" => format!("{} {}", target.product, short(&target.version)),
                note => note.to_owned(),
            }
        });
        Self {
            label,
            runs,
            begins_group: false,
        }
    }
}

/// The version without a distribution's suffix.
fn short(version: &str) -> &str {
    version.split([' ', '-']).next().unwrap_or(version)
}

/// The mark of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// No mark.
    #[default]
    None,
    /// Good.
    High,
    /// Bad.
    Low,
    /// Not comparable: the background did not keep its pace, or tables were cold.
    Missed,
    /// More than the first.
    Above,
    /// Less than the first.
    Below,
}

/// A figure in a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// The figure; `None` if missing.
    pub value: Option<f64>,
    /// Its text; `–` if missing.
    pub text: String,
    /// Its mark.
    pub mark: Mark,
}

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its title.
    pub title: String,
    /// Notes for the reader; may be empty.
    pub about: String,
    /// The headings of the columns; the first is that of the labels.
    pub columns: Vec<String>,
    /// Labels and figures, one for each further column.
    pub rows: Vec<(String, Vec<Cell>)>,
    /// The rows, from 0, that begin a group.
    pub breaks: Vec<usize>,
}

impl Cell {
    /// A figure with four significant digits.
    pub(crate) fn number(value: Option<f64>) -> Self {
        let value = value.filter(|value| value.is_finite());
        Self {
            text: value.map_or_else(|| "–".to_owned(), significant),
            value,
            mark: Mark::None,
        }
    }

    /// A count.
    pub(crate) fn whole(value: Option<f64>) -> Self {
        let value = value.filter(|value| value.is_finite());
        Self {
            text: value.map_or_else(|| "–".to_owned(), |value| format!("{value:.0}")),
            value,
            mark: Mark::None,
        }
    }

    /// A figure with two decimals; `inf` for a ratio to 0.
    pub(crate) fn ratio(value: Option<f64>) -> Self {
        let value = value.filter(|value| !value.is_nan());
        Self {
            text: value.map_or_else(|| "–".to_owned(), |value| format!("{value:.2}")),
            value,
            mark: Mark::None,
        }
    }
}

/// Whole numbers from a thousand on, else four digits.
fn significant(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size >= 999.5 => format!("{value:.0}"),
        size if size >= 99.95 => format!("{value:.1}"),
        size if size >= 9.995 => format!("{value:.2}"),
        size if size >= 0.0005 => format!("{value:.3}"),
        _ => format!("{value:.1e}"),
    }
}
