//! The verdict with what speaks against the run, and what one event cost.

use dyno_core::finding::{Finding, Outcome, Verdict};
use dyno_core::summary::RunSummary;

use super::look::Ink;
use super::page::Page;
use crate::number::plain;

/// The verdict and what it rests on, where somebody judged.
pub(super) fn verdict(run: &RunSummary, page: &mut Page) {
    let Some(verdict) = run.verdict else {
        return;
    };
    let (ink, mark) = match verdict {
        Verdict::Valid => (Ink::Good, "✔"),
        Verdict::Doubtful => (Ink::Warning, "?"),
        Verdict::Refused => (Ink::Error, "✘"),
    };
    let count = |outcome: Outcome, waived: bool| {
        let alike = |f: &&Finding| f.outcome == outcome && f.waived.is_some() == waived;
        run.findings.iter().filter(alike).count()
    };
    let mut sums = vec![counted(count(Outcome::Pass, false), "check") + " passed"];
    for (outcome, word) in [(Outcome::Refuse, "refusal"), (Outcome::Doubt, "doubt")] {
        let against = count(outcome, false);
        if against > 0 {
            sums.push(counted(against, word));
        }
    }
    let waived = count(Outcome::Refuse, true) + count(Outcome::Doubt, true);
    if waived > 0 {
        sums.push(format!("{waived} waived"));
    }
    let missing = count(Outcome::NotChecked, false);
    sums.push(format!("{missing} not made"));
    // A handful of checks carries no more than a handful of checks.
    if missing > 4 * count(Outcome::Pass, false) && verdict == Verdict::Valid {
        sums.push("which says little".to_owned());
    }
    let word = format!("{mark} {}", verdict.word());
    page.line(
        "verdict",
        ink,
        &[
            (ink, &word),
            (Ink::Faint, &format!(" – {}", sums.join(", "))),
        ],
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

fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
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
            &format!("per transaction: {}", parts.join(", ")),
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
