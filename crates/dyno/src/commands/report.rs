//! `dyno report`: runs as one offline HTML file.

use std::path::PathBuf;

use anyhow::Result;
use dyno_core::clock::wall_time;
use dyno_core::record::{Cost, RunRecord};
use dyno_report::html::{COLUMNS_MAX, Comparison, ComparisonRow, Difference, ReportInput, report};
use dyno_results::Scope;
use dyno_verdict::{CompareOptions, Metric, compare};

use super::show;
use crate::definitions::REPORT;
use crate::options::{Grammar, Script, help, parse};
use crate::{STATUS_DONE, console, output, window};

/// Writes the report.
///
/// # Errors
/// A run that there is not, a file that cannot be written.
pub fn main(args: &[String]) -> Result<u8> {
    let parsed = parse(args, REPORT, Script::Declares(&[]), Grammar::Dyno)?;
    if parsed.has("help") {
        console::help(&format!(
            "Usage: dyno report [RUN…] [-o FILE.html]\n\n\
             RUN is `last`, a run's number, or the beginning of its name; FILE:RUN is a run of \
             another results file.\nSeveral runs are set against the first.\n{}",
            help(REPORT, Grammar::Dyno)
        ));
        return Ok(STATUS_DONE);
    }
    let last = ["last".to_owned()];
    let words = match parsed.words.as_slice() {
        [] => last.as_slice(),
        words => words,
    };
    let scope = match words {
        [_] => Scope::columns(COLUMNS_MAX),
        // A comparison looks at the spans too.
        _ => Scope::whole(),
    };
    let window = window::asked(&parsed)?;
    let mut runs: Vec<RunRecord> = Vec::new();
    for word in words {
        let (file, mut record) = window::load(&parsed, word, &scope, window)?;
        // A run that never finished is shown with what its intervals tell.
        record.summary = Some(show::summary(&record, &file.display().to_string()));
        runs.push(record);
    }
    let path = match parsed.value("output") {
        Some("-") => None,
        Some(path) => Some(PathBuf::from(path)),
        None => runs
            .first()
            .map(|run| PathBuf::from(format!("{}.html", run.head.name))),
    };
    let intended: Vec<String> = parsed.values("factor").map(str::to_owned).collect();
    let comparison = (runs.len() > 1).then(|| compared(&runs, intended));
    let costs: Vec<Vec<Cost>> = runs.iter().map(dyno_verdict::costs).collect();
    let text = report(&ReportInput {
        runs: &runs,
        costs: &costs,
        comparison: comparison.as_ref(),
        generated_unix_s: wall_time().as_secs_f64(),
        title: parsed.value("title").unwrap_or_default(),
    });
    match path {
        None => console::raw(text.as_bytes()),
        Some(path) => {
            output::write(&path.display().to_string(), &text)?;
            let plural = if runs.len() == 1 { "run" } else { "runs" };
            console::note(&format!(
                "{}: {} {plural}, {:.1} MB",
                path.display(),
                runs.len(),
                text.len() as f64 / 1e6
            ));
        }
    }
    Ok(STATUS_DONE)
}

/// Each run against the first.
fn compared(runs: &[RunRecord], intended: Vec<String>) -> Comparison {
    let mut all = Comparison::default();
    let Some((base, others)) = runs.split_first() else {
        return all;
    };
    let options = CompareOptions {
        intended,
        ..CompareOptions::default()
    };
    for (index, new) in others.iter().enumerate() {
        let run = index + 1;
        let found = match compare(&[base], &[new], &options) {
            Ok(found) => found,
            Err(error) => {
                let told = format!(
                    "Run {} is not compared with run {}: {error}.",
                    new.id, base.id
                );
                all.notes.push(told);
                continue;
            }
        };
        all.rows
            .extend(found.metrics.iter().map(|metric| row(metric, run)));
        all.differences
            .extend(found.differences.iter().map(|difference| Difference {
                what: difference.what.clone(),
                run,
                base: difference.base.clone(),
                new: difference.new.clone(),
                intended: difference.intended,
            }));
    }
    if !all.rows.is_empty() {
        all.notes.push(
            "Intervals (95 %) and p, corrected by Holm's method for the number of figures, rest on \
             the seconds within the runs. How much runs of the same differ is not in them."
                .to_owned(),
        );
    }
    all
}

fn row(metric: &Metric, run: usize) -> ComparisonRow {
    let penalty = metric.penalty.filter(|_| metric.significant);
    let remark = match (penalty, metric.remark.as_str()) {
        (Some(penalty), "") => format!("penalty {:.1} %", penalty * 100.0),
        (Some(penalty), remark) => format!("penalty {:.1} %; {remark}", penalty * 100.0),
        (None, remark) => remark.to_owned(),
    };
    ComparisonRow {
        metric: metric.name.clone(),
        unit: metric.unit.clone(),
        run,
        base: metric.base,
        new: metric.new,
        ratio: metric.ratio,
        low: metric.low,
        high: metric.high,
        p: metric.p_corrected,
        significant: metric.significant,
        remark,
    }
}
