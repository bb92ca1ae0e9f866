//! A table of an experiment: text that is ready to be shown, in a terminal, on a page or as CSV.

use crate::export::csv;

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sheet {
    /// What it shows.
    pub title: String,
    /// How its figures are to be read; may be empty.
    pub about: String,
    /// The names of its columns, and whether they hold figures.
    pub columns: Vec<(String, bool)>,
    /// Its rows, with a cell for each column.
    pub rows: Vec<Vec<String>>,
}

impl Sheet {
    /// A line for each row, under the names of the columns.
    pub fn csv(&self) -> String {
        let names: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        let rows = std::iter::once(&names).chain(&self.rows);
        rows.map(|row| csv::row(row) + "\n").collect()
    }
}
