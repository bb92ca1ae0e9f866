//! Benchmark tools whose logs can be imported.

use std::fmt;

use dyno_core::record::Source;

use crate::Looks;

/// A tool whose logs can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// sysbench and sysbench-tpcc.
    Sysbench,
    /// pgbench: its output and its logs of transactions.
    Pgbench,
    /// fio's JSON.
    Fio,
    /// HammerDB: its log, with those of the transaction counter and the time profile.
    Hammerdb,
}

impl Tool {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Sysbench, Self::Pgbench, Self::Fio, Self::Hammerdb];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sysbench => "sysbench",
            Self::Pgbench => "pgbench",
            Self::Fio => "fio",
            Self::Hammerdb => "hammerdb",
        }
    }

    /// The tool with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// The look of its logs.
    pub fn looks(self) -> Looks {
        match self {
            Self::Sysbench => Looks::Sysbench,
            Self::Pgbench => Looks::Pgbench,
            Self::Fio => Looks::Fio,
            Self::Hammerdb => Looks::Hammerdb,
        }
    }

    /// The source recorded in its runs.
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
