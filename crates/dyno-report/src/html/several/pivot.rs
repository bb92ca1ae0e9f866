//! Factors as rows and columns.

use dyno_verdict::Cell;
use maud::{Markup, html};

use super::super::Pivot;
use super::super::blocks;
use super::super::figures;
use super::super::markup::Text;
use super::super::page::Page;
use super::super::run::View;
use super::side::bin_word;
use super::{links, stalled, swatch, verdict_chip};
use crate::document::{times, with};
use crate::number;

/// Writes the section.
pub(super) fn write(page: &mut Page, table: &Pivot, views: &[View<'_>]) {
    let title = match &table.columns {
        Some((columns, _)) => format!("{} × {columns}", table.rows.0),
        None => format!("By {}", table.rows.0),
    };
    page.common_section("pivot", &title);
    let none = (String::new(), vec![String::new()]);
    let (name, levels) = table.columns.as_ref().unwrap_or(&none);
    let heads = html! {
        th scope="col" { (Text(&table.rows.0)) }
        @for (column, level) in levels.iter().enumerate() {
            th scope="col" {
                @if table.columns.is_some() {
                    (swatch(column)) (Text(name)) " " (Text(level))
                }
            }
        }
    };
    let at = |row, column| {
        let own = |cell: &Cell| cell.row == row && cell.column == column;
        table.cells.iter().position(own)
    };
    let rows = html! {
        @for (row, level) in table.rows.1.iter().enumerate() {
            tr {
                th scope="row" { (Text(level)) }
                @for column in 0..levels.len() {
                    @match at(row, column) {
                        Some(at) => { td { (cell(table, at, views)) } }
                        None => { td class="why" { "no run" } }
                    }
                }
            }
        }
    };
    let word = bin_word(views.iter());
    page.put(html! {
        div class="panel" {
            (blocks::headed("grid pivot", Some(&heads), &rows))
            p class="source" {
                "In each cell: the mean of all its " (word) "s; "
                @if !table.base.is_empty() {
                    "its ratio to " (Text(&table.base)) " with the 95 % confidence interval; "
                }
                "the median " (word) ", how much the " (word) "s vary (standard deviation over \
                 mean), stalls, and the worst verdict."
            }
            p class="source" {
                @match &table.pooled {
                    Some(pooled) => { strong { (Text(pooled)) } }
                    None => { "Runs of a cell are repetitions." }
                }
            }
        }
        "\n"
    });
    page.end_section();
}

fn cell(table: &Pivot, at: usize, views: &[View<'_>]) -> Markup {
    let cell = &table.cells[at];
    let runs = table.runs[at].iter();
    let runs: Vec<&View<'_>> = runs.filter_map(|run| views.get(*run)).collect();
    let seconds = runs.iter().flat_map(|view| view.seconds.iter().copied());
    let described = dyno_stats::describe(&seconds.collect::<Vec<f64>>());
    let variation = described.and_then(|d| d.cv);
    html! {
        p class="figure" { (Text(figures::maybe(cell.value, "count"))) small { "/s" } }
        @if let Some(cause) = cell.includes {
            p class="source" { (with(cause)) }
        }
        @if let Some(text) = ratio(cell) {
            p class="ratio-of" { (Text(text)) }
        }
        p {
            "median " (figures::maybe(described.map(|d| d.median), "count")) "/s, varies by "
            (variation.map_or("–".to_owned(), number::percent))
        }
        @match stalls(&runs) {
            None => { p class="source" { "stalls not known" } }
            Some((0, _)) => { p class="source" { "no stalls" } }
            some => { p class="stalled" { "stalled " (Text(stalled(some))) } }
        }
        p {
            (verdict_chip(cell.verdict, cell.thin)) " "
            span class="source" { "run " (links(&runs)) }
        }
    }
}

/// The number and the seconds of stalls in all these runs, if they are known.
fn stalls(runs: &[&View<'_>]) -> Option<(usize, f64)> {
    runs.iter().try_fold((0, 0.0), |(count, length_s), view| {
        let own = view.stalls.as_ref().ok()?;
        Some((count + own.stalls.len(), length_s + own.stalled_s()))
    })
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
