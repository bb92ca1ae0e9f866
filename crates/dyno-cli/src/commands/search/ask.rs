//! Reads the command line of `dyno search`.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Error, Result};
use dyno_analysis::search::{FACTOR, SearchResult, Searched};
use dyno_conduct::search::promise::{self, EXAMPLE, Promise};
use dyno_conduct::search::{self, Ask, OFFERED, SearchSettings};
use dyno_conduct::{Command, Hosts};
use dyno_core::clock::wall_time;
use dyno_core::summary::RunSummary;
use dyno_core::units;
use dyno_host::Edition;
use dyno_load::StopSignal;
use dyno_run::{Workload, new_name};

use super::lines::Lines;
use crate::commands::planned::{PlannedCommand, unnamed};
use crate::commands::target::named;
use crate::definitions::{OF_SEARCHES, RUN};
use crate::options::{Grammar, Opt, Parsed, Script, find_own, parse};
use crate::screen::Screen;
use crate::settings::{self, usage};
use crate::{console, fleet_options, run_store};

/// A search, and its output.
pub(crate) struct SearchCommand {
    /// The search.
    pub ask: Ask,
    /// The options.
    pub parsed: Parsed,
    /// Print nothing while it runs.
    pub quiet: bool,
    hosts: Hosts,
}

/// The options of `dyno search`, and those of `dyno run` that it rejects.
fn known() -> Vec<Opt> {
    OF_SEARCHES.iter().chain(RUN).copied().collect()
}

impl SearchCommand {
    /// Reads the arguments after the command; `None` if they request help.
    ///
    /// # Errors
    /// Invalid arguments.
    pub(crate) fn read(program: &str, args: &[String]) -> Result<Option<Self>> {
        let known = known();
        let (promise, rest) = without_promise(args, &known)?;
        let mut parsed = parse(&rest, &known, Script::Unknown, Grammar::Dyno)?;
        if parsed.has("help") || parsed.has("help-all") {
            return Ok(None);
        }
        let workload = parsed.words.first().ok_or_else(|| {
            usage("dyno search needs a workload; `dyno list` shows some".to_owned())
        })?;
        let promise = match (promise, parsed.words.get(1)) {
            (Some(text), _) => text,
            // A second word can only be a misspelled promise.
            (None, Some(word)) => word.clone(),
            (None, None) => {
                return Err(usage(format!(
                    "dyno search needs a promise, in quotes, e.g. {EXAMPLE}"
                )));
            }
        };
        let promise = promise::parse(&promise).map_err(usage)?;
        refuse(&parsed, &promise)?;
        let work = Workload::find(workload, Edition::Dyno).map_err(|error| {
            let unnamed = unnamed("search", workload, &rest, &parsed.words);
            unnamed.unwrap_or_else(|| usage(error.to_string()))
        })?;
        if work.test().is_none() && named(&parsed).is_none() {
            return Err(usage(
                "dyno search needs a --target URL: all its trials use the same tables",
            ));
        }
        let line = [program.to_owned(), "run".to_owned()].into_iter();
        let line = line.chain(of_runs(&rest)).chain(offered(promise.of));
        let base = PlannedCommand::of(line.collect(), "run")?.command;
        let name = name(&parsed, workload)?;
        parsed.forget_password();
        let hosts = fleet_options::hosts(&parsed)?;
        let settings = search_settings(&parsed, promise.of)?;
        Ok(Some(Self {
            ask: Ask::new(base, &hosts, promise, name, &settings)?,
            quiet: parsed.has("quiet"),
            parsed,
            hosts,
        }))
    }

    /// The search for the load of an experiment's trial.
    ///
    /// # Errors
    /// The trial cannot be searched.
    pub(crate) fn of_trial(
        (trial, parsed): (&Command, &Parsed),
        promise: Promise,
        name: String,
        quiet: bool,
    ) -> Result<Self> {
        let hosts = fleet_options::hosts(parsed)?;
        let settings = search_settings(parsed, promise.of)?;
        Ok(Self {
            ask: Ask::of_trial(trial, &hosts, promise, name, &settings)?,
            parsed: parsed.clone(),
            quiet,
            hosts,
        })
    }

    /// Searches; prints lines about it unless it is quiet. Returns the result so far, and the
    /// error that ended it.
    pub(crate) fn conduct(&self, stop: &Arc<StopSignal>) -> (SearchResult, Option<Error>) {
        // The result is the search's, and its trials print only warnings.
        let mut shows = |_: &RunSummary| {};
        let mut parsed = self.parsed.clone();
        parsed.own.push(("quiet", None));
        let mut screen = Screen::new(parsed, &self.hosts, &mut shows);
        let mut lines = Lines::new(&self.parsed, self.quiet);
        let found = search::conduct(&self.ask, &self.hosts, stop, &mut screen, &mut lines);
        console::progress("");
        found
    }
}

/// The options that make a run an open loop, if the search varies its rate.
fn offered(of: Searched) -> Vec<String> {
    let mut own = vec!["--quiet".to_owned()];
    if of == Searched::Rate {
        // Each trial replaces it.
        own.push("--rate=1/s".to_owned());
    }
    own
}

