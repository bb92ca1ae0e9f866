//! Factors as rows and columns.

use dyno_verdict::Cell;

use super::super::Pivot;
use super::super::figures;
use super::super::markup::Text;
use super::super::page::{Page, put};
use super::super::run::View;
use super::side::bin_word;
use super::{stalled, swatch, verdict_chip};
use crate::document::times;
use crate::number;

/// Writes the section.
pub(super) fn write(page: &mut Page, table: &Pivot, views: &[View<'_>]) {
    let title = match &table.columns {
        Some((columns, _)) => format!("{} × {columns}", table.rows.0),
        None => format!("By {}", table.rows.0),
    };
    put!(
        page,
        "<section id=\"pivot\" aria-labelledby=\"pivot-h\"><h2 id=\"pivot-h\">{}</h2><div \
            class=\"panel\"><div class=\"scroll\"><table class=\"grid pivot\"><thead><tr><th \
            scope=\"col\">{}</th>",
        Text(&title),
        Text(&table.rows.0)
    );
    page.entry("pivot", &title);
    let none = (String::new(), vec![String::new()]);
    let (name, levels) = table.columns.as_ref().unwrap_or(&none);
    for (column, level) in levels.iter().enumerate() {
        match table.columns.is_some() {
            true => put!(
                page,
                "<th scope=\"col\">{}{} {}</th>",
                swatch(column),
                Text(name),
                Text(level)
            ),
            false => put!(page, "<th scope=\"col\"></th>"),
        }
    }
    put!(page, "</tr></thead><tbody>");
    for (row, level) in table.rows.1.iter().enumerate() {
        put!(page, "<tr><th scope=\"row\">{}</th>", Text(level));
        for column in 0..levels.len() {
            let own = |cell: &Cell| cell.row == row && cell.column == column;
            match table.cells.iter().position(own) {
                Some(at) => cell(page, table, at, views),
                None => put!(page, "<td class=\"why\">no run</td>"),
            }
        }
        put!(page, "</tr>");
    }
    let word = bin_word(views.iter());
    page.end_table();
    let ratio = match table.base.is_empty() {
        true => String::new(),
        false => format!(
            " its ratio to {} with the 95 % confidence interval;",
            table.base
        ),
    };
    put!(
        page,
        "<p class=\"source\">In each cell: the mean of all its {word}s;{} the median {word}, how \
         much the {word}s vary (standard deviation over mean), stalls, and the worst verdict.</p>",
        Text(&ratio)
    );
    match &table.pooled {
        Some(pooled) => put!(
            page,
            "<p class=\"source\"><strong>{}</strong></p>",
            Text(pooled)
        ),
        None => put!(
            page,
            "<p class=\"source\">Runs of a cell are repetitions.</p>"
        ),
    }
    put!(page, "</div>\n");
    page.end_section();
}

fn cell(page: &mut Page, table: &Pivot, at: usize, views: &[View<'_>]) {
    let cell = &table.cells[at];
    let runs: Vec<&View<'_>> = table.runs[at]
        .iter()
        .filter_map(|run| views.get(*run))
        .collect();
    let seconds: Vec<f64> = runs
        .iter()
        .flat_map(|view| view.seconds.iter().copied())
        .collect();
    let described = dyno_stats::describe(&seconds);
    put!(
        page,
        "<td><p class=\"figure\">{}<small>/s</small></p>",
        Text(figures::maybe(cell.value, "count"))
    );
    if let Some(text) = ratio(cell) {
        put!(page, "<p class=\"ratio-of\">{}</p>", Text(text));
    }
    put!(
        page,
        "<p>median {}/s, varies by {}</p>",
        figures::maybe(described.map(|d| d.median), "count"),
        described
            .and_then(|d| d.cv)
            .map_or("–".to_owned(), number::percent)
    );
    let mut stalls = Some((0, 0.0));
    for view in &runs {
        let own = view.stalls.as_ref().ok();
        let own = own.map(|found| (found.stalls.len(), found.stalled_s()));
        stalls = stalls.zip(own).map(|(a, b)| (a.0 + b.0, a.1 + b.1));
    }
    match stalls {
        None => put!(page, "<p class=\"source\">stalls not known</p>"),
        Some((0, _)) => put!(page, "<p class=\"source\">no stalls</p>"),
        some => put!(
            page,
            "<p class=\"stalled\">stalled {}</p>",
            Text(stalled(some))
        ),
    }
    put!(
        page,
        "<p>{} <span class=\"source\">run",
        verdict_chip(cell.verdict, cell.thin)
    );
    for (number, view) in runs.iter().enumerate() {
        let comma = if number == 0 { " " } else { ", " };
        put!(
            page,
            "{comma}<a href=\"#{}\">{}</a>",
            view.id("overview"),
            view.run.id
        );
    }
    put!(page, "</span></p></td>");
}

/// The ratio to the base with its interval.
fn ratio(cell: &Cell) -> Option<String> {
    let ratio = times(cell.ratio?);
    Some(match (cell.low, cell.high) {
        (Some(low), Some(high)) => format!("{ratio}× ({} – {})", times(low), times(high)),
        (Some(low), None) => format!("{ratio}× (from {})", times(low)),
        _ => format!("{ratio}×"),
    })
}
