//! `dyno export`: convert a run for other programs.

use anyhow::{Context as _, Result, bail};
use dyno_analysis::summary::recorded;
use dyno_core::catalogue::names;
use dyno_core::clock::wall_time;
use dyno_core::record::RunRecord;
use dyno_metrics::text;
use dyno_report::export::{csv, folded, hlog, json};
use dyno_report::html::{COLUMNS_MAX, Charts, ReportInput};
use dyno_results::Scope;

use super::kinds::kinds;
use crate::definitions::EXPORT;
use crate::options::{Grammar, Parsed, Script, help, parse};
use crate::output::{Destination, fresh};
use crate::settings::usage;
use crate::{STATUS_DONE, console, run_store};

/// OpenMetrics with time stamps, as Prometheus' tools read it.
fn openmetrics(run: &RunRecord) -> Result<Vec<u8>> {
    let families = dyno_metrics::history(run).context(
        "the start of its measurement is unknown, and OpenMetrics needs it; use another format",
    )?;
    Ok(text::encode(&families, text::Version::OpenMetrics).into_bytes())
}

fn stacks(run: &RunRecord) -> Result<Vec<u8>> {
    if run.profiles.is_empty() {
        let why = run.not_observed(names::PROFILE_SERVER);
        let why = why.or_else(|| run.not_observed(names::PROFILE_CLIENT));
        bail!(
            "it has no CPU profile: {}",
            why.unwrap_or("dyno run --cpu-profile records one")
        );
    }
    Ok(folded::stacks(run).into_bytes())
}

/// A chart of the run's page.
fn chart(mut run: RunRecord, name: Option<&str>) -> Result<Vec<u8>> {
    // An unfinished run has no summary, so compute it from the intervals.
    run.summary = Some(recorded(&run, ""));
    let charts = Charts::of(&ReportInput {
        runs: std::slice::from_ref(&run),
        costs: &[],
        sides: &[vec![0]],
        compared: &[],
        pivot: None,
        experiment: None,
        generated_unix_s: wall_time().as_secs_f64(),
        title: "",
    });
    if let Some(svg) = name.and_then(|name| charts.svg(name)) {
        return Ok(svg.into_bytes());
    }
    let names = charts.names();
    if names.is_empty() {
        bail!("run {} has no charts: it has no recorded intervals", run.id);
    }
    let names = names.join(", ");
    Err(usage(match name {
        Some(name) => format!(
            "--chart: run {} has no chart '{name}'; it has {names}",
            run.id
        ),
        None => format!(
            "--format svg needs --chart NAME; run {} has {names}",
            run.id
        ),
    }))
}

/// Exports a run.
///
/// # Errors
/// The run does not exist, or the file cannot be written.
pub(super) fn main(args: &[String]) -> Result<u8> {
    let parsed = parse(args, EXPORT, Script::Declares(&[]), Grammar::Dyno)?;
    if parsed.has("help") {
        console::help(&format!(
            "Usage: dyno export [RUN] [--where …] \
             [--format json|csv|series|hlog|openmetrics|folded|svg] [-o FILE]\n\
             \x20      dyno export [RUN] --format svg --chart NAME [-o FILE]\n\n\
             RUN is `last`, a run's number, or the beginning of its name.\n{}",
            help(EXPORT, Grammar::Dyno)
        ));
        return Ok(STATUS_DONE);
    }
    let kinds = kinds(&parsed)?;
    let run = match kinds.words().as_slice() {
        [run] => *run,
        several => {
            return Err(usage(format!(
                "dyno export takes one run, not {}",
                several.join(", ")
            )));
        }
    };
    let format = parsed.value("format").unwrap_or("json");
    let export: fn(&RunRecord) -> Result<Vec<u8>> = match format {
        "json" => |run| Ok(json::run(run)?.into_bytes()),
        "csv" => |run| Ok(csv::intervals(run)?.into_bytes()),
        "series" => |run| Ok(csv::series(run)?.into_bytes()),
        "hlog" => |run| Ok(hlog::log(run)?),
        "openmetrics" => openmetrics,
        "folded" => stacks,
        "svg" => return drawing(&parsed, run),
        other => {
            return Err(usage(format!(
                "--format: '{other}' is not one of json, csv, series, hlog, openmetrics, folded, \
                 svg"
            )));
        }
    };
    if parsed.has("chart") {
        return Err(usage("--chart needs --format svg"));
    }
    let destination = destination(&parsed)?;
    let (_, record) = run_store::load(&parsed, run, &Scope::whole())?;
    let bytes = export(&record).with_context(|| format!("cannot export run {}", record.id))?;
    written(destination, &bytes)
}

/// Exports a chart.
fn drawing(parsed: &Parsed, run: &str) -> Result<u8> {
    let destination = destination(parsed)?;
    // A heat map has no more columns than the page's.
    let (_, record) = run_store::load(parsed, run, &Scope::columns(COLUMNS_MAX))?;
    written(destination, &chart(record, parsed.value("chart"))?)
}

/// The file to write; `None` for standard output.
fn destination(parsed: &Parsed) -> Result<Option<Destination>> {
    let path = parsed.value("output").filter(|path| *path != "-");
    path.map(|path| fresh(parsed, path)).transpose()
}

fn written(destination: Option<Destination>, bytes: &[u8]) -> Result<u8> {
    match destination {
        None => console::raw(bytes),
        Some(destination) => destination.write(bytes)?,
    }
    Ok(STATUS_DONE)
}
