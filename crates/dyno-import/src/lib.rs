//! Converts logs of other tools to recorded runs: reports of sysbench, pgbench, fio and HammerDB,
//! with logs of `vmstat`, `iostat`, `mpstat` and `sar` taken during the run.
//!
//! Values that a log does not contain stay unknown: `None` or absent where the types allow it, else
//! zero with an entry in [`RunRecord::not_observed`]. Nothing is estimated. Percentiles are as
//! printed, or those of a printed distribution. Everything legible in a damaged log is read; the
//! rest becomes a [`Warning`] with its file and line.
//!
//! # Where to change what
//!
//! - A benchmark: [`Tool`] (`src/tool.rs`) and its module; a monitor of a host: [`Monitor`]
//!   (`src/monitor.rs`) and its module; alignment in time: `src/lib.rs`, `src/align.rs`.
//! - Rules for all logs: `src/secrets.rs`, `src/text.rs`, `src/whole.rs`, `src/wrapped.rs`,
//!   `src/warnings.rs`, `src/conservation.rs`; for monitors `src/table.rs`, `src/disks.rs`,
//!   `src/devices.rs`.
//! - Files of a folder, and what is stored: `crates/dyno-cli/src/commands/import`.

use dyno_core::catalogue::names;
use dyno_core::record::{NotObserved, Profile, RunRecord};
use dyno_core::unknown::TOTALS_UNKNOWN;

mod align;
mod civil;
mod command;
mod configured;
mod conservation;
mod consistency;
#[cfg(test)]
mod corpus;
mod coverage;
mod devices;
mod disks;
mod doubled;
mod fio;
mod gaps;
mod hammerdb;
mod identity;
mod intervals;
mod iostat;
mod laws;
mod limits;
mod locale;
mod looks;
mod machine;
mod monitor;
mod number;
mod pattern;
mod pgbench;
mod record;
mod report_lines;
mod runs;
mod secrets;
mod stray;
mod summary;
mod sysbench;
mod sysstat;
mod table;
mod text;
mod tie;
mod tool;
mod vmstat;
mod warnings;
mod whole;
mod wrapped;

pub use configured::configured;
pub use identity::Identity;
pub use looks::Looks;
pub use monitor::Monitor;
pub use pattern::Pattern;
pub use pgbench::stem as pgbench_stem;
pub use text::decode;
pub use tool::Tool;
pub use vmstat::unit_bytes as vmstat_unit_bytes;
pub use warnings::Warning;

use sysbench::model::Draft;
use whole::Whole;

/// One log: its text, and its name in messages.
#[derive(Clone, Copy, Debug)]
pub struct Log<'a> {
    /// For example the file's path.
    pub name: &'a str,
    /// The whole log. Bytes that are not UTF-8 may have been replaced.
    pub text: &'a str,
}

impl<'a> Log<'a> {
    /// A log with this name and text.
    pub fn new(name: &'a str, text: &'a str) -> Self {
        Self { name, text }
    }
}

/// Information that logs lack and the user may have.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// When the logs are read, seconds since the Unix epoch: the creation time of the runs'
    /// records.
    pub imported_unix_s: f64,
    /// When the measurement of the first run began, seconds since the Unix epoch; for a log without
    /// times.
    pub started_unix_s: Option<f64>,
    /// How far local times without an offset are ahead of UTC, in seconds.
    pub utc_offset_s: f64,
    /// The delay of `vmstat`, in seconds, for a log without `-t`.
    pub vmstat_interval_s: f64,
    /// The delay of `iostat`, in seconds, for a log without `-t`.
    pub iostat_interval_s: f64,
    /// The unit of `vmstat`'s memory columns in bytes (`-S`); `None` for the default, KiB.
    pub vmstat_unit_bytes: Option<f64>,
    /// Whether `vmstat` and `iostat` left out the report since boot (`-y`), so that their first one
    /// counts.
    pub first_report: bool,
    /// The percentile of latencies in CSV and JSON reports, in percent.
    pub percentile: Option<f64>,
    /// Whether the workload was the correct one.
    pub profile: Profile,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            imported_unix_s: dyno_core::clock::wall_time().as_secs_f64(),
            started_unix_s: None,
            utc_offset_s: 0.0,
            vmstat_interval_s: 1.0,
            iostat_interval_s: 1.0,
            vmstat_unit_bytes: None,
            first_report: false,
            percentile: None,
            profile: Profile::Standard,
        }
    }
}

