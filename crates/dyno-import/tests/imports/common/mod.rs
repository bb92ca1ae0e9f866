//! Helpers for several tests.

use dyno_import::{ImportError, Imported, Log, Monitor, Options, Tool, import};

/// Imports logs of sysbench, with optional host logs.
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
