//! Reads a run in progress step by step: whatever was written since the last call.

use dyno_core::record::{Event, RunState, Span};
use dyno_core::summary::IntervalSummary;
use rusqlite::Row;

use super::list::{RunStage, of_word};
use super::load::{interval, interval_columns, optional_json};
use super::spans::{COLUMNS, Failure, whole};
use crate::decode::Decoder;
use crate::error::ResultsError;
use crate::open::Results;
use crate::process::Process;

/// Maximum number of intervals, spans per operation, and events per call. If there are more, the
/// latest ones are read.
const LATEST_MAX: i64 = 600;
/// The first call reads samples this many seconds back.
const SAMPLES_S: f64 = 60.0;
/// Samples are not written exactly in order of time, so the last seconds are read again.
const SAMPLES_AGAIN_S: f64 = 2.0;

/// How far a run was read. The default is its beginning.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadPosition {
    interval: Option<i64>,
    span: Option<i64>,
    event: Option<i64>,
    sample_s: Option<f64>,
}

/// A short description of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunHeadline {
    /// Its name.
    pub name: String,
    /// Its stage.
    pub stage: RunStage,
    /// The workload, as typed.
    pub workload: String,
    /// The target's URL, without secrets.
    pub target: String,
    /// The server's product and version; empty if unknown.
    pub server: String,
    /// Simulated users; `None` if unknown.
    pub sessions: Option<u32>,
    /// When the measurement began, in seconds since the Unix epoch. `None` if it has not begun.
    pub started_unix_s: Option<f64>,
}

/// A sample and its series.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleOf {
    /// The series' name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Seconds from the start of the measurement.
    pub at_s: f64,
    /// The value.
    pub value: f64,
}

/// What is new since the last call. Each list is in order of time.
#[derive(Clone, Debug)]
pub struct Progress {
    /// The run.
    pub head: RunHeadline,
    /// Intervals.
    pub intervals: Vec<IntervalSummary>,
    /// Latencies, with the operation's name.
    pub spans: Vec<(String, Span)>,
    /// Samples. The next call may return the last ones again.
    pub samples: Vec<SampleOf>,
    /// Events.
    pub events: Vec<Event>,
}

impl Results {
    /// Returns the records that were written since `position`, and advances `position`. If there
    /// are too many, returns the latest.
    ///
    /// # Errors
    /// The run does not exist, or cannot be read.
    pub fn progress(&self, id: i64, position: &mut ReadPosition) -> Result<Progress, ResultsError> {
        let doing = "follow a run in";
        self.check_run(id, doing)?;
        // Use one transaction, so that all parts are consistent.
        let begun = self.connection.unchecked_transaction();
        let _reading = begun.map_err(|error| self.at(doing).sqlite(error))?;
        let mut next = position.clone();
        let spans = self.latest_spans(id, &mut next);
        let spans = spans.map_err(|failure| match failure {
            Failure::Sqlite(error) => self.at(doing).sqlite(error),
            Failure::Content(problem) => self.at(doing).error(problem),
        })?;
        let mut read = || -> rusqlite::Result<Progress> {
            Ok(Progress {
                head: self.headline(id)?,
                intervals: self.latest_intervals(id, &mut next)?,
                spans: Vec::new(),
                samples: self.latest_samples(id, &mut next)?,
                events: self.latest_events(id, &mut next)?,
            })
        };
        let progress = read().map_err(|error| self.explain(doing, error))?;
        *position = next;
        Ok(Progress { spans, ..progress })
    }

    fn headline(&self, id: i64) -> rusqlite::Result<RunHeadline> {
        let sql =
            "SELECT name, state, workload, target_url, trim(product || ' ' || server_version),
                       sessions, started_unix_s, pid, boot_id, process_start_ticks, pid_namespace
                   FROM run WHERE id = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.query_row([id], |row| {
            let process = Process {
                pid: row.get(7)?,
                boot_id: row.get(8)?,
                start_ticks: row.get(9)?,
                namespace: row.get(10)?,
            };
            let state = of_word(row.get(1)?, 1)?;
            let lives = state == RunState::Running && process.lives();
            Ok(RunHeadline {
                name: row.get(0)?,
                stage: RunStage::of(state, lives),
                workload: row.get(2)?,
                target: row.get(3)?,
                server: row.get(4)?,
                sessions: row.get(5)?,
                started_unix_s: row.get(6)?,
            })
        })
    }

