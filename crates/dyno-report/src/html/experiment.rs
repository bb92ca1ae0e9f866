//! An experiment: the question, the answer, the claims, and its tables.

use super::markup::Text;
use super::page::{Page, put};
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
    put!(
        page,
        "<section class=\"overview\" id=\"experiment\" aria-labelledby=\"experiment-h\"><p \
            class=\"eyebrow\">Experiment</p><h1 id=\"experiment-h\">{}</h1>",
        Text(of.question)
    );
    page.entry("experiment", "Answer");
    for line in of.answer {
        put!(page, "<p class=\"lead\">{}</p>", Text(line));
    }
    put!(page, "<p class=\"source\">{}</p>", Text(&of.counted));
    if !of.cite.is_empty() {
        put!(page, "<p class=\"source\">{}</p>", Text(of.cite));
    }
    if !of.claims.rows.is_empty() {
        claims(page, &of.claims);
    }
    page.end_section();
    for (index, sheet) in of.tables.iter().enumerate() {
        let id = format!("table-{}", index + 1);
        put!(
            page,
            "<section id=\"{id}\" aria-labelledby=\"{id}-h\"><h2 id=\"{id}-h\">{}</h2><div \
                class=\"panel\">",
            Text(&sheet.title)
        );
        page.entry(&id, &sheet.title);
        page.show([Block::Table(sheet.into())]);
        if !sheet.about.is_empty() {
            put!(page, "<p class=\"source\">{}</p>", Text(&sheet.about));
        }
        put!(page, "</div>");
        page.end_section();
    }
    plots::write(page, &of.plots);
}

fn claims(page: &mut Page, sheet: &Sheet) {
    put!(
        page,
        "<div class=\"panel\"><h2>Claims</h2><div class=\"scroll\"><table class=\"grid\"><tbody>"
    );
    for row in &sheet.rows {
        let class = match row.first().map(String::as_str) {
            Some("agrees") => "pass",
            Some("differs") => "refused",
            _ => "doubt",
        };
        put!(page, "<tr>");
        for (index, cell) in row.iter().enumerate() {
            match index {
                0 => put!(
                    page,
                    "<td><span class=\"chip {class}\">{}</span></td>",
                    Text(cell)
                ),
                _ => put!(page, "<td>{}</td>", Text(cell)),
            }
        }
        put!(page, "</tr>");
    }
    page.end_table();
    put!(page, "</div>");
}
