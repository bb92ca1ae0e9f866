//! Other measurements of a host test.

use super::markup::Text;
use super::page::{Page, put};
use super::run::View;
use crate::document::{Block, Table};
use crate::number;

/// Writes the section, if the run is a host test.
pub(super) fn write(page: &mut Page, view: &View<'_>) {
    let summary = view.run.summary.as_ref();
    let Some(machine) = summary.and_then(|summary| summary.machine.as_ref()) else {
        return;
    };
    page.section(view, "machine", "What was measured");
    put!(page, "<div class=\"panel\">");
    for sentence in &machine.about {
        put!(page, "<p class=\"about\">{}</p>", Text(sentence));
    }
    let figures = Table::of(&machine.figures)
        .text("", 0, |one| one.name.clone())
        .figure("per second of the measurement", 0, |one| {
            format!("{} {}", number::rate(one.value), one.unit)
        })
        .source("");
    page.show([Block::Table(figures)]);
    put!(page, "</div>\n");
    page.end_section();
}
