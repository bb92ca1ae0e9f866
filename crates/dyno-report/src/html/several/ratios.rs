//! Each side compared with the base, figure by figure.

use dyno_core::finding::Tally;
use dyno_verdict::Comparison;
use maud::{Markup, html};

use super::super::blocks;
use super::super::findings::chip;
use super::super::markup::Text;
use super::super::page::Page;
use super::side::Side;
use super::{judged, swatch, verdict_chip};
use crate::document::{self, Block};
use crate::terminal::answer;

/// Writes a table for each side but the first.
pub(super) fn write(page: &mut Page, sides: &[Side<'_, '_>]) {
    let (Some(base), others) = (sides.first(), sides.get(1..).unwrap_or_default()) else {
        return;
    };
    page.section_named(
        "ratios",
        &format!("Against {}", base.name),
        "Against the first",
    );
    let is_alone = others.len() == 1;
    let compared = others
        .iter()
        .filter_map(|side| Some((side, side.compared?)));
    let all = html! {
        @for (side, compared) in compared {
            details class="panel" open[is_alone] {
                summary { (swatch(side.look.0)) (Text(answer(compared))) }
                (one((base, side), compared))
            }
            "\n"
        }
    };
    match all.0.is_empty() {
        true => page.nothing("No figure could be compared."),
        false => page.put(html! {
            (all)
            p class="source" {
                "Change is new / base − 1: a ratio base / new of 1.30 is a loss of 23 %, not of \
                 30 %. The bar shows the ratio with its interval on a logarithmic scale from 0.5 \
                 to 2; the line in its middle is 1. p is corrected by Holm's method for the number \
                 of figures."
            }
            "\n"
        }),
    }
    page.end_section();
}

fn one((base, side): (&Side<'_, '_>, &Side<'_, '_>), compared: &Comparison) -> Markup {
    let names = ["figure", base.name.as_str(), side.name.as_str()];
    let table = document::headed(document::metrics(compared, false), names);
    html! {
        p class="about" {
            (verdict_chip(Some(judged(compared)), false)) " "
            (Tally::of(&compared.findings).words()) ". " (document::basis(compared.basis))
        }
        (blocks::of([Block::Table(table)]))
        (doubts(compared))
    }
}

/// The findings against the comparison.
fn doubts(compared: &Comparison) -> Markup {
    let found = document::against(&compared.findings);
    if found.is_empty() {
        return Markup::default();
    }
    html! {
        ul class="against" {
            @for finding in found {
                li {
                    (chip(finding.outcome)) " " b { (Text(&finding.check)) } " "
                    (Text(&finding.evidence)) " " (Text(&finding.advice))
                }
            }
        }
    }
}
