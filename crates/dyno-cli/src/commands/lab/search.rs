//! Trials that search for the highest load which keeps a promise: `dyno search`, then one run at
//! that load, which is the trial's record.

use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use dyno_core::summary::RunSummary;
use dyno_lab::file::Experiment;
use dyno_load::{StopLevel, StopSignal};
use dyno_report::search::{SearchEnd, Searched};
use dyno_report::sheet::Sheet;

use super::figures::{Done, subject};
use super::tables::{by_cell, factors_but, mean, sheet, shown};
use crate::commands::search::{Ask, FACTOR, conduct, promise, told};

/// Run options that a search sets itself, and whether they take a value.
const NOT_OF_SEARCHES: [(&str, bool); 4] = [
    ("--rate", true),
    ("--explain", true),
    ("--statements", false),
    ("--cpu-profile", false),
];

/// The mistake in a promise, if there is one.
pub fn check(text: &str) -> Option<String> {
    promise::parse(text).err()
}

/// Whether the search varies sessions instead of the rate.
pub fn is_of_sessions(text: &str) -> bool {
    promise::parse(text).is_ok_and(|promise| promise.of == Searched::Sessions)
}

/// Whether the run at the found load kept the promise.
pub fn kept_by(text: &str, run: &RunSummary) -> Option<bool> {
    promise::parse(text).ok()?.kept_by(run)
}

/// Searches with a run's command line; returns that line at the found load, and a sentence about
/// it.
///
/// # Errors
/// A run fails, the user ends it, or no load is the answer: the load generator was the limit, even
/// the lowest load broke the promise, or votes decided nothing.
pub fn search(
    line: Vec<String>,
    text: &str,
    (name, quiet): (&str, bool),
    stop: &Arc<StopSignal>,
) -> Result<(Vec<String>, String)> {
    let is_of_sessions = is_of_sessions(text);
    let without = |line: &[String], sessions: bool| -> Vec<String> {
        let mut kept = Vec::new();
        let mut rest = line.iter();
        while let Some(word) = rest.next() {
            let known = NOT_OF_SEARCHES.iter().find(|(own, _)| own == word);
            match known {
                Some((_, true)) => drop(rest.next()),
                Some((_, false)) => {}
                None if sessions && word == "--sessions" => drop(rest.next()),
                None => kept.push(word.clone()),
            }
        }
        kept
    };
    let mut own = without(&line, is_of_sessions);
    if !quiet {
        // Report each run of the search.
        own.retain(|word| word != "--quiet");
    }
    own.insert(3, text.to_owned());
    own.extend(["--factor".to_owned(), format!("{FACTOR}={name}")]);
    let ask = Ask::read("dyno", &own[2..])?.ok_or_else(|| anyhow!("no search was asked for"))?;
    let (found, trouble) = conduct(&ask, Arc::clone(stop));
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
    let upper = found.upper.map_or_else(|| "–".to_owned(), told);
    let unit = if is_of_sessions { " sessions" } else { "/s" };
    let words = format!(
        "searched in {} runs: {}{unit} keeps {}, {upper}{unit} does not",
        found.trials.len() + found.climb.len(),
        told(lower),
        found.plan.promise
    );
    let option = if is_of_sessions {
        "--sessions"
    } else {
        "--rate"
    };
    let mut line = line;
    with_percentiles(&mut line, &ask.promise);
    // The file's load is where the search starts.
    if let Some(at) = line.iter().position(|word| word == option) {
        line.drain(at..at + 2);
    }
    line.extend([option.to_owned(), told(lower)]);
    Ok((line, words))
}

/// Makes the run record the promise's percentiles.
fn with_percentiles(line: &mut [String], promise: &promise::Promise) {
    let at = line.iter().position(|word| word == "--percentiles");
    let Some(list) = at.and_then(|at| line.get_mut(at + 1)) else {
        return;
    };
    for own in &promise.latencies {
        let percent = own.percentile.to_string();
        if !list.split(',').any(|known| known == percent) {
            *list += &format!(",{percent}");
        }
    }
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

/// The loads that searches found.
pub fn searched(experiment: &Experiment, promise: &str, done: &[Done]) -> Sheet {
    let subject = subject(experiment);
    let chosen: Vec<&Done> = done.iter().collect();
    let factors = factors_but(&chosen, &[]);
    let load = match subject {
        "sessions" => "sessions",
        _ => "rate",
    };
    let mut made = sheet(
        &format!("The {promise}"),
        "Means over the trials of a cell, each a separate search; dyno lab status --json has the \
         result of each and the load that broke the promise. p99 and whether the promise was kept \
         there are from the single run at that load.",
        &factors,
        &["trials", load, "p99, ms", "kept there"],
    );
    for (mut row, trials) in by_cell(experiment, &chosen, &factors) {
        row.push(trials.len().to_string());
        row.extend([subject, "p99"].map(|figure| shown(mean(&trials, figure))));
        let kept = trials
            .iter()
            .filter(|done| kept(promise, done) == Some(true))
            .count();
        row.push(format!("{kept} of {}", trials.len()));
        made.rows.push(row);
    }
    made
}

/// Whether the run at the found load kept the promise.
///
/// `None` if there are too few events to decide.
pub fn kept(promise: &str, done: &Done) -> Option<bool> {
    let summaries = done.runs.iter().filter_map(|run| run.summary.as_ref());
    let mut kept = summaries.map(|run| kept_by(promise, run));
    kept.try_fold(true, |all, kept| Some(all && kept?))
}
