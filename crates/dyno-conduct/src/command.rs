//! Executes a planned command: one run, the phases of a workload, the steps of a ladder, or a
//! command of its script.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use dyno_core::Target;
use dyno_core::plan::{Drive, OptionValue, Plan, RecordPlan};
use dyno_load::StopSignal;
use dyno_run::{EXPLAIN_ALL, Job, Loaded, Notice, Ready, RunRequest, Sinks, TablesThere};

use crate::fleet::Fleet;
use crate::hints::{self, with_hint};
use crate::hosts::Hosts;
use crate::measure::measure;
use crate::outcome::Executed;
use crate::plans::{self, Shaping};
use crate::sequence::Sequence;
use crate::stage::Stage;
use crate::target::{Temporary, server};
use crate::usage;

/// A command with its plan, its loaded script, and what a plan does not contain.
pub struct Command {
    /// The plan.
    pub plan: Plan,
    /// The command that sessions run.
    pub name: String,
    /// The script, with its job.
    pub loaded: Loaded,
    /// The workload's options.
    pub own: Vec<(String, OptionValue)>,
    /// The plan's inputs.
    pub shaping: Shaping,
    /// The temporary database, dropped at the end of the run.
    pub temporary: Option<Temporary>,
}

impl Command {
    /// The same command under another load, with its script loaded again.
    ///
    /// # Errors
    /// The script raised an error.
    pub fn under(&self, drive: Drive, record: RecordPlan, notices: &Sinks) -> Result<Self> {
        let mut job = Job {
            drive,
            percentile: record.percentiles.last().copied().unwrap_or(95.0),
            shapes: record.statements || record.explain.iter().any(|what| what == EXPLAIN_ALL),
            ..self.loaded.job.clone()
        };
        job.drive.workers = job.workers_for(job.drive.sessions);
        let mut loaded = Loaded::new(job)?;
        Ok(Self {
            plan: plans::make(&self.shaping, &mut loaded, &self.own, record, notices)?,
            name: self.name.clone(),
            loaded,
            own: self.own.clone(),
            shaping: self.shaping.clone(),
            temporary: None,
        })
    }

    /// The load, as requested: without roles, which the script adds.
    pub fn drive(&self) -> &Drive {
        &self.loaded.job.drive
    }

    /// The job, and the options that its scripts see.
    pub fn job(&self) -> (&Job, Vec<(String, OptionValue)>) {
        let job = &self.loaded.job;
        (job, job.all_options(&self.own))
    }
}

/// Executes a command.
///
/// # Errors
/// The target cannot be used, or no run has a result.
pub fn execute(
    mut command: Command,
    hosts: &Hosts,
    stop: &Arc<StopSignal>,
    stage: &mut dyn Stage,
) -> Result<Executed> {
    refuse(&command.plan)?;
    if let Some((file, target)) = missing_file(&mut command)? {
        if command.name == "cleanup" {
            let why = format!(
                "There is no file {}, so there is nothing to drop.",
                file.display()
            );
            stage.notice(&Notice::Step(why));
            return Ok(Executed::default());
        }
        return Err(hints::of_missing_file(
            &file,
            &target,
            &command.shaping.workload,
        ));
    }
    // Declared before the session that uses it, so that it is removed later.
    let folder = command.temporary.take();
    let folder = folder.map(|folder| folder.make(stage)).transpose()?;
    let name = command.name.clone();
    let (mut ready, prepared) = prepare(command, stop)?;
    if !is_ready_to_run(&mut ready, &name, &prepared.shaping.workload, stage)? {
        return Ok(Executed::default());
    }
    hosts.check(&ready, prepared.shaping.temporary)?;
    stage.open()?;
    if folder.is_some() {
        prepare_temporary(&mut ready, &prepared.request.plan.record, stage)?;
    }
    let prepared = prepared.with_phases_there(&mut ready)?;
    run(ready, prepared, hosts, stage)
}

/// The commands that use tables which `prepare` creates.
const USE_TABLES: [&str; 5] = ["run", "check", "warmup", "prewarm", "cleanup"];

/// The SQLite file of a command's tables and its target, if the file does not exist: connecting
/// would leave an empty database there. Scripts without `prepare` may create what they need.
///
/// # Errors
/// The script's `creates_tables()` failed.
fn missing_file(command: &mut Command) -> Result<Option<(PathBuf, Target)>> {
    let mut before = command.plan.phases.iter().flat_map(|phase| &phase.before);
    let prepares = command.shaping.temporary || before.any(|name| name == "prepare");
    let uses = USE_TABLES.contains(&command.name.as_str())
        && hints::is_prepared(&command.loaded.description);
    let target = command.loaded.job.target.clone();
    let Some(target) = target.filter(|_| uses && !prepares) else {
        return Ok(None);
    };
    let Some(file) = target.missing_file().map(Path::to_path_buf) else {
        return Ok(None);
    };
    let options = command.loaded.job.all_options(&command.own);
    let creates = command.name == "run" && command.loaded.creates_tables(&options)?;
    Ok((!creates).then_some((file, target)))
}

