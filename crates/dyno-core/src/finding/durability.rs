//! Durability classes: the acknowledged work that a crash may lose.

use serde::{Deserialize, Serialize};

use super::Finding;

/// The work that a crash may lose, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Durability {
    /// The worst class that applies.
    pub class: DurabilityClass,
    /// The reasons for the class: settings as `name = value`, and findings in words. Empty if each
    /// commit is durable.
    pub because: Vec<String>,
}

impl Durability {
    /// `lost on process crash because synchronous_commit = off`.
    pub fn words(&self) -> String {
        match self.because.as_slice() {
            [] => self.class.name().to_owned(),
            because => format!("{} because {}", self.class.name(), because.join(", ")),
        }
    }
}

/// The work that a crash may lose, from least to most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DurabilityClass {
    /// No acknowledged work.
    Durable,
    /// No acknowledged statement, but a transaction may remain half done.
    Statement,
    /// Log records not yet synced; the server syncs once a second.
    LastSecond,
    /// Everything the operating system had not yet written; the server sets no limit.
    LastCommits,
    /// What the server still had in its own memory.
    Process,
    /// All data, if the host goes down.
    Host,
    /// All rows of a table, if the server goes down.
    Emptied,
    /// The database.
    Damaged,
    /// Nothing to lose: the work was never committed.
    Uncommitted,
}

impl DurabilityClass {
    /// The class of a run with these findings; `None` if it is unknown or nothing was committed.
    pub fn of(findings: &[Finding]) -> Option<Self> {
        let mut found = findings.iter().filter_map(|own| own.durability.as_ref());
        found.next().map(|own| own.class)
    }

    /// The name of the class in output and comparisons.
    pub fn name(self) -> &'static str {
        match self {
            Self::Durable => "each commit durable",
            Self::Statement => "each statement durable, without transactions",
            Self::LastSecond => "last second lost on OS crash",
            Self::LastCommits => "last commits lost on OS crash",
            Self::Process => "lost on process crash",
            Self::Host => "all data lost on OS crash",
            Self::Emptied => "tables emptied by a crash",
            Self::Damaged => "may be damaged",
            Self::Uncommitted => "not committed",
        }
    }

    /// Whether the class raises a doubt, which figures must then show.
    pub fn is_doubted(self) -> bool {
        self >= Self::Host
    }
}
