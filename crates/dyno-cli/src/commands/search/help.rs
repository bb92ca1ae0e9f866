//! Help on searches.

use dyno_conduct::search::promise;
use dyno_host::Edition;
use dyno_run::{Job, Loaded, Workload};

use crate::definitions::search;
use crate::options::{Grammar, Script, help, parse};

/// Help on searches, with the options of the workload that the arguments name.
pub(super) fn help_on(args: &[String]) -> String {
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
