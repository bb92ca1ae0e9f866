//! The verdict with the findings against the run, and the cost of one event.

use dyno_core::finding::{Durability, DurabilityClass, Outcome, Tally};
use dyno_core::record::Cost;
use dyno_core::summary::RunSummary;

use super::look::Ink;
use super::page::Page;
use super::words::EventWord;
use crate::{document, number};

/// The verdict and its basis, if there is one.
pub(super) fn verdict(run: &RunSummary, page: &mut Page) {
    let Some(verdict) = run.verdict else {
        return;
    };
    let tally = Tally::of(&run.findings);
    let (ink, word) = document::marked(verdict, tally.is_thin());
    let tally = format!(" – {}", tally.words());
    page.line("verdict", ink, &[(ink, &word), (Ink::Faint, &tally)]);
    for finding in document::against(&run.findings) {
        let (ink, word) = document::counts_as(finding);
        let text = document::explained(finding).join("\n");
        page.row(&format!("  {word}"), ink, &text);
    }
}

/// The durability class, because figures of two classes must not be compared. A doubt has its own
/// row.
fn found_durability(run: &RunSummary) -> Option<&Durability> {
    let mut passed = (run.findings.iter()).filter(|finding| finding.outcome == Outcome::Pass);
    passed.find_map(|finding| finding.durability.as_ref())
}

/// The row for the durability class.
pub(super) fn durability(run: &RunSummary, page: &mut Page) {
    if let Some(found) = found_durability(run) {
        page.row("durability", Ink::Plain, &found.words());
    }
}

/// Prints the durability class if a commit is not durable.
pub(super) fn weak_durability(run: &RunSummary, page: &mut Page) {
    let is_weak = |found: &Durability| found.class != DurabilityClass::Durable;
    if found_durability(run).is_some_and(is_weak) {
        durability(run, page);
    }
}

/// The cost of one event. Missing and negligible costs are left to the report.
pub(super) fn costs(run: &RunSummary, page: &mut Page) {
    let pair = |cost: &Cost| Some((cost.name.clone(), amount(cost.value?, &cost.unit)?));
    let shown = run.costs.iter().filter(|&cost| pair(cost).is_some());
    let pairs: Vec<(String, String)> = shown.clone().filter_map(pair).collect();
    if pairs.is_empty() {
        return;
    }
    let event = EventWord::of(run).one();
    page.row("cost", Ink::Strong, &format!("per {event}"));
    page.pairs(&pairs);
    page.show(document::shared_costs(shown));
    let mut left_out: Vec<(&str, Vec<&str>)> = Vec::new();
    for cost in run.costs.iter().filter(|cost| cost.left_out) {
        let why = cost.source.as_str();
        match left_out.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(&cost.name),
            None => left_out.push((why, vec![&cost.name])),
        }
    }
    for (why, names) in left_out {
        let text = format!("{}: {why}", names.join(", "));
        page.row("  left out", Ink::Faint, &text);
    }
    // Of the costs that may be unknown, this is the most wanted.
    let server = (run.costs.iter())
        .find(|cost| cost.name == "server CPU" && cost.value.is_none())
        .filter(|cost| !cost.left_out && !cost.source.is_empty());
    if let Some(cost) = server {
        page.row(
            "  not known",
            Ink::Faint,
            &format!("server CPU: {}", cost.source),
        );
    }
}

/// A cost with its unit; `None` if it is zero.
pub(super) fn amount(value: f64, unit: &str) -> Option<String> {
    const LEAST: f64 = 0.0005;
    if !value.is_finite() || value < LEAST {
        return None;
    }
    Some(number::amount(value, unit))
}

/// The user's factors and note.
pub(super) fn labels(run: &RunSummary, page: &mut Page) {
    if !run.factors.is_empty() {
        let levels = run
            .factors
            .iter()
            .map(|(name, level)| format!("{name}={level}"));
        page.row(
            "factors",
            Ink::Plain,
            &levels.collect::<Vec<_>>().join(", "),
        );
    }
    if !run.note.is_empty() {
        page.row("note", Ink::Plain, &run.note);
    }
}

/// The user's note, and where the run is recorded.
pub(super) fn note_and_record(run: &RunSummary, page: &mut Page) {
    labels(run, page);
    if let Some(recorded) = &run.recorded {
        page.row(
            "recorded",
            Ink::Plain,
            &format!(
                "run {} in {}: {}",
                recorded.id, recorded.file, recorded.name
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_have_the_units_of_all_figures_and_nothing_is_left_out() {
        let text = |value, unit| amount(value, unit).unwrap_or_default();
        assert_eq!(text(1102.3, "us"), "1.10 ms");
        assert_eq!(text(12.5, "kb"), "12.5 KiB");
        assert_eq!(text(0.0015, "kb"), "1.54 B");
        assert_eq!(text(9876.0, "bytes"), "9.64 KiB");
        assert_eq!(text(12_345.6, "count"), "12,346");
        assert_eq!(text(0.25, "count"), "0.250");
        for (value, unit) in [(0.0, "kb"), (0.0002, "count"), (f64::NAN, "us")] {
            assert_eq!(text(value, unit), "");
        }
    }
}
