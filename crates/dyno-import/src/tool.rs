//! The benchmark tools whose logs become runs.

use std::fmt;

use dyno_core::record::Source;

use crate::Looks;

/// A tool whose logs are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// sysbench and sysbench-tpcc.
    Sysbench,
    /// pgbench: what it prints, and its logs of transactions.
    Pgbench,
    /// fio's JSON.
    Fio,
    /// HammerDB: its log, with the transaction counter's and the time profile's.
    Hammerdb,
}

impl Tool {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Sysbench, Self::Pgbench, Self::Fio, Self::Hammerdb];

    /// As it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sysbench => "sysbench",
            Self::Pgbench => "pgbench",
            Self::Fio => "fio",
            Self::Hammerdb => "hammerdb",
        }
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// What its logs look like.
    pub fn looks(self) -> Looks {
        match self {
            Self::Sysbench => Looks::Sysbench,
            Self::Pgbench => Looks::Pgbench,
            Self::Fio => Looks::Fio,
            Self::Hammerdb => Looks::Hammerdb,
        }
    }

    /// What a run of it says that it was made by.
    pub fn source(self) -> Source {
        match self {
            Self::Sysbench => Source::Sysbench,
            Self::Pgbench => Source::Pgbench,
            Self::Fio => Source::Fio,
            Self::Hammerdb => Source::Hammerdb,
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.source().tool())
    }
}
