//! Charts and tables as one offline HTML page.

use super::charts::pictures;
use super::{Mark, Sequence, Table};
use crate::html::tables_page;

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
            page.begin(
                &format!("t{number}"),
                &table.title,
                &table.about,
                &table.columns,
            );
            for (row, (label, cells)) in table.rows.iter().enumerate() {
                let cells = cells.iter().map(|cell| match cell.mark {
                    Mark::None => (cell.text.clone(), ""),
                    Mark::High => (cell.text.clone(), "high"),
                    Mark::Low => (cell.text.clone(), "low"),
                    Mark::Missed => (format!("({})", cell.text), "missed"),
                    Mark::Above => (cell.text.clone(), "above"),
                    Mark::Below => (cell.text.clone(), "below"),
                });
                page.row(label, cells, table.breaks.contains(&row));
            }
            page.end();
        }
    })
}
