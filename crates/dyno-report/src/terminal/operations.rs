//! The script's operations.

use dyno_core::summary::{LatencySummary, OperationSummary, RunSummary};

use super::look::{Ink, columns};
use super::page::Page;
use crate::number::{latency, percent, plain, rate, thousands};

/// The width of a column of figures.
const WIDTH: usize = 10;
/// The width of names in a label.
const LABEL: usize = 13;

/// A row for each operation that began, and below it its failures. A single one that equals the
/// event is left out.
pub(super) fn section(run: &RunSummary, page: &mut Page) {
    let begun: Vec<&OperationSummary> = run.operations.iter().filter(|o| begun(o) > 0).collect();
    if let [first, rest @ ..] = &begun[..]
        && !(rest.is_empty() && first.totals.done == run.totals.events && ends(first).is_empty())
    {
        table(&begun, first.latency(), page);
    }
    ledger(run, page);
}

fn table(operations: &[&OperationSummary], first: &LatencySummary, page: &mut Page) {
    let tail = tail(first, page.body_width());
    let all: u64 = operations.iter().map(|operation| ended(operation)).sum();
    let mut names = vec!["/s".to_owned(), "share".to_owned(), "mean".to_owned()];
    names.extend(
        tail.iter()
            .map(|(_, percent)| format!("p{}", plain(*percent))),
    );
    names.push("max".to_owned());
    // With little room, the first ones.
    let fit = (page.body_width() / WIDTH).max(1);
    names.truncate(fit);
    page.line("operations", Ink::Strong, &[(Ink::Faint, &cells(&names))]);
    // All names have the same layout: below the heading, or next to its edge if one would not fit.
    let long = |operation: &&OperationSummary| columns(&operation.name) + 2 > LABEL;
    let indent = if operations.iter().any(long) {
        ""
    } else {
        "  "
    };
    for operation in operations {
        let latencies = operation.latency();
        let unknown = || "–".to_owned();
        let mut figures = vec![
            operation.per_s().map_or_else(unknown, rate),
            percent(ended(operation) as f64 / all.max(1) as f64),
        ];
        if latencies.count > 0 {
            figures.push(latency(latencies.mean_ms));
            for (index, _) in &tail {
                let value = latencies.percentiles.get(*index).and_then(|p| p.value_ms);
                figures.push(value.map_or_else(unknown, latency));
            }
            figures.push(latencies.longest_ms().map_or_else(unknown, latency));
        }
        figures.truncate(fit);
        let name = &operation.name;
        let label = format!("{indent}{name}");
        page.line(&label, Ink::Plain, &[(Ink::Plain, &cells(&figures))]);
        // Names too long for the label are printed in full.
        if columns(&label) > LABEL {
            page.row("", Ink::Plain, &format!("= {}", operation.name));
        }
        let ends = ends(operation);
        if !ends.is_empty() {
            page.row("", Ink::Plain, &ends.join(", "));
        }
    }
}

fn begun(operation: &OperationSummary) -> u64 {
    let totals = &operation.totals;
    ended(operation) + totals.given_up + totals.unknown + totals.duplicates
}

fn ended(operation: &OperationSummary) -> u64 {
    operation.totals.done + operation.totals.rolled_back
}

/// The highest percentiles that fit, with their indices.
fn tail(latencies: &LatencySummary, width: usize) -> Vec<(usize, f64)> {
    let room = (width / WIDTH).saturating_sub(4);
    let percents = latencies.percentiles.iter().map(|p| p.percent).enumerate();
    let all: Vec<(usize, f64)> = percents.collect();
    all[all.len().saturating_sub(room)..].to_vec()
}

fn cells(texts: &[String]) -> String {
    let cell = |text: &String| {
        let pad = WIDTH.saturating_sub(columns(text));
        " ".repeat(pad) + text
    };
    texts.iter().map(cell).collect()
}

/// Its endings other than done.
fn ends(operation: &OperationSummary) -> Vec<String> {
    let totals = &operation.totals;
    let mut ends = Vec::new();
    if totals.rolled_back > 0 {
        let share = percent(totals.rolled_back as f64 / ended(operation) as f64);
        ends.push(format!(
            "{} rolled back by design ({share})",
            thousands(totals.rolled_back)
        ));
    }
    if totals.retries > 0 {
        let mut text = format!(
            "{} retr{} in {}",
            thousands(totals.retries),
            if totals.retries == 1 { "y" } else { "ies" },
            thousands(totals.retried + totals.given_up)
        );
        if let Some(first) = &operation.first_tries {
            text += &format!(" whose first try took {}", latency(first.mean_ms));
        }
        ends.push(text);
    }
    if totals.given_up > 0 {
        ends.push(format!("{} given up", thousands(totals.given_up)));
    }
    if totals.duplicates > 0 {
        ends.push(format!(
            "{} ended by duplicate keys",
            thousands(totals.duplicates)
        ));
    }
    if totals.unknown > 0 {
        ends.push(format!(
            "{} with an unknown outcome",
            thousands(totals.unknown)
        ));
    }
    ends
}

/// Whether the database contains what the server acknowledged.
fn ledger(run: &RunSummary, page: &mut Page) {
    if run.ledger.is_empty() {
        return;
    }
    let wrong = run.ledger.iter().filter(|e| e.agrees() == Some(false));
    let wrong = wrong.count();
    let unread = run.ledger.iter().filter(|e| e.found.is_none()).count();
    let unknown = run.ledger.iter().filter(|e| e.is_open()).count();
    let all = run.ledger.len();
    let (ink, text) = match (wrong, unread) {
        (0, 0) if unknown > 0 => (
            Ink::Warning,
            "not compared: what the server acknowledged is unknown".to_owned(),
        ),
        (0, 0) => (
            Ink::Plain,
            match all {
                1 => "the sum in the database agrees with what the server acknowledged".to_owned(),
                _ => format!("{all} sums in the database agree with what the server acknowledged"),
            },
        ),
        (0, unread) => (
            Ink::Warning,
            format!("{unread} of {all} sums could not be read from the database"),
        ),
        (wrong, _) => (
            Ink::Error,
            format!(
                "{wrong} of {all} sums in the database differ from what the server acknowledged; \
                 see the finding 'consistency'"
            ),
        ),
    };
    page.row("ledger", ink, &text);
}