/// Parses a time in a log to seconds since the Unix epoch: that number itself, ISO 8601, or the
/// format of `date`. A time without an offset is ahead of UTC by `utc_offset_s` seconds. `None` if
/// the text is not a time.
pub fn point_in_time(text: &str, utc_offset_s: f64) -> Option<f64> {
    civil::moment(text).map(|moment| moment.unix_s(utc_offset_s))
}

/// How far a zone is ahead of UTC, in seconds: `+02:00`, `-0530`, `+2`, `Z`. `None` if the text is
/// not an offset.
pub fn utc_offset(text: &str) -> Option<f64> {
    if matches!(text, "Z" | "z" | "UTC" | "0") {
        return Some(0.0);
    }
    let padded = match text.split_at_checked(1) {
        Some((sign, digits)) if digits.len() == 1 => format!("{sign}0{digits}"),
        _ => text.to_owned(),
    };
    civil::offset(&padded)
}

/// The result of an import.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// The runs in the order of the logs. Their ids are 0.
    pub runs: Vec<RunRecord>,
    /// The identity of each run's log.
    pub logs: Vec<Identity>,
    /// Unreadable or inconsistent data. A run's summary also contains its warnings.
    pub warnings: Vec<Warning>,
}

impl Imported {
    /// Keeps a run, unless the same log was read already: the name derives from the log's contents.
    /// If one of two logs is the beginning of the other, the longer one is kept.
    fn keep(&mut self, run: RunRecord, log: Identity) {
        let digest = |run: &RunRecord| {
            run.fact(names::IMPORT_SHA256)
                .unwrap_or_default()
                .to_owned()
        };
        let own = digest(&run);
        let place = |run: &RunRecord| {
            run.fact(names::IMPORT_SOURCE)
                .unwrap_or_default()
                .to_owned()
        };
        let mut others = self.runs.iter().zip(&self.logs);
        let same = others
            .clone()
            .any(|(other, _)| other.head.name == run.head.name);
        let longer = others.clone().any(|(_, known)| known.grew_from(&own));
        let shorter = others.position(|(other, _)| log.grew_from(&digest(other)));
        let text = match (same, longer, shorter) {
            (true, ..) => "the log contains the same run twice; the second is skipped".to_owned(),
            (_, true, _) => "the start of another log; it is skipped".to_owned(),
            (.., Some(at)) => {
                let left = place(&self.runs[at]);
                self.warnings.push(Warning::new(
                    &left,
                    None,
                    format!("the start of {}; it is skipped", place(&run)),
                ));
                (self.runs[at], self.logs[at]) = (run, log);
                return;
            }
            _ => {
                self.runs.push(run);
                self.logs.push(log);
                return;
            }
        };
        self.warnings.push(Warning::new(&place(&run), None, text));
    }
}

/// Why nothing was imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// No logs were given.
    #[error("no log to import was named; name the file with the output of {tool}")]
    NoLogs {
        /// The tool.
        tool: Tool,
    },
    /// A log without any figure of the expected tool.
    #[error("cannot import {file}: {what}; {advice}")]
    NotRecognised {
        /// The log's name.
        file: String,
        /// What is missing.
        what: String,
        /// What to try.
        advice: String,
    },
}

