//! How far an experiment's trials are, judging from the runs that have their identity.

use std::collections::BTreeMap;
use std::fmt;

use dyno_core::catalogue::names::DUET_VERDICT;
use dyno_core::finding::Verdict;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::ResultsError;
use crate::open::Results;

/// How far a trial is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tried {
    /// It has not begun.
    Not,
    /// It has begun but not ended: its process is running, or was killed.
    Begun,
    /// It failed, for this reason.
    Failed(String),
    /// The user interrupted it.
    Interrupted,
    /// All of its runs are finished.
    Done {
        /// The runs: one, or one per phase in order.
        runs: Vec<i64>,
        /// The worst of their verdicts; `None` if one was not judged.
        verdict: Option<Verdict>,
    },
}

/// A step in preparing server and data for a trial, or in failing to do so; or the output of
/// commands during its load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Step {
    /// A description.
    Text(String),
    /// The output of commands during the load.
    Captured {
        /// How much it was.
        captured: Captured,
    },
    /// The value of a setting could not be compared, because the server does not show it.
    NotReadBack {
        /// Its name.
        not_read_back: String,
    },
}

/// How much output commands wrote during the load of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Captured {
    /// Bytes.
    pub bytes: u64,
    /// How long output was captured, in seconds, including the warm-up.
    pub length_s: f64,
    /// Statements in the output. `None` if they were not counted.
    pub statements: Option<u64>,
    /// Statements that the server executed meanwhile. `None` if it does not count them.
    pub executed: Option<u64>,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |count: Option<u64>| count.map_or("–".to_owned(), |count| count.to_string());
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Captured { captured } => write!(
                f,
                "captured: {} bytes in {:.3} s, {} of {} statements",
                captured.bytes,
                captured.length_s,
                count(captured.statements),
                count(captured.executed)
            ),
            Self::NotReadBack { not_read_back } => {
                write!(f, "not read back: the server does not show {not_read_back}")
            }
        }
    }
}

/// A trial's state.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialState {
    /// How far the trial is.
    pub tried: Tried,
    /// How many attempts there were.
    pub attempts: usize,
    /// How long the last attempt that ended took, in milliseconds.
    pub took_ms: Option<u64>,
    /// The steps of the last attempt before its load, including what failed.
    pub done_before: Vec<Step>,
}

struct Completed {
    id: i64,
    verdict: Option<Verdict>,
    /// The sequence, the number of the phase, and the number of phases.
    phase: Option<(String, u32, u32)>,
}

impl Results {
    /// The states of the trials with these identities. A trial is done if there is a completed run
    /// with its identity. A trial with phases is done if one sequence has completed them all.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn trial_states(
        &self,
        identities: &[&str],
    ) -> Result<BTreeMap<String, TrialState>, ResultsError> {
        let read = || -> rusqlite::Result<BTreeMap<String, TrialState>> {
            // The findings about a side of a duet partly concern what both sides share.
            let mut runs = self.connection.prepare_cached(&format!(
                "SELECT id, coalesce((SELECT value FROM fact
                         WHERE run_id = run.id AND name = '{DUET_VERDICT}'), verdict),
                     head ->> '$.phase.sequence', head ->> '$.phase.number',
                     head ->> '$.phase.of'
                 FROM run
                 WHERE trial = ?1 AND state = 'completed' AND events > 0 ORDER BY id"
            ))?;
            let mut attempts = self.connection.prepare_cached(
                "SELECT state, why, begun_unix_s, ended_unix_s, done_before FROM attempt
                 WHERE trial = ?1 ORDER BY id",
            )?;
            let mut states = BTreeMap::new();
            for identity in identities {
                let completed = runs.query_map([identity], |row| {
                    let sequence: Option<String> = row.get(2)?;
                    let number: Option<u32> = row.get(3)?;
                    let of: Option<u32> = row.get(4)?;
                    let verdict: Option<String> = row.get(1)?;
                    Ok(Completed {
                        id: row.get(0)?,
                        verdict: verdict.and_then(|word| of_word(&word)),
                        phase: sequence.zip(number).zip(of).map(|((s, n), of)| (s, n, of)),
                    })
                })?;
                let completed: Vec<Completed> = completed.collect::<rusqlite::Result<_>>()?;
                let mut state = TrialState {
                    tried: Tried::Not,
                    attempts: 0,
                    took_ms: None,
                    done_before: Vec::new(),
                };
                let mut rows = attempts.query([identity])?;
                while let Some(row) = rows.next()? {
                    let word: String = row.get(0)?;
                    let (begun, ended): (f64, Option<f64>) = (row.get(2)?, row.get(3)?);
                    let before: String = row.get(4)?;
                    state.attempts += 1;
                    state.took_ms = ended.map(|ended| ((ended - begun) * 1e3).max(0.0) as u64);
                    state.done_before = serde_json::from_str(&before).unwrap_or_default();
                    state.tried = match word.as_str() {
                        "failed" => Tried::Failed(row.get(1)?),
                        "interrupted" => Tried::Interrupted,
                        _ => Tried::Begun,
                    };
                }
                // A run may be complete although its trial failed because sessions lost the server.
                let has_failed = matches!(state.tried, Tried::Failed(_));
                if let Some(whole) = whole(&completed).filter(|_| !has_failed) {
                    state.tried = whole;
                }
                states.insert((*identity).to_owned(), state);
            }
            Ok(states)
        };
        read().map_err(|error| self.at("read trials in").sqlite(error))
    }
}

/// Parses a word as serde writes it.
fn of_word<T: DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(word.into()).ok()
}

/// The latest set of runs that is complete.
fn whole(completed: &[Completed]) -> Option<Tried> {
    let last = completed.iter().rev().find(|run| {
        let last = |(_, number, of): &(String, u32, u32)| number == of;
        run.phase.as_ref().is_none_or(last)
    })?;
    let of_it: Vec<&Completed> = match &last.phase {
        None => vec![last],
        Some((sequence, _, _)) => {
            let same = |run: &&Completed| {
                let own = run.phase.as_ref();
                own.is_some_and(|(own, _, _)| own == sequence)
            };
            completed.iter().filter(same).collect()
        }
    };
    let due = last.phase.as_ref().map_or(1, |(_, _, of)| *of as usize);
    if of_it.len() != due {
        return None;
    }
    let verdicts: Option<Vec<Verdict>> = of_it.iter().map(|run| run.verdict).collect();
    Some(Tried::Done {
        runs: of_it.iter().map(|run| run.id).collect(),
        verdict: verdicts.and_then(|all| all.into_iter().max()),
    })
}
