//! Executes a planned command: one run, the phases of a workload, the steps of a ladder, or a
//! command of its script.

use std::sync::Arc;

use anyhow::{Error, Result};
use dyno_conduct::fleet::Fleet;
use dyno_conduct::hints::{self, with_hint};
use dyno_conduct::plans::{self, Shaping};
use dyno_conduct::target::server;
use dyno_core::plan::{Drive, OptionValue, Plan, RecordPlan};
use dyno_core::summary::RunSummary;
use dyno_load::StopSignal;
use dyno_run::{Job, Ready, RunRequest, TablesThere};

use super::host;
use super::measure::{Screen, measure};
use super::phases::{self, Base};
use super::planned::PlannedCommand;
use super::saturate;
use super::target::Temporary;
use crate::junit::{self, JUnit};
use crate::metrics::Exports;
use crate::options::Parsed;
use crate::settings::usage;
use crate::{STATUS_DONE, console, loading};

/// Takes the summary of each run when it ends.
pub type Shows<'a> = dyn FnMut(&RunSummary) + 'a;

/// An executed command.
#[derive(Default)]
pub struct Executed {
    /// The results of its runs, in order; empty if it runs a command of its script.
    pub runs: Vec<RunSummary>,
    /// The plan, with the phases that fit the existing tables; `None` without runs.
    pub plan: Option<Plan>,
    /// The worst exit status of its runs.
    pub status: u8,
    /// An error that ended it; the results are valid.
    error: Option<Error>,
    exports: Option<Exports>,
    junit: Option<JUnit>,
}

impl Executed {
    /// The result of a command that has no runs.
    fn without_runs(status: u8) -> Self {
        Self {
            status,
            ..Self::default()
        }
    }

    /// Adds a run, and its exit status.
    pub fn add(&mut self, run: RunSummary, status: u8) {
        self.runs.push(run);
        self.status = self.status.max(status);
    }

    /// Ends it with an error.
    pub fn failed(mut self, error: Error) -> Self {
        self.error = Some(error);
        self
    }

    /// Writes the file of `--junit`, and waits for the last scrape and push of metrics, after the
    /// results have been shown. Returns the exit status.
    ///
    /// # Errors
    /// The error that ended it.
    pub fn finish(mut self, stop: &StopSignal) -> Result<u8> {
        if let Some(exports) = &mut self.exports {
            exports.finish(stop);
        }
        junit::finish(self.error.map_or(Ok(self.status), Err), self.junit)
    }

    /// The results and the exit status; see [`Self::finish`].
    ///
    /// # Errors
    /// The error that ended it.
    pub fn results(mut self, stop: &StopSignal) -> Result<(Vec<RunSummary>, u8)> {
        let runs = std::mem::take(&mut self.runs);
        self.finish(stop).map(|status| (runs, status))
    }
}

/// Executes a command.
///
/// # Errors
/// The target cannot be used, or no run has a result.
pub fn execute(
    mut planned: PlannedCommand,
    stop: &Arc<StopSignal>,
    shows: &mut Shows<'_>,
) -> Result<Executed> {
    refuse(&planned.plan, planned.ladder.is_some())?;
    // Declared before the session that uses it, so that it is removed later.
    let folder = planned.temporary.take();
    let folder = folder.map(Temporary::make).transpose()?;
    let quiet = planned.parsed.has("quiet");
    let command = planned.command.clone();
    let workload = planned.shaping.workload.clone();
    let (mut ready, prepared) = prepare(planned, stop)?;
    if let Some(status) = without_load(&mut ready, &command, &workload, quiet)? {
        return Ok(Executed::without_runs(status));
    }
    let is_temporary = prepared.shaping.temporary;
    let screen = Screen::of(&prepared.parsed, &ready, is_temporary)?;
    if folder.is_some() {
        prepare_temporary(&mut ready, &prepared.request.plan.record, quiet)?;
    }
    let prepared = prepared.with_phases_there(&mut ready)?;
    run(ready, prepared, screen, shows)
}

/// Checks which of the workload's tables exist, without running anything.
///
/// # Errors
/// The target cannot be used.
pub fn tables_there(planned: PlannedCommand, stop: &Arc<StopSignal>) -> Result<TablesThere> {
    refuse(&planned.plan, planned.ladder.is_some())?;
    let (mut ready, prepared) = prepare(planned, stop)?;
    let prepared = prepared.with_phases_there(&mut ready)?;
    Ok(dyno_run::tables_there(&mut ready, &prepared.request)?)
}

/// A command whose target answers.
struct Prepared {
    request: RunRequest,
    job: Job,
    own: Vec<(String, OptionValue)>,
    shaping: Shaping,
    ladder: Option<Vec<u32>>,
    parsed: Parsed,
}

