//! The phases of a workload: one recorded run each, one after the other.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use dyno_conduct::hints::with_hint;
use dyno_conduct::plans::phase_options;
use dyno_core::clock::{Clock, wall_time};
use dyno_core::plan::{OptionValue, PhasePlan, Plan};
use dyno_core::redact;
use dyno_core::summary::{PhaseOf, Preparation, RunEnd, RunSummary};
use dyno_load::StopSignal;
use dyno_report::phases::{Sequence, Table, ladder, step, terminal};
use dyno_report::terminal::Look;
use dyno_results::{Results, Scope};

use super::execute::{Executed, Shows};
use super::measure::{Screen, measure};
use crate::output::Output;
use crate::{console, loading};
use dyno_run::RunRequest;
use dyno_run::new_name;
use dyno_run::{Job, Loaded, Ready};

/// State common to all phases.
pub struct Base {
    /// The plan and other inputs of the summary.
    pub request: RunRequest,
    /// The job, without the script's own options.
    pub job: Job,
    /// The script's own options.
    pub own: Vec<(String, OptionValue)>,
    /// Stops the run and the sequence.
    pub stop: Arc<StopSignal>,
}

/// Runs the phases, and shows each when it ends. An error ends the sequence; earlier phases are
/// kept.
pub fn run(base: &Base, screen: &Screen, shows: &mut Shows<'_>) -> Executed {
    let phases = &base.request.plan.phases;
    let sequence = new_name(&base.request.plan.workload, wall_time().as_secs_f64());
    let mut executed = Executed::default();
    for (index, phase) in phases.iter().enumerate() {
        let place = PhaseOf {
            sequence: sequence.clone(),
            name: phase.name.clone(),
            number: index as u32 + 1,
            of: phases.len() as u32,
            unit: phase.unit.clone(),
            per_event: phase.per_event,
            before: None,
        };
        if !screen.quiet {
            let (name, number, of) = (&place.name, place.number, place.of);
            console::note(&format!("Phase {number} of {of}: {name}"));
        }
        let ended = one(base, phase, place, screen, shows)
            .with_context(|| format!("the phase {} failed", phase.name));
        let (summary, status) = match ended {
            Ok(ended) => ended,
            Err(error) => return executed.failed(error),
        };
        let completed = summary.end == RunEnd::Completed;
        executed.add(summary, status);
        if !completed {
            let left = phases.len() - executed.runs.len();
            if left > 0 && !screen.quiet {
                console::note(&format!("{left} phase(s) did not run."));
            }
            break;
        }
    }
    executed
}

/// Prints the summary of all phases, and a ladder's table.
///
/// # Errors
/// The output file cannot be written, or a record cannot be read.
pub fn show(phases: &[PhasePlan], done: &[RunSummary], look: &Look, output: Output) -> Result<()> {
    let steps = match output {
        Output::Json => Ok(None),
        Output::Terminal | Output::Both(..) => steps(phases, done),
    };
    let written = output.write_all(done, look);
    if let Some(table) = steps? {
        let tables = [table];
        console::page(look, |look| terminal(&tables, look));
    }
    written
}

/// A ladder's table of active tables, from the records; `None` if this is not a ladder.
fn steps(phases: &[PhasePlan], done: &[RunSummary]) -> Result<Option<Table>> {
    // They ran in order, but the last ones may be missing.
    let is_step = |(phase, run)| step(phase).map(|_| run);
    let mut runs = Vec::new();
    for summary in phases.iter().zip(done).filter_map(is_step) {
        // Without a record there are no series.
        if let Some(recorded) = &summary.recorded {
            let results = Results::open_read(Path::new(&recorded.file))?;
            runs.push(results.load(recorded.id, &Scope::whole())?);
        }
    }
    Ok(ladder(&[Sequence::of(runs)]))
}

fn one(
    base: &Base,
    phase: &PhasePlan,
    mut place: PhaseOf,
    screen: &Screen,
    shows: &mut Shows<'_>,
) -> Result<(RunSummary, u8)> {
    let mut job = base.job.clone();
    phase.limit(&mut job.drive);
    let own = phase_options(&base.own, phase)?;
    let options = job.all_options(&own);
    let mut ready = Loaded::new(job)?.ready(options, Arc::clone(&base.stop))?;
    if ready.job.drive.roles != phase.roles {
        bail!("the plan's roles differ from those of the script with the phase's options");
    }
    if !phase.before.is_empty() {
        place.before = Some(prepare(&mut ready, base, phase, screen.quiet)?);
    }
    let plan = Plan {
        phases: vec![phase.clone()],
        ..base.request.plan.clone()
    };
    let request = RunRequest {
        phase: Some(place),
        ..RunRequest::new(plan, &own, base.request.server.clone(), &ready)
    };
    let measured = measure(&mut ready, &request, screen)?;
    let summary = measured.summary.clone();
    shows(&summary);
    let status = measured.end(&ready, &request)?;
    Ok((summary, status))
}

/// Runs the commands before a phase, and rolls back if one fails.
fn prepare(ready: &mut Ready, base: &Base, phase: &PhasePlan, quiet: bool) -> Result<Preparation> {
    let (mut all_s, mut answers) = (0.0, Vec::new());
    for before in &phase.before {
        if !quiet {
            console::note(&format!("Running '{before}' first."));
        }
        let since = Clock.now();
        if let Err(error) = loading::with_progress(ready, before, quiet) {
            if let Some(undo) = &phase.undo
                && let Err(trouble) = ready.undo(undo)
            {
                console::note(&format!("warning: '{undo}' failed too: {trouble:#}"));
            }
            return Err(with_hint(error, ready, &base.request.plan.workload));
        }
        let seconds = Clock.now().saturating_sub(since) as f64 / 1e9;
        let answer = match ready.in_all_sessions(before) {
            // Each session has its own answer.
            true => None,
            false => ready.last_answer(),
        };
        let answer = redact::text(&answer.unwrap_or_default());
        if !quiet {
            let rest = match answer.as_str() {
                "" => String::new(),
                answer => format!(": {answer}"),
            };
            console::note(&format!("'{before}' took {seconds:.1} s{rest}"));
        }
        all_s += seconds;
        answers.extend((!answer.is_empty()).then_some(answer));
    }
    Ok(Preparation {
        command: phase.before.join(", "),
        seconds: all_s,
        messages: answers.join("; "),
    })
}
