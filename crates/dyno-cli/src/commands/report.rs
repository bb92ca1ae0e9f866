//! `dyno report`: write runs to one offline HTML file, as Markdown or as test results.

use anyhow::{Result, bail};
use dyno_analysis::summary::recorded;
use dyno_core::clock::wall_time;
use dyno_core::record::{Cost, RunRecord};
use dyno_core::text::plural;
use dyno_report::html::{COLUMNS_MAX, ReportInput, refusals, report};
use dyno_report::{Pivot, junit, markdown};
use dyno_results::Scope;
use dyno_verdict::{CompareError, CompareOptions, Comparison, compare};

use super::compare::distinguished;
use super::kinds::{Kinds, kinds};
use super::pivot::on_page;
use crate::definitions::REPORT;
use crate::options::{Grammar, Parsed, Script, help, parse};
use crate::settings::usage;
use crate::{STATUS_DONE, console, output, run_store, window};

/// Writes the report.
///
/// # Errors
/// A run does not exist, or the file exists or cannot be written.
pub(super) fn main(args: &[String]) -> Result<u8> {
    let parsed = parse(args, REPORT, Script::Declares(&[]), Grammar::Dyno)?;
    if parsed.has("help") {
        console::help(&format!(
            "Usage: dyno report [RUN…] [--format html|markdown|junit] [-o FILE]\n\
             \x20      dyno report [--where …] [--rows NAME [--columns NAME]]\n\n\
             RUN is `last`, a run's number, or the beginning of its name; FILE:RUN is a run in \
             another results file.\n\
             Several runs are compared with the first. Join repetitions with commas: `dyno report \
             1,2,3 4,5,6`.\n\
             {}",
            help(REPORT, Grammar::Dyno)
        ));
        return Ok(STATUS_DONE);
    }
    let format = Format::of(&parsed)?;
    let kinds = kinds(&parsed)?;
    let mut runs = loaded(&parsed, &kinds)?;
    if let Some(rows) = parsed.value("rows") {
        keep_placed(&mut runs, rows, parsed.value("columns"));
    }
    let pivot = on_page(&parsed, &runs)?;
    let path = report_path(&parsed, &runs, format)?;
    // Before the work, so that an existing file fails early.
    let destination = path
        .as_deref()
        .map(|path| output::fresh(&parsed, path))
        .transpose()?;
    let sides = match &pivot {
        // The requested cells are the sides.
        Some((pivot, base)) if parsed.has("rows") => cells(pivot, *base),
        _ => kinds.of(&runs),
    };
    let pivot = pivot.map(|(pivot, _)| pivot);
    let text = written(&parsed, &runs, &sides, pivot.as_ref(), format);
    let (Some(path), Some(destination)) = (path, destination) else {
        console::raw(text.as_bytes());
        return Ok(STATUS_DONE);
    };
    destination.write(text.as_bytes())?;
    let plural = if runs.len() == 1 { "run" } else { "runs" };
    let size = match text.len() {
        small if small < 100_000 => format!("{:.1} kB", small as f64 / 1e3),
        large => format!("{:.1} MB", large as f64 / 1e6),
    };
    console::note(&format!("{path}: {} {plural}, {size}", runs.len()));
    Ok(STATUS_DONE)
}

/// The format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Html,
    Markdown,
    JUnit,
}

impl Format {
    fn of(parsed: &Parsed) -> Result<Self> {
        match parsed.value("format") {
            None | Some("html") => Ok(Self::Html),
            Some("markdown") => Ok(Self::Markdown),
            Some("junit") => Ok(Self::JUnit),
            Some(other) => Err(usage(format!(
                "--format: '{other}' is not one of html, markdown, junit"
            ))),
        }
    }
}

/// Leaves out the runs that have no place in the table, unless that would leave none, and reports
/// them.
fn keep_placed(runs: &mut Vec<RunRecord>, rows: &str, columns: Option<&str>) {
    let has = |run: &RunRecord, factor: &str| dyno_verdict::level(run, factor).is_some();
    let placed = |run: &RunRecord| has(run, rows) && columns.is_none_or(|name| has(run, name));
    if !runs.iter().any(placed) {
        return;
    }
    let others = runs.iter().filter(|run| !placed(run));
    let others: Vec<String> = others.map(|run| run.id.to_string()).collect();
    if !others.is_empty() {
        let factors = columns.map_or(rows.to_owned(), |columns| format!("{rows} and {columns}"));
        console::note(&format!(
            "left out: run{} {}, without a level of {factors}",
            plural(others.len()),
            others.join(", ")
        ));
    }
    runs.retain(placed);
}

