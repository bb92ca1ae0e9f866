//! The interface through which an experiment uses its caller.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Error, Result};
use dyno_analysis::search::SearchResult;
use dyno_core::duet::DuetSummary;
use dyno_core::summary::RunSummary;
use dyno_load::StopSignal;
use dyno_results::Step;
use dyno_server::{Kind, SupervisorCommand};

use super::Pace;
use crate::duet::{DuetExecuted, DuetRequest};
use crate::search::promise::Promise;
use crate::{Command, Outcome};

/// Plans and executes the command lines of trials, and follows an experiment.
pub trait Caller {
    /// The options of a planned command line that are not in its plan.
    type Options;
    /// An executed command, before its files are written.
    type Executed;
    /// Reports a step of the experiment.
    fn event(&self, event: LabEvent<'_>);
    /// A restore of data begins. Returns a function that takes its progress: copied and total
    /// bytes.
    fn restoring(&self) -> Box<dyn Fn(u64, u64)>;
    /// The command that supervises a server.
    ///
    /// # Errors
    /// It is unknown.
    fn supervisor(&self) -> Result<SupervisorCommand>;
    /// Plans a command line of [`super::line`]; runs nothing.
    ///
    /// # Errors
    /// The command line is invalid, or the script cannot be loaded.
    fn plan(&self, line: Vec<String>) -> Result<(Command, Self::Options)>;
    /// Searches for the highest load of a planned trial that keeps a promise. Returns the result so
    /// far, and the error that ended it.
    ///
    /// # Errors
    /// The trial cannot be searched.
    fn search(
        &self,
        trial: (&Command, &Self::Options),
        promise: &Promise,
        name: String,
        stop: &Arc<StopSignal>,
    ) -> Result<(SearchResult, Option<Error>)>;
    /// Executes a planned command.
    ///
    /// # Errors
    /// The target cannot be used, or no run has a result.
    fn execute(
        &self,
        command: Command,
        options: Self::Options,
        stop: &Arc<StopSignal>,
    ) -> Result<Self::Executed>;
    /// Executes two planned commands as the sides of a duet.
    ///
    /// # Errors
    /// A target cannot be used, or there is no result.
    fn duet(
        &self,
        sides: [(Command, Self::Options); 2],
        request: &DuetRequest,
        stop: &Arc<StopSignal>,
    ) -> Result<DuetExecuted>;
    /// Writes the files of an executed command. Returns its results and the worst outcome.
    ///
    /// # Errors
    /// The error that ended it, or a file cannot be written.
    fn results(
        &self,
        executed: Self::Executed,
        stop: &StopSignal,
    ) -> Result<(Vec<RunSummary>, Outcome)>;
    /// The error of a trial whose runs ended with this outcome.
    fn incomplete(&self, outcome: Outcome) -> Error;
}

/// A step of an experiment.
#[derive(Clone, Copy)]
pub enum LabEvent<'a> {
    /// It starts or resumes.
    Begun {
        /// The experiment's name.
        name: &'a str,
        /// Its progress so far, including earlier processes.
        pace: Pace,
    },
    /// A trial is being prepared.
    Preparing {
        /// The trial.
        label: &'a str,
        /// The progress before this trial.
        pace: Pace,
        /// Whether it is a retry, which runs out of order.
        again: bool,
    },
    /// A server's data directory is being created.
    CreatingData(&'a Kind),
    /// The data are being copied to another file system.
    CopyingData,
    /// The loaded data are being copied.
    KeepingCopy,
    /// The data were loaded and copied.
    Loaded {
        /// Their size.
        bytes: u64,
        /// How long it took.
        took: Duration,
    },
    /// A server is being started.
    Starting(&'a Kind),
    /// The server is still busy with this background work.
    WaitingForQuiet(&'a str),
    /// A pause of this length.
    Settling(Duration),
    /// A setting could not be read back. Only the first such step of each setting is reported.
    NotReadBack(&'a Step),
    /// A search for the load that keeps this promise begins.
    Searching(&'a str),
    /// A trial is being measured.
    Measuring {
        /// The trial.
        label: &'a str,
        /// The progress before this trial.
        pace: Pace,
    },
    /// A trial is done.
    Measured {
        /// The trial.
        label: &'a str,
        /// Its runs: one, or one per phase.
        runs: &'a [RunSummary],
        /// The progress including this trial.
        pace: Pace,
    },
    /// Both trials of a duet are done.
    Compared {
        /// Both trials.
        label: &'a str,
        /// The result.
        duet: &'a DuetSummary,
        /// The progress including these trials.
        pace: Pace,
    },
    /// A trial failed.
    Failed {
        /// The trial.
        label: &'a str,
        /// The error.
        why: &'a str,
    },
    /// The budget does not cover another block.
    Spent {
        /// The time that the experiment has taken, in seconds.
        spent_s: f64,
    },
}
