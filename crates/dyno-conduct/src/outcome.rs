//! How commands and their runs end.

use anyhow::{Error, Result};
use dyno_core::plan::Plan;
use dyno_core::summary::RunSummary;

/// How a run ended. Of several, the last in this order counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It has a result.
    #[default]
    Done,
    /// It failed, measured nothing, or sessions had lost their connections at its end.
    Failed,
    /// Its verdict is refused, and the plan makes that a failure (`--gate`).
    Refused,
    /// One of the plan's conditions holds, or could not be decided.
    Limit,
    /// The user ended it early.
    Interrupted,
}

impl Outcome {
    /// Whether the run was complete, whatever its verdict.
    pub(crate) fn is_complete(self) -> bool {
        matches!(self, Self::Done | Self::Refused | Self::Limit)
    }
}

/// An executed command.
#[derive(Default)]
pub struct Executed {
    /// The results of its runs, in order; empty if it runs a command of its script.
    pub runs: Vec<RunSummary>,
    /// The plan, with the phases that fit the existing tables; `None` without runs.
    pub plan: Option<Plan>,
    /// The worst outcome of its runs.
    pub outcome: Outcome,
    /// An error that ended it; the results are valid.
    pub error: Option<Error>,
}

impl Executed {
    /// Adds a run, and its outcome or the error that came after its measurement.
    pub(crate) fn add(&mut self, run: RunSummary, outcome: Result<Outcome>) {
        self.runs.push(run);
        match outcome {
            Ok(outcome) => self.outcome = self.outcome.max(outcome),
            Err(error) => self.error = Some(error),
        }
    }

    /// Ends it with an error.
    pub(crate) fn failed(mut self, error: Error) -> Self {
        self.error = Some(error);
        self
    }
}
