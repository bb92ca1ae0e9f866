//! Differences between the sides other than figures.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::super::blocks;
use super::super::markup::Text;
use super::super::page::Page;
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
    page.common_section("differences", "What differs");
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
    page.put(html! {
        div class="panel" {
            @if !meant.is_empty() || !shown.is_empty() {
                (table(sides, &[&meant, shown]))
            }
            @if !folded.is_empty() {
                details {
                    summary { (folded.len()) " other settings and facts that differ" }
                    (table(sides, &[folded]))
                }
            }
            p class="source" {
                "Source: facts, settings and plans of the runs. Factors, and what --factor names, \
                 differ on purpose; a blank equals the first run's value."
            }
        }
        "\n"
    });
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

fn table(sides: &[Side<'_, '_>], parts: &[&[Row<'_>]]) -> Markup {
    let heads = html! {
        th scope="col" { "what" }
        th scope="col" { "meant" }
        @for side in sides {
            th scope="col" { (swatch(side.look.0)) (Text(&side.name)) }
        }
    };
    let other = |row: &Row<'_>, side: &Side<'_, '_>| {
        let value = row.others.get(&side.index).copied();
        value.unwrap_or_default().to_owned()
    };
    let rows = html! {
        @for row in parts.iter().copied().flatten() {
            tr {
                th scope="row" class="key" { (Text(row.what)) }
                td { @if row.intended { "yes" } @else { span class="chip doubt" { "▲ no" } } }
                td { (Text(row.base)) }
                @for side in sides.iter().skip(1) {
                    td { (Text(other(row, side))) }
                }
            }
        }
    };
    blocks::headed("grid differs", Some(&heads), &rows)
}
