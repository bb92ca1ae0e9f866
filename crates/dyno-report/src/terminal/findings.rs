//! Findings in full: each with its evidence, its rule and its advice.

use dyno_core::finding::{Finding, Outcome};

use super::look::{Ink, Look};
use super::page::Page;
use crate::document;

/// All findings under a title, worst first; checks that did not run come last, in short.
pub fn findings(title: &str, findings: &[Finding], look: &Look) -> String {
    let mut page = Page::new(*look);
    page.title(title);
    let passed = findings.iter().filter(|one| one.outcome == Outcome::Pass);
    for finding in document::against(findings).into_iter().chain(passed) {
        let (ink, word) = document::counts_as(finding);
        let mut lines = document::explained(finding);
        if finding.outcome != Outcome::Pass {
            lines.insert(1, format!("Rule: {}", finding.rule));
        }
        page.row(word, ink, &lines.join("\n"));
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
    fn findings_come_worst_first_with_advice() {
        let mut all = samples::overloaded().findings;
        all.extend(samples::good().findings);
        insta::assert_snapshot!(findings("Findings", &all, &Look::default()));
    }
}
