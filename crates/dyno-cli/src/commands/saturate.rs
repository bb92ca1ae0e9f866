//! `dyno saturate`: run a workload with increasing numbers of sessions, one recorded run each.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use dyno_core::clock::wall_time;
use dyno_core::plan::{LoadPart, LoadSchedule, LoadShape, Plan, Scheduled};
use dyno_core::summary::{PhaseOf, RunEnd, RunSummary};

use super::execute::Executed;
use super::measure::{Screen, measure};
use super::phases::Base;
use crate::console;
use crate::options::Parsed;
use crate::settings::{self, usage};
use dyno_run::Loaded;
use dyno_run::RunRequest;
use dyno_run::new_name;

/// Default numbers of sessions.
const LADDER: &str = "1,2,4,8,16,32,64";

/// Default length of each step in one run.
const STEP: Duration = Duration::from_secs(30);

/// The command's numbers of sessions, in order; `None` for a command that runs once.
fn ladder(command: &str, parsed: &Parsed) -> Result<Option<Vec<u32>>> {
    if command != "saturate" {
        let own = ["ladder", "in-one-run"];
        return match own.into_iter().find(|name| parsed.has(name)) {
            Some(name) => Err(usage(format!(
                "--{name} is an option of dyno saturate; dyno {command} takes --sessions"
            ))),
            None => Ok(None),
        };
    }
    if parsed.has("sessions") {
        return Err(usage(
            "dyno saturate takes its numbers of sessions from --ladder, not --sessions",
        ));
    }
    let text = parsed.value("ladder").unwrap_or(LADDER);
    let number = |item: &str| {
        let number = item.trim().parse::<u32>().ok();
        number
            .filter(|number| *number > 0)
            .ok_or_else(|| usage(format!("--ladder: '{item}' is not a number of sessions")))
    };
    let ladder: Vec<u32> = text.split(',').map(number).collect::<Result<_>>()?;
    match ladder.windows(2).all(|pair| pair[0] < pair[1]) {
        true => Ok(Some(ladder)),
        false => Err(usage(format!(
            "--ladder: {text} does not increase from step to step"
        ))),
    }
}

/// The steps of a command.
pub struct Steps<'a> {
    /// The command in the plan.
    pub typed: &'a str,
    /// The command that sessions run.
    pub command: &'a str,
    /// Numbers of sessions, one run each; `None` for one run.
    pub ladder: Option<Vec<u32>>,
    /// The steps as parts of one run.
    climb: Option<LoadSchedule>,
}

/// The steps of a command, if it has any. Steps of one run replace the ladder.
///
/// # Errors
/// An invalid ladder, or options that contradict the command.
pub fn steps<'a>(command: &'a str, parsed: &mut Parsed) -> Result<Steps<'a>> {
    let ladder = ladder(command, parsed)?;
    let climb = in_one_run(command, parsed, ladder.as_deref())?;
    let steps = Steps {
        typed: if climb.is_some() { "run" } else { command },
        command: if ladder.is_some() { "run" } else { command },
        ladder: ladder.filter(|_| climb.is_none()),
        climb,
    };
    steps.beneath(parsed);
    Ok(steps)
}

impl Steps<'_> {
    /// Whether they are parts of one run.
    pub fn in_one_run(&self) -> bool {
        self.climb.is_some()
    }

    /// Replaces the ladder with the schedule of one run.
    pub fn beneath(&self, parsed: &mut Parsed) {
        let Some(climb) = &self.climb else {
            return;
        };
        let own = ["ladder", "in-one-run", "time"];
        parsed.own.retain(|(name, _)| !own.contains(name));
        parsed.own.push(("sessions", Some(climb.to_string())));
    }
}

