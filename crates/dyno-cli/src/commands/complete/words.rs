//! Finds the position of the last word on the command line, and so its completions.

use std::path::PathBuf;

use dyno_host::Edition;

use super::script::Declared;
use super::{Answer, choices, recorded};
use crate::commands::catalogue::{self, COMMANDS, Words};
use crate::definitions::RUN;
use crate::options::{Grammar, Opt, Parsed, Script, find_own, parse};
use crate::run_store;

/// Completes `current`, the word after `before`.
pub(super) fn after(before: &[String], current: &str) -> Answer {
    let Some((name, args)) = before.split_first() else {
        return first(current);
    };
    let (words, grammar, options) = match catalogue::find(name) {
        Some(command) => (command.words, command.grammar(), command.options()),
        None if name.starts_with('-') => return Answer::default(),
        // A script can have its own commands.
        None => (Words::Workload, Grammar::Dyno, RUN.to_vec()),
    };
    let read = |args| parse(args, &options, Script::Unknown, grammar);
    // The last option may still lack its value.
    let parsed = read(args).or_else(|_| read(&args[..args.len().saturating_sub(1)]));
    let parsed = parsed.unwrap_or_default();
    Line {
        words,
        grammar,
        options,
        args,
        parsed,
    }
    .complete(current)
}

fn first(current: &str) -> Answer {
    if current.starts_with('-') {
        return Answer::of(["--help", "--version"]);
    }
    let commands = COMMANDS.iter();
    Answer {
        candidates: commands
            .map(|command| (command.name.to_owned(), command.about.to_owned()))
            .collect(),
        ..Answer::default()
    }
}

/// A command line up to the incomplete word.
struct Line<'a> {
    words: Words,
    grammar: Grammar,
    options: Vec<Opt>,
    args: &'a [String],
    parsed: Parsed,
}

impl Line<'_> {
    fn complete(&self, current: &str) -> Answer {
        if current.starts_with("--")
            && let Some((option, value)) = current.split_once('=')
        {
            let values = self.values(option, value, true).unwrap_or_default();
            return values.behind(&format!("{option}="));
        }
        let waiting = match self.grammar {
            // As in the parser: a word that begins with two dashes is not a value.
            Grammar::Dyno if !current.starts_with("--") => self.args.last(),
            _ => None,
        };
        if let Some(option) = waiting.filter(|word| word.starts_with('-'))
            && let Some(values) = self.values(option, current, false)
        {
            return values;
        }
        match current.starts_with('-') {
            true => self.options(),
            false => self.words(current),
        }
    }

    /// The values of an option as typed; `None` if the next word is not its value.
    fn values(&self, typed: &str, current: &str, equals: bool) -> Option<Answer> {
        let name = typed.trim_start_matches('-');
        match find_own(&self.options, name) {
            Some(opt) => {
                let leads = opt.leads && self.parsed.words.is_empty();
                let takes = opt.value.is_some() && (equals || leads || !opt.bare);
                takes.then(|| choices::values(opt, current, self.parsed.value("results")))
            }
            None if typed.contains('=') => None,
            None => self.workload()?.values(name, equals),
        }
    }

    fn options(&self) -> Answer {
        let equals = self.grammar == Grammar::Sysbench;
        let given = |opt: &Opt| self.parsed.has(opt.name) && !opt.repeats;
        let shown = self.options.iter();
        let shown = shown.filter(|opt| !opt.help.is_empty() && !given(opt));
        let own = shown.map(|opt| {
            let end = match equals && opt.value.is_some() && !opt.bare {
                true => "=",
                false => "",
            };
            (format!("--{}{end}", opt.name), opt.help.to_owned())
        });
        let mut candidates: Vec<(String, String)> = own.collect();
        if candidates.is_empty() && self.words == Words::Topic {
            candidates.push(("--format".to_owned(), String::new()));
        }
        if let Some(workload) = self.workload() {
            let declared: Vec<_> = workload.options(equals).collect();
            candidates.retain(|(name, _)| !declared.iter().any(|(other, _)| other == name));
            // The workload's own options come first.
            candidates.splice(0..0, declared);
        }
        Answer {
            candidates,
            open: equals,
            ..Answer::default()
        }
    }

    /// The workload on the line, loaded.
    fn workload(&self) -> Option<Declared> {
        let edition = match self.words {
            Words::Workload => Edition::Dyno,
            Words::Sysbench => Edition::Sysbench,
            _ => return None,
        };
        Declared::load(self.parsed.words.first()?, edition)
    }

    fn words(&self, current: &str) -> Answer {
        let there = self.parsed.words.len();
        match (self.words, there) {
            (Words::Nothing, _) => Answer::default(),
            (Words::Workload | Words::Sysbench, 0) | (Words::Sides, 0..=2) => workloads(),
            (Words::Sysbench, 1) => self.commands(),
            (Words::Run | Words::RunAndChecks, 0) | (Words::Runs, _) => {
                recorded::runs(self.file(), current)
            }
            (Words::RunAndChecks, _) if !current.contains('=') => choices::checks(),
            (Words::Lists, 0) => Answer::of(["workloads", "runs"]),
            (Words::Logs, 0) => Answer::of(dyno_import::Tool::ALL.map(dyno_import::Tool::name)),
            (Words::Logs, _) => Answer::of_files(),
            (Words::Experiments, 0) => Answer {
                candidates: crate::commands::lab::ACTIONS
                    .map(|(name, _, about)| (name.to_owned(), about.to_owned()))
                    .into(),
                ..Answer::default()
            },
            (Words::Experiments, _) => Answer::of_files(),
            (Words::Servers, at) => self.servers(at),
            (Words::Bus, 0) => Answer::of(["keys"]),
            (Words::Bus, 1) => Answer::of_files(),
            (Words::Topic, 0) => topics(current),
            (Words::Command, 0) => first(current),
            (Words::Shell, 0) => Answer::of(super::super::completions::SHELLS),
            _ => Answer::default(),
        }
    }

    /// Actions on servers, kinds of servers, or existing servers.
    fn servers(&self, at: usize) -> Answer {
        use crate::commands::server::ACTIONS;
        let action = self.parsed.words.first().map_or("", String::as_str);
        match (at, action) {
            (0, _) => Answer {
                candidates: ACTIONS
                    .map(|(name, _, about)| (name.to_owned(), about.to_owned()))
                    .into(),
                ..Answer::default()
            },
            (1, "up") => Answer::of(["mariadb", "myrocks", "mysql", "postgresql"]),
            (1, "restart" | "logs" | "url" | "snapshot" | "restore") | (_, "down") => {
                let home = dyno_server::Home::of_user();
                let folders = home.and_then(|home| home.folders()).unwrap_or_default();
                let names = folders
                    .iter()
                    .map(|folder| (folder.name().to_owned(), String::new()));
                Answer {
                    candidates: names.collect(),
                    ..Answer::default()
                }
            }
            _ => Answer::default(),
        }
    }

    /// The commands of a workload in sysbench's syntax.
    fn commands(&self) -> Answer {
        let Some(workload) = self.workload() else {
            return Answer::default();
        };
        let mut names: Vec<&str> = workload.commands().collect();
        names.sort_unstable();
        names.dedup();
        Answer::of(names)
    }

    fn file(&self) -> Option<PathBuf> {
        run_store::file(&self.parsed)
    }
}

fn workloads() -> Answer {
    Answer {
        candidates: choices::workloads().collect(),
        files: true,
        ..Answer::default()
    }
}

fn topics(current: &str) -> Answer {
    let mut answer = first(current);
    answer.candidates.extend(choices::workloads());
    answer
}
