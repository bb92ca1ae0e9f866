//! Figures per statement shape.

use dyno_core::summary::{DigestSummary, DigestsSummary, StatementPlan, StatementSummary};

use super::figures;
use super::markup::Text;
use super::page::{Page, put};
use super::run::View;
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
    if let Some(first) = statements.first() {
        shapes(page, first, statements);
    }
    if let Some(digests) = summary.and_then(|summary| summary.digests.as_ref()) {
        of_server(page, digests);
    }
    of_plans(page, plans);
    page.end_section();
}

fn shapes(page: &mut Page, first: &StatementSummary, statements: &[StatementSummary]) {
    put!(page, "<div class=\"panel\">");
    let percentiles = first.latency.percentiles.iter();
    let mut head = vec!["statement", "#time", "#/s", "#rows", "#failed", "#mean"];
    let names: Vec<String> = percentiles
        .map(|p| format!("#p{}", number::plain(p.percent)))
        .collect();
    head.extend(names.iter().map(String::as_str));
    head.push("#max");
    page.table(&head);
    for statement in statements {
        row(page, statement);
    }
    page.end_table();
    put!(
        page,
        "<p class=\"source\">Source: summary, of the measurement and its \
         grace period. Statements that differ only in their values (?), or in the number at the \
         end of a name (N), count as one. The time runs from sending a statement to receiving its \
         answer, as a share of the service time of all events; latencies cover successful \
         statements.</p>"
    );
    put!(page, "</div>\n");
}

/// The server's execution plans.
fn of_plans(page: &mut Page, plans: &[StatementPlan]) {
    if plans.is_empty() {
        return;
    }
    put!(page, "<div class=\"panel\"><h3>The server's plans</h3>");
    page.table(&["statement", "plan", "#rows expected"]);
    for plan in plans {
        put!(
            page,
            "<tr><td>{}</td><td>{}",
            Text(&plan.shape),
            Text(plan.words())
        );
        if !plan.text.is_empty() {
            put!(
                page,
                "<details><summary>the server's output</summary><pre>{}</pre></details>",
                Text(&plan.text)
            );
        }
        put!(
            page,
            "</td><td class=\"n\">{}</td></tr>",
            Text(plan.rows_words())
        );
    }
    page.end_table();
    put!(
        page,
        "<p class=\"source\">Source: EXPLAIN of the first statement of each \
         shape, after the load. Rows are the server's estimate per table and access: rows examined \
         on MySQL and MariaDB, rows left after filtering on PostgreSQL.</p></div>\n"
    );
}

/// The server's own statistics.
fn of_server(page: &mut Page, summary: &DigestsSummary) {
    put!(
        page,
        "<div class=\"panel\"><h3>The server's own digests</h3>"
    );
    if !summary.digests.is_empty() {
        page.table(&[
            "digest",
            "#executions",
            "#server's time",
            "#mean",
            "#rows",
            "#rows examined",
            "#without index",
            "#tables on disk",
        ]);
        for one in &summary.digests {
            digest(page, one);
        }
        if summary.others > 0 {
            let text = format!("{} others", number::thousands(summary.others));
            let cells = [
                number::thousands(summary.others_count),
                figures::maybe(Some(summary.others_ms), "ms"),
            ];
            cells_of(page, &text, &cells);
        }
        page.end_table();
    }
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

fn digest(page: &mut Page, one: &DigestSummary) {
    let each = |rows: u64| figures::significant(rows as f64 / (one.count as f64).max(1.0));
    let whole = |count: Option<u64>| count.map_or_else(|| "–".to_owned(), number::thousands);
    let cells = [
        number::thousands(one.count),
        figures::maybe(Some(one.total_ms), "ms"),
        figures::maybe(Some(one.mean_ms()), "ms"),
        each(one.rows),
        one.rows_examined.map_or_else(|| "–".to_owned(), each),
        whole(one.no_index),
        whole(one.disk_tables),
    ];
    cells_of(page, one.shape.as_ref().unwrap_or(&one.text), &cells);
}

fn cells_of(page: &mut Page, head: &str, cells: &[String]) {
    put!(
        page,
        "<tr><th scope=\"row\"><code>{}</code></th>",
        Text(head)
    );
    for cell in cells {
        put!(page, "<td class=\"n\">{}</td>", Text(cell));
    }
    put!(page, "</tr>");
}

fn row(page: &mut Page, statement: &StatementSummary) {
    let latency = &statement.latency;
    let ms = |value: Option<f64>| figures::maybe(value.filter(|_| latency.count > 0), "ms");
    let mut cells = vec![
        figures::percent(statement.time_share),
        figures::significant(statement.per_s),
        figures::significant(statement.rows_mean),
        number::thousands(statement.errors),
        ms(Some(latency.mean_ms)),
    ];
    cells.extend(latency.percentiles.iter().map(|p| ms(p.value_ms)));
    cells.push(ms(latency.longest_ms()));
    put!(
        page,
        "<tr><th scope=\"row\"><code>{}</code></th>",
        Text(&statement.shape)
    );
    for cell in cells {
        put!(page, "<td class=\"n\">{}</td>", Text(&cell));
    }
    put!(page, "</tr>");
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
