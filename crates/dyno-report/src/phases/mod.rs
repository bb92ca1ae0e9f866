//! Sequences of phases as tables: configurations below each other, phases beside each other.

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

/// The runs that one command made, in their order.
pub struct Sequence {
    /// What distinguishes it from the others, e.g. the server's version or the user's note.
    pub label: String,
    /// Its runs.
    pub runs: Vec<RunRecord>,
    /// It is the first of a group that stands apart from those before it.
    pub begins_group: bool,
}

impl Sequence {
    /// The runs of one command, by the user's note or else by the server's version.
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

/// The version without what a distribution adds to it.
fn short(version: &str) -> &str {
    version.split([' ', '-']).next().unwrap_or(version)
}

/// What a cell is pointed at for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// Nothing.
    #[default]
    None,
    /// Good.
    High,
    /// Bad.
    Low,
    /// Not to be compared: the background did not keep its pace, or tables were cold.
    Missed,
    /// More than the first.
    Above,
    /// Less than the first.
    Below,
}

/// A figure in a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// The figure; `None` where there is none.
    pub value: Option<f64>,
    /// How it is shown; `–` where there is no figure.
    pub text: String,
    /// What it is pointed at for.
    pub mark: Mark,
}

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// What the reader should know; perhaps empty.
    pub about: String,
    /// The heads of the columns; the first is that of the labels.
    pub columns: Vec<String>,
    /// Labels and figures, as many as there are further columns.
    pub rows: Vec<(String, Vec<Cell>)>,
    /// The rows, from 0, with which a group begins that stands apart.
    pub breaks: Vec<usize>,
}

impl Cell {
    /// A figure with so many digits that four count.
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

    /// A figure with two decimals; `inf` for one of something to nothing.
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