/// The runs of each cell, the base first.
fn cells(pivot: &Pivot, base: usize) -> Vec<Vec<usize>> {
    let is_base = |at: &usize| match pivot.columns {
        Some(_) => pivot.cells[*at].column == base,
        None => pivot.cells[*at].row == base,
    };
    let mut order: Vec<usize> = (0..pivot.cells.len()).collect();
    if let Some(first) = order.iter().position(is_base) {
        order[..=first].rotate_right(1);
    }
    order.into_iter().map(|at| pivot.runs[at].clone()).collect()
}

fn loaded(parsed: &Parsed, kinds: &Kinds) -> Result<Vec<RunRecord>> {
    let words = kinds.words();
    let scope = match words.len() {
        1 => Scope::columns(COLUMNS_MAX),
        // A comparison needs the spans, too.
        _ => Scope::whole(),
    };
    let window = window::asked(parsed)?;
    let mut runs = Vec::new();
    for word in words {
        let (file, mut record) = window::load(parsed, word, &scope, window)?;
        // An unfinished run has no summary, so compute it from the intervals.
        record.summary = Some(recorded(&record, &file.display().to_string()));
        runs.push((file, record));
    }
    Ok(distinguished(runs))
}

/// The path of the report; `None` for standard output.
fn report_path(parsed: &Parsed, runs: &[RunRecord], format: Format) -> Result<Option<String>> {
    match (parsed.value("output"), runs.first()) {
        (Some("-"), _) => Ok(None),
        (Some(path), _) => Ok(Some(path.to_owned())),
        (None, None) => bail!("there is no run to report"),
        (None, Some(run)) => Ok(match format {
            Format::Html => Some(format!("{}.html", plain_name(&run.head.name))),
            Format::Markdown | Format::JUnit => None,
        }),
    }
}

/// A run's name without the file in front of it.
fn plain_name(name: &str) -> &str {
    run_store::in_file(name).map_or(name, |(_, run)| run)
}

fn written(
    parsed: &Parsed,
    runs: &[RunRecord],
    sides: &[Vec<usize>],
    pivot: Option<&Pivot>,
    format: Format,
) -> String {
    let intended: Vec<String> = parsed.values("factor").map(str::to_owned).collect();
    let compared = compared(&intended, runs, sides);
    let costs: Vec<Vec<Cost>> = runs.iter().map(dyno_verdict::costs).collect();
    let input = ReportInput {
        runs,
        costs: &costs,
        sides,
        compared: &compared,
        pivot,
        experiment: None,
        generated_unix_s: wall_time().as_secs_f64(),
        title: parsed.value("title").unwrap_or_default(),
    };
    for why in refusals(&input) {
        console::note(&format!("warning: {why}"));
    }
    match format {
        Format::Html => report(&input),
        Format::Markdown => markdown::report(&input),
        Format::JUnit => {
            let summaries = runs.iter().filter_map(|run| run.summary.as_ref());
            junit::xml(&summaries.map(junit::of_run).collect::<Vec<_>>())
        }
    }
}

/// Compares each side with the first, or says why it cannot.
///
/// `intended` are settings that should differ.
pub(super) fn compared(
    intended: &[String],
    runs: &[RunRecord],
    sides: &[Vec<usize>],
) -> Vec<Result<Comparison, String>> {
    let options = CompareOptions {
        intended: intended.to_vec(),
        ..CompareOptions::default()
    };
    let of = |side: &Vec<usize>| -> Vec<&RunRecord> {
        side.iter().filter_map(|run| runs.get(*run)).collect()
    };
    let Some((base, others)) = sides.split_first() else {
        return Vec::new();
    };
    let base = of(base);
    let against = |side: &Vec<usize>| compare(&base, &of(side), &options);
    let sentence = |error: CompareError| error.sentence();
    let compared = others.iter().map(against);
    compared.map(|one| one.map_err(sentence)).collect()
}
