//! Trials that search for the highest load which keeps a promise: `dyno search`, then one run at
//! that load, which is the trial's record.

use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use dyno_analysis::search::{SearchEnd, Searched};
use dyno_conduct::search::promise::Promise;
use dyno_conduct::search::shown as shown_load;
use dyno_core::plan::{Arrivals, OpenLoop};
use dyno_load::{StopLevel, StopSignal};

use crate::commands::planned::PlannedCommand;
use crate::commands::search::SearchCommand;

/// Searches for a trial's load; returns the trial at that load, and a sentence about it.
///
/// # Errors
/// A run fails, the user ends it, or no load is the answer: the load generator was the limit, even
/// the lowest load broke the promise, or votes decided nothing.
pub(super) fn search(
    trial: &PlannedCommand,
    promise: &str,
    (name, quiet): (&str, bool),
    stop: &Arc<StopSignal>,
) -> Result<(PlannedCommand, String)> {
    let search = SearchCommand::of_trial(trial, promise, (name, quiet))?;
    let (found, trouble) = search.conduct(stop);
    if let Some(error) = trouble {
        return Err(error.context("the search failed"));
    }
    if stop.level() != StopLevel::None {
        bail!("interrupted");
    }
    if let Some(why) = no_answer(found.ending) {
        bail!("the search has no answer: {why} {}", found.why);
    }
    let lower = found
        .lower
        .ok_or_else(|| anyhow!("the search found no load"))?;
    let upper = found.upper.map_or_else(|| "–".to_owned(), shown_load);
    let promise = &search.ask.terms.promise;
    let unit = match promise.of {
        Searched::Rate => "/s",
        Searched::Sessions => " sessions",
    };
    let words = format!(
        "searched in {} runs: {}{unit} keeps {}, {upper}{unit} does not",
        found.trials.len() + found.climb.len(),
        shown_load(lower),
        found.plan.promise
    );
    Ok((at(trial, promise, lower)?, words))
}

/// The trial at a load, recording the promise's percentiles.
fn at(trial: &PlannedCommand, promise: &Promise, load: f64) -> Result<PlannedCommand> {
    let mut drive = trial.command.drive().clone();
    match promise.of {
        Searched::Rate => {
            let arrivals = drive
                .open_loop
                .map_or(Arrivals::Poisson, |own| own.arrivals);
            drive.open_loop = Some(OpenLoop {
                per_second: shown_load(load).parse()?,
                arrivals,
            });
        }
        Searched::Sessions => drive.sessions = load as u32,
    }
    let mut record = trial.command.plan.record.clone();
    let own = promise.latencies.iter().map(|own| own.percentile);
    record.percentiles.extend(own);
    record.percentiles.sort_by(f64::total_cmp);
    record.percentiles.dedup();
    trial.under(drive, record)
}

/// Why a search with this ending has no answer.
fn no_answer(ending: SearchEnd) -> Option<&'static str> {
    match ending {
        SearchEnd::Found => None,
        SearchEnd::Ceiling | SearchEnd::Refused => Some("the load generator was the limit"),
        SearchEnd::Floor => Some("even the lowest load breaks the promise"),
        SearchEnd::Unconfirmed => Some("no load was confirmed"),
        SearchEnd::Exhausted => Some("the allowed number of trials did not settle it"),
        SearchEnd::Interrupted | SearchEnd::Failed => Some("it ended early"),
    }
}
