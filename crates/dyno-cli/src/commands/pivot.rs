//! `dyno table`: tabulate runs by their factors.

mod advice;
mod comparable;
mod missing;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use dyno_core::finding::Cause;
use dyno_core::record::RunRecord;
use dyno_core::threshold::Threshold;
use dyno_report::export::csv::table as csv_table;
use dyno_report::terminal::pivot as shown;
use dyno_report::{Pivot, equivalence_words, markdown};
use dyno_results::{Filter, Results, RunLine, Scope};
use dyno_verdict::{
    Base, Cell, CompareOptions, Group, Layout, leave_out_moved, pivot, pooled, waited,
};
use serde_json::{Value, json};

use super::runs::{level, no_factor, selected, unknown};
use crate::definitions::{FIGURES, TABLE};
use crate::options::{Grammar, Parsed, Script, help, parse};
use crate::settings::{margin, usage};
use crate::{STATUS_DONE, console, output, run_store, window};
use dyno_core::factors::EVERYBODYS;

/// Prints the table.
///
/// # Errors
/// No run has a factor or level, runs must not share a cell, or a file cannot be read.
pub(super) fn main(args: &[String]) -> Result<u8> {
    let parsed = parse(args, TABLE, Script::Declares(&[]), Grammar::Dyno)?;
    if parsed.has("help") {
        console::help(&format!(
            "Usage: dyno table [RUN…] --rows NAME [--columns NAME] [--figure NAME] [--where …]\n\n\
             Tabulate runs: one figure for each level of one or two factors (dyno run --factor \
             NAME=LEVEL; workload, server and sessions are factors of every run), with its ratio \
             to a base, stalls and the verdict.\n\
             {}",
            help(TABLE, Grammar::Dyno)
        ));
        return Ok(STATUS_DONE);
    }
    let Some(rows) = parsed.value("rows") else {
        return Err(usage(
            "dyno table needs --rows NAME, the factor of its rows",
        ));
    };
    if parsed.has("csv") && parsed.has("json") {
        return Err(usage("--csv and --json cannot be used together"));
    }
    if parsed.has("csv") && output::is_markdown(&parsed)? {
        return Err(usage("--csv and --format cannot be used together"));
    }
    let figure = parsed.value("figure").unwrap_or("rate");
    let metric = metric(figure)?;
    let results = Results::open_read(&run_store::required(&parsed)?)?;
    let filter = Filter {
        factors: selected(&parsed, &results)?,
        ..Filter::default()
    };
    let named: Vec<i64> = run_store::all(&parsed.words)?
        .iter()
        .map(|word| results.find(word))
        .collect::<Result<_, _>>()?;
    let mut lines = results.runs(&filter)?;
    lines.retain(|line| named.is_empty() || named.contains(&line.id));
    comparable::leave_out_empty(&mut lines, &named);
    let settings = settings(&results, &lines, [Some(rows), parsed.value("columns")])?;
    let level = |line: &RunLine, name: &str| {
        let setting = || settings.get(name)?.get(&line.id).cloned();
        line.level(name).or_else(setting)
    };
    let mut layout = Layout::of(&lines, level, rows, parsed.value("columns"))
        .map_err(|factor| unknown(&lines, &factor))?;
    for setting in settings.keys() {
        comparable::report_other_servers(&layout, &lines, setting);
    }
    comparable::leave_out_other_loops(&mut layout, &lines);
    for factor in [Some(rows), parsed.value("columns")].into_iter().flatten() {
        comparable::report_nameless(&lines, factor);
    }
    let base = base(&layout, parsed.value("base"))?;
    let table = table(&parsed, (&results, &lines), layout, base, (figure, &metric))?;
    write(&parsed, &table)?;
    Ok(STATUS_DONE)
}

/// The values, by run, of names that are server settings or facts and not factors.
fn settings(
    results: &Results,
    lines: &[RunLine],
    names: [Option<&str>; 2],
) -> Result<BTreeMap<String, BTreeMap<i64, String>>> {
    let is_factor = |name: &str| lines.iter().any(|line| line.level(name).is_some());
    let names = names.into_iter().flatten().filter(|name| !is_factor(name));
    names
        .map(|name| Ok((name.to_owned(), results.settings_named(name)?)))
        .collect()
}

