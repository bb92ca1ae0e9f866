//! One measured run: records, observes and judges it.

use anyhow::Result;
use dyno_analysis::summary::held;
use dyno_core::finding::Verdict;
use dyno_core::summary::{RunEnd, RunSummary};
use dyno_core::threshold::Threshold;
use dyno_run::{Measured, Notice, Ready, RunRequest};

use crate::fleet::run_on_agents;
use crate::hints::{hint, with_hint};
use crate::hosts::Hosts;
use crate::outcome::Outcome;
use crate::stage::Stage;
use crate::usage;

/// Runs the workload. Returns the summary, and how the run ended; with an error there, the summary
/// is still valid.
///
/// # Errors
/// The run has no result.
pub(crate) fn measure(
    ready: &mut Ready,
    request: &RunRequest,
    hosts: &Hosts,
    stage: &mut dyn Stage,
) -> Result<(RunSummary, Result<Outcome>)> {
    let conditions = &request.plan.record.fail_if;
    check_subjects(ready, conditions)?;
    if let (Some(agent), Some(target)) = (&hosts.server_agent, &ready.job.target) {
        ready.remote_observer = Some(agent.start(target)?);
    }
    let sinks = stage.begin(ready);
    let measured = match &hosts.fleet {
        None => dyno_run::measure(ready, request, &sinks),
        Some(fleet) => dyno_run::measure_load(ready, request, &sinks, &mut |ready, observer| {
            run_on_agents(fleet, &request.plan, &sinks, ready, observer)
        }),
    };
    let measured = measured.map(|measured| Measured {
        summary: held(measured.summary, conditions),
        ..measured
    });
    stage.end(measured.as_ref().ok());
    let workload = &request.plan.workload;
    let measured = measured.map_err(|error| with_hint(error.into(), ready, workload))?;
    Ok(ended(measured, ready, request, stage))
}

/// How a run ended. If it failed, reports why and what to try.
fn ended(
    measured: Measured,
    ready: &Ready,
    request: &RunRequest,
    stage: &mut dyn Stage,
) -> (RunSummary, Result<Outcome>) {
    let Measured {
        summary,
        trouble,
        disconnected,
    } = measured;
    if let Some(trouble) = trouble {
        return (summary, Err(trouble.into()));
    }
    if let RunEnd::Failed(why) = &summary.end
        && let Some(hint) = hint(why, ready, &request.plan.workload)
    {
        stage.notice(&Notice::Hint(hint));
    }
    // Events that ended after the measurement are not results.
    let events = summary
        .totals
        .events
        .saturating_sub(summary.events_in_grace.unwrap_or(0));
    let worthless = matches!(summary.end, RunEnd::Failed(_)) || events == 0;
    let is_connected = disconnected.is_none();
    if let Some(disconnected) = disconnected {
        stage.notice(&Notice::Error(disconnected));
    }
    let outcome = if summary.end == RunEnd::Interrupted {
        Outcome::Interrupted
    } else if worthless || !is_connected {
        Outcome::Failed
    } else if request.plan.record.gate && summary.verdict == Some(Verdict::Refused) {
        Outcome::Refused
    } else if summary.thresholds.iter().any(|held| held.failed) {
        Outcome::Limit
    } else {
        Outcome::Done
    };
    (summary, Ok(outcome))
}

/// Rejects conditions on unknown operations or roles now instead of after the run.
fn check_subjects(ready: &Ready, conditions: &[String]) -> Result<()> {
    let names = ready.names();
    for text in conditions {
        let one: Result<Threshold, _> = text.parse();
        if let Some(why) = one
            .ok()
            .and_then(|one| one.without_subject(names.iter().map(String::as_str)))
        {
            return Err(usage(format!("--fail-if '{text}': {why}")));
        }
    }
    Ok(())
}
