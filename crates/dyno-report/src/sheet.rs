//! A table of an experiment, with texts ready for a terminal, a page or CSV.

use crate::document::{Align, Table};
use crate::export::csv;
use crate::terminal::Ink;

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
    pub fn csv(&self) -> String {
        let names: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        // For programs, so without grouped thousands.
        let plain = |cell: &String| {
            let bare = cell.replace(',', "");
            match bare.parse::<f64>() {
                Ok(_) => bare,
                Err(_) => cell.clone(),
            }
        };
        let rows = self.rows.iter();
        let rows = rows.map(|row| -> Vec<String> {
            let cells = row.iter().zip(&self.columns);
            cells
                .map(|(cell, (_, is_figure))| {
                    if *is_figure {
                        plain(cell)
                    } else {
                        cell.clone()
                    }
                })
                .collect()
        });
        std::iter::once(names)
            .chain(rows)
            .map(|row| csv::row(&row) + "\n")
            .collect()
    }
}

impl From<&Sheet> for Table {
    fn from(of: &Sheet) -> Self {
        let heads = of.columns.iter().map(|(name, is_figure)| {
            let align = match is_figure {
                true => Align::Right,
                false => Align::Left,
            };
            (name.clone(), align)
        });
        let mut table = Self::named(heads.collect());
        for row in &of.rows {
            table.row(row.iter().map(|text| (Ink::Plain, text.clone())).collect());
        }
        table
    }
}
