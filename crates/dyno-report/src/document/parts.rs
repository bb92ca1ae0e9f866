//! The parts of a load that changed over time.

use dyno_core::summary::{LatencySummary, PartSummary, RunSummary};

use super::{PAGE, Table, Value, ink};
use crate::number::plain;
use crate::terminal::{EventWord, Ink};

/// A row for each part. Columns of rank 0 fit any terminal.
pub(crate) fn parts(run: &RunSummary) -> Table {
    let number = |part: &PartSummary| run.parts.iter().position(|one| std::ptr::eq(one, part));
    let mut columns = Table::of(&run.parts)
        .text("part", 0, |part| part.label.clone())
        .figure("no.", PAGE, |part| {
            number(part).map(|index| Value::Count(index as u64 + 1))
        })
        .figure("time", 1, |part| {
            let time = format!("{}–{}s", plain(part.from_s), plain(part.to_s));
            (Ink::Faint, time)
        });
    if run.parts.iter().any(|part| part.offered_per_s.is_some()) {
        columns = columns.figure("offered/s", 1, |part| part.offered_per_s.map(Value::Rate));
    }
    columns = columns
        .figure("sessions", PAGE, |part| {
            measured(part, Ink::Plain, Value::Count(part.sessions.into()))
        })
        .figure(EventWord::of(run).per_s(), 0, |part| {
            measured(part, Ink::Strong, Value::Rate(part.rates.events_per_s))
        })
        .mean(PAGE, latencies);
    let percentiles = run.parts.iter().map(|part| &part.latency.percentiles);
    let percentiles = percentiles.max_by_key(|all| all.len());
    for one in percentiles.into_iter().flatten() {
        let rank = match one.percent {
            95.0 | 99.0 => 1,
            50.0 => 2,
            _ => PAGE,
        };
        columns = columns.percentile(one.percent, rank, latencies);
    }
    columns
        .longest(PAGE, latencies)
        .figure("errors", 1, errors)
        .word("verdict", 0, |part| {
            (ink(part.verdict), part.verdict_word().to_owned())
        })
        .notes(against)
        .source(
            "intervals of the run that are entirely within a part, each part judged like a \
             separate run. The run's verdict is the worst of its parts' and of the checks of the \
             whole.",
        )
}

fn latencies(part: &PartSummary) -> &LatencySummary {
    &part.latency
}

fn measured(part: &PartSummary, ink: Ink, value: Value) -> (Ink, Value) {
    match part.is_measured() {
        true => (ink, value),
        false => (Ink::Faint, Value::Missing),
    }
}

fn errors(part: &PartSummary) -> (Ink, Value) {
    let ink = match part.totals.errors {
        0 => Ink::Plain,
        _ => Ink::Error,
    };
    measured(part, ink, Value::Count(part.totals.errors))
}

/// The findings against it.
fn against(part: &PartSummary) -> String {
    let each = part.against.iter();
    let each = each.map(|one| format!("{}: {}", one.check, one.evidence));
    each.collect::<Vec<_>>().join("\n")
}