/// Reads the runs in a tool's logs. A log may contain several runs in sequence, as from a shell's
/// loop. A log with only a part (intervals, a histogram, single transactions) belongs to the only
/// run of the other logs if that run lacks this part; otherwise it is a separate run.
///
/// The host's logs are aligned by their times if these and the run's are known, then by their
/// correlation with throughput. Otherwise they are assumed to begin with the measurement, with a
/// warning.
///
/// # Errors
/// There is no log, or a log contains no data of its tool. Damage causes only a warning.
pub fn import(
    tool: Tool,
    logs: &[Log<'_>],
    host: &[(Monitor, Log<'_>)],
    options: &Options,
) -> Result<Imported, ImportError> {
    if logs.is_empty() {
        return Err(ImportError::NoLogs { tool });
    }
    // The reader of transactions knows which of their lines may be equal.
    let once = |text: &str| tool != Tool::Pgbench || !pgbench::is_log(text);
    let logs = logs.iter();
    let unwrapped: Vec<Whole<'_>> = logs.flat_map(|log| whole::unwrapped(log, once)).collect();
    let logs: Vec<Log<'_>> = unwrapped.iter().map(Whole::log).collect();
    let logs = logs.as_slice();
    let mut warnings = Vec::new();
    let found = match tool {
        Tool::Sysbench => of_sysbench(logs, options, &mut warnings)?,
        Tool::Fio => fio::read(logs, options)?,
        Tool::Hammerdb => hammerdb::read(logs, options, &mut warnings)?,
        Tool::Pgbench => pgbench::read(logs, options, &mut warnings)?,
    };
    let host = monitor::read(host, options)?;
    for log in &host {
        warnings.extend(log.warnings.iter().cloned());
    }
    secrets::hide_in_warnings(&mut warnings);
    let mut imported = Imported {
        runs: Vec::with_capacity(found.len()),
        logs: Vec::with_capacity(found.len()),
        warnings: warnings::once(warnings),
    };
    let alone = found.len() == 1;
    for (index, mut found) in found.into_iter().enumerate() {
        let place = align::RunPosition {
            start: found.started.or(first(index, options)),
            alone,
            index,
            utc_offset_s: options.utc_offset_s,
        };
        let of_host = align::join(&mut found.run, &host, &place, &mut found.said);
        if found.run.summary.is_none() && found.run.intervals.is_empty() {
            let why = "the log shows neither totals nor the time they took";
            found.run.not_observed.push(gaps::gap(TOTALS_UNKNOWN, why));
        }
        let own = unwrapped.iter().filter(|log| log.name == found.file);
        let said = found.said.into_iter();
        let said = said.map(|(line, text)| Warning::new(&found.file, line, text));
        let of_run: Vec<Warning> = own.flat_map(Whole::said).chain(said).collect();
        let mut of_run = warnings::once(of_run);
        secrets::hide_in_warnings(&mut of_run);
        if let Some(summary) = &mut found.run.summary {
            gaps::forget_unknown_rates(&mut summary.rates, &found.run.not_observed);
            let mut of_host = warnings::once(of_host);
            secrets::hide_in_warnings(&mut of_host);
            summary.warnings = of_run.iter().chain(&of_host).map(sentence).collect();
            summary.not_observed.clone_from(&found.run.not_observed);
        }
        imported.warnings.extend(of_run);
        secrets::hide(&mut found.run);
        imported.keep(found.run, found.identity);
    }
    Ok(imported)
}

/// The start time given by the caller, for the first run.
fn first(index: usize, options: &Options) -> Option<f64> {
    options.started_unix_s.filter(|_| index == 0)
}

/// The options for a run.
fn of_run(index: usize, options: &Options) -> Options {
    Options {
        started_unix_s: first(index, options),
        ..options.clone()
    }
}

/// A run before the host's logs are added.
struct ParsedRun {
    run: RunRecord,
    identity: Identity,
    /// Its log.
    file: String,
    /// When its measurement began, seconds since the Unix epoch, if the log shows it.
    started: Option<f64>,
    /// Warnings: line and text.
    said: Vec<(Option<usize>, String)>,
}

fn of_sysbench(
    logs: &[Log<'_>],
    options: &Options,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<ParsedRun>, ImportError> {
    let mut read = Vec::new();
    for log in logs {
        let found = sysbench::read(log);
        if found.drafts.is_empty() {
            return Err(not_sysbench(log, &found.warnings));
        }
        warnings.extend(found.warnings);
        read.push(found.drafts);
    }
    let mut drafts = join(read);
    drafts
        .iter_mut()
        .for_each(sysbench::histogram::leave_out_part);
    if let Some(empty) = drafts.iter().find(|draft| !draft.has_figures()) {
        let said = empty.warnings.last();
        let said = said.map(|(line, text)| Warning::new(&empty.file, *line, text.clone()));
        let log = logs.iter().find(|log| log.name == empty.file);
        let log = log.copied().unwrap_or(Log::new(&empty.file, ""));
        return Err(not_sysbench(&log, said.as_slice()));
    }
    let found = drafts.into_iter().enumerate().map(|(index, mut draft)| {
        let options = of_run(index, options);
        draft.count_requests();
        if let Some(report) = &mut draft.report {
            report.divide_bytes();
        }
        sysbench::laws::leave_out_overflows(&mut draft);
        report_lines::leave_out_late(&mut draft);
        intervals::leave_out(&mut draft);
        command::complete(&mut draft);
        let above = report_lines::leave_out_above_maximum(&mut draft);
        let mut broken = sysbench::laws::broken(&draft);
        broken.extend(above);
        broken.extend(report_lines::broken(&draft));
        let (said, facts) = consistency::check(&draft, &broken);
        sysbench::laws::leave_out(&mut draft, &broken);
        report_lines::leave_out_sums(&mut draft);
        let mut run = record::record(&mut draft, &options);
        run.facts.extend(facts);
        draft.warnings.extend(said);
        unfinished(&mut draft, &mut run);
        ParsedRun {
            run,
            identity: draft.digest.identity(),
            started: record::started_unix_s(&draft, &options),
            file: draft.file,
            said: draft.warnings,
        }
    });
    Ok(found.collect())
}

fn sentence(warning: &Warning) -> String {
    let mut text = warning.to_string();
    if !text.ends_with(['.', '!', '?']) {
        text.push('.');
    }
    text
}

fn unfinished(draft: &mut Draft, run: &mut RunRecord) {
    let whole = draft
        .report
        .as_ref()
        .is_some_and(|report| report.events().is_some());
    if (!whole || run.summary.is_none()) && draft.points_from == "report lines" {
        let text = "the statistics at the end are missing or cut off; the totals are those of the \
                    report lines";
        draft.warnings.push((Some(draft.line), text.to_owned()));
        if run.fact(names::IMPORT_CUT_OFF).is_none() {
            run.facts.push(runs::cut_off(CUT_OFF));
        }
    }
}

/// The warning for a log with intervals but without statistics.
const CUT_OFF: &str = "the statistics are missing";

/// Adds histograms and intervals in separate logs to the run they belong to.
fn join(mut read: Vec<Vec<Draft>>) -> Vec<Draft> {
    let bare = |drafts: &Vec<Draft>| {
        drafts.len() == 1
            && drafts[0].report.is_none()
            && !drafts[0].began
            && drafts[0].version.is_none()
    };
    let runs = read.iter().filter(|drafts| !bare(drafts)).count();
    let whole = read.iter().position(|drafts| !bare(drafts));
    let Some(whole) = whole.filter(|&whole| runs == 1 && read[whole].len() == 1) else {
        return read.into_iter().flatten().collect();
    };
    let mut run = read.remove(whole).remove(0);
    let mut others = Vec::new();
    for mut part in read.into_iter().flatten() {
        let histogram = run.histogram.is_empty() && !part.histogram.is_empty();
        let points = run.points.is_empty() && !part.points.is_empty();
        if !histogram && !points {
            others.push(part);
            continue;
        }
        let from = part.file.clone();
        if histogram {
            run.histogram = std::mem::take(&mut part.histogram);
            run.histogram_lacks = part.histogram_lacks;
        }
        if points {
            run.points = std::mem::take(&mut part.points);
            run.points_from = part.points_from;
            run.started = run.started.or(part.started);
        }
        let said = part.warnings.into_iter().map(|(line, text)| {
            let place = line.map_or(from.clone(), |line| format!("{from}:{line}"));
            (None, format!("{place}: {text}"))
        });
        run.warnings.extend(said);
    }
    let mut all = vec![run];
    all.extend(others);
    all
}

fn not_sysbench(log: &Log<'_>, warnings: &[Warning]) -> ImportError {
    let what = match warnings.first() {
        Some(_) if looks::is_json(log.text) => {
            "it is JSON, but not that of sysbench's hooks".to_owned()
        }
        Some(warning) => format!("it contains no run with figures ({warning})"),
        None if log.text.trim().is_empty() => "it is empty".to_owned(),
        None => "nothing in it looks like sysbench's report lines, statistics, histogram, CSV or \
                 JSON"
            .to_owned(),
    };
    not_recognised(
        log,
        what,
        Looks::Sysbench,
        "give sysbench's standard output",
    )
}

/// The error for a log that is not of the expected tool; it names the tool it looks like, if any.
fn not_recognised(log: &Log<'_>, what: String, expected: Looks, advice: &str) -> ImportError {
    let other = Looks::of(log.text).filter(|looks| *looks != expected);
    ImportError::NotRecognised {
        file: log.name.to_owned(),
        what,
        advice: match other {
            Some(looks) => format!("it looks like {looks}{}; {advice}", looks.instead()),
            None => advice.to_owned(),
        },
    }
}

/// Removes an entry from the list of missing values once it is observed.
fn observed(not_observed: &mut Vec<NotObserved>, what: &str) {
    not_observed.retain(|gap| gap.what != what);
}
