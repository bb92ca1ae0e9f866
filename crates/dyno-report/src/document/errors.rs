//! Errors of a run, and work that was cut off.

use std::cmp::Reverse;

use dyno_analysis::errors::by_kind;
use dyno_core::db::ErrorKind;
use dyno_core::interval::ErrorCount;
use dyno_core::states::{SessionState, SessionStates};
use dyno_core::summary::RunSummary;
use dyno_core::text::counted;
use dyno_verdict::OTHER_LOCKS;

use super::{Block, Table, Value};
use crate::number::{length, rate, thousands};
use crate::terminal::{EventWord, Ink};

/// MySQL's and MariaDB's error code of any deadlock.
const DEADLOCK: &str = "1213";

/// The number of errors, of ignored ones among them, and of retries.
pub(crate) fn errors(run: &RunSummary) -> Option<Block> {
    let seen = run.errors_seen();
    if seen == 0 {
        return None;
    }
    let mut text = thousands(seen) + &kinds(run);
    text += &format!(
        ", of which {} were ignored ({} /s)",
        thousands(run.totals.errors),
        rate(run.rates.errors_per_s.unwrap_or_default())
    );
    if run.totals.retries > 0 {
        text += &format!(
            "; {} repeated",
            counted(run.totals.retries, EventWord::of(run).one())
        );
    }
    Some(Block::row("errors", Ink::Error, text))
}

/// The number of errors by kind, if known: older runs have no kinds.
fn kinds(run: &RunSummary) -> String {
    let kinds = by_kind(&run.errors);
    if kinds.iter().all(|sum| sum.kind == ErrorKind::Other) {
        return String::new();
    }
    let each: Vec<String> = kinds
        .iter()
        .map(|sum| format!("{} {}", thousands(sum.count), sum.kind.noun(sum.count)))
        .collect();
    format!(" ({})", each.join(", "))
}

/// The errors by code, the most frequent first.
pub(crate) fn by_code(run: &RunSummary) -> Vec<(&str, &ErrorCount)> {
    let mut codes: Vec<_> = run.errors.iter().map(|(code, of)| (&**code, of)).collect();
    codes.sort_by_key(|(_, error)| Reverse(error.count));
    codes
}

/// The first message of a code, with the kind of locks if the message does not say it.
pub(crate) fn message(run: &RunSummary, code: &str, error: &ErrorCount) -> String {
    let mut numbers = run.findings.iter().flat_map(|finding| &finding.numbers);
    let others = numbers.find(|number| number.name == OTHER_LOCKS);
    match others.and_then(|others| others.value) {
        Some(count) if code == DEADLOCK && count > 0.0 => format!(
            "{} ({} not of row locks; deadlocks of metadata locks, which ALTER TABLE takes, have \
             the same error)",
            error.sample,
            thousands(count as u64)
        ),
        _ => error.sample.clone(),
    }
}

/// A row for each code.
pub(crate) fn error_codes(run: &RunSummary) -> Table {
    Table::of(&by_code(run))
        .text("code", 0, |(code, _)| Value::Code((*code).to_owned()))
        .text("kind", 0, |(_, error)| error.kind.short().to_owned())
        .figure("count", 0, |(_, error)| Value::Count(error.count))
        .text("first message", 0, |(code, error)| {
            message(run, code, error)
        })
        .source(
            "summary: errors of all codes, ignored or not, during the measurement and its grace \
             period.",
        )
}

