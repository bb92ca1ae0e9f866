//! Differences between the sides other than figures.

use std::collections::BTreeMap;

use super::super::markup::Text;
use super::super::page::{Page, put};
use super::side::Side;
use super::swatch;
use crate::terminal::rank;

/// The number of unintended differences shown unfolded.
const SHOWN: usize = 10;

/// A difference.
struct Row<'a> {
    what: &'a str,
    base: &'a str,
    /// By the side's index; sides equal to the base are missing.
    others: BTreeMap<usize, &'a str>,
    intended: bool,
}

/// Writes the section: intended differences, the most important ones, and the rest folded.
pub(super) fn write(page: &mut Page, sides: &[Side<'_, '_>]) {
    put!(
        page,
        "<section id=\"differences\" aria-labelledby=\"differences-h\"><h2 \
            id=\"differences-h\">What differs</h2>"
    );
    page.entry("differences", "What differs");
    let (meant, other): (Vec<Row<'_>>, Vec<Row<'_>>) =
        rows(sides).into_iter().partition(|row| row.intended);
    if meant.is_empty() && other.is_empty() {
        page.nothing(match sides.iter().any(|side| side.compared.is_some()) {
            true => "The runs' recorded plans, environments and settings do not differ.",
            false => "The runs are not compared.",
        });
        page.end_section();
        return;
    }
    let (shown, folded) = other.split_at(other.len().min(SHOWN));
    put!(page, "<div class=\"panel\">");
    if !meant.is_empty() || !shown.is_empty() {
        table(page, sides, &[&meant, shown]);
    }
    if !folded.is_empty() {
        put!(
            page,
            "<details><summary>{} other settings and facts that differ</summary>",
            folded.len()
        );
        table(page, sides, &[folded]);
        put!(page, "</details>");
    }
    put!(
        page,
        "<p class=\"source\">Source: facts, settings and plans of the runs. Factors, and what \
         --factor names, differ on purpose; a blank equals the first run's value.</p></div>\n"
    );
    page.end_section();
}

fn rows<'a>(sides: &'a [Side<'_, '_>]) -> Vec<Row<'a>> {
    let mut rows: BTreeMap<&str, Row<'a>> = BTreeMap::new();
    for side in sides.iter().skip(1) {
        let Some(compared) = side.compared else {
            continue;
        };
        for difference in &compared.differences {
            let row = rows.entry(&difference.what).or_insert_with(|| Row {
                what: &difference.what,
                base: &difference.base,
                others: BTreeMap::new(),
                intended: false,
            });
            row.others.insert(side.index, &difference.new);
            row.intended |= difference.intended;
        }
    }
    let mut rows: Vec<Row<'a>> = rows.into_values().collect();
    rows.sort_by_key(|row| rank(row.what));
    rows
}

fn table(page: &mut Page, sides: &[Side<'_, '_>], parts: &[&[Row<'_>]]) {
    put!(
        page,
        "<div class=\"scroll\"><table class=\"grid differs\"><thead><tr><th \
            scope=\"col\">what</th><th scope=\"col\">meant</th>"
    );
    for side in sides {
        put!(
            page,
            "<th scope=\"col\">{}{}</th>",
            swatch(side.look.0),
            Text(&side.name)
        );
    }
    put!(page, "</tr></thead><tbody>");
    for row in parts.iter().copied().flatten() {
        let meant = match row.intended {
            true => "yes",
            false => "<span class=\"chip doubt\">▲ no</span>",
        };
        put!(
            page,
            "<tr><th scope=\"row\" class=\"key\">{}</th><td>{meant}</td><td>{}</td>",
            Text(row.what),
            Text(row.base)
        );
        for side in sides.iter().skip(1) {
            let value = row.others.get(&side.index).copied().unwrap_or_default();
            put!(page, "<td>{}</td>", Text(value));
        }
        put!(page, "</tr>");
    }
    page.end_table();
}
