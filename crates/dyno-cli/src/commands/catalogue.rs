//! Dyno's commands as data: what manual pages and completions are made from. Names and lines come
//! from the help, options from the definitions that the commands parse by.

use anyhow::Result;
use serde_json::{Value, json};

use super::{COMMANDS, HELP};
use crate::definitions::{
    AGENT, COMPARE, DOCTOR, EXPORT, FLEET, IMPORT, LAB, LIST, PHASES, REPORT, RM, RUN, SERVER,
    SHOW, SYSBENCH, TABLE, TOP, WAIVE, means_something, search,
};
use crate::options::{Grammar, Opt};
use crate::settings::usage;
use crate::{STATUS_DONE, console};
use dyno_run::builtins;

/// Where the help begins to tell of a command, after the line's indent.
const COLUMN: usize = 20;

/// What a command's words are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// It takes none.
    Nothing,
    /// One workload.
    Workload,
    /// One recorded run.
    Run,
    /// Any number of recorded runs.
    Runs,
    /// A recorded run, then checks with reasons.
    RunAndChecks,
    /// What there is to list.
    Lists,
    /// Another tool, then its logs.
    Logs,
    /// What to do with an experiment, then its file.
    Experiments,
    /// What to do with servers, then their names.
    Servers,
    /// What to do with a bus, then its folder and the names of agents.
    Bus,
    /// A command or a workload.
    Topic,
    /// A shell.
    Shell,
    /// A workload, then one of its commands.
    Sysbench,
}

/// A command of Dyno.
#[derive(Clone, Debug)]
pub struct Command {
    /// Its name.
    pub name: &'static str,
    /// What the help shows after its name; empty where that is nothing.
    pub arguments: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// What its words are.
    pub words: Words,
    /// Its options, without those of a workload.
    pub options: Vec<Opt>,
    /// How they are written.
    pub grammar: Grammar,
}

/// The command of this name.
pub fn find(name: &str) -> Option<Command> {
    COMMANDS.contains(&name).then(|| command(name))
}

/// All commands, in the help's order.
pub fn all() -> impl Iterator<Item = Command> {
    let lines = HELP.lines().filter_map(|line| line.strip_prefix("  "));
    let names = lines.filter_map(|line| line.split(' ').next());
    names.filter_map(find)
}

fn command(name: &str) -> Command {
    let (words, options) = takes(name);
    let (head, about) = told(name);
    let (name, arguments) = head.split_once(' ').unwrap_or((head, ""));
    Command {
        name,
        arguments,
        about,
        words,
        options: match words {
            Words::Workload => {
                let meant = |opt: &&Opt| means_something(name, opt);
                options.iter().filter(meant).copied().collect()
            }
            _ => options.to_vec(),
        },
        grammar: match words {
            Words::Sysbench => Grammar::Sysbench,
            _ => Grammar::Dyno,
        },
    }
}

fn takes(name: &str) -> (Words, &'static [Opt]) {
    match name {
        "show" => (Words::Run, SHOW),
        "list" => (Words::Lists, LIST),
        "report" => (Words::Runs, REPORT),
        "compare" => (Words::Runs, COMPARE),
        "table" => (Words::Nothing, TABLE),
        "phases" => (Words::Runs, PHASES),
        "export" => (Words::Run, EXPORT),
        "import" => (Words::Logs, IMPORT),
        "waive" => (Words::RunAndChecks, WAIVE),
        "rm" => (Words::Runs, RM),
        "top" => (Words::Nothing, TOP),
        "agent" => (Words::Nothing, AGENT),
        "fleet" => (Words::Bus, FLEET),
        "doctor" => (Words::Nothing, DOCTOR),
        "lab" => (Words::Experiments, LAB),
        "server" => (Words::Servers, SERVER),
        "sysbench" => (Words::Sysbench, SYSBENCH),
        "completions" => (Words::Shell, &[]),
        "help" => (Words::Topic, &[]),
        "search" => (Words::Workload, search()),
        _ => (Words::Workload, RUN),
    }
}

/// How the help tells of a command: its head and what stands beside it.
fn told(name: &str) -> (&'static str, &'static str) {
    let lines = HELP.lines().filter_map(|line| line.strip_prefix("  "));
    let mut heads = lines.filter_map(|line| {
        let (column, _) = line.char_indices().nth(COLUMN)?;
        Some(line.split_at(column))
    });
    let found = heads.find(|(head, _)| head.split(' ').next() == Some(name));
    found.map_or(("", ""), |(head, about)| (head.trim_end(), about))
}

/// Prints the catalogue in the format asked for.
///
/// # Errors
/// A format other than JSON.
pub fn main(args: &[String]) -> Result<u8> {
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--format", "json"] | ["--format=json"] => {
            console::json(&(serde_json::to_string_pretty(&as_json())? + "\n"));
            Ok(STATUS_DONE)
        }
        _ => Err(usage("dyno help takes --format json and no other")),
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
        "commands": all().map(of_command).collect::<Vec<_>>(),
        "workloads": workloads.collect::<Vec<_>>(),
        "tests": tests.collect::<Vec<_>>(),
    })
}

fn of_command(command: Command) -> Value {
    let shown = command.options.iter().filter(|opt| !opt.help.is_empty());
    json!({
        "name": command.name,
        "arguments": command.arguments,
        "about": command.about,
        "equals_only": command.grammar == Grammar::Sysbench,
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
    fn every_command_is_told_of_with_its_words_and_options() {
        let names: Vec<&str> = all().map(|command| command.name).collect();
        for name in COMMANDS {
            let count = names.iter().filter(|known| **known == name).count();
            assert_eq!(count, 1, "{name}");
        }
        for command in all() {
            let about = command.about;
            assert!(!about.is_empty() && !about.starts_with(' '), "{about}");
            assert!(!command.arguments.ends_with(' '), "{}", command.name);
            let optionless = [Words::Topic, Words::Shell].contains(&command.words);
            assert_eq!(command.options.is_empty(), optionless, "{}", command.name);
        }
        let run = find("run").unwrap();
        assert_eq!((run.arguments, run.words), ("WORKLOAD", Words::Workload));
    }

    #[test]
    fn help_says_which_options_repeat() {
        for command in all() {
            for opt in command.options {
                let says = opt.help.contains("may be repeated");
                assert_eq!(opt.repeats, says, "{} --{}", command.name, opt.name);
            }
        }
    }

    #[test]
    fn the_json_has_what_the_definitions_have() {
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
