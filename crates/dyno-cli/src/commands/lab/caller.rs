//! Plans and executes the command lines of trials, and shows an experiment.

use std::sync::Arc;

use anyhow::{Error, Result, anyhow};
use dyno_analysis::search::SearchResult;
use dyno_conduct::duet::{self, DuetExecuted, DuetRequest};
use dyno_conduct::lab::{Caller, LabEvent};
use dyno_conduct::search::promise::Promise;
use dyno_conduct::{Command, Hosts, Outcome};
use dyno_core::summary::RunSummary;
use dyno_load::StopSignal;
use dyno_server::SupervisorCommand;

use super::progress;
use crate::commands::execute::{Executed, execute};
use crate::commands::planned::PlannedCommand;
use crate::commands::search::SearchCommand;
use crate::commands::server::copies::copy_progress;
use crate::commands::server::supervisor;
use crate::options::Parsed;
use crate::screen::Screen;
use crate::status_of;

/// The terminal; shows little if `quiet`.
#[derive(Default)]
pub(super) struct Terminal {
    /// Whether `--quiet` was given.
    pub quiet: bool,
}

impl Caller for Terminal {
    type Options = Parsed;
    type Executed = Executed;

    fn event(&self, event: LabEvent<'_>) {
        // Show failures even with `--quiet`: they explain missing results.
        if !self.quiet || matches!(event, LabEvent::Failed { .. }) {
            progress::show(event);
        }
    }

    fn restoring(&self) -> Box<dyn Fn(u64, u64)> {
        match self.quiet {
            true => Box::new(|_, _| {}),
            false => Box::new(copy_progress("restoring the data:")),
        }
    }

    fn supervisor(&self) -> Result<SupervisorCommand> {
        supervisor()
    }

    fn plan(&self, mut line: Vec<String>) -> Result<(Command, Parsed)> {
        let quiet = "--quiet".to_owned();
        if self.quiet && !line.contains(&quiet) {
            line.push(quiet);
        }
        let name = line[1].clone();
        let planned = PlannedCommand::of(line, &name)?;
        Ok((planned.command, planned.parsed))
    }

    fn search(
        &self,
        trial: (&Command, &Parsed),
        promise: &Promise,
        name: String,
        stop: &Arc<StopSignal>,
    ) -> Result<(SearchResult, Option<Error>)> {
        let search = SearchCommand::of_trial(trial, promise.clone(), name, self.quiet)?;
        Ok(search.conduct(stop))
    }

    fn execute(
        &self,
        command: Command,
        options: Parsed,
        stop: &Arc<StopSignal>,
    ) -> Result<Executed> {
        execute(command, options, stop, &mut |_| {})
    }

    fn duet(
        &self,
        [(a, options), (b, _)]: [(Command, Parsed); 2],
        request: &DuetRequest,
        stop: &Arc<StopSignal>,
    ) -> Result<DuetExecuted> {
        let mut shows = |_: &RunSummary| {};
        let mut screen = Screen::new(options, &Hosts::default(), &mut shows);
        duet::execute([a, b], request, stop, &mut screen)
    }

    fn results(&self, executed: Executed, stop: &StopSignal) -> Result<(Vec<RunSummary>, Outcome)> {
        executed.results(stop)
    }

    fn incomplete(&self, outcome: Outcome) -> Error {
        anyhow!("the run ended with status {}", status_of(outcome))
    }
}
