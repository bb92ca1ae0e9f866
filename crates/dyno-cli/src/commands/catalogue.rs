//! Dyno's commands, one row each. Dispatch, help, completion, manual pages and the JSON catalogue
//! use them.

use std::fmt::Write as _;

use anyhow::Result;
use dyno_run::builtins;
use serde_json::{Value, json};

pub(crate) use super::command::{Command, Words};
use super::{
    agent, compare, completions, doctor, duet as duet_of, export, fleet, history, import, lab,
    list, man, pivot, report, rm, run, search as search_for, server, show, sysbench, tables, top,
    waive,
};
use crate::definitions::{
    AGENT, COMPARE, DOCTOR, EXPORT, FLEET, HISTORY, IMPORT, LAB, LIST, PHASES, REPORT, RM, RUN,
    SERVER, SHOW, SYSBENCH, TABLE, TOP, WAIVE, duet, search,
};
use crate::options::{Grammar, Opt};
use crate::settings::usage;
use crate::{STATUS_DONE, console};

/// Width of a command with its arguments in the help, after the indent.
const COLUMN: usize = 20;

/// All commands, in the order of the help.
pub(crate) const COMMANDS: &[Command] = &[
    Command {
        name: "run",
        arguments: "WORKLOAD",
        about: "Load a target, measure it, and judge the result",
        block: 0,
        words: Words::Workload,
        options: || RUN,
        run: |args| run::main(args, "run"),
    },
    Command {
        name: "prepare",
        arguments: "WORKLOAD",
        about: "Create and fill the workload's tables",
        block: 0,
        words: Words::Workload,
        options: || RUN,
        run: |args| run::main(args, "prepare"),
    },
    Command {
        name: "check",
        arguments: "WORKLOAD",
        about: "Check the data that runs left behind",
        block: 0,
        words: Words::Workload,
        options: || RUN,
        run: |args| run::main(args, "check"),
    },
    Command {
        name: "cleanup",
        arguments: "WORKLOAD",
        about: "Drop the workload's tables",
        block: 0,
        words: Words::Workload,
        options: || RUN,
        run: |args| run::main(args, "cleanup"),
    },
    Command {
        name: "warmup",
        arguments: "WORKLOAD",
        about: "Read the workload's tables into the server's cache",
        block: 0,
        words: Words::Workload,
        options: || RUN,
        run: |args| run::main(args, "warmup"),
    },
    Command {
        name: "saturate",
        arguments: "WORKLOAD",
        about: "Increase sessions step by step; find the saturation point",
        block: 0,
        words: Words::Workload,
        options: || RUN,
        run: |args| run::main(args, "saturate"),
    },
    Command {
        name: "search",
        arguments: "WORKLOAD",
        about: "Find the highest load that keeps a promise ('p99 < 10ms')",
        block: 0,
        words: Words::Workload,
        options: search,
        run: |args| search_for::main(&args),
    },
    Command {
        name: "duet",
        arguments: "A B WORKLOAD",
        about: "Compare two sides precisely, in short alternating slices",
        block: 0,
        words: Words::Sides,
        options: duet,
        run: duet_of::main,
    },
    Command {
        name: "calibrate",
        arguments: "WORKLOAD",
        about: "Measure the load generator's own ceiling",
        block: 0,
        words: Words::Workload,
        options: || RUN,
        run: |args| run::main(args, "calibrate"),
    },
    Command {
        name: "show",
        arguments: "[RUN]",
        about: "Print a recorded run (--findings lists every check)",
        block: 1,
        words: Words::Run,
        options: || SHOW,
        run: |args| show::main(&args[2..]),
    },
    Command {
        name: "list",
        arguments: "[runs]",
        about: "List the workloads, or the recorded runs",
        block: 1,
        words: Words::Lists,
        options: || LIST,
        run: |args| list::main(&args[2..]),
    },
    Command {
        name: "report",
        arguments: "[RUN…]",
        about: "Write runs as one HTML page, Markdown or JUnit XML",
        block: 1,
        words: Words::Runs,
        options: || REPORT,
        run: |args| report::main(&args[2..]),
    },
    Command {
        name: "compare",
        arguments: "BASE NEW…",
        about: "Compare runs: ratios with intervals, and what differs",
        block: 1,
        words: Words::Runs,
        options: || COMPARE,
        run: |args| compare::main(&args[2..]),
    },
    Command {
        name: "table",
        arguments: "--rows NAME",
        about: "Print a table of one figure by the levels of factors",
        block: 1,
        words: Words::Nothing,
        options: || TABLE,
        run: |args| pivot::main(&args[2..]),
    },
    Command {
        name: "history",
        arguments: "[RUN…]",
        about: "Find lasting changes over the runs of a plan",
        block: 1,
        words: Words::Runs,
        options: || HISTORY,
        run: |args| history::main(&args[2..]),
    },
    Command {
        name: "phases",
        arguments: "SEQUENCE…",
        about: "Print per-phase tables of a multi-phase workload",
        block: 1,
        words: Words::Runs,
        options: || PHASES,
        run: |args| tables::main(&args[2..]),
    },
    Command {
        name: "export",
        arguments: "[RUN]",
        about: "Write a run as JSON, CSV, OpenMetrics or HdrHistogram log",
        block: 1,
        words: Words::Run,
        options: || EXPORT,
        run: |args| export::main(&args[2..]),
    },
    Command {
        name: "import",
        arguments: "TOOL FILE…",
        about: "Import logs of sysbench, pgbench, fio and HammerDB",
        block: 1,
        words: Words::Logs,
        options: || IMPORT,
        run: |args| import::main(&args),
    },
    Command {
        name: "waive",
        arguments: "RUN CHECK=WHY",
        about: "Exclude a finding from the verdict, with a reason",
        block: 1,
        words: Words::RunAndChecks,
        options: || WAIVE,
        run: |args| waive::main(&args[2..]),
    },
    Command {
        name: "rm",
        arguments: "RUN…",
        about: "Delete runs from the results file",
        block: 1,
        words: Words::Runs,
        options: || RM,
        run: |args| rm::main(&args[2..]),
    },
    Command {
        name: "top",
        arguments: "",
        about: "Watch a server, a proxy or a run live",
        block: 2,
        words: Words::Nothing,
        options: || TOP,
        run: |args| top::main(&args[2..]),
    },
    Command {
        name: "agent",
        arguments: "",
        about: "Join a run as one of several load generators",
        block: 2,
        words: Words::Nothing,
        options: || AGENT,
        run: |args| agent::main(&args[2..]),
    },
    Command {
        name: "fleet",
        arguments: "ACTION",
        about: "Make keys for agents; collect a run from agents' files",
        block: 2,
        words: Words::Bus,
        options: || FLEET,
        run: |args| fleet::main(&args[2..]),
    },
    Command {
        name: "doctor",
        arguments: "",
        about: "Check whether a host and a server are fit to be measured",
        block: 2,
        words: Words::Nothing,
        options: || DOCTOR,
        run: |args| doctor::main(&args[2..]),
    },
    Command {
        name: "lab",
        arguments: "ACTION FILE",
        about: "Plan, run, report and publish experiments",
        block: 2,
        words: Words::Experiments,
        options: || LAB,
        run: |args| lab::main(&args[2..]),
    },
    Command {
        name: "server",
        arguments: "ACTION",
        about: "Start and stop database servers to load",
        block: 2,
        words: Words::Servers,
        options: || SERVER,
        run: |args| server::main(&args[2..]),
    },
    Command {
        name: "sysbench",
        arguments: "…",
        about: "Take sysbench's command line and print its report",
        block: 3,
        words: Words::Sysbench,
        options: || SYSBENCH,
        run: |mut args| sysbench::main(args.split_off(1)),
    },
    Command {
        name: "completions",
        arguments: "SHELL",
        about: "Print a shell completion script (bash, zsh, fish)",
        block: 3,
        words: Words::Shell,
        options: || &[],
        run: |args| completions::main(&args[2..]),
    },
    Command {
        name: "man",
        arguments: "[COMMAND]",
        about: "Print a manual page (dyno man run | man -l -)",
        block: 3,
        words: Words::Command,
        options: || &[],
        run: |args| man::main(&args[2..], COMMANDS),
    },
    Command {
        name: "help",
        arguments: "COMMAND",
        about: "Print a command's options, or a workload's",
        block: 3,
        words: Words::Topic,
        options: || &[],
        run: |args| super::help_on(&args),
    },
];

