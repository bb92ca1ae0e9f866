//! Figures per statement shape.

use dyno_core::summary::{DigestSummary, DigestsSummary};

use super::markup::Text;
use super::page::{Page, put};
use super::run::View;
use crate::document::{self, Block, Cell, Table, Value};
use crate::number;

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
        page.titled("The server's plans", Block::Table(document::plans(summary)));
    }
    page.end_section();
}

/// The server's own statistics.
fn of_server(page: &mut Page, summary: &DigestsSummary) {
    put!(
        page,
        "<div class=\"panel\"><h3>The server's own digests</h3>"
    );
    page.show([Block::Table(digests(summary))]);
    put!(page, "<p class=\"source\">");
    if !summary.source.is_empty() {
        put!(
            page,
            "Source: {}, read before and after the measurement. Rows are of one execution, on \
             average. {} executions in other databases and {} on the server's catalogs and \
             settings (such as those of Dyno's observers) are excluded. ",
            Text(&summary.source),
            number::thousands(summary.elsewhere_count),
            number::thousands(summary.catalogs_count)
        );
    }
    put!(page, "{}</p></div>\n", Text(&summary.notes.join(" ")));
}

fn digests(summary: &DigestsSummary) -> Table {
    let each = |one: &DigestSummary, rows: u64| Value::Rate(rows as f64 / one.count.max(1) as f64);
    let mut table = Table::of(&summary.digests)
        .text("digest", 0, |one| {
            Value::Code(one.shape.as_ref().unwrap_or(&one.text).clone())
        })
        .figure("executions", 0, |one| Value::Count(one.count))
        .figure("server's time", 0, |one| Value::Ms(one.total_ms))
        .figure("mean", 0, |one| Value::Ms(one.mean_ms()))
        .figure("rows", 0, |one| each(one, one.rows))
        .figure("rows examined", 0, |one| {
            one.rows_examined.map(|rows| each(one, rows))
        })
        .figure("without index", 0, |one| one.no_index.map(Value::Count))
        .figure("tables on disk", 0, |one| one.disk_tables.map(Value::Count))
        .source("");
    if summary.others > 0 && !summary.digests.is_empty() {
        let name = format!("{} others", number::thousands(summary.others));
        let cells = [
            Value::Text(name),
            Value::Count(summary.others_count),
            Value::Ms(summary.others_ms),
        ];
        table.rows.push(cells.map(Cell::from).into());
    }
    table
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
        let (_, own) = table.split_once("The server's own digests").unwrap();
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