/// Separates the promise from the other arguments. An option's value is never a promise.
fn without_promise(args: &[String], known: &[Opt]) -> Result<(Option<String>, Vec<String>)> {
    let mut found: Vec<usize> = Vec::new();
    let mut is_value = false;
    for (at, arg) in args.iter().enumerate() {
        let option = arg.strip_prefix("--").or_else(|| arg.strip_prefix('-'));
        if !std::mem::take(&mut is_value) && option.is_none() && promise::is_meant(arg) {
            found.push(at);
        }
        let opt = option.and_then(|name| find_own(known, name));
        is_value = opt.is_some_and(|opt| opt.value.is_some() && !opt.bare);
    }
    // The value of a workload's own option may look like a promise.
    if found.len() > 1 {
        found.retain(|at| promise::parse(&args[*at]).is_ok());
    }
    if let [one, other, ..] = found.as_slice() {
        return Err(usage(format!(
            "'{}' and '{}' are two promises; join them with 'and'",
            args[*one], args[*other]
        )));
    }
    let rest = args.iter().enumerate();
    let rest = rest.filter(|(at, _)| !found.contains(at));
    Ok((
        found.first().map(|at| args[*at].clone()),
        rest.map(|(_, arg)| arg.clone()).collect(),
    ))
}

/// The arguments without those of a search, and those for its output.
fn of_runs(args: &[String]) -> Vec<String> {
    const SHOWN: [&str; 3] = ["json", "quiet", "verbose"];
    let shown = RUN.iter().filter(|opt| SHOWN.contains(&opt.name));
    let own: Vec<Opt> = OF_SEARCHES.iter().chain(shown).copied().collect();
    let mut kept = Vec::new();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let option = arg.strip_prefix("--").or_else(|| arg.strip_prefix('-'));
        let (name, inline) = match option.map(|option| option.split_once('=')) {
            Some(Some((name, _))) => (name, true),
            Some(None) => (option.unwrap_or_default(), false),
            None => ("", false),
        };
        match find_own(&own, name) {
            Some(opt) if opt.value.is_some() && !opt.bare && !inline => {
                rest.next();
            }
            Some(_) => {}
            None => kept.push(arg.clone()),
        }
    }
    kept
}

fn refuse(parsed: &Parsed, promise: &Promise) -> Result<()> {
    for opt in RUN.iter().filter(|opt| parsed.has(opt.name)) {
        if let Some(why) = opt.not_of_searches {
            let name = opt.name;
            return Err(usage(format!("--{name} does not apply to a search: {why}")));
        }
    }
    if promise.of == Searched::Sessions {
        for (name, why) in [
            (
                "sessions",
                "the search varies it; --from sets the load to start at",
            ),
            ("arrivals", "a closed loop has none"),
        ] {
            if parsed.has(name) {
                return Err(usage(format!(
                    "--{name} does not apply to 'max sessions': {why}"
                )));
            }
        }
    }
    if promise.latencies.len() > 1 && run_store::file(parsed).is_none() {
        return Err(usage(
            "several percentiles are counted from the record of each trial: name a --results file",
        ));
    }
    Ok(())
}

/// The settings of a search.
fn search_settings(parsed: &Parsed, of: Searched) -> Result<SearchSettings> {
    let duration = |name: &str| {
        let given = parsed.value(name);
        let read = |_| settings::duration(parsed, name, Duration::ZERO);
        given.map(read).transpose()
    };
    let count = |name: &str| {
        let given = parsed.value(name);
        let read = |_| settings::count(parsed, name, 0);
        given.map(read).transpose()
    };
    Ok(SearchSettings {
        from: from(parsed, of)?,
        width: settings::share(parsed, "width")?,
        votes: count("votes")?,
        thorough: parsed.has("thorough"),
        time: duration("time")?,
        settle: duration("warmup")?,
        sessions: count("sessions")?,
        // 0 means a different seed in each run.
        seed: count("seed")?.filter(|seed| *seed > 0),
    })
}

fn from(parsed: &Parsed, of: Searched) -> Result<Option<f64>> {
    let Some(text) = parsed.value("from") else {
        return Ok(None);
    };
    let load = match of {
        Searched::Rate => units::parse_rate(text).map_err(|error| error.to_string()),
        Searched::Sessions => units::parse_count(text)
            .map(|count| count as f64)
            .map_err(|error| error.to_string()),
    };
    let load = load.map_err(|error| usage(format!("--from: {error}")))?;
    match load > 0.0 {
        true => Ok(Some(load)),
        false => Err(usage("--from must be above 0")),
    }
}

/// The user's name for the search, or a unique one.
fn name(parsed: &Parsed, workload: &str) -> Result<String> {
    let factors = crate::record_options::factors(parsed)?;
    if factors.contains_key(OFFERED) {
        return Err(usage(format!("--factor: the search itself sets {OFFERED}")));
    }
    let given = factors.get(FACTOR).cloned();
    Ok(given.unwrap_or_else(|| new_name(workload, wall_time().as_secs_f64()).replace(',', "-")))
}

#[cfg(test)]
mod tests;
