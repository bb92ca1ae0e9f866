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
}

impl Tool {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Sysbench, Self::Pgbench, Self::Fio];

    /// As it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sysbench => "sysbench",
            Self::Pgbench => "pgbench",
            Self::Fio => "fio",
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
        }
    }

    /// What a run of it says that it was made by.
    pub fn source(self) -> Source {
        match self {
            Self::Sysbench => Source::Sysbench,
            Self::Pgbench => Source::Pgbench,
            Self::Fio => Source::Fio,
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.source().tool())
    }
}