/// Finds a command by name.
pub(crate) fn find(name: &str) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.name == name)
}

/// The help lines of all commands.
pub(crate) fn lines() -> String {
    let mut text = String::new();
    let mut block = 0;
    for command in COMMANDS {
        if command.block != block {
            block = command.block;
            text.push('\n');
        }
        let head = format!("{} {}", command.name, command.arguments);
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {:COLUMN$}{}", head.trim_end(), command.about);
    }
    text
}

/// Prints the catalogue.
///
/// # Errors
/// A format other than JSON.
pub(crate) fn main(args: &[String]) -> Result<u8> {
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--format", "json"] | ["--format=json"] => {
            console::json(&(serde_json::to_string_pretty(&as_json())? + "\n"));
            Ok(STATUS_DONE)
        }
        _ => Err(usage("dyno help supports only --format json")),
    }
}

fn as_json() -> Value {
    let abouts = builtins::ABOUT.iter();
    let scripts = abouts.filter(|(_, about)| !about.is_empty());
    let workloads = scripts.map(|(name, about)| json!({ "name": name, "about": about }));
    let tests = dyno_host::TESTS.iter();
    let tests = tests.map(|test| json!({ "name": test.name, "about": test.about }));
    json!({
        "name": "dyno",
        "version": env!("CARGO_PKG_VERSION"),
        "commands": COMMANDS.iter().map(of_command).collect::<Vec<_>>(),
        "workloads": workloads.collect::<Vec<_>>(),
        "tests": tests.collect::<Vec<_>>(),
    })
}

