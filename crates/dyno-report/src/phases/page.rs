//! Tables as one offline HTML page.

use super::{Mark, Table};
use crate::html::tables_page;

/// The page, which needs nothing else.
pub fn html(tables: &[Table], title: &str, generated_unix_s: f64) -> String {
    tables_page(title, generated_unix_s, |page| {
        for (number, table) in tables.iter().enumerate() {
            page.begin(
                &format!("t{number}"),
                &table.title,
                &table.about,
                &table.columns,
            );
            for (label, cells) in &table.rows {
                let cells = cells.iter().map(|cell| match cell.mark {
                    Mark::None => (cell.text.clone(), ""),
                    Mark::High => (cell.text.clone(), "high"),
                    Mark::Low => (cell.text.clone(), "low"),
                    Mark::Missed => (format!("({})", cell.text), "missed"),
                });
                page.row(label, cells);
            }
            page.end();
        }
    })
}
