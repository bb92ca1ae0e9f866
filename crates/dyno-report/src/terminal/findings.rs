//! Findings in full: each with its evidence, its rule and its advice.

use dyno_core::finding::{Finding, Outcome};

use super::look::{Ink, Look};
use super::page::Page;

/// All findings under a title, worst first; checks that did not run come last, in short.
pub fn findings(title: &str, findings: &[Finding], look: &Look) -> String {
    let mut page = Page::new(*look);
    page.title(title);
    let mut checked: Vec<&Finding> = findings
        .iter()
        .filter(|finding| finding.outcome != Outcome::NotChecked)
        .collect();
    checked.sort_by_key(|finding| match (finding.outcome, &finding.waived) {
        (Outcome::Pass | Outcome::NotChecked, _) => 3,
        (_, Some(_)) => 2,
        (Outcome::Doubt, None) => 1,
        (Outcome::Refuse, None) => 0,
    });
    for finding in checked {
        let (label, ink) = match (finding.outcome, &finding.waived) {
            (Outcome::Pass, _) => ("pass", Ink::Good),
            (_, Some(_)) => ("waived", Ink::Faint),
            (Outcome::Refuse, None) => ("refused", Ink::Error),
            (_, None) => ("doubt", Ink::Warning),
        };
        page.row(
            label,
            ink,
            &format!("{}: {}", finding.check, finding.evidence),
        );
        if finding.outcome != Outcome::Pass {
            page.row("", Ink::Plain, &format!("Rule: {}", finding.rule));
            if let Some(reason) = &finding.waived {
                page.row("", Ink::Plain, &format!("Waived: {reason}"));
            } else if !finding.advice.is_empty() {
                page.row("", Ink::Plain, &format!("Try: {}", finding.advice));
            }
        }
    }
    let mut label = "not checked";
    for (reason, checks) in unchecked(findings) {
        page.row(
            label,
            Ink::Faint,
            &format!("{}: {reason}", checks.join(", ")),
        );
        label = "";
    }
    page.finish()
}

/// Why checks were not made, each reason once with its checks, in their order.
fn unchecked(findings: &[Finding]) -> Vec<(&str, Vec<&str>)> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for finding in findings
        .iter()
        .filter(|one| one.outcome == Outcome::NotChecked)
    {
        match reasons
            .iter_mut()
            .find(|(reason, _)| *reason == finding.evidence)
        {
            Some((_, checks)) => checks.push(&finding.check),
            None => reasons.push((&finding.evidence, vec![&finding.check])),
        }
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_samples::summaries as samples;

    #[test]
    fn findings_come_worst_first_with_what_to_do() {
        let mut all = samples::overloaded().findings;
        all.extend(samples::good().findings);
        insta::assert_snapshot!(findings("Findings", &all, &Look::default()));
    }
}
