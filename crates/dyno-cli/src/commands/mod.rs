//! One file per command.

mod agent;
mod calibrate;
mod catalogue;
mod compare;
mod complete;
mod completions;
mod doctor;
mod drive;
mod export;
mod fleet;
mod hints;
mod host;
mod import;
mod kinds;
mod lab;
mod list;
mod meant;
mod measure;
mod phases;
mod pivot;
mod plans;
mod report;
mod rm;
mod run;
mod runs;
mod saturate;
mod search;
mod server;
mod show;
pub mod sysbench;
mod tables;
mod target;
mod top;
mod waive;
mod within;

pub use run::run as run_workload;
pub use target::Password;
pub use within::Within;

use anyhow::Result;
use dyno_host::Edition;
use dyno_run::Workload;

use crate::{STATUS_DONE, STATUS_USAGE, console};

const HELP: &str = "\
Dyno, a dynamometer for databases: puts a load on a database server, measures
what it does, and says how far the figures can be believed.

Usage: dyno <command> …

  run WORKLOAD        load a target with a workload and report
  prepare WORKLOAD    make and fill the workload's tables
  check WORKLOAD      the workload's check of what a run has left, if it has one
  cleanup WORKLOAD    drop the workload's tables
  warmup WORKLOAD     have the server read the workload's tables, if the workload can
  saturate WORKLOAD   more and more sessions: what they add, what they cost, and the knee
  search WORKLOAD     the highest rate, or the most sessions, that keeps e.g. 'p99 < 10ms'
  calibrate WORKLOAD  how much the client could do if the server cost nothing

  show [RUN]          a run's summary again, from the results file; --findings has all checks
  list [runs]         the workloads that come with Dyno; the runs of the results file
  report [RUN…]       runs as one offline HTML file
  compare BASE NEW…   ratios with intervals, and what differs besides
  table --rows NAME   a figure for each level of what the runs vary (--factor), with ratios
  phases SEQUENCE…    the phases of workloads that have some, as tables
  export [RUN]        a run as JSON, CSV, OpenMetrics or HdrHistogram's log
  import TOOL FILE…   what sysbench, pgbench, fio, HammerDB printed, by the same rules
  waive RUN CHECK=WHY a finding that is not to count, and why
  rm RUN…             runs taken out of the results file, for good
  top                 a server, a proxy, or a run while it goes on, live on the terminal
  agent               one of several load generators of a run, where --agents does not start it
  fleet ACTION        keys: a bus for agents that join; collect: a run from agents' files
  doctor              is this host, is this server fit to be measured?
  lab ACTION FILE     experiments as one file: plan, run, resume, status, report
  server ACTION       database servers to load: up, down, restart, list, logs, snapshot …

  sysbench …          exactly sysbench's command line and report
  completions SHELL   what bash, zsh or fish needs to complete these command lines
  help COMMAND        its options; help WORKLOAD has the workload's as well

A workload is a name from `dyno list`, or the path of a Lua script written for sysbench or Dyno.
A RUN is `last`, a number or the beginning of a name; runs are kept in dyno.db.
Start with:  dyno run oltp_read_write     (on a temporary SQLite database)
Then:        dyno prepare oltp_read_write --target mysql://user@host/db
             dyno run oltp_read_write --target mysql://user@host/db -c 64

`dyno run --help` shows all options, `dyno run WORKLOAD --help` the workload's as well.
";

/// The commands by their names.
const COMMANDS: [&str; 27] = [
    "run",
    "prepare",
    "check",
    "cleanup",
    "warmup",
    "calibrate",
    "saturate",
    "search",
    "show",
    "report",
    "compare",
    "table",
    "phases",
    "export",
    "import",
    "waive",
    "rm",
    "top",
    "agent",
    "fleet",
    "doctor",
    "lab",
    "server",
    "list",
    "sysbench",
    "completions",
    "help",
];

/// Runs the command that the arguments name.
///
/// # Errors
/// Whatever the command could not do.
pub fn dispatch(mut args: Vec<String>) -> Result<u8> {
    let Some(command) = args.get(1).cloned() else {
        console::help(HELP);
        return Ok(STATUS_USAGE);
    };
    match command.as_str() {
        "run" | "prepare" | "check" | "cleanup" | "warmup" | "prewarm" | "calibrate"
        | "saturate" => run::main(args, &command),
        "search" => search::main(&args),
        "show" => show::main(&args[2..]),
        "report" => report::main(&args[2..]),
        "export" => export::main(&args[2..]),
        "compare" => compare::main(&args[2..]),
        "table" => pivot::main(&args[2..]),
        "phases" => tables::main(&args[2..]),
        "import" => import::main(&args),
        "waive" => waive::main(&args[2..]),
        "rm" => rm::main(&args[2..]),
        "top" => top::main(&args[2..]),
        "agent" => agent::main(&args[2..]),
        "fleet" => fleet::main(&args[2..]),
        "doctor" => doctor::main(&args[2..]),
        "lab" => lab::main(&args[2..]),
        "server" => server::main(&args[2..]),
        "list" => list::main(&args[2..]),
        "sysbench" => sysbench::main(args.split_off(1)),
        "completions" => completions::main(&args[2..]),
        "__complete" => Ok(complete::main(&args[2..])),
        "help" => match args.get(2).cloned() {
            Some(option) if option.starts_with("--format") => catalogue::main(&args[2..]),
            Some(topic) => help_on(args, topic),
            None => whole_help(),
        },
        "-h" | "--help" => whole_help(),
        "--version" | "-V" | "version" => {
            console::out(VERSION);
            Ok(STATUS_DONE)
        }
        other => {
            // A script may declare commands of its own.
            let near = nearest(other).is_some_and(|(_, distance)| distance <= 1);
            let workload = args.get(2).filter(|word| !word.starts_with('-'));
            let has_workload =
                workload.is_some_and(|name| Workload::find(name, Edition::Dyno).is_ok());
            if has_workload && !near && !other.starts_with('-') {
                return run::main(args, &command);
            }
            Err(unknown(other))
        }
    }
}

