//! Checks, before anything runs, that a workload can be searched.

use anyhow::{Context as _, Result};
use dyno_host::Edition;
use dyno_run::{Job, Loaded, Workload};

use super::ask::Ask;
use super::promise;
use crate::commands::host;
use crate::commands::run::options_of;
use crate::commands::target::target;
use crate::definitions::{RUN, search};
use crate::options::{Grammar, Script, help, parse};
use crate::settings::{self, usage};

/// Rejects an invalid target, unknown options, invalid values, and a workload of several runs.
///
/// # Errors
/// There is a mistake, or the script cannot be loaded.
pub fn check(ask: &Ask) -> Result<()> {
    let name = &ask.workload;
    let work = Workload::find(name, Edition::Dyno).map_err(|e| usage(e.to_string()))?;
    let args = ask.line.get(2..).unwrap_or_default();
    let target = match work.test() {
        Some(test) => {
            host::refuse_meaningless(test, &ask.parsed)?;
            None
        }
        None => {
            let first = parse(args, RUN, Script::Unknown, Grammar::Dyno)?;
            Some(target(&first, "search")?.0)
        }
    };
    let job = Job {
        target,
        ..Job::of(work)
    };
    let mut loaded =
        Loaded::new(job).with_context(|| format!("the script {name} cannot be loaded"))?;
    let declared = loaded.description.options.clone();
    let script = declared
        .as_deref()
        .map_or(Script::TakesAny, Script::Declares);
    let parsed = parse(args, RUN, script, Grammar::Dyno)?;
    if let Some(word) = parsed.words.get(1) {
        return Err(usage(format!("unexpected argument '{word}' after {name}")));
    }
    // A script that declares none gets its options unchecked; its runs report mistakes.
    let Some(declared) = declared else {
        return Ok(());
    };
    let own = settings::script_options(&declared, &parsed.script)?;
    let options = options_of(&loaded.job.drive, &own);
    match loaded.phases(&options)?.is_empty() {
        true => Ok(()),
        false => Err(usage(format!(
            "{name} has phases, each a separate run: dyno search cannot run it"
        ))),
    }
}

/// Help on searches, with the options of the workload that the arguments name.
pub fn help_on(args: &[String]) -> String {
    let parsed = parse(args, search(), Script::Unknown, Grammar::Dyno).unwrap_or_default();
    let mut words = parsed.words.iter();
    let name = words.find(|word| !promise::is_meant(word));
    let work = name.and_then(|name| Workload::find(name, Edition::Dyno).ok());
    let loaded = work.and_then(|work| Loaded::new(Job::of(work)).ok());
    let declared = loaded.and_then(|loaded| loaded.description.options);
    let declared = declared.filter(|options| !options.is_empty());
    let own = name
        .zip(declared)
        .map_or_else(String::new, |(name, options)| {
            format!("\nOptions of {name}:\n{}", dyno_script::help(&options))
        });
    format!(
        "Usage: dyno search WORKLOAD --target URL 'PROMISE' [options] [the workload's options]\n\n\
         PROMISE limits latencies, and optionally errors: 'p99 < 10ms',\n\
         'max rate with p99.9 < 50ms and errors < 0.1%', 'max sessions with p95 < 20ms'.\n\
         The rate is that of an open loop, in which latencies count from the time an event was \
         due.\n\
         {own}{}",
        help(search(), Grammar::Dyno)
    )
}
