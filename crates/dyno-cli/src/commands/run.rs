//! `dyno run`, `prepare`, `check`, `cleanup` and a script's other commands.

use anyhow::Result;
use dyno_conduct::Executed;
use dyno_core::plan::Plan;
use dyno_report::saturation::Saturation;
use dyno_report::terminal::Look;

use super::execute::execute;
use super::phases;
use super::planned::{PlannedCommand, Words, plan};
use super::plans;
use crate::junit;
use crate::output::Output;
use crate::record_options::refuse_everybodys;
use crate::{STATUS_DONE, console, signals, status_of};

/// Runs a workload's command.
///
/// # Errors
/// Invalid usage, a script or target that is not available, or a failed run.
pub(super) fn main(args: Vec<String>, command: &str) -> Result<u8> {
    let planned = match plan(args, command)? {
        Words::Help(text) => {
            console::help(&text);
            return Ok(STATUS_DONE);
        }
        Words::Command(planned) => *planned,
    };
    refuse_everybodys(&planned.parsed)?;
    if plans::is_wanted(&planned.parsed) {
        print(&planned.command.plan)?;
        return Ok(STATUS_DONE);
    }
    if command == "calibrate" {
        let (job, options) = planned.command.job();
        return super::calibrate::main(job, &options, &planned.parsed);
    }
    let stop = signals::install()?;
    let output = Output::of(&planned.parsed)?;
    let look = console::look(&planned.parsed);
    let shape = Shape::of(&planned);
    let mut shows = |run: &_| {
        // The table of a ladder shows its runs.
        if shape != Shape::Ladder {
            output.show(run, &look);
        }
    };
    let junit = planned.parsed.value("junit").map(str::to_owned);
    let workload = planned.command.plan.workload.clone();
    let executed = execute(planned.command, planned.parsed, &stop, &mut shows);
    let executed = junit::of_failure(executed, junit.as_deref(), &workload)?;
    let shown = show(&executed.done, shape, output, &look);
    match executed.finish(&stop) {
        Ok(outcome) => shown.map(|()| status_of(outcome)),
        Err(error) => {
            if let Err(trouble) = shown {
                console::note(&format!("warning: {trouble:#}"));
            }
            Err(error)
        }
    }
}

fn print(plan: &Plan) -> Result<()> {
    let shown = serde_json::to_string_pretty(&plan.clone().without_secrets())?;
    console::json(&(shown + "\n"));
    Ok(())
}

/// How a command is divided into runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// One run, or one for each phase of the workload.
    Runs,
    /// One run for each step.
    Ladder,
    /// One run, whose parts are the steps.
    Parts,
}

impl Shape {
    fn of(planned: &PlannedCommand) -> Self {
        match (planned.command.plan.ladder.is_empty(), planned.in_one_run) {
            (false, _) => Self::Ladder,
            (true, true) => Self::Parts,
            (true, false) => Self::Runs,
        }
    }
}

/// Writes the results, each of which has been shown.
fn show(executed: &Executed, shape: Shape, output: Output, look: &Look) -> Result<()> {
    let Some(plan) = &executed.plan else {
        return Ok(());
    };
    match (shape, executed.runs.as_slice()) {
        (Shape::Ladder, []) => Ok(()),
        (Shape::Ladder, runs) => output.write_saturation(&Saturation::of(runs), look),
        (Shape::Parts, [run]) => output.write_saturation(&Saturation::of_parts(run), look),
        (_, [run]) if plan.phases.is_empty() => output.write_data(run),
        (_, runs) => phases::show(&plan.phases, runs, look, output),
    }
}
