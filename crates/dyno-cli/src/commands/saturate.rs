//! `dyno saturate`: run a workload with increasing numbers of sessions, one recorded run each.

use std::time::Duration;

use anyhow::Result;
use dyno_core::plan::{LoadPart, LoadSchedule, LoadShape, Scheduled};

use crate::options::Parsed;
use crate::settings::{self, usage};

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
pub(super) struct Steps<'a> {
    /// The command in the plan.
    pub typed: &'a str,
    /// The command that sessions run.
    pub command: &'a str,
    /// Numbers of sessions, one run each; empty for one run.
    pub ladder: Vec<u32>,
    /// The steps as parts of one run.
    climb: Option<LoadSchedule>,
}

/// The steps of a command, if it has any. Steps of one run replace the ladder.
///
/// # Errors
/// An invalid ladder, or options that contradict the command.
pub(super) fn steps<'a>(command: &'a str, parsed: &mut Parsed) -> Result<Steps<'a>> {
    let ladder = ladder(command, parsed)?;
    let climb = in_one_run(command, parsed, ladder.as_deref())?;
    let steps = Steps {
        typed: if climb.is_some() { "run" } else { command },
        command: if ladder.is_some() { "run" } else { command },
        ladder: ladder.filter(|_| climb.is_none()).unwrap_or_default(),
        climb,
    };
    steps.beneath(parsed);
    Ok(steps)
}

impl Steps<'_> {
    /// Whether they are parts of one run.
    pub(super) fn in_one_run(&self) -> bool {
        self.climb.is_some()
    }

    /// Replaces the ladder with the schedule of one run.
    pub(super) fn beneath(&self, parsed: &mut Parsed) {
        let Some(climb) = &self.climb else {
            return;
        };
        let own = ["ladder", "in-one-run", "time"];
        parsed.own.retain(|(name, _)| !own.contains(name));
        parsed.own.push(("sessions", Some(climb.to_string())));
    }
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
