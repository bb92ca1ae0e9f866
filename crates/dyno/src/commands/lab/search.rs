//! A trial that looks for the highest load which keeps a promise: `dyno search`, and then one run
//! at the load that it found, which is the trial's record.

use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use dyno_load::{StopLevel, StopSignal};
use dyno_report::search::{SearchEnd, Searched};

use crate::commands::search::{Ask, FACTOR, conduct, promise, told};

/// Options of a run that a search decides itself, and whether they have a value.
const NOT_OF_SEARCHES: [(&str, bool); 3] = [
    ("--rate", true),
    ("--explain", true),
    ("--statements", false),
];

/// What is wrong with a promise.
pub fn check(text: &str) -> Option<String> {
    promise::parse(text).err()
}

/// Whether sessions are looked for, in place of a rate.
pub fn is_of_sessions(text: &str) -> bool {
    promise::parse(text).is_ok_and(|promise| promise.of == Searched::Sessions)
}

/// Searches with the command line of a run; returns that line at the load that was found, and what
/// was found in words.
///
/// # Errors
/// A run fails, the user ends it, or no load is the answer: the load generator was the limit, not
/// even the least load kept the promise, votes decided nothing.
pub fn search(
    line: Vec<String>,
    text: &str,
    name: &str,
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
    let why = match found.ending {
        SearchEnd::Found => None,
        SearchEnd::Ceiling | SearchEnd::Refused => Some("the load generator was the limit"),
        SearchEnd::Floor => Some("not even the least load keeps the promise"),
        SearchEnd::Unconfirmed => Some("no load was confirmed"),
        SearchEnd::Exhausted => Some("as many trials as are allowed decided nothing"),
        SearchEnd::Interrupted | SearchEnd::Failed => Some("it ended early"),
    };
    if let Some(why) = why {
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
    // What the file says of the load holds for where the search begins.
    if let Some(at) = line.iter().position(|word| word == option) {
        line.drain(at..at + 2);
    }
    line.extend([option.to_owned(), told(lower)]);
    Ok((line, words))
}
