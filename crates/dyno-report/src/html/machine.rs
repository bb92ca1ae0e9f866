//! Other measurements of a host test.

use super::markup::Text;
use super::page::{Page, put};
use super::run::View;
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
    if !machine.figures.is_empty() {
        page.table(&["", "#per second of the measurement"]);
        for figure in &machine.figures {
            let value = format!("{} {}", number::rate(figure.value), figure.unit);
            put!(
                page,
                "<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td></tr>",
                Text(&figure.name),
                Text(&value)
            );
        }
        page.end_table();
    }
    put!(page, "</div>\n");
    page.end_section();
}