/// The metric of `compare` that the user means.
pub(super) fn metric(figure: &str) -> Result<String> {
    // The figure names are those of `--fail-if`.
    let condition: Result<Threshold, _> = format!("{figure} > 1x").parse();
    condition
        .map(|one| one.metric())
        .map_err(|_| no_figure(figure))
}

fn no_figure(figure: &str) -> anyhow::Error {
    let [names @ .., percentile] = FIGURES;
    let others: Vec<&str> = names.into_iter().filter(|name| *name != figure).collect();
    let needs = match figure {
        "median_rate" => ", which needs intervals of one second",
        _ => "",
    };
    usage(format!(
        "--figure: no run has '{figure}'{needs}; there are {} and percentiles such as {percentile}",
        others.join(", ")
    ))
}

/// The index of the base level.
fn base(layout: &Layout, wanted: Option<&str>) -> Result<usize> {
    let (name, levels) = layout.along();
    let Some(wanted) = wanted else {
        return Ok(0);
    };
    let place = level(levels, wanted);
    place.ok_or_else(|| {
        usage(format!(
            "--base: {name} has no level '{wanted}'; it has {}",
            levels.join(", ")
        ))
    })
}

/// The base's name, e.g. `engine=innodb`.
pub(super) fn base_name(layout: &Layout, base: usize) -> String {
    let (name, levels) = layout.along();
    format!("{name}={}", levels.get(base).map_or("", String::as_str))
}

/// The name of the base of the ratios, or nothing if there are no ratios.
fn named(layout: &Layout, base: usize, by: Base) -> String {
    match by {
        Base::None => String::new(),
        _ => base_name(layout, base),
    }
}

