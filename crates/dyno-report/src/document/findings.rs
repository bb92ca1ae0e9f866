//! The verdict of a run, and the findings behind it.

use std::cmp::Reverse;

use dyno_core::finding::{Finding, Outcome, Verdict};

use super::ink;
use crate::terminal::Ink;

/// The verdict in words. If hardly any check ran (`is_thin`), the validity is unknown.
pub(crate) fn verdict_words(verdict: Verdict, is_thin: bool) -> &'static str {
    match verdict {
        Verdict::Valid if is_thin => "valid, partly checked",
        verdict => verdict.word(),
    }
}

/// The mark of a verdict in its colour.
pub(crate) fn mark(verdict: Verdict, is_thin: bool) -> (Ink, &'static str) {
    let mark = match verdict {
        Verdict::Valid if is_thin => return (Ink::Warning, "~"),
        Verdict::Valid => "✔",
        Verdict::Doubtful => "?",
        Verdict::Refused => "✘",
    };
    (ink(Some(verdict)), mark)
}

/// The verdict in words after its mark.
pub(crate) fn marked(verdict: Verdict, is_thin: bool) -> (Ink, String) {
    let (ink, mark) = mark(verdict, is_thin);
    (ink, format!("{mark} {}", verdict_words(verdict, is_thin)))
}

/// The findings against a run, worst first, waived ones last.
pub(crate) fn against(findings: &[Finding]) -> Vec<&Finding> {
    let is_against = |one: &&Finding| matches!(one.outcome, Outcome::Doubt | Outcome::Refuse);
    let mut against: Vec<&Finding> = findings.iter().filter(is_against).collect();
    against.sort_by_key(|finding| (finding.waived.is_some(), Reverse(finding.outcome)));
    against
}

/// The word for an outcome, in its colour.
pub(crate) fn outcome(outcome: Outcome) -> (Ink, &'static str) {
    match outcome {
        Outcome::Pass => (Ink::Good, "pass"),
        Outcome::NotChecked => (Ink::Faint, "not checked"),
        Outcome::Doubt => (Ink::Warning, "doubt"),
        Outcome::Refuse => (Ink::Error, "refused"),
    }
}

/// The word for what a finding counts as, in its colour.
pub(crate) fn counts_as(finding: &Finding) -> (Ink, &'static str) {
    match (finding.outcome, &finding.waived) {
        (Outcome::Doubt | Outcome::Refuse, Some(_)) => (Ink::Faint, "waived"),
        (own, _) => outcome(own),
    }
}

/// The evidence of a finding, and below it what to do or why it was waived.
pub(crate) fn explained(finding: &Finding) -> Vec<String> {
    let mut lines = vec![format!("{}: {}", finding.check, finding.evidence)];
    match &finding.waived {
        _ if finding.outcome == Outcome::Pass => {}
        Some(reason) => lines.push(format!("Waived: {reason}")),
        None if finding.advice.is_empty() => {}
        None => lines.push(format!("Try: {}", finding.advice)),
    }
    lines
}