/// Events without their work, and sessions that lost their connections.
pub(crate) fn interruptions(run: &RunSummary) -> Vec<Block> {
    let totals = &run.totals;
    let mut rows = Vec::new();
    if totals.not_done > 0 {
        let text = format!(
            "{} given up, ended by a duplicate key, or with an unknown outcome; {}",
            counted(totals.not_done, EventWord::of(run).one()),
            excluded(run),
        );
        rows.push(Block::row("not done", Ink::Error, text));
    }
    if let Some(states) = run.states.filter(SessionStates::is_unusual) {
        let there = SessionState::ALL.into_iter();
        let there = there.filter(|state| states.of(*state) > 0);
        let each: Vec<String> = there
            .map(|state| format!("{} {}", states.of(state), state.word()))
            .collect();
        let text = format!("{} at the end", each.join(", "));
        rows.push(Block::row("sessions", Ink::Error, text));
    }
    if totals.connects_failed > 0 {
        let attempts = counted(totals.connects_failed, "attempt");
        let mut text = format!("{attempts} to connect failed");
        if let Some(error) = run.connect_errors.values().max_by_key(|error| error.count) {
            text += &format!(": {}", error.sample);
        }
        rows.push(Block::row("connects", Ink::Warning, text));
    }
    if totals.reconnects > 0 {
        let per_s = rate(run.rates.reconnects_per_s.unwrap_or_default());
        let text = format!("{} ({per_s} /s)", thousands(totals.reconnects));
        rows.push(Block::row("reconnects", Ink::Warning, text));
    }
    rows
}

/// The figures that exclude events that were not done. Some tools include them in the mean latency.
fn excluded(run: &RunSummary) -> String {
    let events = EventWord::of(run).many();
    let totals = &run.totals;
    let all = totals.events.saturating_add(totals.not_done);
    match totals.not_done > 0 && run.service.count == all {
        true => format!("not in the {events}, but in the latencies"),
        false => format!("not in the {events} and latencies"),
    }
}

/// Events cut off by the end of the run. One per session of a closed loop is normal.
pub(crate) fn cut_off(run: &RunSummary) -> Vec<Block> {
    let drive = run.drive.as_ref();
    let open = drive.filter(|drive| drive.open_loop.is_some());
    let late = run.events_in_grace.filter(|events| *events > 0);
    let late = open.zip(late).map(|(drive, events)| {
        let text = format!(
            "{} ended within the grace of {} after the time limit; in the totals, not in the rates",
            counted(events, EventWord::of(run).one()),
            length(drive.grace.as_secs_f64())
        );
        Block::row("late", Ink::Plain, text)
    });
    late.into_iter().chain(unfinished(run)).collect()
}

/// Events that never ended, so they have no latency.
pub(crate) fn unfinished(run: &RunSummary) -> Option<Block> {
    let events = run.events_unfinished.filter(|events| *events > 0)?;
    let text = format!(
        "{} unfinished at the end of the run; not in the latencies",
        counted(events, EventWord::of(run).one()),
    );
    Some(Block::row("unfinished", Ink::Warning, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::finding::Outcome;
    use dyno_samples::{summaries as samples, values};

    #[test]
    fn deadlocks_of_metadata_locks_are_explained() {
        let mut run = samples::good();
        let error = ErrorCount {
            count: 7,
            kind: ErrorKind::Conflict,
            sample: "Deadlock found".to_owned(),
        };
        assert_eq!(message(&run, DEADLOCK, &error), "Deadlock found");
        let mut finding = values::finding("errors", 11, Outcome::Pass, "7 errors.");
        let number = values::number(OTHER_LOCKS, Some(7.0), "count");
        finding.numbers.push(number);
        run.findings.push(finding);
        let explained = message(&run, DEADLOCK, &error);
        let begins = "Deadlock found (7 not of row locks; deadlocks of metadata locks, ";
        assert!(explained.starts_with(begins), "{explained}");
        assert_eq!(message(&run, "1205", &error), "Deadlock found");
    }

    #[test]
    fn events_not_done_may_be_in_the_latencies() {
        let mut run = samples::good();
        run.totals.not_done = 6;
        run.service.count = run.totals.events;
        assert!(excluded(&run).ends_with(" and latencies"));
        run.service.count = run.totals.events + 6;
        assert!(excluded(&run).ends_with(", but in the latencies"));
    }
}