/// Rejects options that do not work with a workload's phases and roles.
///
/// # Errors
/// There is such an option.
pub fn refuse(plan: &Plan, workload: &str, ladder: bool) -> Result<()> {
    if ladder && !plan.phases.is_empty() {
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

/// The ladder as a schedule of one run, if requested.
fn in_one_run(
    command: &str,
    parsed: &Parsed,
    ladder: Option<&[u32]>,
) -> Result<Option<LoadSchedule>> {
    let (Some(ladder), true) = (ladder, parsed.has("in-one-run")) else {
        refuse_schedule(parsed, command)?;
        return Ok(None);
    };
    if parsed.has("rate") {
        return Err(usage(
            "--in-one-run adds sessions step by step, but with --rate the load does not depend on \
             them: use dyno run with a schedule, e.g. --rate '100/s for 30s, 200/s for 30s'",
        ));
    }
    let time = settings::duration(parsed, "time", STEP)?;
    if time.is_zero() {
        return Err(usage(
            "--in-one-run needs a limited --time, the length of each step",
        ));
    }
    let part = |sessions: &u32| LoadPart {
        shape: LoadShape::Constant,
        from: f64::from(*sessions),
        to: f64::from(*sessions),
        seconds: time.as_secs_f64(),
        period_s: None,
    };
    Ok(Some(LoadSchedule {
        of: Scheduled::Sessions,
        parts: ladder.iter().map(part).collect(),
    }))
}

/// Rejects schedules: a step that is a separate run has a constant load.
fn refuse_schedule(parsed: &Parsed, command: &str) -> Result<()> {
    let rate = parsed.value("rate");
    match command == "saturate" && rate.is_some_and(LoadSchedule::is_one) {
        true => Err(usage(
            "--rate: dyno saturate compares numbers of sessions at one rate; use a schedule with \
             dyno run",
        )),
        false => Ok(()),
    }
}

/// Runs the steps. An error ends the ladder; earlier steps are kept.
pub fn run(base: &Base, ladder: &[u32], screen: &Screen) -> Executed {
    let sequence = new_name(&base.request.plan.workload, wall_time().as_secs_f64());
    let mut executed = Executed::default();
    for (index, sessions) in ladder.iter().enumerate() {
        let place = PhaseOf {
            sequence: sequence.clone(),
            name: format!("{sessions} sessions"),
            number: index as u32 + 1,
            of: ladder.len() as u32,
            unit: "events".to_owned(),
            per_event: 1.0,
            before: None,
        };
        let step = step(base, *sessions, place, screen)
            .with_context(|| format!("the step of {sessions} sessions"));
        let (summary, status) = match step {
            Ok(ended) => ended,
            Err(error) => return executed.failed(error),
        };
        let completed = summary.end == RunEnd::Completed;
        executed.add(summary, status);
        if !completed {
            break;
        }
    }
    let left = ladder.len() - executed.runs.len();
    if left > 0 && !screen.quiet {
        console::note(&format!("{left} step(s) did not run."));
    }
    executed
}

fn step(base: &Base, sessions: u32, place: PhaseOf, screen: &Screen) -> Result<(RunSummary, u8)> {
    let mut job = base.job.clone();
    job.drive.sessions = sessions;
    job.drive.workers = job.workers_for(sessions);
    let mut plan = base.request.plan.clone();
    // Each step is an ordinary run.
    plan.command = "run".to_owned();
    plan.ladder.clear();
    plan.drive.sessions = sessions;
    let options = job.all_options(&base.own);
    let mut ready = Loaded::new(job)?.ready(options, Arc::clone(&base.stop))?;
    plan.roles.clone_from(&ready.job.drive.roles);
    plan.drive.workers = ready.job.drive.workers;
    let request = RunRequest {
        plan,
        options: base.request.options.clone(),
        changed: base.request.changed.clone(),
        server: base.request.server.clone(),
        phase: Some(place),
    };
    let measured = measure(&mut ready, &request, screen)?;
    let summary = measured.summary.clone();
    let status = measured.end(&ready, &request)?;
    Ok((summary, status))
}
