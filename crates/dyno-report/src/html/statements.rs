//! What each shape of statement took.

use dyno_core::summary::StatementSummary;

use super::figures;
use super::markup::Text;
use super::page::{Page, put};
use super::run::View;
use crate::number;

/// Writes the section, if figures of statements were asked for.
pub(super) fn write(page: &mut Page, view: &View<'_>) {
    let summary = view.run.summary.as_ref();
    let statements = summary.map_or(&[][..], |summary| &summary.statements);
    let Some(first) = statements.first() else {
        return;
    };
    page.section(view, "statements", "Statements");
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
    put!(
        page,
        "</tbody></table></div><p class=\"source\">Source: summary, of the measurement and its \
            grace. Statements that differ only in their values (?), or in the number at the end of \
            a name (N), are one. The time is from sending a statement to having its answer, as a \
            share of the service time of all events; latencies are of those that succeeded.</p>"
    );
    put!(page, "</div>\n");
    page.end_section();
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
    cells.push(ms(Some(latency.max_ms)));
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
    use crate::samples;

    #[test]
    fn statements_have_a_table_where_they_were_asked_for() {
        let mut run = bare();
        run.summary = Some(samples::worked());
        let page = page_of(&[run]);
        let (_, table) = page.split_once(">Statements<").unwrap();
        let shape = "<code>SELECT c FROM sbtestN WHERE id BETWEEN ? AND ? ORDER BY c</code>";
        assert!(table.contains(shape), "{table}");
        assert!(!page_of(&[bare()]).contains(">Statements<"));
    }
}
