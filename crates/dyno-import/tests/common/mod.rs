//! What tests of several files need.

use dyno_import::{ImportError, Imported, Log, Monitor, Options, Tool, import};

/// Logs of sysbench, perhaps with the host's.
pub fn sysbench(
    logs: &[Log<'_>],
    vmstat: Option<Log<'_>>,
    iostat: Option<Log<'_>>,
    options: &Options,
) -> Result<Imported, ImportError> {
    let vmstat = vmstat.map(|log| (Monitor::Vmstat, log));
    let iostat = iostat.map(|log| (Monitor::Iostat, log));
    let host: Vec<_> = vmstat.into_iter().chain(iostat).collect();
    import(Tool::Sysbench, logs, &host, options)
}
