//! Writes a run in progress with one transaction per interval, so that killing the process loses at
//! most the last interval.

use std::path::Path;
use std::time::Duration;

use dyno_core::cpu_profile::CpuProfile;
use dyno_core::finding::{Finding, Verdict, Waiver};
use dyno_core::interval::Latencies;
use dyno_core::record::{
    Event, Fact, NotObserved, RunHead, RunState, SeriesKey, SeriesKind, SessionShare,
};
use dyno_core::summary::{IntervalSummary, RunSummary, TargetSummary};
use rusqlite::TransactionBehavior;

use crate::codec::Measured;
use crate::error::{Problem, ResultsError};
use crate::open::Results;
use crate::process::Process;

mod draft;
mod ending;
mod import;
mod judge;
mod remove;
mod rows;
mod samples;
mod spans;

pub(crate) use draft::Draft;
pub use draft::PENDING_MAX;
pub use ending::Ending;
pub(crate) use remove::delete;
pub(crate) use rows::json;
pub use spans::FINE_S;

/// Identifies a series within its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SeriesId(pub(crate) u32);

/// A record of a run.
#[derive(Clone, Debug)]
pub enum Record {
    /// The measurement began, in seconds since the Unix epoch.
    Started(f64),
    /// The target's identity.
    Target(TargetSummary),
    /// An interval with the latencies of each operation, `event` first.
    Interval(Box<IntervalSummary>, Vec<(String, Measured)>),
    /// A series, which must come before its first sample.
    Series(SeriesId, SeriesKey, SeriesKind),
    /// Values at an instant, in seconds from the start of the measurement.
    Samples(f64, Vec<(SeriesId, f64)>),
    /// Values of one series at several instants, in order: (seconds from the start of the
    /// measurement, value).
    Points(SeriesId, Vec<(f64, f64)>),
    /// Facts about the host, the server and the client. A fact replaces an earlier one of the same
    /// name.
    Facts(Vec<Fact>),
    /// The server's settings as (name, value).
    Settings {
        /// Name and value of each.
        values: Vec<(String, String)>,
        /// Whether these are the settings at the end of the run, not at its start.
        at_end: bool,
    },
    /// An event.
    Event(Event),
    /// Something that could not be observed.
    NotObserved(NotObserved),
    /// The CPU profile of a process.
    Profile(Box<CpuProfile>),
}

impl Record {
    /// Creates the record of an interval from a recorder's latencies, which are reduced to two
    /// significant digits.
    pub fn interval(summary: &IntervalSummary, operations: &[(&str, &Latencies)]) -> Self {
        let measured = operations
            .iter()
            .map(|(name, latencies)| ((*name).to_owned(), Measured::from(*latencies)));
        Self::Interval(Box::new(summary.clone()), measured.collect())
    }
}

/// Writes one run to a results file. Readers see the records after the next interval or after
/// [`RunWriter::flush`].
#[derive(Debug)]
pub struct RunWriter {
    results: Results,
    id: i64,
    name: String,
    draft: Draft,
    series: u32,
}

impl Results {
    /// Enters a run, whose state is `running` until it is finished. If the name is taken, the next
    /// free number is appended: see [`RunWriter::name`].
    ///
    /// # Errors
    /// The file cannot be written to.
    pub fn begin(mut self, head: &RunHead) -> Result<RunWriter, ResultsError> {
        let at = crate::error::At {
            doing: "add a run to",
            path: &self.path,
            patience_s: self.patience.as_secs_f64(),
        };
        let entered = (|| {
            let transaction = self
                .connection
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            let name = rows::free_name(&transaction, &head.name)?;
            let head = RunHead {
                name: name.clone(),
                ..head.clone()
            };
            let process = Process::current();
            let id = rows::insert_run(&transaction, &head, RunState::Running, &process)?;
            transaction.commit()?;
            Ok((id, name))
        })();
        let (id, name) = entered.map_err(|error| at.sqlite(error))?;
        Ok(RunWriter {
            results: self,
            id,
            name,
            draft: Draft::new(PENDING_MAX),
            series: 0,
        })
    }
}

impl RunWriter {
    /// The run's number.
    pub fn id(&self) -> i64 {
        self.id
    }

