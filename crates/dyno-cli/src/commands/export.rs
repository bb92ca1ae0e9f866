//! `dyno export`: convert a run for other programs.

use anyhow::{Context as _, Result, bail};
use dyno_core::record::RunRecord;
use dyno_metrics::text;
use dyno_report::export::{csv, folded, hlog, json};
use dyno_results::Scope;

use super::kinds::kinds;
use crate::definitions::EXPORT;
use crate::options::{Grammar, Script, help, parse};
use crate::output::fresh;
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
        let why = run.not_observed("profile.server");
        let why = why.or_else(|| run.not_observed("profile.client"));
        bail!(
            "it has no CPU profile: {}",
            why.unwrap_or("dyno run --cpu-profile records one")
        );
    }
    Ok(folded::stacks(run).into_bytes())
}

/// Exports a run.
///
/// # Errors
/// The run does not exist, or the file cannot be written.
pub fn main(args: &[String]) -> Result<u8> {
    let parsed = parse(args, EXPORT, Script::Declares(&[]), Grammar::Dyno)?;
    if parsed.has("help") {
        console::help(&format!(
            "Usage: dyno export [RUN] [--where …] \
             [--format json|csv|series|hlog|openmetrics|folded] [-o FILE]\n\n\
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
        "csv" => |run| Ok(csv::intervals(run).into_bytes()),
        "series" => |run| Ok(csv::series(run).into_bytes()),
        "hlog" => |run| Ok(hlog::log(run)?),
        "openmetrics" => openmetrics,
        "folded" => stacks,
        other => {
            return Err(usage(format!(
                "--format: '{other}' is not one of json, csv, series, hlog, openmetrics, folded"
            )));
        }
    };
    let path = parsed.value("output").filter(|path| *path != "-");
    let destination = path.map(|path| fresh(&parsed, path)).transpose()?;
    let (_, record) = run_store::load(&parsed, run, &Scope::whole())?;
    let bytes = export(&record).with_context(|| format!("cannot export run {}", record.id))?;
    match destination {
        None => console::raw(&bytes),
        Some(destination) => destination.write(&bytes)?,
    }
    Ok(STATUS_DONE)
}
