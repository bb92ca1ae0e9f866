//! The parts of a load that changed over time.

use super::page::Page;
use super::run::View;
use crate::document::{self, Block};
use crate::terminal::Ink;

/// Writes the section, if the load changed.
pub(super) fn write(page: &mut Page, view: &View<'_>) {
    let Some(schedule) = view.schedule() else {
        return;
    };
    let summary = view.run.summary.as_ref();
    let ended = summary.filter(|summary| !summary.parts.is_empty());
    let blocks = ended.map_or_else(Vec::new, |summary| {
        let asked = Block::row("requested", Ink::Plain, schedule.short());
        vec![asked, Block::Table(document::parts(summary))]
    });
    let why = "The run did not end, so its parts were not judged.";
    page.panel(view, ("parts", "Parts of the load"), blocks, why);
}