/// Connects to the target.
fn prepare(planned: PlannedCommand, stop: &Arc<StopSignal>) -> Result<(Ready, Prepared)> {
    let PlannedCommand {
        plan,
        parsed,
        ladder,
        loaded,
        own,
        shaping,
        ..
    } = planned;
    let options = loaded.job.all_options(&own);
    let job = loaded.job.clone();
    let ready = loaded.ready(options, Arc::clone(stop))?;
    hints::refuse_without_database(&ready, &shaping.workload)?;
    let request = RunRequest::new(plan, &own, server(&ready)?, &ready);
    let prepared = Prepared {
        request,
        job,
        own,
        shaping,
        ladder,
        parsed,
    };
    Ok((ready, prepared))
}

impl Prepared {
    /// Replaces the phases by those that fit the existing tables, if the script looks at them.
    fn with_phases_there(mut self, ready: &mut Ready) -> Result<Self> {
        let plan = &mut self.request.plan;
        if plan.phases.is_empty() || self.shaping.unchanged_plan().is_some() {
            return Ok(self);
        }
        let there = ready.phases_there();
        let there =
            there.map_err(|error| with_hint(error.into(), ready, &self.shaping.workload))?;
        if let Some(there) = there {
            plans::set_phases(plan, &self.job, &self.own, &self.shaping, &there)?;
            refuse(plan, self.ladder.is_some())?;
        }
        Ok(self)
    }
}

/// Runs a command's load.
fn run(
    mut ready: Ready,
    prepared: Prepared,
    screen: Screen,
    shows: &mut Shows<'_>,
) -> Result<Executed> {
    let Prepared {
        request,
        job,
        own,
        ladder,
        ..
    } = prepared;
    let plan = Some(request.plan.clone());
    let mut executed = if request.plan.phases.is_empty() && ladder.is_none() {
        let mut executed = Executed::default();
        let measured = measure(&mut ready, &request, &screen)?;
        let run = measured.summary.clone();
        shows(&run);
        match measured.end(&ready, &request) {
            Ok(status) => executed.add(run, status),
            Err(error) => {
                executed.add(run, STATUS_DONE);
                executed = executed.failed(error);
            }
        }
        executed
    } else {
        alone(&request.plan.drive, screen.fleet.as_ref())?;
        let base = Base {
            request,
            job,
            own,
            stop: Arc::clone(&ready.stop),
        };
        drop(ready);
        match &ladder {
            None => phases::run(&base, &screen, shows),
            Some(ladder) => saturate::run(&base, ladder, &screen),
        }
    };
    executed.plan = plan;
    executed.exports = Some(screen.exports);
    executed.junit = screen.junit;
    Ok(executed)
}

/// Runs a command that is not a run and returns its status; returns `None` if a run can begin.
fn without_load(
    ready: &mut Ready,
    command: &str,
    workload: &str,
    quiet: bool,
) -> Result<Option<u8>> {
    if let Some(plan) = ready.plan() {
        if command != "run" {
            return host::command(plan, command, &ready.stop, quiet).map(Some);
        }
        ready
            .check_event()
            .map_err(|error| host::with_hint(error, workload))?;
    }
    if command == "run" {
        return Ok(None);
    }
    if let Some(clash) = dyno_run::clash(ready, command)? {
        return Err(hints::of_clash(clash, command, ready, workload));
    }
    loading::with_progress(ready, command, quiet)
        .map_err(|error| with_hint(error, ready, workload))?;
    Ok(Some(STATUS_DONE))
}

/// Creates the tables of a temporary database.
fn prepare_temporary(ready: &mut Ready, record: &RecordPlan, quiet: bool) -> Result<()> {
    // Checked before the tables are created, so that an unusable file fails early.
    if let Some(file) = &record.file {
        dyno_run::try_file(file)?;
    }
    if !quiet {
        console::note("No --target: making a temporary SQLite database.");
    }
    let description = &ready.description;
    let mut commands = description.commands.iter();
    let mut functions = description.functions.iter();
    if commands.any(|(name, _)| name == "prepare") || functions.any(|name| name == "prepare") {
        loading::with_progress(ready, "prepare", quiet).map_err(|error| {
            let hint = match hints::is_of_files(&error, ready) {
                true => " (TMPDIR sets its folder)",
                false => "",
            };
            error.context(format!("cannot prepare the temporary database{hint}"))
        })?;
    }
    Ok(())
}

/// Rejects a plan that cannot run on any target.
fn refuse(plan: &Plan, has_ladder: bool) -> Result<()> {
    saturate::refuse(plan, &plan.workload, has_ladder)
}

/// Rejects several load generators for a sequence of runs.
fn alone(drive: &Drive, fleet: Option<&Fleet>) -> Result<()> {
    let given = [
        ("shard", drive.shard.is_some()),
        ("begin-at", drive.begin_unix_s.is_some()),
        ("agents", fleet.is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((name, _)) => Err(usage(format!(
            "--{name} is for a single run: a sequence uses one load generator"
        ))),
        None => Ok(()),
    }
}
