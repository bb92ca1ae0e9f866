//! The validity checks with their evidence.

use dyno_core::finding::{Finding, Outcome, Tally};
use dyno_core::text::capital;

use super::figures;
use super::markup::{Text, slug};
use super::page::{Page, put};
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
    put!(
        page,
        "<p class=\"about\">{}. The verdict is the worst finding that was not waived; a check that \
         could not run never counts as passed.</p>",
        Text(capital(&Tally::of(findings).words()))
    );
    for finding in document::against(findings) {
        one(page, view, finding);
    }
    for (wanted, title) in [
        (Outcome::NotChecked, "Not checked"),
        (Outcome::Pass, "Passed"),
    ] {
        let rest = findings.iter().filter(|one| one.outcome == wanted);
        let rest: Vec<&Finding> = rest.collect();
        if rest.is_empty() {
            continue;
        }
        put!(
            page,
            "<details class=\"findings-more\"><summary>{title}: {}</summary>",
            rest.len()
        );
        for finding in rest {
            one(page, view, finding);
        }
        put!(page, "</details>");
    }
    page.end_section();
}

fn one(page: &mut Page, view: &View<'_>, finding: &Finding) {
    let (_, tone) = document::counts_as(finding);
    put!(
        page,
        "<article class=\"finding {}\" id=\"{}-{}\"><h3>{}{}<span>{}</span> <small \
            class=\"source\">check {}</small></h3><p>{}</p>",
        slug(tone),
        view.id("finding"),
        slug(&finding.check),
        chip(finding.outcome),
        waived(finding),
        Text(&finding.check),
        finding.number,
        Text(&finding.evidence)
    );
    if !finding.numbers.is_empty() {
        put!(page, "<p class=\"numbers\">");
        for number in &finding.numbers {
            put!(
                page,
                "<span>{} <b>{}</b></span>",
                Text(&number.name),
                Text(figures::maybe(number.value, &number.unit))
            );
        }
        put!(page, "</p>");
    }
    put!(page, "<p class=\"rule\">Rule: {}</p>", Text(&finding.rule));
    if !finding.advice.is_empty() {
        put!(
            page,
            "<p class=\"advice\">Try: {}</p>",
            Text(&finding.advice)
        );
    }
    if let Some(reason) = &finding.waived {
        put!(
            page,
            "<p class=\"waiver\">Waived by the user: {}</p>",
            Text(reason)
        );
    }
    put!(page, "</article>\n");
}

/// The word for an outcome in a box.
pub(super) fn chip(outcome: Outcome) -> String {
    let (_, word) = document::outcome(outcome);
    format!("<span class=\"chip {}\">{word}</span>", slug(word))
}

fn waived(finding: &Finding) -> &'static str {
    match finding.waived {
        Some(_) => "<span class=\"chip waived\">waived</span>",
        None => "",
    }
}