/// The table of a report, with the index of the base: by the requested factors, or by two or more
/// varied ones.
///
/// # Errors
/// No run has a factor or level, or runs must not share a cell.
pub(super) fn on_page(parsed: &Parsed, runs: &[RunRecord]) -> Result<Option<(Pivot, usize)>> {
    let asked = parsed.value("rows");
    if asked.is_none() {
        for needs in ["columns", "base"] {
            if parsed.has(needs) {
                return Err(usage(format!("--{needs} needs --rows NAME")));
            }
        }
    }
    let known = |name: &str| EVERYBODYS.contains(&name);
    let own = |run: &RunRecord, name: &str| dyno_verdict::level(run, name);
    let (rows, columns) = match asked {
        Some(rows) => (
            vec![rows.to_owned()],
            parsed.value("columns").map(str::to_owned),
        ),
        None => match varied(runs) {
            None => return Ok(None),
            Some((rows, columns)) => (rows, Some(columns)),
        },
    };
    let name = rows.join(", ");
    let level = |run: &RunRecord, wanted: &str| match wanted == name {
        false => own(run, wanted),
        true => {
            let all: Option<Vec<String>> = rows.iter().map(|row| own(run, row)).collect();
            all.map(|all| all.join(", "))
        }
    };
    let layout = Layout::of(runs, level, &name, columns.as_deref()).map_err(|factor| {
        let all = runs.iter().flat_map(|run| run.head.factors.keys());
        no_factor(&factor, all.map(String::as_str).filter(|name| !known(name)))
    })?;
    let base = base(&layout, parsed.value("base"))?;
    let by = of(parsed, &layout, base);
    let group = |((row, column), places): (&(usize, usize), &Vec<usize>)| Group {
        row: *row,
        column: *column,
        runs: places.iter().filter_map(|place| runs.get(*place)).collect(),
    };
    let groups: Vec<Group<'_>> = layout.places.iter().map(group).collect();
    let cells = match pivot(&groups, "events", by, &CompareOptions::default()) {
        Ok((cells, _)) => cells,
        // It was not requested.
        Err(_) if asked.is_none() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let table = Pivot {
        figure: "rate".to_owned(),
        unit: "per second".to_owned(),
        base: named(&layout, base, by),
        runs: layout.places.values().cloned().collect(),
        rows: layout.rows,
        columns: layout.columns,
        cells,
        by_block: false,
        pooled: pooled(&groups),
    };
    Ok(Some((table, base)))
}

/// The user's own factors that vary, if there are two or more: the one with the fewest levels for
/// the columns, the others for the rows.
fn varied(runs: &[RunRecord]) -> Option<(Vec<String>, String)> {
    let mut levels: BTreeMap<&String, BTreeSet<&String>> = BTreeMap::new();
    for (name, level) in runs.iter().flat_map(|run| &run.head.factors) {
        levels.entry(name).or_default().insert(level);
    }
    levels.retain(|_, levels| levels.len() > 1);
    let columns = levels.iter().min_by_key(|(_, levels)| levels.len());
    let columns = (*columns?.0).clone();
    let rows: Vec<String> = levels
        .into_keys()
        .filter(|name| **name != columns)
        .cloned()
        .collect();
    (!rows.is_empty()).then_some((rows, columns))
}

fn table(
    parsed: &Parsed,
    (results, lines): (&Results, &[RunLine]),
    layout: Layout,
    base: usize,
    (figure, metric): (&str, &str),
) -> Result<Pivot> {
    let records = records(parsed, results, lines, &layout)?;
    let groups: Vec<Group<'_>> = records
        .iter()
        .map(|((row, column), runs)| Group {
            row: *row,
            column: *column,
            runs: runs.iter().collect(),
        })
        .collect();
    let options = CompareOptions {
        other_workload: parsed.has("force"),
        equivalent: margin(parsed)?,
        ..CompareOptions::default()
    };
    let by = of(parsed, &layout, base);
    let pivoted = pivot(&groups, metric, by, &options);
    let (cells, unit) = pivoted.map_err(|error| {
        let advice = advice::advice(&groups, (&layout, by), metric, &options);
        anyhow::anyhow!("{error}; {advice}")
    })?;
    report_missing(&groups, (&cells, &layout), (figure, metric), &options)?;
    Ok(Pivot {
        figure: figure.to_owned(),
        unit,
        base: named(&layout, base, by),
        rows: layout.rows,
        columns: layout.columns,
        cells,
        runs: Vec::new(),
        by_block: false,
        pooled: pooled(&groups),
    })
}

/// The runs of a cell, by its row and column.
type Records = Vec<((usize, usize), Vec<RunRecord>)>;

/// The runs of each cell, or their parts in the window. Reports those that are left out.
///
/// # Errors
/// A run cannot be read, or no run has a part in the window.
fn records(
    parsed: &Parsed,
    results: &Results,
    lines: &[RunLine],
    layout: &Layout,
) -> Result<Records> {
    let window = window::asked(parsed)?;
    let mut records = Records::new();
    let mut outside = Vec::new();
    for (place, runs) in &layout.places {
        let ids = runs.iter().filter_map(|run| Some(lines.get(*run)?.id));
        let mut cell = Vec::new();
        for id in ids {
            let run = results.load(id, &Scope::whole())?;
            match window {
                None => cell.push(run),
                // A run shorter than the window must not prevent the table.
                Some(window) => match window::part(run, window) {
                    Ok(part) => cell.push(part),
                    Err(error) => outside.push(error),
                },
            }
        }
        for moved in leave_out_moved(&mut cell) {
            console::note(&format!("left out: {moved}"));
        }
        if let Some(why) = waited(&cell) {
            console::note(&why);
        }
        if !cell.is_empty() {
            records.push((*place, cell));
        }
    }
    if records.is_empty()
        && let Some(error) = outside.pop()
    {
        return Err(error);
    }
    for error in &outside {
        console::note(&format!("left out: {error:#}"));
    }
    Ok(records)
}

/// Reports cells without the figure.
///
/// # Errors
/// No cell has it.
fn report_missing(
    groups: &[Group<'_>],
    (cells, layout): (&[Cell], &Layout),
    (figure, metric): (&str, &str),
    options: &CompareOptions,
) -> Result<()> {
    let explanation = missing::explain(groups, (cells, layout), (figure, metric), options)?;
    match (explanation, cells.iter().all(|cell| cell.value.is_none())) {
        (Some(explanation), true) => return Err(usage(explanation)),
        (None, true) => return Err(no_figure(figure)),
        (Some(explanation), false) => console::note(&explanation),
        (None, false) => {}
    }
    Ok(())
}

/// The base: a row if there are no columns.
fn of(parsed: &Parsed, layout: &Layout, base: usize) -> Base {
    match layout.columns {
        Some(_) => Base::Column(base),
        // Ratios of different workloads must be requested.
        None if layout.rows.0 == "workload" && !parsed.has("base") && !parsed.has("force") => {
            Base::None
        }
        None => Base::Row(base),
    }
}

fn write(parsed: &Parsed, table: &Pivot) -> Result<()> {
    let lacks_legend = parsed.has("csv") || parsed.has("json");
    if let Some(why) = table.undecided().filter(|_| lacks_legend) {
        console::note(&why);
    }
    if parsed.has("csv") {
        console::out(&csv(table, parsed.has("equivalent"))?);
        return Ok(());
    }
    let is_markdown = output::is_markdown(parsed)?;
    output::json_or_text(
        parsed,
        || as_json(table),
        |look| match is_markdown {
            true => console::out(&markdown::pivot(table)),
            false => console::page(look, |look| shown(table, look)),
        },
    )
}

pub(super) fn levels<'a>(table: &'a Pivot, cell: &Cell) -> (&'a str, Option<&'a str>) {
    let level = |levels: &'a [String], at: usize| levels.get(at).map_or("", String::as_str);
    let columns = table.columns.as_ref();
    (
        level(&table.rows.1, cell.row),
        columns.map(|(_, levels)| level(levels, cell.column)),
    )
}

fn csv(table: &Pivot, is_tested: bool) -> std::io::Result<String> {
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    const COLUMNS: [&str; 10] = [
        "runs",
        "figure",
        "unit",
        "value",
        "ratio",
        "low",
        "high",
        "stalled_s",
        "verdict",
        "includes",
    ];
    let mut names = vec![table.rows.0.clone()];
    names.extend(table.columns.iter().map(|(name, _)| name.clone()));
    names.extend(COLUMNS.map(str::to_owned));
    names.extend(is_tested.then(|| "equivalence".to_owned()));
    let cells = table.cells.iter().map(|cell| {
        let (level, column) = levels(table, cell);
        let mut fields = vec![level.to_owned()];
        fields.extend(column.map(str::to_owned));
        let runs: Vec<String> = cell.runs.iter().map(i64::to_string).collect();
        fields.push(runs.join(" "));
        fields.push(table.figure.clone());
        fields.push(table.unit.clone());
        fields.extend([cell.value, cell.ratio, cell.low, cell.high, cell.stalled_s].map(number));
        fields.push(cell.verdict.map_or("", |verdict| verdict.word()).to_owned());
        fields.push(cell.includes.map(named_cause).unwrap_or_default());
        let test = || cell.equivalence.as_ref().map(equivalence_words);
        fields.extend(is_tested.then(|| test().unwrap_or_default()));
        fields
    });
    csv_table(std::iter::once(names).chain(cells))
}

/// A cause as in JSON.
fn named_cause(cause: Cause) -> String {
    json!(cause).as_str().unwrap_or_default().to_owned()
}

fn as_json(table: &Pivot) -> Value {
    let cells: Vec<Value> = table
        .cells
        .iter()
        .map(|cell| {
            let (row, column) = levels(table, cell);
            json!({
                "row": row,
                "column": column,
                "runs": cell.runs,
                "value": cell.value,
                "ratio": cell.ratio,
                "low": cell.low,
                "high": cell.high,
                "equivalence": cell.equivalence,
                "stalled_s": cell.stalled_s,
                "verdict": cell.verdict,
                "includes": cell.includes,
            })
        })
        .collect();
    json!({
        "figure": table.figure,
        "unit": table.unit,
        "base": (!table.base.is_empty()).then_some(&table.base),
        "rows": {"factor": table.rows.0, "levels": table.rows.1},
        "columns": table.columns.as_ref().map(|(name, levels)| json!({
            "factor": name,
            "levels": levels,
        })),
        "pooled": table.pooled,
        "cells": cells,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_figure_is_not_among_those_offered() {
        let text = no_figure("median_rate").to_string();
        let expected = "no run has 'median_rate', which needs intervals of one second; there are \
                        rate, queries, errors, mean, max and percentiles such as p99";
        assert!(text.ends_with(expected), "{text}");
        let text = no_figure("p98").to_string();
        let expected = "'p98'; there are rate, median_rate, ";
        assert!(text.contains(expected), "{text}");
    }
}
