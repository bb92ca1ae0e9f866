//! The parts of a load that changed over time.

use super::page::Page;
use super::run::View;
use crate::document::{self, Block};
use crate::terminal::Ink;

/// Writes the section, if the load changed.
pub(super) fn write(page: &mut Page, view: &View<'_>) {
    const TITLE: &str = "Parts of the load";
    let Some(schedule) = view.schedule() else {
        return;
    };
    match &view.run.summary {
        Some(summary) if !summary.parts.is_empty() => {
            let asked = Block::row("asked for", Ink::Plain, schedule.short());
            let table = Block::Table(document::parts(summary));
            page.panel(view, "parts", TITLE, vec![asked, table]);
        }
        _ => {
            page.section(view, "parts", TITLE);
            page.nothing("The run did not end, so its parts were not judged.");
            page.end_section();
        }
    }
}
