//! A table of an experiment, with texts ready for a terminal, a page or CSV.

use std::{io, iter};

use crate::document::Table;
use crate::export::csv;

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sheet {
    /// Its title.
    pub title: String,
    /// How to read its figures; may be empty.
    pub about: String,
    /// The names of its columns, and whether they contain figures.
    pub columns: Vec<(String, bool)>,
    /// Its rows, with a cell for each column.
    pub rows: Vec<Vec<String>>,
}

impl Sheet {
    /// A line for each row, under the names of the columns.
    ///
    /// # Errors
    /// As [`csv::table`].
    pub fn csv(&self) -> io::Result<String> {
        let names: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        let rows = self.rows.iter().map(|row| -> Vec<String> {
            let cells = row.iter().zip(&self.columns);
            cells
                .map(|(cell, (_, is_figure))| match is_figure {
                    true => ungrouped(cell),
                    false => cell.clone(),
                })
                .collect()
        });
        csv::table(iter::once(names).chain(rows))
    }
}

/// A figure for programs, without grouped thousands.
fn ungrouped(cell: &str) -> String {
    let bare = cell.replace(',', "");
    match bare.parse::<f64>() {
        Ok(_) => bare,
        Err(_) => cell.to_owned(),
    }
}

impl From<&Sheet> for Table {
    fn from(of: &Sheet) -> Self {
        let mut columns = Self::of(&of.rows);
        for (place, (name, is_figure)) in of.columns.iter().enumerate() {
            let text = |row: &Vec<String>| row.get(place).cloned().unwrap_or_default();
            columns = match is_figure {
                true => columns.figure(name, 0, text),
                false => columns.text(name, 0, text),
            };
        }
        columns.source("")
    }
}
