//! The phases of a workload: one recorded run each, one after the other.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use dyno_core::clock::{Clock, wall_time};
use dyno_core::plan::{Arrivals, Drive, OpenLoop, OptionValue};
use dyno_core::redact;
use dyno_core::summary::{PhaseOf, Preparation, RunEnd, RunSummary};
use dyno_load::StopSignal;
use dyno_report::phases::{Sequence, Table, ladder, step, terminal};
use dyno_results::{Results, Scope};
use dyno_script::Phase;

use super::hints::with_hint;
use super::measure::{Screen, measure};
use super::run::options_of;
use crate::output::Output;
use crate::{STATUS_DONE, console, loading, settings};
use dyno_run::Asked;
use dyno_run::{Job, Loaded, Ready};
use dyno_run::{Wanted, new_name};

/// What all phases have in common.
pub struct Base {
    /// What shapes the summary; the options are those that the user gave.
    pub asked: Asked,
    /// The job, without the script's own options.
    pub job: Job,
    /// The script's own options.
    pub own: Vec<(String, OptionValue)>,
    /// The warm-up, if the user asked for one.
    pub warmup: Option<Duration>,
    /// Ends the run, and with it the sequence.
    pub stop: Arc<StopSignal>,
    /// What to record.
    pub wanted: Wanted,
}

/// Runs the phases, each of which is shown when it has ended.
///
/// # Errors
/// What keeps a phase from a result; those before it are kept.
pub fn run(base: &Base, phases: &[Phase], screen: &Screen, output: Output) -> Result<u8> {
    let sequence = new_name(&base.asked.workload, wall_time().as_secs_f64());
    let mut done: Vec<RunSummary> = Vec::new();
    let mut status = STATUS_DONE;
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
        let ended = one(base, phase, place, screen, &output)
            .with_context(|| format!("the phase {} failed", phase.name));
        let (summary, own_status) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                // Those before it are not to be lost with it.
                if let Err(trouble) = show(&done, screen, output) {
                    console::note(&format!("warning: {trouble:#}"));
                }
                return Err(error);
            }
        };
        let completed = summary.end == RunEnd::Completed;
        done.push(summary);
        // The worst of all is the sequence's.
        status = status.max(own_status);
        if !completed {
            let left = phases.len() - done.len();
            if left > 0 && !screen.quiet {
                console::note(&format!("{left} phase(s) were not begun."));
            }
            break;
        }
    }
    show(&done, screen, output).map(|()| status)
}

/// Shows what all phases came to, and the table of a ladder.
fn show(done: &[RunSummary], screen: &Screen, output: Output) -> Result<()> {
    let steps = match output {
        Output::Json => Ok(None),
        Output::Terminal | Output::Both(..) => steps(done),
    };
    let written = output.write_all(done, &screen.look);
    if let Some(table) = steps? {
        let tables = [table];
        console::page(&screen.look, |look| terminal(&tables, look));
    }
    written
}

/// The table of a ladder of active tables, from what was recorded; `None` where this is none.
fn steps(done: &[RunSummary]) -> Result<Option<Table>> {
    let is_step = |run: &RunSummary| {
        run.phase
            .as_ref()
            .is_some_and(|own| step(&own.name).is_some())
    };
    let mut runs = Vec::new();
    for summary in done.iter().filter(|run| is_step(run)) {
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
    phase: &Phase,
    mut place: PhaseOf,
    screen: &Screen,
    output: &Output,
) -> Result<(RunSummary, u8)> {
    let mut job = base.job.clone();
    limit(&mut job.drive, phase)?;
    job.drive.warmup = match phase.warmup_s {
        Some(warmup_s) => seconds(warmup_s)?,
        None => base.warmup.unwrap_or_default(),
    };
    let own = options(&base.own, phase)?;
    let options = options_of(&job.drive, &own);
    let mut ready = Loaded::new(job)?.ready(options, Arc::clone(&base.stop))?;
    let declared = ready.description.options.clone().unwrap_or_default();
    if !phase.before.is_empty() {
        place.before = Some(prepare(&mut ready, base, phase, screen.quiet)?);
    }
    let asked = Asked {
        workload: base.asked.workload.clone(),
        changed: settings::changed(&declared, &own),
        options: redact::options(&own),
        percentiles: base.asked.percentiles.clone(),
        server: base.asked.server.clone(),
        phase: Some(place),
    };
    let measured = measure(&mut ready, &asked, screen, base.wanted.clone())?;
    output.show(&measured.summary, &screen.look);
    let summary = measured.summary.clone();
    let status = measured.end(&ready, &asked)?;
    Ok((summary, status))
}

fn seconds(s: f64) -> Result<Duration> {
    Duration::try_from_secs_f64(s).with_context(|| format!("{s} seconds are no time"))
}

/// Sets the limits and the pace of a phase.
///
/// # Errors
/// A time that is none.
pub fn limit(drive: &mut Drive, phase: &Phase) -> Result<()> {
    drive.time = phase.time_s.map(seconds).transpose()?;
    drive.events = phase.events;
    if let Some(per_second) = phase.rate_per_s {
        let arrivals = drive
            .open_loop
            .map_or(Arrivals::Poisson, |own| own.arrivals);
        drive.open_loop = (per_second > 0.0).then_some(OpenLoop {
            per_second,
            arrivals,
        });
    }
    Ok(())
}

/// The script's options as a phase has them.
///
/// # Errors
/// The phase sets an option that the script has not.
pub fn options(own: &[(String, OptionValue)], phase: &Phase) -> Result<Vec<(String, OptionValue)>> {
    let mut own = own.to_vec();
    for (name, value) in &phase.options {
        match own.iter_mut().find(|(own, _)| own == name) {
            Some((_, own)) => *own = value.clone(),
            None => bail!("the script has no option '{name}'"),
        }
    }
    Ok(own)
}

/// Runs the commands that are to come before a phase, and has them taken back where one did not
/// end well.
fn prepare(ready: &mut Ready, base: &Base, phase: &Phase, quiet: bool) -> Result<Preparation> {
    let (mut all_s, mut all_told) = (0.0, Vec::new());
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
            return Err(with_hint(error, ready, &base.asked.workload));
        }
        let seconds = Clock.now().saturating_sub(since) as f64 / 1e9;
        let told = match ready.in_all_sessions(before) {
            // Each session has an answer of its own.
            true => None,
            false => ready.last_answer(),
        };
        let told = redact::text(&told.unwrap_or_default());
        if !quiet {
            let rest = match told.as_str() {
                "" => String::new(),
                told => format!(": {told}"),
            };
            console::note(&format!("'{before}' took {seconds:.1} s{rest}"));
        }
        all_s += seconds;
        all_told.extend((!told.is_empty()).then_some(told));
    }
    Ok(Preparation {
        command: phase.before.join(", "),
        seconds: all_s,
        told: all_told.join("; "),
    })
}