fn of_command(command: &Command) -> Value {
    let options = command.options();
    let shown = options.iter().filter(|opt| !opt.help.is_empty());
    json!({
        "name": command.name,
        "arguments": command.arguments,
        "about": command.about,
        "equals_only": command.grammar() == Grammar::Sysbench,
        "options": shown.map(of_option).collect::<Vec<_>>(),
    })
}

fn of_option(opt: &Opt) -> Value {
    json!({
        "name": opt.name,
        "short": opt.short,
        "aliases": opt.aliases,
        "value": opt.value,
        "value_is_optional": opt.bare,
        "repeats": opt.repeats,
        "values": opt.choices,
        "help": opt.help,
        "group": opt.group,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_unique_name_and_a_line_within_80_columns() {
        for command in COMMANDS {
            let same = COMMANDS.iter().filter(|other| other.name == command.name);
            assert_eq!(same.count(), 1, "{}", command.name);
            let optionless = [Words::Topic, Words::Command, Words::Shell].contains(&command.words);
            assert_eq!(command.options().is_empty(), optionless, "{}", command.name);
        }
        let wide = lines()
            .lines()
            .find(|line| line.chars().count() > 80)
            .map(str::to_owned);
        assert_eq!(wide, None);
        assert!(COMMANDS.is_sorted_by_key(|command| command.block));
    }

    #[test]
    fn help_marks_repeatable_options() {
        for command in COMMANDS {
            for opt in command.options() {
                let says = opt.help.contains("may be repeated");
                assert_eq!(opt.repeats, says, "{} --{}", command.name, opt.name);
            }
        }
    }

    #[test]
    fn the_json_matches_the_definitions() {
        let json = as_json();
        let commands = json["commands"].as_array().unwrap();
        let show = commands.iter().find(|c| c["name"] == "show").unwrap();
        let names = show["options"].as_array().unwrap().iter();
        let names: Vec<_> = names.map(|opt| opt["name"].as_str().unwrap()).collect();
        let defined: Vec<_> = SHOW.iter().map(|opt| opt.name).collect();
        assert_eq!(names, defined);
        assert!(main(&["--format".to_owned(), "xml".to_owned()]).is_err());
    }
}
