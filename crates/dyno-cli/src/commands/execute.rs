//! Executes a planned command, and shows its runs.

use std::sync::Arc;

use anyhow::Result;
use dyno_conduct::{Command, Hosts, Outcome};
use dyno_core::summary::RunSummary;
use dyno_load::StopSignal;

use crate::fleet_options;
use crate::junit::{self, JUnit};
use crate::metrics::Exports;
use crate::options::Parsed;
use crate::screen::{Screen, Shows};

/// An executed command.
pub(super) struct Executed {
    /// Its results.
    pub done: dyno_conduct::Executed,
    exports: Option<Exports>,
    junit: Option<JUnit>,
}

impl Executed {
    /// Writes the file of `--junit`, and waits for the last scrape and push of metrics, after the
    /// results have been shown. Returns the worst outcome.
    ///
    /// # Errors
    /// The error that ended it.
    pub(super) fn finish(mut self, stop: &StopSignal) -> Result<Outcome> {
        if let Some(exports) = &mut self.exports {
            exports.finish(stop);
        }
        let outcome = self.done.outcome;
        junit::finish(self.done.error.map_or(Ok(outcome), Err), self.junit)
    }

    /// The results and the worst outcome; see [`Self::finish`].
    ///
    /// # Errors
    /// The error that ended it.
    pub(super) fn results(mut self, stop: &StopSignal) -> Result<(Vec<RunSummary>, Outcome)> {
        let runs = std::mem::take(&mut self.done.runs);
        self.finish(stop).map(|outcome| (runs, outcome))
    }
}

/// Executes a command.
///
/// # Errors
/// The target cannot be used, or no run has a result.
pub(super) fn execute(
    command: Command,
    parsed: Parsed,
    stop: &Arc<StopSignal>,
    shows: &mut Shows<'_>,
) -> Result<Executed> {
    let hosts = match command.name.as_str() {
        "run" => fleet_options::hosts(&parsed)?,
        _ => Hosts::default(),
    };
    let mut screen = Screen::new(parsed, &hosts, shows);
    let done = dyno_conduct::execute(command, &hosts, stop, &mut screen)?;
    Ok(Executed {
        done,
        exports: screen.exports,
        junit: screen.junit,
    })
}
