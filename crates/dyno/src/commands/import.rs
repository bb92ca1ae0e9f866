//! `dyno import sysbench`: what sysbench printed, as runs that can be judged.

use std::time::Duration;

use anyhow::{Context as _, Result};
use dyno_core::finding::verdict;
use dyno_core::record::{Profile, RunRecord};
use dyno_core::redact;
use dyno_import::{Log, Options};
use dyno_results::{Results, Scope};
use dyno_verdict::Context;

use super::show;
use crate::definitions::IMPORT;
use crate::options::{Grammar, Parsed, Script, help, parse};
use crate::output::Output;
use crate::record_options::factors;
use crate::settings::{duration, number, usage};
use crate::{STATUS_DONE, console, input, run_store};

const USAGE: &str = "Usage: dyno import sysbench FILE… [--vmstat FILE] [--iostat FILE]";

/// Imports logs.
///
/// # Errors
/// A log that cannot be read, or holds nothing of sysbench's; a results file that cannot be
/// written to. What was imported before an error stays.
pub fn main(args: &[String]) -> Result<u8> {
    let parsed = parse(&args[2..], IMPORT, Script::Declares(&[]), Grammar::Dyno)?;
    if parsed.has("help") {
        console::help(&format!(
            "{USAGE}\n\n\
             Reads what sysbench and sysbench-tpcc print: reports, interval lines, histograms and \
             CSV; several runs in one file become several runs. Columns of vmstat and iostat are \
             found by their names.\n{}",
            help(IMPORT, Grammar::Dyno)
        ));
        return Ok(STATUS_DONE);
    }
    let files = match parsed.words.as_slice() {
        [tool, files @ ..] if tool == "sysbench" && !files.is_empty() => files,
        [tool] if tool == "sysbench" => {
            return Err(usage(format!("no file to import. {USAGE}")));
        }
        _ => return Err(usage(format!("what is to be imported? {USAGE}"))),
    };
    let texts: Vec<Text> = files.iter().map(Text::read).collect::<Result<_>>()?;
    let beside = |name: &str| parsed.value(name).map(Text::read).transpose();
    let (vmstat, iostat) = (beside("vmstat")?, beside("iostat")?);
    let logs: Vec<Log<'_>> = texts.iter().map(Text::log).collect();
    let imported = dyno_import::sysbench(
        &logs,
        vmstat.as_ref().map(Text::log),
        iostat.as_ref().map(Text::log),
        &options(&parsed)?,
    )?;
    for warning in &imported.warnings {
        console::note(&format!("warning: {warning}"));
    }
    let path = run_store::required(&parsed)?;
    let mut results = Results::open(&path)?;
    let look = console::look(&parsed);
    let mut factors = factors(&parsed)?;
    factors
        .values_mut()
        .for_each(|level| *level = redact::text(level));
    for mut run in imported.runs {
        run.head.factors.clone_from(&factors);
        run.head.note = redact::text(parsed.value("note").unwrap_or_default());
        let record = judged(&mut results, &run)?;
        let summary = show::summary_with_intervals(record, &path.display().to_string());
        Output::of(&parsed)?.write(&summary, &look)?;
    }
    Ok(STATUS_DONE)
}

/// What the user knows and the logs do not say.
fn options(parsed: &Parsed) -> Result<Options> {
    let known = Options::default();
    let utc_offset_s = match parsed.value("utc-offset") {
        None => known.utc_offset_s,
        Some(text) => dyno_import::utc_offset(text).ok_or_else(|| {
            usage(format!(
                "--utc-offset: '{text}' is no distance from UTC like +02:00 or -5"
            ))
        })?,
    };
    let started = |text: &str| {
        dyno_import::point_in_time(text, utc_offset_s).ok_or_else(|| {
            usage(format!(
                "--started: '{text}' is no date with a time like 2026-11-21T12:45:12Z, nor seconds \
                 since 1970"
            ))
        })
    };
    let interval = |name: &str, otherwise: f64| match parsed.value(name) {
        None => Ok(otherwise),
        Some(_) => match duration(parsed, name, Duration::ZERO)?.as_secs_f64() {
            0.0 => Err(usage(format!("--{name}: a delay is longer than nothing"))),
            seconds => Ok(seconds),
        },
    };
    let percentile = match parsed.value("percentile") {
        None => None,
        Some(_) => match number(parsed, "percentile", 0.0)? {
            percent if percent > 0.0 && percent <= 100.0 => Some(percent),
            percent => {
                return Err(usage(format!(
                    "--percentile: {percent} is not above 0 and up to 100"
                )));
            }
        },
    };
    let profile = match parsed.value("profile") {
        None | Some("standard") => Profile::Standard,
        Some("reference") => Profile::Reference,
        Some(other) => {
            return Err(usage(format!(
                "--profile: '{other}' is neither standard nor reference"
            )));
        }
    };
    Ok(Options {
        started_unix_s: parsed.value("started").map(started).transpose()?,
        utc_offset_s,
        vmstat_interval_s: interval("vmstat-interval", known.vmstat_interval_s)?,
        iostat_interval_s: interval("iostat-interval", known.iostat_interval_s)?,
        percentile,
        profile,
        ..known
    })
}

/// Keeps a run, judges it as it is kept, and gives it back as it can be read.
fn judged(results: &mut Results, run: &RunRecord) -> Result<RunRecord> {
    let id = results.import(run)?;
    let record = results.load(id, &Scope::whole())?;
    let findings = dyno_run::sorted(dyno_verdict::judge(&record, &Context::default()));
    results.judge(id, &findings, verdict(&findings), &[])?;
    if let Some(mut summary) = record.summary.clone() {
        summary.costs = dyno_verdict::costs(&record);
        results.set_summary(id, &summary)?;
    }
    Ok(results.load(id, &Scope::summary())?)
}

/// A day of intervals of a second has some tens of MiB.
const LOG_BYTES_MAX: u64 = 1 << 30;

/// A log.
struct Text {
    name: String,
    text: String,
}

impl Text {
    /// Bytes that are no UTF-8 are replaced: figures are ASCII.
    fn read(file: impl AsRef<str>) -> Result<Self> {
        let name = file.as_ref().to_owned();
        let bytes =
            input::read(&name, LOG_BYTES_MAX).with_context(|| format!("cannot read {name}"))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Self { name, text })
    }

    fn log(&self) -> Log<'_> {
        Log {
            name: &self.name,
            text: &self.text,
        }
    }
}
