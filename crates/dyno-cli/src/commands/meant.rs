//! Options of `dyno run` that apply to other commands on workloads.

use anyhow::Result;
use dyno_run::Loaded;

use super::host;
use crate::definitions::RUN;
use crate::options::{Grammar, Opt, Parsed, Scope, help};
use crate::settings::usage;

/// Rejects options that apply to runs only, except times, so that a run's command line can be
/// reused with another command.
///
/// # Errors
/// There is such an option.
pub(super) fn only_runs(parsed: &Parsed, command: &str) -> Result<()> {
    const LENGTHS: [&str; 3] = ["warmup", "grace", "ramp-up"];
    // These two have their own messages about numbers of sessions.
    if ["run", "saturate"].contains(&command) {
        return Ok(());
    }
    let mut given = RUN.iter().filter(|opt| parsed.has(opt.name));
    let passes = |opt: &Opt| opt.scope == Scope::Ladders || LENGTHS.contains(&opt.name);
    match given.find(|opt| !passes(opt) && !opt.applies_to(command)) {
        Some(opt) => Err(usage(format!(
            "--{} is an option of dyno run; dyno {command} does not use it",
            opt.name
        ))),
        None => Ok(()),
    }
}

/// Help on the command's options: the common ones, or all of them.
pub(super) fn options_help(command: &str, all: bool) -> String {
    let options = RUN.iter().filter(|opt| opt.applies_to(command));
    let options: Vec<Opt> = options.copied().collect();
    if all {
        return help(&options, Grammar::Dyno);
    }
    let common = options.iter().filter(|opt| opt.is_common);
    let common: Vec<Opt> = common
        .map(|opt| Opt {
            group: "Common options",
            ..*opt
        })
        .collect();
    let shown = options.iter().filter(|opt| !opt.help.is_empty()).count();
    format!(
        "{}  {:30} Print all {shown} options\n",
        help(&common, Grammar::Dyno),
        "    --help-all"
    )
}

/// A command's help for a workload, with the workload's own options.
pub(super) fn workload_help(command: &str, workload: &str, loaded: &Loaded, all: bool) -> String {
    let description = &loaded.description;
    let test = loaded.job.work.test();
    let target = if test.is_some() {
        ""
    } else {
        " [--target URL]"
    };
    let mut text = format!("Usage: dyno {command} {workload}{target} [options]\n");
    if let Some(options) = description
        .options
        .as_deref()
        .filter(|options| !options.is_empty())
    {
        text.push_str(&format!(
            "\nOptions of {workload}:\n{}",
            dyno_script::help(options)
        ));
    }
    let usual = ["prepare", "warmup", "check", "cleanup"];
    let defined = usual.into_iter().filter(|usual| {
        let mut functions = description.functions.iter();
        functions.any(|name| name == usual)
    });
    let listed = description.commands.iter().map(|(name, _)| name.as_str());
    let mut commands: Vec<&str> = listed.chain(defined).collect();
    commands.sort_unstable();
    commands.dedup();
    if !commands.is_empty() {
        text.push_str(&format!(
            "Commands of {workload}: {}\n",
            commands.join(", ")
        ));
    }
    text.push_str(&match test {
        Some(test) => host::run_help(test),
        None => options_help(command, all),
    });
    text
}
