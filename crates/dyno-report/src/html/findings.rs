//! The validity checks with their evidence.

use dyno_core::finding::{Finding, Outcome, Tally};
use dyno_core::text::capital;

use super::figures;
use super::markup::{Text, slug};
use super::overview::outcome;
use super::page::{Page, put};
use super::run::View;

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
    let loud = |finding: &&Finding| {
        finding.waived.is_some() || matches!(finding.outcome, Outcome::Doubt | Outcome::Refuse)
    };
    let mut first: Vec<&Finding> = findings.iter().filter(loud).collect();
    first.sort_by_key(|finding| (finding.waived.is_some(), std::cmp::Reverse(finding.outcome)));
    for finding in first {
        one(page, view, finding);
    }
    for (wanted, title) in [
        (Outcome::NotChecked, "Not checked"),
        (Outcome::Pass, "Passed"),
    ] {
        let rest: Vec<&Finding> = findings
            .iter()
            .filter(|f| f.outcome == wanted && f.waived.is_none())
            .collect();
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
    let (class, word) = outcome(finding.outcome);
    let tone = if finding.waived.is_some() {
        "waived"
    } else {
        class
    };
    put!(
        page,
        "<article class=\"finding {tone}\" id=\"{}-{}\"><h3><span class=\"chip \
            {class}\">{word}</span>{}<span>{}</span> <small class=\"source\">check \
            {}</small></h3><p>{}</p>",
        view.id("finding"),
        slug(&finding.check),
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

fn waived(finding: &Finding) -> &'static str {
    match finding.waived {
        Some(_) => "<span class=\"chip waived\">waived</span>",
        None => "",
    }
}
