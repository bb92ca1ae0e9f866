//! The work of the script: the roles of its sessions, its operations, its figures and its sums.

use dyno_core::summary::{LedgerEntry, OperationSummary, RoleSummary, RunSummary};

use super::{Block, Cell, PAGE, Table, Value};
use crate::number::{self, latency, length, percent, plain, thousands};
use crate::terminal::{EventWord, Ink};

/// A role that achieves less than this share of its requested rate is marked.
const ACHIEVED: f64 = 0.95;

/// The whole section for a page, with tables of figures and sums.
pub(crate) fn work(run: &RunSummary) -> Vec<Block> {
    let figures = Table::of(&run.figures)
        .text("figure", 0, |one| one.name.clone())
        .figure("value", 0, |one| number::figure(one.value))
        .text("unit", 0, |one| one.unit.clone())
        .source("the workload's own figures.");
    let mut blocks = roles(run);
    blocks.extend(operations(run));
    blocks.extend([figures, sums(run)].map(Block::Table));
    blocks
}

/// The latency limit, and the roles of sessions.
pub(crate) fn roles(run: &RunSummary) -> Vec<Block> {
    let table = Table::of(&run.roles)
        .text("roles", 0, |role| role.name.clone())
        .figure("sessions", 0, |role| Value::Count(role.sessions.into()))
        .figure(EventWord::of(run).per_s(), 1, |role| {
            Value::Rate(role.events_per_s)
        })
        .figure("asked/s", 3, |role| role.asked_per_s.map(Value::Rate))
        .figure("achieved", 2, achieved)
        .figure("per session", 4, per_session)
        .notes(remarks)
        .labelled(12)
        .source(
            "summary. The run's events exclude those of background roles. Events that could not \
             start in time were dropped. A role is finished when all its sessions have done their \
             work.",
        );
    let limit = limit(run).into_iter();
    limit.chain([Block::Table(table)]).collect()
}

fn limit(run: &RunSummary) -> Option<Block> {
    let limit = run.latency_limit.as_ref()?;
    let ended = run.totals.events;
    let share = |count: u64, of: u64| percent(count as f64 / of.max(1) as f64);
    let mut text = format!(
        "{} of {} events took longer than {} ms ({})",
        thousands(limit.above),
        thousands(ended),
        plain(limit.limit_ms),
        share(limit.above, ended)
    );
    // In an imported run the count alone may indicate a schedule.
    if run.open_loop.is_some() || limit.skipped > 0 {
        text += &format!(
            "; {} skipped, too late to start in time ({})",
            thousands(limit.skipped),
            share(limit.skipped, ended + limit.skipped)
        );
    }
    let ink = match limit.above + limit.skipped {
        0 => Ink::Plain,
        _ => Ink::Warning,
    };
    Some(Block::row("limit", ink, text))
}

fn achieved(role: &RoleSummary) -> Cell {
    match role.achieved_share() {
        Some(share) if share < ACHIEVED => (Ink::Warning, Value::Share(share)).into(),
        share => share.map(Value::Share).into(),
    }
}

fn per_session(role: &RoleSummary) -> String {
    match (role.events_min, role.events_max) {
        (min, max) if min == max => thousands(min),
        (min, max) => format!("{}–{}", thousands(min), thousands(max)),
    }
}

fn remarks(role: &RoleSummary) -> String {
    let mut notes = Vec::new();
    if role.background {
        notes.push("in the background: not included in the transactions above".to_owned());
    }
    if role.not_done > 0 {
        notes.push(format!("{} not done", thousands(role.not_done)));
    }
    if role.skipped > 0 {
        notes.push(format!(
            "{} dropped, too late to start",
            thousands(role.skipped)
        ));
    }
    if let (Some(first), Some(last)) = (role.finished_first_s, role.finished_last_s)
        && last > 0.0
    {
        notes.push(match role.sessions {
            1 => format!("finished after {}", length(last)),
            _ => format!("finished after {} to {}", length(first), length(last)),
        });
    }
    notes.join(", ")
}

