//! The tools that watch a host while a benchmark runs on it.

use crate::align::HostLog;
use crate::{ImportError, Log, Options, iostat, vmstat};

/// A tool whose log is laid beside a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Monitor {
    /// `vmstat DELAY`.
    Vmstat,
    /// `iostat -x DELAY`.
    Iostat,
}

impl Monitor {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Vmstat, Self::Iostat];

    /// The command's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vmstat => "vmstat",
            Self::Iostat => "iostat",
        }
    }

    pub(crate) fn read(self, log: &Log<'_>, options: &Options) -> Result<HostLog, ImportError> {
        match self {
            Self::Vmstat => vmstat::read(log, options),
            Self::Iostat => iostat::read(log, options),
        }
    }
}