/// Checks which of the workload's tables exist, without running anything.
///
/// # Errors
/// The target cannot be used.
pub fn tables_there(mut command: Command, stop: &Arc<StopSignal>) -> Result<TablesThere> {
    refuse(&command.plan)?;
    if missing_file(&mut command)?.is_some() {
        return Ok(TablesThere::None);
    }
    let (mut ready, prepared) = prepare(command, stop)?;
    let prepared = prepared.with_phases_there(&mut ready)?;
    Ok(dyno_run::tables_there(&mut ready, &prepared.request)?)
}

/// Connects to the target of a single run. Returns what is ready, and the request.
///
/// # Errors
/// The target cannot be used, or the workload cannot run.
pub(crate) fn prepare_run(
    mut command: Command,
    stop: &Arc<StopSignal>,
    stage: &mut dyn Stage,
) -> Result<(Ready, RunRequest)> {
    refuse(&command.plan)?;
    let workload = command.plan.workload.clone();
    if let Some((file, target)) = missing_file(&mut command)? {
        return Err(hints::of_missing_file(&file, &target, &workload));
    }
    let (mut ready, prepared) = prepare(command, stop)?;
    is_ready_to_run(&mut ready, "run", &workload, stage)?;
    Ok((ready, prepared.request))
}

/// A command whose target answers.
struct Prepared {
    request: RunRequest,
    job: Job,
    own: Vec<(String, OptionValue)>,
    shaping: Shaping,
}

/// Connects to the target.
fn prepare(command: Command, stop: &Arc<StopSignal>) -> Result<(Ready, Prepared)> {
    let Command {
        plan,
        loaded,
        own,
        shaping,
        ..
    } = command;
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
    };
    Ok((ready, prepared))
}

impl Prepared {
    /// Replaces the phases with those that fit the existing tables, if the script looks at them.
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
            refuse(plan)?;
        }
        Ok(self)
    }
}

/// Runs a command's load.
fn run(
    mut ready: Ready,
    prepared: Prepared,
    hosts: &Hosts,
    stage: &mut dyn Stage,
) -> Result<Executed> {
    let Prepared {
        request, job, own, ..
    } = prepared;
    let plan = request.plan.clone();
    let mut executed = if plan.phases.is_empty() && plan.ladder.is_empty() {
        let mut executed = Executed::default();
        let (run, outcome) = measure(&mut ready, &request, hosts, stage)?;
        executed.add(run, outcome);
        executed
    } else {
        refuse_several(&plan.drive, hosts.fleet.as_ref())?;
        let sequence = Sequence {
            request,
            job,
            own,
            stop: Arc::clone(&ready.stop),
            hosts,
        };
        drop(ready);
        match plan.ladder.is_empty() {
            true => sequence.phases(stage),
            false => sequence.ladder(stage),
        }
    };
    executed.plan = Some(plan);
    Ok(executed)
}

/// Whether the command is `run` and can begin. Any other command is executed here.
fn is_ready_to_run(
    ready: &mut Ready,
    command: &str,
    workload: &str,
    stage: &mut dyn Stage,
) -> Result<bool> {
    if ready.plan().is_some() {
        if command != "run" {
            return stage.command(ready, command).map(|()| false);
        }
        ready
            .check_event()
            .map_err(|error| hints::of_host(error, workload))?;
    }
    if command == "run" {
        return Ok(true);
    }
    if let Some(clash) = dyno_run::clash(ready, command)? {
        return Err(hints::of_clash(clash, command, ready, workload));
    }
    let ended = stage.command(ready, command);
    ended.map_err(|error| with_hint(error, ready, workload))?;
    Ok(false)
}

/// Creates the tables of a temporary database.
fn prepare_temporary(ready: &mut Ready, record: &RecordPlan, stage: &mut dyn Stage) -> Result<()> {
    // Checked before the tables are created, so that an unusable file fails early.
    if let Some(file) = &record.file {
        dyno_run::try_file(file)?;
    }
    stage.notice(&Notice::TemporaryDatabase);
    let description = &ready.description;
    let mut commands = description.commands.iter();
    let mut functions = description.functions.iter();
    if commands.any(|(name, _)| name == "prepare") || functions.any(|name| name == "prepare") {
        stage.command(ready, "prepare").map_err(|error| {
            let hint = match hints::is_of_files(&error, ready) {
                true => " (TMPDIR sets its folder)",
                false => "",
            };
            error.context(format!("cannot prepare the temporary database{hint}"))
        })?;
    }
    Ok(())
}

/// Rejects a plan that cannot run on any target because its phases, roles and schedule contradict
/// each other.
fn refuse(plan: &Plan) -> Result<()> {
    let workload = &plan.workload;
    if !plan.ladder.is_empty() && !plan.phases.is_empty() {
        return Err(usage(format!(
            "{workload} has phases, each with its own sessions: dyno saturate cannot run it"
        )));
    }
    let Some(schedule) = &plan.drive.schedule else {
        return Ok(());
    };
    if !plan.phases.is_empty() {
        return Err(usage(format!(
            "{workload} has phases, each a separate run with its own time: a schedule such as '{}' \
             needs a workload without phases",
            schedule.short()
        )));
    }
    if plan.drive.session_schedule().is_some() && !plan.roles.is_empty() {
        return Err(usage(format!(
            "--sessions: {workload} divides its sessions into roles, which cannot have a schedule; \
             set their numbers with the workload's options"
        )));
    }
    Ok(())
}

/// Rejects several load generators for a sequence of runs.
fn refuse_several(drive: &Drive, fleet: Option<&Fleet>) -> Result<()> {
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
