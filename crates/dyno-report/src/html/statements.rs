//! Figures per statement shape.

use dyno_core::summary::DigestsSummary;

use super::page::Page;
use super::run::View;
use crate::document::{self, Block};
use crate::terminal::Ink;

/// Writes the section, if statement figures were requested.
pub(super) fn write(page: &mut Page, view: &View<'_>) {
    let summary = view.run.summary.as_ref();
    let statements = summary.map_or(&[][..], |summary| &summary.statements);
    let plans = summary.map_or(&[][..], |summary| &summary.plans);
    if statements.is_empty() && plans.is_empty() {
        return;
    }
    page.section(view, "statements", "Statements");
    if let Some(summary) = summary.filter(|_| !statements.is_empty()) {
        page.boxed([Block::Table(document::statements(summary, false))]);
    }
    if let Some(digests) = summary.and_then(|summary| summary.digests.as_ref()) {
        of_server(page, digests);
    }
    if let Some(summary) = summary {
        let plans = vec![Block::Table(document::plans(summary))];
        page.titled("The server's plans", plans);
    }
    page.end_section();
}

/// The server's own statistics.
fn of_server(page: &mut Page, summary: &DigestsSummary) {
    let source = match summary.source.as_str() {
        "" => String::new(),
        source => format!(
            "{source}, read before and after the measurement; rows are of one execution, on average"
        ),
    };
    let row = |label: &str, body: String| Block::row(label, Ink::Plain, body);
    let blocks = vec![
        Block::Table(document::digests(summary)),
        row("source", source),
        row("excluded", document::elsewhere(summary).join("\n")),
        row("notes", summary.notes.join("\n")),
    ];
    page.titled("The server's own digests", blocks);
}

#[cfg(test)]
mod tests {
    use crate::html::tests::{bare, page_of};
    use dyno_samples::summaries as samples;

    #[test]
    fn statements_have_a_table_where_they_were_asked_for() {
        let mut run = bare();
        run.summary = Some(samples::worked());
        let page = page_of(&[run]);
        let (_, table) = page.split_once(">Statements<").unwrap();
        let shape = "<code>SELECT c FROM sbtestN WHERE id BETWEEN ? AND ? ORDER BY c</code>";
        assert!(table.contains(shape), "{table}");
        let (_, own) = table.split_once("own digests<").unwrap();
        for expected in [
            "<code>DELETE FROM `queue` WHERE `done`</code>",
            "36,851",
            "3 others",
        ] {
            assert!(own.contains(expected), "{expected}: {own}");
        }
        assert!(!page_of(&[bare()]).contains(">Statements<"));
    }
}
