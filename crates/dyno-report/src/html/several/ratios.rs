//! Each side compared with the base, figure by figure.

use dyno_core::finding::Tally;
use dyno_verdict::Comparison;

use super::super::findings::chip;
use super::super::markup::Text;
use super::super::page::{Page, put};
use super::side::Side;
use super::{judged, swatch, verdict_chip};
use crate::document::{self, Block};
use crate::terminal::answer;

/// Writes a table for each side but the first.
pub(super) fn write(page: &mut Page, sides: &[Side<'_, '_>]) {
    let (Some(base), others) = (sides.first(), sides.get(1..).unwrap_or_default()) else {
        return;
    };
    put!(
        page,
        "<section id=\"ratios\" aria-labelledby=\"ratios-h\"><h2 id=\"ratios-h\">Against {}</h2>",
        Text(&base.name)
    );
    page.entry("ratios", "Against the first");
    let alone = others.len() == 1;
    let mut any = false;
    for side in others {
        let Some(compared) = side.compared else {
            continue;
        };
        let open = if alone { " open" } else { "" };
        put!(
            page,
            "<details class=\"panel\"{open}><summary>{}{}</summary>",
            swatch(side.look.0),
            Text(answer(compared))
        );
        one(page, (base, side), compared);
        put!(page, "</details>\n");
        any = true;
    }
    match any {
        false => page.nothing("No figure could be compared."),
        true => put!(
            page,
            "<p class=\"source\">Change is new / base − 1: a ratio base / new of 1.30 is a loss of \
                23 %, not of 30 %. The bar shows the ratio with its interval on a logarithmic \
                scale from 0.5 to 2; the line in its middle is 1. p is corrected by Holm's method \
                for the number of figures.</p>\n"
        ),
    }
    page.end_section();
}

fn one(page: &mut Page, (base, side): (&Side<'_, '_>, &Side<'_, '_>), compared: &Comparison) {
    put!(
        page,
        "<p class=\"about\">{} {}. {}</p>",
        verdict_chip(Some(judged(compared)), false),
        Tally::of(&compared.findings).words(),
        document::basis(compared.basis)
    );
    let names = ["figure", base.name.as_str(), side.name.as_str()];
    let table = document::headed(document::metrics(compared, false), names);
    page.show([Block::Table(table)]);
    doubts(page, compared);
}

/// The findings against the comparison.
fn doubts(page: &mut Page, compared: &Comparison) {
    let found = document::against(&compared.findings);
    if found.is_empty() {
        return;
    }
    put!(page, "<ul class=\"against\">");
    for finding in found {
        put!(
            page,
            "<li>{} <b>{}</b> {} {}</li>",
            chip(finding.outcome),
            Text(&finding.check),
            Text(&finding.evidence),
            Text(&finding.advice)
        );
    }
    put!(page, "</ul>");
}
