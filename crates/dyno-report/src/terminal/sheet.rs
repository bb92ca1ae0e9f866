//! A table of an experiment.

use super::look::{Ink, Look, wrap};
use super::table::{Align, Table};
use crate::sheet::Sheet;

/// The table under its title.
pub fn sheet(of: &Sheet, look: &Look) -> String {
    let mut out = String::from("\n");
    for line in wrap(&look.clean(&of.title), look.width()) {
        out += &(look.paint(Ink::Strong, &line) + "\n");
    }
    out.push('\n');
    let align = |(name, is_figure): &(String, bool)| {
        let align = if *is_figure {
            Align::Right
        } else {
            Align::Left
        };
        (name.clone(), align)
    };
    let mut table = Table::named(of.columns.iter().map(align).collect());
    for row in &of.rows {
        let cells = row.iter().map(|text| (Ink::Plain, text.clone()));
        table.row(cells.collect());
    }
    out += &table.finish(look);
    if !of.about.is_empty() {
        for line in wrap(&look.clean(&of.about), look.width()) {
            out += &(look.paint(Ink::Faint, &line) + "\n");
        }
    }
    out
}
