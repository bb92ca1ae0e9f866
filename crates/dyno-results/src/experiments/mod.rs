//! Experiments: the planned trials, the attempts at them, and the runs that they made.

mod attempts;
mod extract;
mod state;

use dyno_core::clock;
use dyno_core::factors::Factors;
use rusqlite::{Connection, OptionalExtension as _, params};
use serde_json::Value;

use crate::error::ResultsError;
use crate::open::Results;
use crate::write::json;

pub use attempts::{Attempt, AttemptEnd};
pub use state::{Captured, Step, TrialState, Tried};

/// The definition of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExperimentHead {
    /// Its name, unique in the file.
    pub name: String,
    /// The path of its definition, as given.
    pub file: String,
    /// The scale it runs at.
    pub scale: Option<String>,
    /// The question it answers.
    pub question: String,
    /// The source of the question. Empty if none was given.
    pub cite: String,
    /// The text of the definition.
    pub definition: String,
}

/// A planned trial.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialRow {
    /// A hash of everything that defines the trial.
    pub identity: String,
    /// The levels and the repeat as text.
    pub label: String,
    /// The level of each factor.
    pub levels: Factors,
    /// The number of the block, from 0.
    pub block: usize,
    /// The number of the repeat within its cell, from 0.
    pub repeat: usize,
    /// What the trial is for: `repeat`, `a/a` or `bracket`.
    pub role: String,
    /// What the identity is a hash of.
    pub made_of: Value,
}

/// An experiment with its latest plan.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredExperiment {
    /// Its number.
    pub id: i64,
    /// Its definition.
    pub head: ExperimentHead,
    /// When it was planned, in seconds since the Unix epoch.
    pub planned_unix_s: f64,
    /// Its planned trials in order.
    pub trials: Vec<TrialRow>,
}

impl Results {
    /// Stores an experiment and its trials. They replace the trials that were planned under its
    /// name before; runs and attempts are kept. Returns the number of the experiment.
    ///
    /// # Errors
    /// The file cannot be written to.
    pub fn keep_experiment(
        &mut self,
        head: &ExperimentHead,
        trials: &[TrialRow],
    ) -> Result<i64, ResultsError> {
        self.transact("store an experiment in", |connection| {
            let id = write_head(connection, head)?;
            connection.execute("DELETE FROM trial WHERE experiment_id = ?1", [id])?;
            let mut insert = connection.prepare(
                "INSERT INTO trial (experiment_id, position, identity, label, levels, block,
                     repeat, role, made_of)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )?;
            for (position, trial) in trials.iter().enumerate() {
                insert.execute(params![
                    id,
                    position as i64,
                    trial.identity,
                    trial.label,
                    json(&trial.levels)?,
                    trial.block as i64,
                    trial.repeat as i64,
                    trial.role,
                    json(&trial.made_of)?,
                ])?;
            }
            Ok(id)
        })
    }

    /// The experiment with this name.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn experiment(&self, name: &str) -> Result<Option<StoredExperiment>, ResultsError> {
        let read = || -> rusqlite::Result<Option<StoredExperiment>> {
            let sql = "SELECT id, name, file, scale, question, cite, definition, planned_unix_s
                       FROM experiment WHERE name = ?1";
            let found = self.connection.query_row(sql, [name], |row| {
                let head = ExperimentHead {
                    name: row.get(1)?,
                    file: row.get(2)?,
                    scale: row.get(3)?,
                    question: row.get(4)?,
                    cite: row.get(5)?,
                    definition: row.get(6)?,
                };
                Ok(StoredExperiment {
                    id: row.get(0)?,
                    head,
                    planned_unix_s: row.get(7)?,
                    trials: Vec::new(),
                })
            });
            let Some(mut found) = found.optional()? else {
                return Ok(None);
            };
            found.trials = trials(&self.connection, found.id)?;
            Ok(Some(found))
        };
        read().map_err(|error| self.at("read an experiment in").sqlite(error))
    }

    /// The names of all experiments, oldest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn experiments(&self) -> Result<Vec<String>, ResultsError> {
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut statement = self
                .connection
                .prepare("SELECT name FROM experiment ORDER BY planned_unix_s")?;
            let names = statement.query_map([], |row| row.get(0))?;
            names.collect()
        };
        read().map_err(|error| self.at("list the experiments in").sqlite(error))
    }
}

fn write_head(connection: &Connection, head: &ExperimentHead) -> rusqlite::Result<i64> {
    connection.query_row(
        "INSERT INTO experiment (name, file, scale, question, cite, definition, planned_unix_s)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT (name) DO UPDATE SET file = excluded.file, scale = excluded.scale,
             question = excluded.question, cite = excluded.cite,
             definition = excluded.definition, planned_unix_s = excluded.planned_unix_s
         RETURNING id",
        params![
            head.name,
            head.file,
            head.scale,
            head.question,
            head.cite,
            head.definition,
            clock::wall_time().as_secs_f64(),
        ],
        |row| row.get(0),
    )
}

fn trials(connection: &Connection, experiment: i64) -> rusqlite::Result<Vec<TrialRow>> {
    let sql = "SELECT identity, label, levels, block, repeat, role, made_of FROM trial
               WHERE experiment_id = ?1 ORDER BY position";
    let mut statement = connection.prepare(sql)?;
    let count = |value: i64| usize::try_from(value).unwrap_or_default();
    let rows = statement.query_map([experiment], |row| {
        let levels: String = row.get(2)?;
        let made_of: String = row.get(6)?;
        Ok(TrialRow {
            identity: row.get(0)?,
            label: row.get(1)?,
            levels: serde_json::from_str(&levels).unwrap_or_default(),
            block: count(row.get(3)?),
            repeat: count(row.get(4)?),
            role: row.get(5)?,
            made_of: serde_json::from_str(&made_of).unwrap_or_default(),
        })
    })?;
    rows.collect()
}

#[cfg(test)]
mod tests;
