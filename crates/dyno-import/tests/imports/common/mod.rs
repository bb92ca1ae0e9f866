//! Helpers for several tests.

use dyno_core::record::RunRecord;
use dyno_core::summary::RunSummary;
use dyno_import::{ImportError, Imported, Log, Monitor, Options, Tool, import};

/// A log with this text.
pub(crate) fn log(text: &str) -> Log<'_> {
    Log { name: "log", text }
}

/// Imports a log with this text.
pub(crate) fn read(tool: Tool, text: &str) -> Imported {
    import(tool, &[log(text)], &[], &Options::default()).unwrap()
}

/// The only run of a log with this text.
pub(crate) fn one(tool: Tool, text: &str) -> RunRecord {
    let mut imported = read(tool, text);
    assert_eq!(imported.runs.len(), 1, "{:?}", imported.warnings);
    imported.runs.remove(0)
}

pub(crate) fn summary(run: &RunRecord) -> &RunSummary {
    run.summary.as_ref().unwrap()
}

/// The figures of the runs that cannot all be true.
pub(crate) fn contradictions(imported: &Imported) -> String {
    let facts = imported.runs.iter();
    let facts = facts.filter_map(|run| run.fact("import.contradictions"));
    facts.collect::<Vec<_>>().join("; ")
}

/// Imports logs of sysbench, with optional host logs.
pub(crate) fn sysbench(
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
