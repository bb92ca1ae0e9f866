//! The list of the runs in a results file.

use dyno_core::finding::Verdict;

use super::look::{DOT, Ink, Look, columns, cut};
use super::words::EventWord;
use crate::document::{self, Table, Value};

/// The least width for a note next to its run; else the note goes below.
const NOTE_MIN: usize = 24;
/// The indentation of lines below a run.
const BELOW: &str = "     ";

/// A run in one line.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    /// Its number in the file.
    pub id: i64,
    /// When it began, in local time or UTC as text.
    pub when: String,
    /// The workload.
    pub workload: String,
    /// The server's product and version.
    pub server: String,
    /// Simulated users; `None` if unknown.
    pub sessions: Option<u32>,
    /// The schedule of a changing load, in short; else empty.
    pub schedule: String,
    /// The word for its events.
    pub event: EventWord,
    /// Events per second; `None` without a measurement.
    pub events_per_s: Option<f64>,
    /// 95th percentile in milliseconds; `None` with too few samples.
    pub p95_ms: Option<f64>,
    /// The verdict; `None` before it was judged.
    pub verdict: Option<Verdict>,
    /// Whether the verdict is based on few checks.
    pub thin: bool,
    /// Doubts and refusals excluded from the verdict.
    pub waived: usize,
    /// Its state, if it did not complete: `unfinished`, `interrupted` …
    pub state: String,
    /// The user's note.
    pub note: String,
}

/// The runs, one line each under a heading; if that is wider than the terminal, the distinguishing
/// columns go below each run.
pub fn runs(rows: &[RunRow], look: &Look) -> String {
    let one = table(rows, false);
    let notes = rows.iter().map(|row| columns(&look.clean(&note(row))));
    let cut = notes.max().unwrap_or(0).saturating_sub(NOTE_MIN);
    match one.natural(look).saturating_sub(cut) <= look.width() {
        true => one.finish(look),
        false => in_two_lines(rows, look),
    }
}

/// The table; `narrow` leaves out what goes below each run.
fn table(rows: &[RunRow], narrow: bool) -> Table {
    let mut columns = Table::of(rows)
        .figure("run", 0, |row| (Ink::Strong, row.id.to_string()))
        .word("start (UTC)", 0, |row| {
            // The year is the least informative part.
            let short = row.when.get(5..).filter(|_| row.when.starts_with("20"));
            short.filter(|_| narrow).unwrap_or(&row.when).to_owned()
        });
    columns = match narrow {
        true => columns.text("workload", 0, |row| row.workload.clone()),
        false => columns.word("workload", 0, |row| row.workload.clone()),
    };
    // Logs of other tools often omit it.
    if !narrow && rows.iter().any(|row| !row.server.is_empty()) {
        columns = columns.text("server", 0, |row| row.server.clone());
    }
    let unit = EventWord::of_all(rows.iter().map(|row| row.event)).per_s();
    columns = columns
        .figure("users", 0, |row| users(row).map(Value::Text))
        .figure(unit, 0, |row| row.events_per_s.map(Value::Rate))
        .figure("p95", 0, |row| row.p95_ms.map(Value::Ms))
        .word("verdict", 0, verdict);
    if !narrow {
        columns = columns.text("note", 0, |row| (Ink::Faint, note(row)));
    }
    columns.source("")
}

fn in_two_lines(rows: &[RunRow], look: &Look) -> String {
    let table = table(rows, true);
    let lines = table.finish(look);
    let mut lines = lines.lines();
    let mut out = String::new();
    let head = lines.next().unwrap_or_default();
    out += &format!("{head}\n");
    for (line, row) in lines.zip(rows) {
        out += &format!("{line}\n");
        let below = [row.server.clone(), note(row)];
        let below: Vec<String> = below.into_iter().filter(|text| !text.is_empty()).collect();
        if !below.is_empty() {
            let text = look.clean(&below.join(DOT));
            let text = cut(&text, look.width().saturating_sub(BELOW.len()));
            out += &format!("{BELOW}{}\n", look.paint(Ink::Faint, &look.clean(&text)));
        }
    }
    out
}

fn verdict(row: &RunRow) -> (Ink, String) {
    let (ink, word) = match row.verdict {
        Some(Verdict::Valid) if row.thin => (Ink::Warning, "~ valid"),
        Some(verdict) => (document::ink(row.verdict), verdict.word()),
        // The state replaces a missing verdict.
        None if row.state.is_empty() => (Ink::Faint, "–"),
        None => (Ink::Faint, row.state.as_str()),
    };
    let word = match row.waived {
        0 => word.to_owned(),
        waived => format!("{word}, {waived} waived"),
    };
    (ink, word)
}

fn note(row: &RunRow) -> String {
    match (row.state.as_str(), row.note.as_str()) {
        ("", note) => note.to_owned(),
        (_, note) if row.verdict.is_none() => note.to_owned(),
        (state, "") => format!("({state})"),
        (state, note) => format!("({state}) {note}"),
    }
}

/// The sessions; for a changing load with, or replaced by, the schedule.
fn users(row: &RunRow) -> Option<String> {
    let sessions = row.sessions?;
    Some(match row.schedule.as_str() {
        "" => sessions.to_string(),
        rate if rate.contains("/s") => format!("{sessions}, {rate}"),
        sessions => sessions.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_shown_in_columns() {
        let row = RunRow {
            id: 3,
            when: "2026-11-21 12:45".into(),
            workload: "oltp_read_write".into(),
            server: "MariaDB 10.11.6".into(),
            sessions: Some(16),
            schedule: String::new(),
            event: EventWord::Transaction,
            events_per_s: Some(1228.4),
            p95_ms: Some(2.18),
            verdict: Some(Verdict::Valid),
            thin: false,
            waived: 0,
            state: String::new(),
            note: "base".into(),
        };
        let unfinished = RunRow {
            id: 14,
            events_per_s: None,
            p95_ms: None,
            verdict: None,
            state: "unfinished".into(),
            note: String::new(),
            ..row.clone()
        };
        let imported = RunRow {
            id: 15,
            thin: true,
            state: "imported".into(),
            ..row.clone()
        };
        let waived = RunRow {
            id: 16,
            waived: 1,
            ..row.clone()
        };
        let scheduled = RunRow {
            id: 17,
            schedule: "100/s → 200/s".into(),
            ..row.clone()
        };
        let climbing = RunRow {
            id: 18,
            schedule: "1..64".into(),
            ..row.clone()
        };
        let look = Look {
            columns: 132,
            ..Look::default()
        };
        let host = RunRow {
            id: 19,
            event: EventWord::Event,
            ..row.clone()
        };
        let mixed = runs(&[row.clone(), host], &look);
        assert!(mixed.contains("  events/s  "), "{mixed}");
        insta::assert_snapshot!(runs(
            &[row, unfinished, imported, waived, scheduled, climbing],
            &look
        ));
    }
}
