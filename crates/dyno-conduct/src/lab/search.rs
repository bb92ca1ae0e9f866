//! Trials that search for the highest load that keeps a promise. After the search, one run at that
//! load becomes the trial's record.

use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use dyno_analysis::search::{SearchEnd, Searched};
use dyno_core::plan::{Arrivals, OpenLoop};
use dyno_load::{StopLevel, StopSignal};
use dyno_run::Sinks;

use super::Caller;
use crate::search::promise::{self, Promise};
use crate::search::shown;
use crate::{Command, usage};

/// Searches for a trial's load; returns the trial at that load, and a sentence about it.
///
/// # Errors
/// A run fails, the user ends it, or the search has no answer: the load generator was the limit,
/// even the lowest load broke the promise, or the votes did not decide.
pub(super) fn search<C: Caller>(
    caller: &C,
    (trial, options): (&Command, &C::Options),
    promise: &str,
    name: String,
    stop: &Arc<StopSignal>,
) -> Result<(Command, String)> {
    let promise = promise::parse(promise).map_err(usage)?;
    let (found, trouble) = caller.search((trial, options), &promise, name, stop)?;
    if let Some(error) = trouble {
        return Err(error.context("the search failed"));
    }
    if stop.level() != StopLevel::None {
        bail!("interrupted");
    }
    if let Some(why) = no_answer(found.ending) {
        bail!("the search has no answer: {why} {}", found.why);
    }
    let lower = found.lower.context("the search found no load")?;
    let upper = found.upper.map_or_else(|| "–".to_owned(), shown);
    let unit = match promise.of {
        Searched::Rate => "/s",
        Searched::Sessions => " sessions",
    };
    let words = format!(
        "searched in {} runs: {}{unit} keeps {}, {upper}{unit} does not",
        found.trials.len() + found.climb.len(),
        shown(lower),
        found.plan.promise
    );
    Ok((at(trial, &promise, lower)?, words))
}

/// The trial at a load, recording the promise's percentiles.
fn at(trial: &Command, promise: &Promise, load: f64) -> Result<Command> {
    let mut drive = trial.drive().clone();
    match promise.of {
        Searched::Rate => {
            let arrivals = drive
                .open_loop
                .map_or(Arrivals::Poisson, |own| own.arrivals);
            drive.open_loop = Some(OpenLoop {
                per_second: shown(load).parse()?,
                arrivals,
            });
        }
        Searched::Sessions => drive.sessions = load as u32,
    }
    let mut record = trial.plan.record.clone();
    let own = promise.latencies.iter().map(|own| own.percentile);
    record.percentiles.extend(own);
    record.percentiles.sort_by(f64::total_cmp);
    record.percentiles.dedup();
    trial.under(drive, record, &Sinks::default())
}

/// Why a search with this ending has no answer.
fn no_answer(ending: SearchEnd) -> Option<&'static str> {
    match ending {
        SearchEnd::Found => None,
        SearchEnd::Ceiling | SearchEnd::Refused => Some("the load generator was the limit"),
        SearchEnd::Crowded => Some("other processes took the load generator's CPU time"),
        SearchEnd::Floor => Some("even the lowest load breaks the promise"),
        SearchEnd::Unconfirmed => Some("no load was confirmed"),
        SearchEnd::Exhausted => Some("the allowed number of trials did not settle it"),
        SearchEnd::Interrupted | SearchEnd::Failed => Some("it ended early"),
    }
}