fn whole_help() -> Result<u8> {
    console::help(HELP);
    Ok(STATUS_DONE)
}

/// The help of a command, or of a workload's run.
fn help_on(args: Vec<String>, topic: String) -> Result<u8> {
    let program = args.into_iter().next().unwrap_or_default();
    let words = |words: &[&str]| {
        let words = words.iter().map(|&word| word.to_owned());
        std::iter::once(program.clone()).chain(words).collect()
    };
    if topic == "help" {
        return whole_help();
    }
    if COMMANDS.contains(&topic.as_str()) || topic == "prewarm" {
        return dispatch(words(&[&topic, "--help"]));
    }
    match Workload::find(&topic, Edition::Dyno) {
        Ok(_) => dispatch(words(&["run", &topic, "--help"])),
        Err(_) => Err(unknown(&topic)),
    }
}

/// What commands are called elsewhere.
const ELSEWHERE: [(&str, &str); 9] = [
    ("bench", "run"),
    ("benchmark", "run"),
    ("load", "prepare"),
    ("init", "prepare"),
    ("ls", "list"),
    ("diff", "compare"),
    ("html", "report"),
    ("test", "run"),
    ("findmax", "search"),
];

fn unknown(word: &str) -> anyhow::Error {
    let elsewhere = ELSEWHERE.iter().find(|(other, _)| *other == word);
    let hint = match (elsewhere, nearest(word)) {
        (Some((_, known)), _) => format!("did you mean '{known}'?"),
        _ if Workload::find(word, Edition::Dyno).is_ok() => {
            format!("it is a workload: dyno run {word}")
        }
        (None, Some((known, _))) => format!("did you mean '{known}'?"),
        (None, None) => "see dyno --help".to_owned(),
    };
    crate::settings::usage(format!("unknown command '{word}'; {hint}"))
}

/// The command or switch that is spelt most like it, and how many letters lie between them.
fn nearest(word: &str) -> Option<(&'static str, usize)> {
    // A third of the letters may be wrong: of short words any is like any.
    let room = (word.chars().count() / 3).max(1);
    let known = COMMANDS.iter().chain(&["--help", "--version"]);
    let distances = known.map(|known| (*known, strsim::osa_distance(known, word)));
    let nearest = distances.min_by_key(|(_, distance)| *distance);
    nearest.filter(|(_, distance)| *distance <= room)
}

/// The version, the commit it was built from, and for what.
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

    /// `cargo run` hands what a build script sets on to the program, whose own variables these
    /// would be.
    #[test]
    fn the_build_sets_no_variable_that_the_program_reads() {
        let sets = include_str!("../../build.rs").split("rustc-env=").skip(1);
        let sets: Vec<&str> = sets.collect();
        assert_eq!(sets.len(), 1);
        assert!(sets.iter().all(|name| name.starts_with("DYNO_BUILD_")));
    }

    #[test]
    fn unknown_commands_are_answered_with_the_nearest_right_word() {
        for (typed, told) in [
            ("rnu", "did you mean 'run'?"),
            ("comapre", "did you mean 'compare'?"),
            ("--verison", "did you mean '--version'?"),
            ("ls", "did you mean 'list'?"),
            ("tpcc", "it is a workload: dyno run tpcc"),
            ("mr", "did you mean 'rm'?"),
            ("man", "see dyno --help"),
        ] {
            let error = unknown(typed).to_string();
            assert_eq!(error, format!("unknown command '{typed}'; {told}"));
        }
    }

    #[test]
    fn the_help_and_the_readme_tell_of_every_command() {
        let readme = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md"));
        let list = readme.split_once("It is one binary:").unwrap().1;
        let list = list.split_once("\n\n").unwrap().0;
        for command in COMMANDS.into_iter().filter(|command| *command != "help") {
            let told = |line: &str| {
                let name = line
                    .strip_prefix("  ")
                    .and_then(|line| line.split(' ').next());
                name == Some(command)
            };
            assert!(HELP.lines().any(told), "{command} in the help");
            assert!(
                list.contains(&format!("`{command}`")),
                "{command} in README.md"
            );
        }
        let mut quoted = list.split('`').skip(1).step_by(2);
        let unknown = quoted.find(|word| !word.starts_with('-') && !COMMANDS.contains(word));
        assert_eq!(unknown, None, "README.md");
    }
}
