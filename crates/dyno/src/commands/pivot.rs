//! `dyno table`: runs as a table of the factors that they vary.

use std::collections::BTreeMap;

use anyhow::Result;
use dyno_core::factors;
use dyno_core::record::RunRecord;
use dyno_core::threshold::Threshold;
use dyno_report::terminal::{Pivot, pivot as shown};
use dyno_results::{Filter, Results, RunLine, Scope};
use dyno_verdict::{Cell, CompareOptions, Group, pivot};
use serde_json::{Value, json};

use super::runs::selected;
use crate::definitions::TABLE;
use crate::options::{Grammar, Parsed, Script, help, parse};
use crate::settings::usage;
use crate::{STATUS_DONE, console, run_store, window};

/// The name of the median second among the figures, and among `compare`'s metrics.
const MEDIAN: (&str, &str) = ("median_rate", "events, median second");

/// Prints the table.
///
/// # Errors
/// A factor or level that no run has, runs that must not share a cell, a file that cannot be read.
pub fn main(args: &[String]) -> Result<u8> {
    let parsed = parse(args, TABLE, Script::Declares(&[]), Grammar::Dyno)?;
    if parsed.has("help") {
        console::help(&format!(
            "Usage: dyno table --rows NAME [--columns NAME] [--figure NAME] [--where …]\n\n\
             Runs as a table: a figure for each level of one or two factors (dyno run --factor \
             NAME=LEVEL; workload, server and sessions are factors of every run), with its ratio \
             to a base, stalls and the verdict.\n{}",
            help(TABLE, Grammar::Dyno)
        ));
        return Ok(STATUS_DONE);
    }
    if let Some(word) = parsed.words.first() {
        return Err(usage(format!(
            "dyno table takes no '{word}': --where selects runs, --rows and --columns name factors"
        )));
    }
    let Some(rows) = parsed.value("rows") else {
        return Err(usage(
            "dyno table needs --rows NAME, the factor of its rows",
        ));
    };
    if parsed.has("csv") && parsed.has("json") {
        return Err(usage("--csv and --json are two formats: ask for one"));
    }
    let figure = parsed.value("figure").unwrap_or("rate");
    let metric = metric(figure)?;
    let results = Results::open_read(&run_store::required(&parsed)?)?;
    let filter = Filter {
        factors: selected(&parsed)?,
        ..Filter::default()
    };
    let lines = results.runs(&filter)?;
    let placed = Placed::of(&lines, rows, parsed.value("columns"))?;
    let base = placed.base(parsed.value("base"))?;
    let table = table(&parsed, &results, placed, base, (figure, &metric))?;
    write(&parsed, &table)?;
    Ok(STATUS_DONE)
}

/// The name of `compare`'s metric that the user calls so.
fn metric(figure: &str) -> Result<String> {
    if figure == MEDIAN.0 {
        return Ok(MEDIAN.1.to_owned());
    }
    // What `--fail-if` takes on the left of its sign.
    let condition: Result<Threshold, _> = format!("{figure} > 1x").parse();
    condition
        .map(|one| one.metric())
        .map_err(|_| no_figure(figure))
}

fn no_figure(figure: &str) -> anyhow::Error {
    usage(format!(
        "--figure: no run has '{figure}'; there are rate, {}, queries, errors, mean, max and \
         percentiles such as p99",
        MEDIAN.0
    ))
}

/// Runs at their places.
struct Placed {
    rows: (String, Vec<String>),
    columns: Option<(String, Vec<String>)>,
    /// Their numbers, by row and column.
    runs: BTreeMap<(usize, usize), Vec<i64>>,
}

impl Placed {
    fn of(lines: &[RunLine], rows: &str, columns: Option<&str>) -> Result<Self> {
        let levels = |factor: &str| {
            let mut levels: Vec<String> =
                lines.iter().filter_map(|line| line.level(factor)).collect();
            levels.sort_by(|one, other| factors::order(one, other));
            levels.dedup();
            match levels.is_empty() {
                false => Ok((factor.to_owned(), levels)),
                true => Err(unknown(lines, factor)),
            }
        };
        let rows = levels(rows)?;
        let columns = columns.map(levels).transpose()?;
        let place = |line: &RunLine, (name, levels): &(String, Vec<String>)| {
            let own = line.level(name)?;
            levels.iter().position(|level| *level == own)
        };
        let mut runs: BTreeMap<(usize, usize), Vec<i64>> = BTreeMap::new();
        for line in lines {
            let column = match &columns {
                Some(columns) => place(line, columns),
                None => Some(0),
            };
            if let (Some(row), Some(column)) = (place(line, &rows), column) {
                runs.entry((row, column)).or_default().push(line.id);
            }
        }
        Ok(Self {
            rows,
            columns,
            runs,
        })
    }