/// The script's operations, and whether the database agrees with them.
pub(crate) fn operations(run: &RunSummary) -> Vec<Block> {
    let ledger = ledger(run).into_iter();
    [Block::Table(begun(run))]
        .into_iter()
        .chain(ledger)
        .collect()
}

/// The operations that began. A single one that equals the event is left out.
fn begun(run: &RunSummary) -> Table {
    let begun = run.operations.iter().filter(|one| {
        let totals = &one.totals;
        ended(one) + totals.given_up + totals.unknown + totals.duplicates > 0
    });
    let mut begun: Vec<&OperationSummary> = begun.collect();
    if let [only] = begun[..]
        && only.totals.done == run.totals.events
        && ends(only).is_empty()
    {
        begun.clear();
    }
    let all: u64 = begun.iter().map(|one| ended(one)).sum();
    let share = |one: &OperationSummary| ended(one) as f64 / all.max(1) as f64;
    let mut columns = Table::of(begun.iter().copied())
        .text("operations", 0, |one| one.name.clone())
        .figure("/s", 0, |one| one.per_s().map(Value::Rate))
        .figure("done", PAGE, |one| Value::Count(one.totals.done))
        .figure("share", 1, |one| Value::Share(share(one)))
        .mean(2, OperationSummary::latency);
    let first = begun.first();
    let percentiles = first.map_or(&[][..], |one| &one.latency().percentiles);
    // The highest ones are the most interesting.
    for (index, one) in percentiles.iter().enumerate() {
        let rank = 3 + percentiles.len() - index;
        columns = columns.percentile(one.percent, rank, OperationSummary::latency);
    }
    columns
        .longest(3, OperationSummary::latency)
        .notes(|one| ends(one).join(", "))
        .labelled(10)
        .source(
            "summary. Latencies run from the start of the first try to the end (in an open loop, \
             from the scheduled time) and include work that was done or rolled back by design. \
             Work that was given up, ended by a duplicate key or has an unknown outcome is in no \
             rate and no latency. First tries are those of retried work.",
        )
}

fn ended(operation: &OperationSummary) -> u64 {
    operation.totals.done + operation.totals.rolled_back
}

/// Its outcomes other than `done`: rollbacks, retries, and work that was not done.
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
        let first = operation.first_tries.as_ref();
        if let Some(mean_ms) = first.and_then(|first| first.mean_ms) {
            text += &format!(" whose first try took {}", latency(mean_ms));
        }
        ends.push(text);
    }
    for (count, how) in [
        (totals.given_up, "given up"),
        (totals.duplicates, "ended by duplicate keys"),
        (totals.unknown, "with an unknown outcome"),
    ] {
        if count > 0 {
            ends.push(format!("{} {how}", thousands(count)));
        }
    }
    ends
}

/// The script's own figures, in lines.
pub(crate) fn figures(run: &RunSummary) -> Option<Block> {
    let lines = run.figures.iter().map(|figure| {
        let value = number::figure(figure.value);
        let line = format!("{}: {value} {}", figure.name, figure.unit);
        line.trim_end().to_owned()
    });
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| Block::row("figures", Ink::Strong, lines.join("\n")))
}

/// Whether the database contains what the server acknowledged.
fn ledger(run: &RunSummary) -> Option<Block> {
    if run.ledger.is_empty() {
        return None;
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
    Some(Block::row("ledger", ink, text))
}

/// Each sum of the ledger.
fn sums(run: &RunSummary) -> Table {
    let agrees = |entry: &LedgerEntry| match entry.agrees() {
        Some(true) => "yes",
        Some(false) => "no",
        None if entry.is_open() => "not compared",
        None => "could not be read",
    };
    Table::of(&run.ledger)
        .text("sum in the database", 0, |entry| {
            format!("{} ({})", entry.database, entry.sum)
        })
        .figure("changed by", 0, |entry| {
            entry.found.map(|found| Value::Text(found.to_string()))
        })
        .figure("acknowledged", 0, |entry| entry.expected())
        .text("agrees", 0, |entry| agrees(entry).to_owned())
        .source(
            "the workload's sums, read before and after the run, compared with what the server \
             acknowledged to the sessions; a range if a connection was lost during a commit.",
        )
}
