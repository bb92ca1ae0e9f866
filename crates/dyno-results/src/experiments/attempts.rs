//! Attempts at trials: the start, the process and the outcome of each.

use dyno_core::clock;
use rusqlite::params;

use crate::error::ResultsError;
use crate::open::Results;
use crate::process::Process;

use super::state::Step;

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptEnd {
    /// Its runs are finished.
    Done,
    /// It failed, for this reason.
    Failed(String),
    /// The user interrupted it.
    Interrupted,
}

impl AttemptEnd {
    fn words(&self) -> (&'static str, &str) {
        match self {
            Self::Done => ("done", ""),
            Self::Failed(why) => ("failed", why),
            Self::Interrupted => ("interrupted", ""),
        }
    }
}

/// An attempt in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt(pub(crate) i64);

impl Results {
    /// Begins an attempt at a trial. This process is the one that runs it.
    ///
    /// # Errors
    /// The file cannot be written to.
    pub fn begin_attempt(&mut self, experiment: i64, trial: &str) -> Result<Attempt, ResultsError> {
        let process = Process::current();
        self.transact("record the start of a trial in", |connection| {
            connection.execute(
                "INSERT INTO attempt (experiment_id, trial, begun_unix_s, state, why, done_before,
                     pid, boot_id, process_start_ticks, pid_namespace)
                 VALUES (?1, ?2, ?3, 'begun', '', '[]', ?4, ?5, ?6, ?7)",
                params![
                    experiment,
                    trial,
                    clock::wall_time().as_secs_f64(),
                    process.pid,
                    process.boot_id,
                    process.start_ticks,
                    process.namespace,
                ],
            )?;
            Ok(Attempt(connection.last_insert_rowid()))
        })
    }

    /// Ends an attempt. `done_before` lists how the server and the data were prepared, including
    /// what failed.
    ///
    /// # Errors
    /// The file cannot be written to.
    pub fn end_attempt(
        &mut self,
        attempt: Attempt,
        end: &AttemptEnd,
        done_before: &[Step],
    ) -> Result<(), ResultsError> {
        let (state, why) = end.words();
        let done_before = serde_json::json!(done_before).to_string();
        self.transact("record the end of a trial in", |connection| {
            let ended = clock::wall_time().as_secs_f64();
            connection.execute(
                "UPDATE attempt SET state = ?2, why = ?3, ended_unix_s = ?4, done_before = ?5
                 WHERE id = ?1",
                params![attempt.0, state, why, ended, done_before],
            )?;
            Ok(())
        })
    }

    /// The id of the process that is running one of this experiment's trials, if there is one.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn who_runs(&self, experiment: i64) -> Result<Option<i64>, ResultsError> {
        let read = || -> rusqlite::Result<Option<i64>> {
            let mut statement = self.connection.prepare(
                "SELECT pid, boot_id, process_start_ticks, pid_namespace FROM attempt
                 WHERE experiment_id = ?1 AND state = 'begun'",
            )?;
            let mut rows = statement.query([experiment])?;
            while let Some(row) = rows.next()? {
                let process = Process {
                    pid: row.get(0)?,
                    boot_id: row.get(1)?,
                    start_ticks: row.get(2)?,
                    namespace: row.get(3)?,
                };
                if process.lives() {
                    return Ok(process.pid);
                }
            }
            Ok(None)
        };
        read().map_err(|error| self.at("read attempts in").sqlite(error))
    }
}