    /// The place of the level that ratios are to.
    fn base(&self, wanted: Option<&str>) -> Result<usize> {
        let (name, levels) = self.columns.as_ref().unwrap_or(&self.rows);
        let Some(wanted) = wanted else {
            return Ok(0);
        };
        levels
            .iter()
            .position(|level| level == wanted)
            .ok_or_else(|| {
                usage(format!(
                    "--base: {name} has no level '{wanted}'; it has {}",
                    levels.join(", ")
                ))
            })
    }
}

/// The error of a factor that no run has.
fn unknown(lines: &[RunLine], factor: &str) -> anyhow::Error {
    let own = lines.iter().flat_map(|line| line.factors.keys());
    let mut names: Vec<&str> = own.map(String::as_str).collect();
    names.extend(["workload", "server", "sessions"]);
    names.sort_unstable();
    names.dedup();
    usage(match lines.is_empty() {
        true => "there is no run like that".to_owned(),
        false => format!(
            "no run has a factor '{factor}'; there are {}",
            names.join(", ")
        ),
    })
}

fn table(
    parsed: &Parsed,
    results: &Results,
    placed: Placed,
    base: usize,
    (figure, metric): (&str, &str),
) -> Result<Pivot> {
    let window = window::asked(parsed)?;
    let mut records: Vec<((usize, usize), Vec<RunRecord>)> = Vec::new();
    for (place, ids) in &placed.runs {
        let load = |id: &i64| {
            let run = results.load(*id, &Scope::whole())?;
            match window {
                Some(window) => window::part(run, window),
                None => Ok(run),
            }
        };
        records.push((*place, ids.iter().map(load).collect::<Result<_>>()?));
    }
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
        ..CompareOptions::default()
    };
    let (cells, unit) = pivot(&groups, metric, base, &options)?;
    if cells.iter().all(|cell| cell.value.is_none()) {
        return Err(no_figure(figure));
    }
    let (name, levels) = placed.columns.as_ref().unwrap_or(&placed.rows);
    Ok(Pivot {
        figure: figure.to_owned(),
        unit,
        base: format!("{name}={}", levels.get(base).map_or("", String::as_str)),
        rows: placed.rows,
        columns: placed.columns,
        cells,
    })
}

fn write(parsed: &Parsed, table: &Pivot) -> Result<()> {
    if parsed.has("csv") {
        console::out(&csv(table));
        return Ok(());
    }
    crate::output::json_or_text(
        parsed,
        || as_json(table),
        |look| console::page(look, |look| shown(table, look)),
    )
}

/// The levels of a cell.
fn levels<'a>(table: &'a Pivot, cell: &Cell) -> (&'a str, Option<&'a str>) {
    let level = |levels: &'a [String], at: usize| levels.get(at).map_or("", String::as_str);
    let columns = table.columns.as_ref();
    (
        level(&table.rows.1, cell.row),
        columns.map(|(_, levels)| level(levels, cell.column)),
    )
}

fn csv(table: &Pivot) -> String {
    let quoted = |text: &str| match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    };
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let mut names = vec![quoted(&table.rows.0)];
    names.extend(table.columns.iter().map(|(name, _)| quoted(name)));
    let mut out = format!(
        "{},runs,figure,unit,value,ratio,low,high,stalled_s,verdict\n",
        names.join(",")
    );
    for cell in &table.cells {
        let (row, column) = levels(table, cell);
        let mut fields = vec![quoted(row)];
        fields.extend(column.map(quoted));
        let runs: Vec<String> = cell.runs.iter().map(i64::to_string).collect();
        fields.push(runs.join(" "));
        fields.push(quoted(&table.figure));
        fields.push(quoted(&table.unit));
        fields.extend([cell.value, cell.ratio, cell.low, cell.high, cell.stalled_s].map(number));
        fields.push(cell.verdict.map_or("", |verdict| verdict.word()).to_owned());
        out += &(fields.join(",") + "\n");
    }
    out
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
                "stalled_s": cell.stalled_s,
                "verdict": cell.verdict,
            })
        })
        .collect();
    json!({
        "figure": table.figure,
        "unit": table.unit,
        "base": table.base,
        "rows": {"factor": table.rows.0, "levels": table.rows.1},
        "columns": table.columns.as_ref().map(|(name, levels)| json!({
            "factor": name,
            "levels": levels,
        })),
        "cells": cells,
    })
}
