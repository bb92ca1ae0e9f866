//! The records of a run that are not in the file yet.

use dyno_core::summary::IntervalSummary;
use rusqlite::Connection;

use super::rows::Row;
use super::samples::Samples;
use super::spans::Spans;
use super::{Record, SeriesId};
use crate::codec::Measured;

/// Maximum number of rows to keep while the file cannot be written to. Any more are dropped and
/// counted.
pub const PENDING_MAX: usize = 200_000;

/// The rows of a run that wait to be written. A row that is written twice replaces itself, so a
/// transaction that failed can be retried.
#[derive(Debug)]
pub(crate) struct Draft {
    rows: Vec<Row>,
    rows_max: usize,
    spans: Spans,
    samples: Samples,
    operations: Vec<String>,
    intervals: u32,
    events: u32,
    lost: u64,
    changed: bool,
}

impl Draft {
    pub(crate) fn new(rows_max: usize) -> Self {
        Self {
            rows: Vec::new(),
            rows_max,
            spans: Spans::default(),
            samples: Samples::default(),
            operations: Vec::new(),
            intervals: 0,
            events: 0,
            lost: 0,
            changed: false,
        }
    }

    pub(crate) fn take(&mut self, record: Record) {
        self.changed = true;
        if self.rows.len() >= self.rows_max {
            self.lost += 1;
            return;
        }
        match record {
            Record::Started(unix_s) => self.rows.push(Row::Started(unix_s)),
            Record::Target(target) => self.rows.push(Row::Target(target)),
            Record::Interval(summary, operations) => self.interval(summary, operations),
            Record::Series(id, key, kind) => {
                self.samples.define(id.0, kind);
                self.rows.push(Row::Series(id.0, key, kind));
            }
            Record::Samples(at_s, values) => {
                for (series, value) in values {
                    self.sample(series, at_s, value);
                }
            }
            Record::Points(series, points) => {
                for (at_s, value) in points {
                    self.sample(series, at_s, value);
                }
            }
            Record::Facts(facts) => self.rows.extend(facts.into_iter().map(Row::Fact)),
            Record::Settings { values, at_end } => {
                let rows = values
                    .into_iter()
                    .map(|(name, value)| Row::Setting(name, Some(value), at_end));
                self.rows.extend(rows);
            }
            Record::Event(event) => {
                self.rows.push(Row::Event(self.events, event));
                self.events += 1;
            }
            Record::NotObserved(gap) => self.rows.push(Row::NotObserved(gap)),
            Record::Profile(profile) => self.rows.push(Row::Profile(profile)),
        }
    }

    fn sample(&mut self, series: SeriesId, at_s: f64, value: f64) {
        match self.samples.add(series.0, at_s, value) {
            Ok(rows) => self.rows.extend(rows.into_iter().map(Row::Sample)),
            // The definition of the series was lost.
            Err(_) => self.lost += 1,
        }
    }

    /// Adds a setting of an imported record.
    pub(crate) fn setting(&mut self, name: &str, value: Option<&str>, at_end: bool) {
        let value = value.map(str::to_owned);
        self.changed = true;
        self.rows.push(Row::Setting(name.to_owned(), value, at_end));
    }

    fn interval(&mut self, summary: Box<IntervalSummary>, operations: Vec<(String, Measured)>) {
        let (from_s, to_s) = (summary.at_s - summary.length_s, summary.at_s);
        self.rows.push(Row::Interval(self.intervals, summary));
        self.intervals += 1;
        for (name, measured) in operations {
            self.span(&name, from_s, to_s, measured);
        }
    }

    pub(crate) fn span(&mut self, operation: &str, from_s: f64, to_s: f64, measured: Measured) {
        self.changed = true;
        let operation = self.operation(operation);
        let closed = self.spans.add(operation, from_s, to_s, measured);
        self.rows.extend(closed.into_iter().map(Row::Span));
    }

    /// The number of an operation, which is assigned when it is first used.
    pub(crate) fn operation(&mut self, name: &str) -> u32 {
        if let Some(number) = self.operations.iter().position(|own| own == name) {
            return number as u32;
        }
        let number = self.operations.len() as u32;
        self.operations.push(name.to_owned());
        self.rows.push(Row::Operation(number, name.to_owned()));
        self.changed = true;
        number
    }

    /// Writes the rows. Call this within a transaction, and call [`Draft::written`] after the
    /// commit.
    pub(crate) fn write(&self, connection: &Connection, run_id: i64) -> rusqlite::Result<()> {
        for row in &self.rows {
            row.write(connection, run_id)?;
        }
        for span in self.spans.growing() {
            Row::Span(span).write(connection, run_id)?;
        }
        for sample in self.samples.growing() {
            Row::Sample(sample).write(connection, run_id)?;
        }
        Ok(())
    }

    pub(crate) fn written(&mut self) {
        self.rows.clear();
        self.spans.written();
        self.samples.written();
        self.changed = false;
    }

    pub(crate) fn is_written(&self) -> bool {
        !self.changed
    }

    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }
}
