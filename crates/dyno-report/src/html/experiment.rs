//! An experiment: the question, the answer, the claims, and its tables.

use maud::{Markup, html};

use super::blocks;
use super::markup::Text;
use super::page::Page;
use super::plots::{self, Plot};
use crate::document::Block;
use crate::sheet::Sheet;

/// The start of an experiment's page.
#[derive(Clone, Debug)]
pub struct Experiment<'a> {
    /// The question.
    pub question: &'a str,
    /// Its source; may be empty.
    pub cite: &'a str,
    /// The answer, in sentences.
    pub answer: &'a [String],
    /// The number of trials, with their verdicts.
    pub counted: String,
    /// Claims with the measurements; no rows without claims.
    pub claims: Sheet,
    /// The tables.
    pub tables: Vec<Sheet>,
    /// The plots.
    pub plots: Vec<Plot>,
}

pub(super) fn write(page: &mut Page, of: &Experiment<'_>) {
    page.overview("experiment", "Answer");
    page.put(html! {
        p class="eyebrow" { "Experiment" }
        h1 id="experiment-h" { (Text(of.question)) }
        @for line in of.answer {
            p class="lead" { (Text(line)) }
        }
        p class="source" { (Text(&of.counted)) }
        @if !of.cite.is_empty() {
            p class="source" { (Text(of.cite)) }
        }
        @if !of.claims.rows.is_empty() {
            (claims(&of.claims))
        }
    });
    page.end_section();
    for (index, sheet) in of.tables.iter().enumerate() {
        page.common_section(&format!("table-{}", index + 1), &sheet.title);
        page.put(html! {
            div class="panel" {
                (blocks::of([Block::Table(sheet.into())]))
                @if !sheet.about.is_empty() {
                    p class="source" { (Text(&sheet.about)) }
                }
            }
        });
        page.end_section();
    }
    plots::write(page, &of.plots);
}

fn claims(sheet: &Sheet) -> Markup {
    let class = |row: &[String]| match row.first().map(String::as_str) {
        Some("agrees") => "pass",
        Some("differs") => "refused",
        _ => "doubt",
    };
    let rows = html! {
        @for row in &sheet.rows {
            tr {
                @for (index, cell) in row.iter().enumerate() {
                    td {
                        @if index == 0 {
                            span class={ "chip " (class(row)) } { (Text(cell)) }
                        } @else {
                            (Text(cell))
                        }
                    }
                }
            }
        }
    };
    html! {
        div class="panel" { h2 { "Claims" } (blocks::headed("grid", None, &rows)) }
    }
}
