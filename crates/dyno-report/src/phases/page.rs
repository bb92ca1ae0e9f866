//! Charts and tables as one offline HTML page.

use super::charts::pictures;
use super::{Cell, Mark, Sequence, Table};
use crate::html::{GridRow, tables_page};

/// The self-contained page: charts of the sequences, then the tables.
pub fn html(
    sequences: &[Sequence],
    tables: &[Table],
    title: &str,
    generated_unix_s: f64,
) -> String {
    tables_page(title, generated_unix_s, |page| {
        for (number, drawn) in pictures(sequences).iter().enumerate() {
            let labels: Vec<String> = match drawn.by_sequence {
                true => sequences.iter().map(|own| own.label.clone()).collect(),
                false => Vec::new(),
            };
            let head = (&*format!("p{number}"), &*drawn.title, &*drawn.about);
            page.small_multiples(head, &labels, &drawn.small_multiples);
        }
        for (number, table) in tables.iter().enumerate() {
            let rows: Vec<GridRow<'_>> = (table.rows.iter().enumerate())
                .map(|(row, (label, cells))| GridRow {
                    label,
                    cells: cells.iter().map(marked).collect(),
                    apart: table.breaks.contains(&row),
                })
                .collect();
            let head = (&*format!("t{number}"), &*table.title, &*table.about);
            page.table(head, &table.columns, &rows);
        }
    })
}

/// The text of a cell, and its class.
fn marked(cell: &Cell) -> (String, &'static str) {
    match cell.mark {
        Mark::None => (cell.text.clone(), ""),
        Mark::High => (cell.text.clone(), "high"),
        Mark::Low => (cell.text.clone(), "low"),
        Mark::Missed => (format!("({})", cell.text), "missed"),
        Mark::Above => (cell.text.clone(), "above"),
        Mark::Below => (cell.text.clone(), "below"),
    }
}
