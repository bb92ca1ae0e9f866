//! What a crash may cost of what was acknowledged.

use serde::{Deserialize, Serialize};

/// What a crash may cost a run, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Durability {
    /// The worst class of everything that counts.
    pub class: DurabilityClass,
    /// What decides it: settings as `name = value`, and findings in words. Empty where each commit
    /// is durable.
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

/// What a crash may cost, from the least to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DurabilityClass {
    /// Nothing that was acknowledged.
    Durable,
    /// No statement that was acknowledged; but a part of a transaction may be left.
    Statement,
    /// What the log was not yet synced with: it is, once a second.
    LastSecond,
    /// As much as the system had not yet written, without a bound of the server's.
    LastCommits,
    /// What the server kept in its own memory.
    Process,
    /// Everything, when the host goes down.
    Host,
    /// All rows of a table, when the server goes down.
    Emptied,
    /// The database.
    Damaged,
    /// There is nothing to lose: it was never committed.
    Uncommitted,
}

impl DurabilityClass {
    /// Its name, as runs show and compare it.
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

    /// Whether a figure must not keep it to itself: it is a doubt.
    pub fn is_doubted(self) -> bool {
        self >= Self::Host
    }
}
