//! Tools that monitor a host during a benchmark.

use crate::align::HostLog;
use crate::{ImportError, Log, Looks, Options, iostat, stray, sysstat, vmstat, whole};

/// A tool whose log accompanies a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Monitor {
    /// `vmstat DELAY`.
    Vmstat,
    /// `iostat -x DELAY`.
    Iostat,
    /// `mpstat DELAY`.
    Mpstat,
    /// `sar DELAY` or `sar -f FILE`.
    Sar,
}

impl Monitor {
    /// All of them. If several have the same series, the first one is used: mpstat's shares have
    /// more digits than vmstat's.
    pub const ALL: [Self; 4] = [Self::Mpstat, Self::Vmstat, Self::Iostat, Self::Sar];

    /// The command's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vmstat => "vmstat",
            Self::Iostat => "iostat",
            Self::Mpstat => "mpstat",
            Self::Sar => "sar",
        }
    }

    pub(crate) fn read(self, log: &Log<'_>, options: &Options) -> Result<HostLog, ImportError> {
        let mut read = match self {
            Self::Vmstat => vmstat::read(log, options),
            Self::Iostat => iostat::read(log, options),
            Self::Mpstat => sysstat::read(self.name(), Looks::Mpstat, log),
            Self::Sar => sysstat::read(self.name(), Looks::Sar, log),
        }?;
        stray::leave_out(&mut read);
        Ok(read)
    }
}

/// Reads the host's logs, of which one may contain several.
pub(crate) fn read(
    host: &[(Monitor, Log<'_>)],
    options: &Options,
) -> Result<Vec<HostLog>, ImportError> {
    let mut logs = Vec::new();
    for (monitor, log) in host {
        for log in whole::unwrapped(log, |_| true) {
            let mut read = monitor.read(&log.log(), options)?;
            read.warnings.extend(log.said());
            logs.push(read);
        }
    }
    Ok(logs)
}