    /// The run's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        self.results.path()
    }

    /// The file, for reading.
    pub fn results(&self) -> &Results {
        &self.results
    }

    #[cfg(test)]
    pub(crate) fn results_mut(&mut self) -> &mut Results {
        &mut self.results
    }

    /// Takes a record. An interval is written at once, together with all earlier records.
    ///
    /// # Errors
    /// The record could not be written. It is kept, and written with the next interval.
    pub fn write(&mut self, record: Record) -> Result<(), ResultsError> {
        let interval = matches!(record, Record::Interval(..));
        self.take(record);
        if interval { self.flush() } else { Ok(()) }
    }

    /// Takes a record without writing it; call [`RunWriter::flush`] for that.
    pub fn take(&mut self, record: Record) {
        self.draft.take(record);
    }

    /// Records the start of the measurement.
    pub fn started(&mut self, measure_start_unix_s: f64) -> Result<(), ResultsError> {
        self.write(Record::Started(measure_start_unix_s))
    }

    /// Records the target's identity.
    pub fn target(&mut self, target: &TargetSummary) -> Result<(), ResultsError> {
        self.write(Record::Target(target.clone()))
    }

    /// Records an interval, with the latencies of each operation, `event` first. See
    /// [`RunWriter::write`].
    pub fn interval(
        &mut self,
        summary: &IntervalSummary,
        operations: &[(&str, &Latencies)],
    ) -> Result<(), ResultsError> {
        self.write(Record::interval(summary, operations))
    }

    /// Defines a series.
    pub fn series(&mut self, key: &SeriesKey, kind: SeriesKind) -> Result<SeriesId, ResultsError> {
        let id = SeriesId(self.series);
        self.series += 1;
        self.write(Record::Series(id, key.clone(), kind))?;
        Ok(id)
    }

    /// Records values at an instant. Skips values that are not finite.
    pub fn sample(&mut self, at_s: f64, values: &[(SeriesId, f64)]) -> Result<(), ResultsError> {
        self.write(Record::Samples(at_s, values.to_vec()))
    }

    /// Records a fact, which replaces one of the same name.
    pub fn fact(&mut self, fact: &Fact) -> Result<(), ResultsError> {
        self.write(Record::Facts(vec![fact.clone()]))
    }

    /// Records a setting at the start or at the end.
    pub fn setting(&mut self, name: &str, value: &str, at_end: bool) -> Result<(), ResultsError> {
        self.write(Record::Settings {
            values: vec![(name.to_owned(), value.to_owned())],
            at_end,
        })
    }

    /// Records an event.
    pub fn event(&mut self, event: &Event) -> Result<(), ResultsError> {
        self.write(Record::Event(event.clone()))
    }

    /// Records that something could not be observed.
    pub fn not_observed(&mut self, gap: &NotObserved) -> Result<(), ResultsError> {
        self.write(Record::NotObserved(gap.clone()))
    }

    /// Writes all pending records.
    ///
    /// # Errors
    /// The records could not be written. They are kept, up to [`PENDING_MAX`] rows.
    pub fn flush(&mut self) -> Result<(), ResultsError> {
        if self.draft.is_written() {
            return Ok(());
        }
        let written = self.transact(|transaction, id, draft| draft.write(transaction, id));
        if written.is_ok() {
            self.draft.written();
        }
        written
    }

    /// Sets whether to wait for locks of other processes.
    pub(crate) fn wait_for_locks(&mut self, waits: bool) {
        let results = &self.results;
        let patience = match waits {
            true => results.patience,
            false => Duration::ZERO,
        };
        // This cannot fail. If it did, the timeout would stay as it was.
        let _ = results.connection.busy_timeout(patience);
    }

    /// Records that were lost, because too many were pending while the file could not be written
    /// to.
    pub fn lost(&self) -> u64 {
        self.draft.lost()
    }

    /// Ends the run. `totals` are the latencies of the whole measurement by operation, with `event`
    /// first.
    ///
    /// # Errors
    /// The end could not be written. It may be retried.
    pub fn finish(
        &mut self,
        summary: &RunSummary,
        state: RunState,
        totals: &[(&str, &Latencies)],
        sessions: &[SessionShare],
    ) -> Result<(), ResultsError> {
        self.end(&Ending::new(summary, state, totals, sessions))
    }

    /// Ends the run with an ending that was prepared before.
    pub fn end(&mut self, ending: &Ending) -> Result<(), ResultsError> {
        let written = self.transact(|transaction, id, draft| {
            draft.write(transaction, id)?;
            ending.write(transaction, id, draft)
        });
        if written.is_ok() {
            self.draft.written();
        }
        written
    }

    /// Ends a run that failed before it had any results.
    ///
    /// # Errors
    /// The end could not be written.
    pub fn abandon(&mut self, why: &str) -> Result<(), ResultsError> {
        self.end(&Ending::without_results(RunState::Failed, why))
    }

    /// See [`Results::judge`].
    pub fn judge(
        &mut self,
        findings: &[Finding],
        verdict: Verdict,
        waivers: &[Waiver],
    ) -> Result<(), ResultsError> {
        self.results.judge(self.id, findings, verdict, waivers)
    }

    fn transact(
        &mut self,
        write: impl FnOnce(&rusqlite::Connection, i64, &mut Draft) -> rusqlite::Result<()>,
    ) -> Result<(), ResultsError> {
        let id = self.id;
        let draft = &mut self.draft;
        self.results
            .transact("record a run in", |connection| write(connection, id, draft))
    }
}

impl Results {
    /// Runs the function in one transaction.
    pub(crate) fn transact<T>(
        &mut self,
        doing: &str,
        write: impl FnOnce(&rusqlite::Connection) -> rusqlite::Result<T>,
    ) -> Result<T, ResultsError> {
        let written = (|| {
            let transaction = self
                .connection
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = write(&transaction)?;
            transaction.commit()?;
            Ok(value)
        })();
        written.map_err(|error| self.at(doing).sqlite(error))
    }

    /// Returns an error if the run does not exist.
    pub(crate) fn check_run(&self, id: i64, doing: &str) -> Result<(), ResultsError> {
        let at = self.at(doing);
        let there = self
            .connection
            .prepare_cached("SELECT 1 FROM run WHERE id = ?1")
            .and_then(|mut statement| statement.exists([id]))
            .map_err(|error| at.sqlite(error))?;
        if there {
            Ok(())
        } else {
            Err(at.error(Problem::NoSuchRun(id.to_string())))
        }
    }
}