    fn latest_intervals(
        &self,
        id: i64,
        position: &mut ReadPosition,
    ) -> rusqlite::Result<Vec<IntervalSummary>> {
        let sql = format!("SELECT {}, number FROM interval", interval_columns());
        let (numbers, intervals) =
            self.latest(&sql, id, position.interval, LATEST_MAX, interval)?;
        position.interval = numbers.last().copied().or(position.interval);
        Ok(intervals)
    }

    fn latest_events(&self, id: i64, position: &mut ReadPosition) -> rusqlite::Result<Vec<Event>> {
        let sql = "SELECT at_s, until_s, kind, text, detail, number FROM event";
        let (numbers, events) = self.latest(sql, id, position.event, LATEST_MAX, event)?;
        position.event = numbers.last().copied().or(position.event);
        Ok(events)
    }

    /// The latest rows after a number, in order.
    fn latest<T>(
        &self,
        sql: &str,
        id: i64,
        behind: Option<i64>,
        most: i64,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<(Vec<i64>, Vec<T>)> {
        let sql = format!("{sql} WHERE run_id = ?1 AND number > ?2 ORDER BY number DESC LIMIT ?3");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query((id, behind.unwrap_or(i64::MIN), most))?;
        let (mut numbers, mut all) = (Vec::new(), Vec::new());
        while let Some(row) = rows.next()? {
            numbers.push(row.get("number")?);
            all.push(read(row)?);
        }
        numbers.reverse();
        all.reverse();
        Ok((numbers, all))
    }

    fn latest_spans(
        &self,
        id: i64,
        position: &mut ReadPosition,
    ) -> Result<Vec<(String, Span)>, Failure> {
        let names = self.operation_names(id)?;
        let most = LATEST_MAX * names.len().max(1) as i64;
        let sql = format!(
            "SELECT {COLUMNS}, number FROM span WHERE run_id = ?1 AND number > ?2
             ORDER BY number DESC LIMIT ?3"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query((id, position.span.unwrap_or(i64::MIN), most))?;
        let mut decoder = Decoder::new();
        let mut spans = Vec::new();
        let mut last = position.span;
        while let Some(row) = rows.next()? {
            last = last.max(Some(row.get("number")?));
            let operation = row.get::<_, u32>(0)? as usize;
            if let (Some(name), Some(span)) = (names.get(operation), whole(row, &mut decoder)?) {
                spans.push((name.clone(), span));
            }
        }
        spans.reverse();
        position.span = last;
        Ok(spans)
    }

    fn latest_samples(
        &self,
        id: i64,
        position: &mut ReadPosition,
    ) -> rusqlite::Result<Vec<SampleOf>> {
        let behind = match position.sample_s {
            Some(at_s) => at_s - SAMPLES_AGAIN_S,
            None => {
                let sql = "SELECT max(at_s) FROM sample WHERE run_id = ?1";
                let last = self.connection.query_row(sql, [id], |row| row.get(0));
                last.map(|last: Option<f64>| last.map_or(f64::MIN, |last| last - SAMPLES_S))?
            }
        };
        let sql = "SELECT series.name, series.unit, sample.at_s, sample.value FROM sample
                   JOIN series ON series.run_id = sample.run_id AND series.number = sample.series
                   WHERE sample.run_id = ?1 AND sample.at_s > ?2 ORDER BY sample.at_s";
        let mut statement = self.connection.prepare_cached(sql)?;
        let samples = statement.query_map((id, behind), |row| {
            Ok(SampleOf {
                name: row.get(0)?,
                unit: row.get(1)?,
                at_s: row.get(2)?,
                value: row.get(3)?,
            })
        })?;
        let samples: Vec<SampleOf> = samples.collect::<rusqlite::Result<_>>()?;
        position.sample_s = samples.last().map(|last| last.at_s).or(position.sample_s);
        Ok(samples)
    }
}

/// Reads `at_s`, `until_s`, `kind`, `text` and `detail`, in this order.
pub(super) fn event(row: &Row<'_>) -> rusqlite::Result<Event> {
    Ok(Event {
        at_s: row.get(0)?,
        until_s: row.get(1)?,
        kind: of_word(row.get(2)?, 2)?,
        text: row.get(3)?,
        detail: optional_json(row, 4)?.unwrap_or_default(),
    })
}
