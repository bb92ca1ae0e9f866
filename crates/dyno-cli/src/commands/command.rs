//! A row of the table of commands in `catalogue.rs`.

use anyhow::Result;

use crate::options::{Grammar, Opt};

/// A command's arguments that are not options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    /// None.
    Nothing,
    /// One workload.
    Workload,
    /// Two sides, then a workload.
    Sides,
    /// One recorded run.
    Run,
    /// Any number of recorded runs.
    Runs,
    /// A recorded run, then checks with reasons.
    RunAndChecks,
    /// `workloads` or `runs`.
    Lists,
    /// Another tool, then its logs.
    Logs,
    /// An action on an experiment, then its file.
    Experiments,
    /// An action on servers, then their names.
    Servers,
    /// An action on a bus, then its folder and the names of agents.
    Bus,
    /// A command or a workload.
    Topic,
    /// A command.
    Command,
    /// A shell.
    Shell,
    /// A workload, then one of its commands.
    Sysbench,
}

/// A command of Dyno.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Command {
    /// Its name.
    pub name: &'static str,
    /// Its arguments in the help; may be empty.
    pub arguments: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Its section in the help: 0, 1, … The table is sorted by it.
    pub block: u8,
    /// The words that it takes.
    pub words: Words,
    /// The options that it accepts.
    pub options: fn() -> &'static [Opt],
    /// Runs it with all arguments: the program, the command and the rest.
    pub run: fn(Vec<String>) -> Result<u8>,
}

impl Command {
    /// Its options, without those of a workload.
    pub(crate) fn options(&self) -> Vec<Opt> {
        let options = (self.options)().iter();
        let is_meant = |opt: &&Opt| self.words != Words::Workload || opt.applies_to(self.name);
        options.filter(is_meant).copied().collect()
    }

    /// The syntax of its options.
    pub(crate) fn grammar(&self) -> Grammar {
        match self.words {
            Words::Sysbench => Grammar::Sysbench,
            _ => Grammar::Dyno,
        }
    }
}
