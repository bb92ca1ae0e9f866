//! One file per command.

mod agent;
mod calibrate;
pub(crate) mod catalogue;
mod command;
mod compare;
mod complete;
mod completions;
mod doctor;
mod drive;
mod duet;
mod execute;
mod export;
mod fleet;
#[cfg(test)]
mod guide_tests;
mod history;
pub(crate) mod host;
mod import;
mod kinds;
mod lab;
mod list;
mod man;
mod meant;
mod phases;
mod pivot;
mod planned;
mod plans;
mod report;
mod rm;
mod run;
mod runs;
mod saturate;
mod search;
mod server;
mod show;
pub(crate) mod sysbench;
mod tables;
pub(crate) mod target;
mod top;
mod waive;

use anyhow::Result;
use dyno_core::suggest::nearest;
use dyno_host::Edition;
use dyno_run::Workload;

use self::catalogue::COMMANDS;
use crate::options::find_own;
use crate::{STATUS_DONE, STATUS_USAGE, config, console};

fn overview() -> String {
    format!(
        "\
Dyno measures database servers: it applies a load, observes what the server does,
and says how far the figures can be trusted.

Usage: dyno <command> …

{}
A WORKLOAD is a name from `dyno list`, or the path of a Lua script written for sysbench or Dyno.
A RUN is `last`, a number or the beginning of a name; runs are recorded in dyno.db.

Start with:  dyno run oltp_read_write     (on a temporary SQLite database)
Then:        dyno prepare oltp_read_write --target mysql://user@host/db
             dyno run oltp_read_write --target mysql://user@host/db -c 64

`dyno help COMMAND` prints a command's options; `dyno help WORKLOAD` adds the workload's.
",
        catalogue::lines()
    )
}

/// Runs the command that the arguments name.
///
/// # Errors
/// The command failed.
pub(crate) fn dispatch(args: Vec<String>) -> Result<u8> {
    let Some(name) = args.get(1) else {
        console::help(&overview());
        return Ok(STATUS_USAGE);
    };
    if let Some(command) = catalogue::find(name) {
        return (command.run)(config::with_defaults(command, args)?);
    }
    match name.as_str() {
        "prewarm" => run::main(args.clone(), "prewarm"),
        "__complete" => Ok(complete::main(&args[2..])),
        "-h" | "--help" => whole_help(),
        "--help-all" => help_on_all(&args),
        "--version" | "-V" | "version" => {
            console::out(VERSION);
            Ok(STATUS_DONE)
        }
        other => {
            // A script can declare its own commands.
            let near = nearest_command(other).is_some();
            let workload = args.get(2).filter(|word| !word.starts_with('-'));
            let work = workload.and_then(|name| Workload::find(name, Edition::Dyno).ok());
            // A built-in workload has none with such a name.
            let may_be_its =
                work.is_some_and(|work| elsewhere(other).is_none() || !work.is_builtin());
            if may_be_its && !near && !other.starts_with('-') {
                let command = other.to_owned();
                return run::main(args, &command);
            }
            Err(unknown(other))
        }
    }
}

fn whole_help() -> Result<u8> {
    console::help(&overview());
    Ok(STATUS_DONE)
}

/// Help on every command, with all options.
fn help_on_all(args: &[String]) -> Result<u8> {
    console::help(&overview());
    for command in COMMANDS.iter().filter(|command| command.name != "help") {
        console::help("\n");
        let program = args.first().cloned().unwrap_or_default();
        let line = ["help", command.name, "--help-all"].map(str::to_owned);
        help_on(&std::iter::once(program).chain(line).collect::<Vec<_>>())?;
    }
    Ok(STATUS_DONE)
}

/// Help on a command, or on running a workload.
fn help_on(args: &[String]) -> Result<u8> {
    let program = args.first().cloned().unwrap_or_default();
    let all = |topic: &[&str]| {
        let words = topic.iter().map(|&word| word.to_owned());
        let whole = args.iter().any(|arg| arg == "--help-all");
        // The help of most commands has all options.
        let has_more = topic
            .first()
            .and_then(|name| catalogue::find(name))
            .is_none_or(|command| find_own(&command.options(), "help-all").is_some());
        let help = if whole && has_more {
            "--help-all"
        } else {
            "--help"
        };
        let help = words.chain([help.to_owned()]);
        dispatch(std::iter::once(program.clone()).chain(help).collect())
    };
    let Some(topic) = args.get(2) else {
        return whole_help();
    };
    match topic.as_str() {
        "help" | "-h" | "--help" => whole_help(),
        "--help-all" => help_on_all(args),
        format if format.starts_with("--format") => catalogue::main(&args[2..]),
        "prewarm" => all(&["prewarm"]),
        name if catalogue::find(name).is_some() => all(&[name]),
        name if Workload::find(name, Edition::Dyno).is_ok() => all(&["run", name]),
        other => Err(unknown(other)),
    }
}

