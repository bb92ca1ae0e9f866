//! The validity checks with their evidence.

use dyno_core::finding::{Finding, Outcome, Tally};
use dyno_core::text::capital;
use maud::{Markup, html};

use super::figures;
use super::markup::{Text, slug};
use super::page::Page;
use super::run::View;
use crate::document;

/// Writes the section on findings.
pub(super) fn write(page: &mut Page, view: &View<'_>) {
    page.section(view, "findings", "Findings");
    let findings = &view.run.findings;
    if findings.is_empty() {
        page.nothing("No validity check ran for this run, so its figures are unchecked.");
        page.end_section();
        return;
    }
    page.put(html! {
        p class="about" {
            (Text(capital(&Tally::of(findings).words())))
            ". The verdict is the worst finding that was not waived; a check that could not run \
             never counts as passed."
        }
        @for finding in document::against(findings) {
            (one(view, finding))
        }
        (folded(view, Outcome::NotChecked, "Not checked"))
        (folded(view, Outcome::Pass, "Passed"))
    });
    page.end_section();
}

/// The findings with this outcome.
fn folded(view: &View<'_>, outcome: Outcome, title: &str) -> Markup {
    let findings = view.run.findings.iter();
    let all: Vec<&Finding> = findings.filter(|one| one.outcome == outcome).collect();
    if all.is_empty() {
        return Markup::default();
    }
    html! {
        details class="findings-more" {
            summary { (title) ": " (all.len()) }
            @for finding in all { (one(view, finding)) }
        }
    }
}

fn one(view: &View<'_>, finding: &Finding) -> Markup {
    let (_, tone) = document::counts_as(finding);
    html! {
        article class={ "finding " (slug(tone)) } id=(id(view, finding)) {
            h3 {
                (chip(finding.outcome))
                @if finding.waived.is_some() { span class="chip waived" { "waived" } }
                span { (Text(&finding.check)) }
                " " small class="source" { "check " (finding.number) }
            }
            p { (Text(&finding.evidence)) }
            @if !finding.numbers.is_empty() {
                p class="numbers" {
                    @for number in &finding.numbers {
                        span {
                            (Text(&number.name)) " "
                            b { (Text(figures::maybe(number.value, &number.unit))) }
                        }
                    }
                }
            }
            p class="rule" { "Rule: " (Text(&finding.rule)) }
            @if !finding.advice.is_empty() {
                p class="advice" { "Try: " (Text(&finding.advice)) }
            }
            @if let Some(reason) = &finding.waived {
                p class="waiver" { "Waived by the user: " (Text(reason)) }
            }
        }
        "\n"
    }
}

fn id(view: &View<'_>, finding: &Finding) -> String {
    format!("{}-{}", view.id("finding"), slug(&finding.check))
}

/// A link to a finding.
pub(super) fn link(view: &View<'_>, finding: &Finding) -> Markup {
    html! { a href={ "#" (id(view, finding)) } { (Text(&finding.check)) } }
}

/// The word for an outcome in a box.
pub(super) fn chip(outcome: Outcome) -> Markup {
    let (_, word) = document::outcome(outcome);
    html! { span class={ "chip " (slug(word)) } { (word) } }
}
