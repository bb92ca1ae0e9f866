//! The verdict with what speaks against the run, and what one event cost.

use dyno_core::finding::{Finding, Outcome, Tally, Verdict};
use dyno_core::summary::RunSummary;

use super::look::Ink;
use super::page::Page;
use super::words::EventWord;
use crate::number::plain;

/// The verdict and what it rests on, where somebody judged.
pub(super) fn verdict(run: &RunSummary, page: &mut Page) {
    let Some(verdict) = run.verdict else {
        return;
    };
    let tally = Tally::of(&run.findings);
    // Of a run that hardly a check could be made on, nobody knows whether it is valid.
    let (ink, word) = match verdict {
        Verdict::Valid if tally.is_thin() => (Ink::Warning, "? valid as far as seen"),
        Verdict::Valid => (Ink::Good, "✔ valid"),
        Verdict::Doubtful => (Ink::Warning, "? doubtful"),
        Verdict::Refused => (Ink::Error, "✘ refused"),
    };
    page.line(
        "verdict",
        ink,
        &[(ink, word), (Ink::Faint, &format!(" – {}", tally.words()))],
    );
    let mut against: Vec<&Finding> = run
        .findings
        .iter()
        .filter(|finding| matches!(finding.outcome, Outcome::Doubt | Outcome::Refuse))
        .collect();
    against.sort_by_key(|finding| (finding.waived.is_some(), std::cmp::Reverse(finding.outcome)));
    for finding in against {
        one(finding, page);
    }
}

fn one(finding: &Finding, page: &mut Page) {
    let (label, ink) = match (&finding.waived, finding.outcome) {
        (Some(_), _) => ("  waived", Ink::Faint),
        (None, Outcome::Refuse) => ("  refused", Ink::Error),
        (None, _) => ("  doubt", Ink::Warning),
    };
    page.row(
        label,
        ink,
        &format!("{}: {}", finding.check, finding.evidence),
    );
    match &finding.waived {
        Some(reason) => page.row("", Ink::Plain, &format!("Waived: {reason}")),
        None if !finding.advice.is_empty() => page.row("", Ink::Plain, &finding.advice),
        None => {}
    }
}

/// The class of durability: figures of two classes are no comparison. A doubt has been told.
pub(super) fn durability(run: &RunSummary, page: &mut Page) {
    let found = run
        .findings
        .iter()
        .find(|finding| finding.check == "durability" && finding.outcome == Outcome::Pass);
    if let Some(class) = found.and_then(|finding| finding.evidence.split(':').next()) {
        page.row("durability", Ink::Plain, class);
    }
}

/// What one event cost; what was not observed is left to the report.
pub(super) fn costs(run: &RunSummary, page: &mut Page) {
    let parts: Vec<String> = run
        .costs
        .iter()
        .filter_map(|cost| {
            let value = cost.value?;
            let unit = match cost.unit.as_str() {
                "us" => " µs",
                "kb" => " KB",
                "bytes" => " bytes",
                _ => "",
            };
            Some(format!("{} {}{unit}", cost.name, digits(value)))
        })
        .collect();
    if !parts.is_empty() {
        page.row(
            "cost",
            Ink::Strong,
            &format!("per {}: {}", EventWord::of(run).one(), parts.join(", ")),
        );
    }
}

/// The user's words about the run, and where it is kept for the commands that come after.
pub(super) fn kept(run: &RunSummary, page: &mut Page) {
    if !run.note.is_empty() {
        page.row("note", Ink::Plain, &run.note);
    }
    if let Some(kept) = &run.recorded {
        page.row(
            "recorded",
            Ink::Plain,
            &format!("run {} in {}: {}", kept.id, kept.file, kept.name),
        );
    }
}

/// Three digits are as many as costs carry.
fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 100.0 || v == 0.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        _ => 3,
    };
    let scale = 10_f64.powi(decimals);
    plain((value * scale).round() / scale)
}
