//! Options of `dyno run` that do not apply to the tests of the host.

use anyhow::{Result, anyhow};
use dyno_core::Clock;
use dyno_host::fileio::{Progress, size};
use dyno_host::{Plan, Test};
use dyno_load::{StopLevel, StopSignal};

use crate::console;
use crate::definitions::RUN;
use crate::options::{Grammar, Opt, Parsed, help};
use crate::settings::usage;

/// Rejects options without effect.
///
/// # Errors
/// There is such an option.
pub(crate) fn refuse_meaningless(test: &Test, parsed: &Parsed) -> Result<()> {
    let mut given = RUN.iter().filter(|opt| parsed.has(opt.name));
    let Some(opt) = given.find(|opt| !opt.applies_to_test(test)) else {
        return Ok(());
    };
    let why = match opt.name {
        "workers" => "each of its sessions has its own thread",
        name if name.starts_with("rand-") => "it uses no random distribution",
        _ => "it measures this host and uses neither a database nor a script",
    };
    Err(usage(format!(
        "--{} does not apply to {}: {why}",
        opt.name, test.name
    )))
}

/// Help on the options that apply.
pub(crate) fn run_help(test: &Test) -> String {
    let options = RUN.iter().filter(|opt| opt.applies_to_test(test));
    let options: Vec<Opt> = options.copied().collect();
    help(&options, Grammar::Dyno)
}

/// Runs a command of the test, with a short report.
///
/// # Errors
/// The test has no commands, or files cannot be created or removed.
pub(crate) fn command(plan: &Plan, name: &str, stop: &StopSignal, quiet: bool) -> Result<()> {
    let begun = Clock.now();
    let mut last = String::new();
    let mut on_progress = |progress| match progress {
        Progress::File(how, number) if !quiet => {
            console::progress(&format!("{how} test_file.{number}"));
        }
        Progress::Begin | Progress::File(..) => {}
        Progress::Written(0) => last = "All files already existed.".to_owned(),
        Progress::Written(bytes) => {
            let seconds = (Clock.now() - begun) as f64 / 1e9;
            let mib_s = bytes as f64 / 1_048_576.0 / seconds.max(1e-9);
            last = format!(
                "Wrote {}B in {seconds:.1} s ({mib_s:.0} MiB/s).",
                size(bytes)
            );
        }
        Progress::Removing => last = "Removed the test's files.".to_owned(),
    };
    let stopped = || stop.level() > StopLevel::None;
    let result = plan.command(name, &mut on_progress, &stopped);
    if !quiet {
        console::progress("");
    }
    result.map_err(|why| anyhow!(why))?;
    if !quiet {
        console::note(&last);
    }
    Ok(())
}