/// Other names of commands, mostly those of other tools, and the command here.
const ELSEWHERE: &[(&str, &str)] = &[
    ("bench", "run"),
    ("benchmark", "run"),
    ("clean", "cleanup"),
    ("create", "prepare"),
    ("delete", "rm"),
    ("diff", "compare"),
    ("drop", "cleanup"),
    ("exec", "run"),
    ("execute", "run"),
    ("experiment", "lab"),
    ("findmax", "search"),
    ("html", "report"),
    ("import-log", "import"),
    ("import-logs", "import"),
    ("init", "prepare"),
    ("load", "prepare"),
    ("ls", "list"),
    ("monitor", "top"),
    ("plot", "report"),
    ("populate", "prepare"),
    ("remove", "rm"),
    ("results", "list runs"),
    ("runs", "list runs"),
    ("setup", "prepare"),
    ("test", "run"),
    ("verify", "check"),
    ("workloads", "list"),
];

/// The command here that has this name elsewhere.
fn elsewhere(word: &str) -> Option<&'static str> {
    let found = ELSEWHERE.iter().find(|(other, _)| *other == word);
    found.map(|(_, known)| *known)
}

fn unknown(word: &str) -> anyhow::Error {
    let hint = match (elsewhere(word), nearest_command(word)) {
        (Some(known), _) => format!("did you mean '{known}'?"),
        _ if Workload::find(word, Edition::Dyno).is_ok() => {
            format!("it is a workload: dyno run {word}")
        }
        (None, Some(known)) => format!("did you mean '{known}'?"),
        (None, None) => "see dyno --help".to_owned(),
    };
    crate::settings::usage(format!("unknown command '{word}'; {hint}"))
}

/// The nearest command or switch.
fn nearest_command(word: &str) -> Option<&'static str> {
    let commands = COMMANDS.iter().map(|command| command.name);
    nearest(word, commands.chain(["--help", "--version"]))
}

/// The version, the commit it was built from, and the target platform.
const VERSION: &str = concat!(
    "dyno ",
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("DYNO_BUILD_COMMIT"),
    ", ",
    env!("DYNO_BUILD_TRIPLE"),
    env!("DYNO_BUILD_LIBC"),
    ", ",
    env!("DYNO_BUILD_PROFILE"),
    ")\n"
);

#[cfg(test)]
mod tests {
    use super::*;

    /// `cargo run` passes variables of the build script to the program, where they would act as its
    /// own settings.
    #[test]
    fn the_build_sets_no_variable_that_the_program_reads() {
        let sets = include_str!("../../build.rs").split("rustc-env=").skip(1);
        let sets: Vec<&str> = sets.collect();
        assert_eq!(sets.len(), 1);
        assert!(sets.iter().all(|name| name.starts_with("DYNO_BUILD_")));
    }

    #[test]
    fn unknown_commands_are_answered_with_the_nearest_right_word() {
        for (typed, advice) in [
            ("rnu", "did you mean 'run'?"),
            ("comapre", "did you mean 'compare'?"),
            ("--verison", "did you mean '--version'?"),
            ("ls", "did you mean 'list'?"),
            ("runs", "did you mean 'list runs'?"),
            ("bench", "did you mean 'run'?"),
            ("import-log", "did you mean 'import'?"),
            ("tpcc", "it is a workload: dyno run tpcc"),
            ("mr", "did you mean 'rm'?"),
            ("foo", "see dyno --help"),
        ] {
            let error = unknown(typed).to_string();
            assert_eq!(error, format!("unknown command '{typed}'; {advice}"));
        }
    }

    #[test]
    fn names_of_other_tools_have_a_command_here() {
        for (other, known) in ELSEWHERE {
            assert!(catalogue::find(other).is_none(), "{other} is a command");
            let command = known.split(' ').next().unwrap();
            assert!(catalogue::find(command).is_some(), "{other}: {known}");
        }
        // Not a command of the workload, which has none of that name.
        let line = ["dyno", "bench", "oltp_read_write"].map(str::to_owned);
        let error = dispatch(line.into()).unwrap_err().to_string();
        assert_eq!(error, "unknown command 'bench'; did you mean 'run'?");
    }

    #[test]
    fn the_readme_names_every_command_and_no_other() {
        let readme = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md"));
        let list = readme.split_once("Dyno is one binary:").unwrap().1;
        let list = list.split_once("\n\n").unwrap().0;
        for command in COMMANDS.iter().filter(|command| command.name != "help") {
            let name = format!("`{}`", command.name);
            assert!(list.contains(&name), "{name} in README.md");
        }
        let mut quoted = list.split('`').skip(1).step_by(2);
        let unknown = quoted.find(|word| !word.starts_with('-') && catalogue::find(word).is_none());
        assert_eq!(unknown, None, "README.md");
    }
}
