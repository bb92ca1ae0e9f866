//! The tables of an experiment's report.

mod blocks;
mod captures;
mod costs;
mod effects;
mod pairs;
mod phases;
mod pivots;
mod scaling;
mod searched;
mod shared;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use dyno_conduct::lab::figures::Done;
use dyno_core::record::RunRecord;
use dyno_core::units::human_number;
use dyno_lab::file::{Experiment, Table, TableKind};
use dyno_report::Pivot;
use dyno_report::sheet::Sheet;
use dyno_stats::Margin;
use dyno_verdict::{Base, CompareOptions, Group, Layout, pivot};

use self::blocks::{by_block, in_slices};
use self::costs::costs;
pub(super) use self::effects::effects;
pub(super) use self::pivots::as_sheet;
use self::pivots::head;
use self::scaling::scaling;
use self::shared::{included, mark};
use crate::commands::pivot::{base_name, metric};

/// A table for output.
pub(super) enum LabTable {
    /// Levels as rows and columns.
    Cells(Box<Pivot>),
    /// Execution plans of statements.
    Plans(Sheet),
    /// Any other table.
    Sheet(Sheet),
    /// The reason why there is no table.
    Missing(String),
}

/// The file's tables; by default the table of cells.
pub(super) fn tables(
    experiment: &Experiment,
    done: &[Done],
    margin: Option<Margin>,
) -> Vec<LabTable> {
    if done.is_empty() {
        return Vec::new();
    }
    if let Some(search) = &experiment.search
        && experiment.tables.is_empty()
    {
        return vec![LabTable::Sheet(searched::searched(
            experiment,
            search.get_ref(),
            done,
        ))];
    }
    if experiment.tables.is_empty() {
        let factors: Vec<String> = experiment
            .crossed()
            .iter()
            .map(|factor| factor.name.get_ref().clone())
            .collect();
        let of = |rows: &[String], columns: Option<&String>| {
            vec![cells(
                experiment,
                done,
                (rows, columns),
                (experiment.subject(), margin),
            )]
        };
        return match factors.split_last() {
            None => Vec::new(),
            Some((only, [])) => of(std::slice::from_ref(only), None),
            Some((columns, rows)) => of(rows, Some(columns)),
        };
    }
    experiment
        .tables
        .iter()
        .map(|table| of(experiment, table, done, margin))
        .collect()
}

fn of(experiment: &Experiment, table: &Table, done: &[Done], margin: Option<Margin>) -> LabTable {
    let chosen: Vec<&Done> = done
        .iter()
        .filter(|done| experiment.is_of(&done.measured, &table.cells))
        .collect();
    let columns = table
        .columns
        .as_ref()
        .map(|columns| columns.all().join(", "));
    let figure = table.figure.as_deref();
    let figure = figure.unwrap_or_else(|| experiment.subject());
    match table.kind {
        TableKind::Cells | TableKind::Ladder => {
            let (rows, columns) = placed(experiment, table, columns);
            let own: Vec<&Done> = chosen;
            let places = (&rows[..], columns.as_deref());
            made(experiment, &own, places, (figure, margin))
        }
        TableKind::Stalls => LabTable::Sheet(stalls(experiment, &chosen)),
        TableKind::Resources => LabTable::Sheet(resources(experiment, &chosen)),
        TableKind::Paired => pairs::paired(experiment, table, &chosen),
        TableKind::Scaling => scaling(experiment, table, &chosen, figure),
        TableKind::Phases => phases::phases(experiment, &chosen, figure),
        TableKind::Cost => costs(experiment, &chosen),
        TableKind::Captured => captures::captured(experiment, &chosen),
        TableKind::Disturbances => LabTable::Missing(
            format!("this version has no table of kind {:?}", table.kind).to_lowercase(),
        ),
    }
}

/// Rows and columns of a table; by default the factors in order.
fn placed(
    experiment: &Experiment,
    table: &Table,
    columns: Option<String>,
) -> (Vec<String>, Option<String>) {
    let crossed = experiment.crossed();
    let names: Vec<String> = crossed
        .iter()
        .map(|factor| factor.name.get_ref().clone())
        .collect();
    if !table.rows.is_empty() {
        return (table.rows.clone(), columns);
    }
    let mut left: Vec<String> = names
        .into_iter()
        .filter(|name| Some(name) != columns.as_ref())
        .collect();
    match (columns, left.len()) {
        (None, 2..) => {
            // A ladder's steps are its rows.
            let steps = left.iter().position(|name| name == "sessions");
            let steps = match steps {
                None => left.pop(),
                Some(at) => Some(left.remove(at)),
            };
            (steps.into_iter().collect(), left.into_iter().next())
        }
        (columns, _) => (left, columns),
    }
}

fn cells(
    experiment: &Experiment,
    done: &[Done],
    (rows, columns): (&[String], Option<&String>),
    figure: (&str, Option<Margin>),
) -> LabTable {
    let all: Vec<&Done> = done.iter().collect();
    made(
        experiment,
        &all,
        (rows, columns.map(String::as_str)),
        figure,
    )
}

fn made(
    experiment: &Experiment,
    done: &[&Done],
    (rows, columns): (&[String], Option<&str>),
    (figure, margin): (&str, Option<Margin>),
) -> LabTable {
    let known = done.iter().any(|done| done.value(figure).is_some());
    let has_values = |pivot: &Pivot| pivot.cells.iter().any(|cell| cell.value.is_some());
    match try_cells(experiment, done, (rows, columns), (figure, margin)) {
        Ok(pivot) if has_values(&pivot) || !known => LabTable::Cells(Box::new(pivot)),
        // A figure of experiments that comparisons of runs lack.
        _ if known => {
            let factors = rows.iter().map(String::as_str).chain(columns);
            LabTable::Sheet(means(
                experiment,
                done,
                &factors.collect::<Vec<_>>(),
                figure,
            ))
        }
        Err(error) => LabTable::Missing(format!("{error:#}")),
        Ok(pivot) => LabTable::Cells(Box::new(pivot)),
    }
}

/// The means of a figure that comparisons of runs lack, and their ratios to the base.
fn means(experiment: &Experiment, done: &[&Done], factors: &[&str], figure: &str) -> Sheet {
    let names: Vec<String> = factors.iter().map(|name| (*name).to_owned()).collect();
    let factors: Vec<&String> = names.iter().collect();
    let mut table = sheet(
        &figure.replace('_', " "),
        "Means over the trials of a cell; the ratio is to the base levels of all factors.",
        &factors,
        &["trials", &head(figure), "ratio"],
    );
    let is_base = |levels: &[String]| {
        let mut pairs = factors.iter().zip(levels);
        pairs.all(|(name, level)| experiment.base_level(name).as_ref() == Some(level))
    };
    let cells = by_cell(experiment, done, &factors);
    let base = cells.iter().find(|(levels, _)| is_base(levels));
    let base = base.and_then(|(_, trials)| mean(trials, figure));
    let mut marks = Vec::new();
    for (mut row, trials) in cells {
        let own = mean(&trials, figure);
        row.push(trials.len().to_string());
        row.extend([own, own.zip(base).map(|(own, base)| own / base)].map(shown));
        table.rows.push(row);
        marks.push(included(&trials, &[figure]));
    }
    mark(&mut table, &marks);
    table
}

fn try_cells(
    experiment: &Experiment,
    done: &[&Done],
    (rows, columns): (&[String], Option<&str>),
    (figure, margin): (&str, Option<Margin>),
) -> anyhow::Result<Pivot> {
    let metric = metric(figure)?;
    let runs: Vec<&RunRecord> = usable(done);
    let name = rows.join(", ");
    let level = |run: &&RunRecord, wanted: &str| {
        let names = wanted.split(", ");
        let all: Option<Vec<String>> = names.map(|name| dyno_verdict::level(run, name)).collect();
        all.map(|all| all.join(", "))
    };
    let order = |names: &str, one: &str, other: &str| in_file(experiment, names, one, other);
    let layout = Layout::in_order(&runs, level, (&name, columns), order)
        .map_err(|factor| anyhow::anyhow!("no trial has a factor '{factor}'"))?;
    let (along, levels) = layout.along();
    let base = experiment.base_level(along);
    let base = base
        .and_then(|base| levels.iter().position(|level| *level == base))
        .unwrap_or(0);
    let groups: Vec<Group<'_>> = layout
        .places
        .iter()
        .map(|((row, column), places)| Group {
            row: *row,
            column: *column,
            runs: places
                .iter()
                .filter_map(|place| runs.get(*place).copied())
                .collect(),
        })
        .collect();
    let of = match layout.columns {
        Some(_) => Base::Column(base),
        None => Base::Row(base),
    };
    let (mut cells, unit) = pivot(&groups, &metric, of, &CompareOptions::default())?;
    for cell in &mut cells {
        in_slices(cell, done, figure);
        by_block(cell, &layout, base, (done, figure, margin));
    }
    let pooled = dyno_verdict::pooled(&groups);
    Ok(Pivot {
        figure: figure.to_owned(),
        unit,
        base: base_name(&layout, base),
        rows: layout.rows,
        columns: layout.columns,
        cells,
        runs: Vec::new(),
        by_block: true,
        pooled,
    })
}

/// The runs of valid trials; all runs of a cell without any.
fn usable<'a>(done: &[&'a Done]) -> Vec<&'a RunRecord> {
    let good: BTreeSet<&BTreeMap<String, String>> = done
        .iter()
        .filter(|done| done.measured.is_usable())
        .map(|done| &done.measured.levels)
        .collect();
    let counts = |done: &&&Done| done.measured.is_usable() || !good.contains(&done.measured.levels);
    done.iter()
        .filter(counts)
        .flat_map(|done| &done.runs)
        .collect()
}

/// Groups trials by their levels of these factors, in the order of the levels.
pub(super) fn by_cell<'a>(
    experiment: &Experiment,
    done: &[&'a Done],
    factors: &[&String],
) -> Vec<(Vec<String>, Vec<&'a Done>)> {
    let mut cells: Vec<(Vec<String>, Vec<&Done>)> = Vec::new();
    for one in done {
        let level = |name: &&String| one.measured.levels.get(*name).cloned().unwrap_or_default();
        let levels: Vec<String> = factors.iter().map(level).collect();
        match cells.iter_mut().find(|(other, _)| *other == levels) {
            Some((_, trials)) => trials.push(one),
            None => cells.push((levels, vec![one])),
        }
    }
    let places = |levels: &[String]| -> Vec<usize> {
        let pairs = factors.iter().zip(levels);
        pairs
            .map(|(name, level)| place(experiment, name, level))
            .collect()
    };
    cells.sort_by_key(|(levels, _)| places(levels));
    cells
}

/// A level's index in the file.
fn place(experiment: &Experiment, factor: &str, level: &str) -> usize {
    let levels = experiment.factor(factor).map(|own| own.levels.get_ref());
    let mut levels = levels.into_iter().flatten();
    let own = levels.position(|own| own.get_ref().name() == level);
    own.unwrap_or(usize::MAX)
}

/// Compares levels, or combinations joined with `, `, by their order in the file.
fn in_file(experiment: &Experiment, names: &str, one: &str, other: &str) -> Ordering {
    let places = |levels: &str| -> Vec<usize> {
        let pairs = names.split(", ").zip(levels.split(", "));
        pairs
            .map(|(name, level)| place(experiment, name, level))
            .collect()
    };
    let by_file = places(one).cmp(&places(other));
    by_file.then_with(|| dyno_core::factors::order(one, other))
}

/// The trials' factors except these.
pub(super) fn factors_but<'a>(done: &[&'a Done], but: &[&str]) -> Vec<&'a String> {
    let first = done
        .first()
        .into_iter()
        .flat_map(|done| done.measured.levels.keys());
    first.filter(|name| !but.contains(&name.as_str())).collect()
}

/// The mean of a figure over a cell's valid trials.
pub(super) fn mean(trials: &[&Done], figure: &str) -> Option<f64> {
    let values: Vec<f64> = trials
        .iter()
        .filter(|done| done.measured.is_usable())
        .filter_map(|done| done.value(figure))
        .collect();
    dyno_stats::mean(&values)
}

pub(super) fn shown(value: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(value) => {
            let size = value.abs();
            let decimals = match size {
                _ if size == 0.0 || size >= 100.0 => 0,
                _ if size >= 1.0 => 2,
                _ if size >= 0.0001 => 4,
                _ => return format!("{value:.1e}"),
            };
            human_number(value, decimals)
        }
    }
}

pub(super) fn sheet(title: &str, about: &str, factors: &[&String], columns: &[&str]) -> Sheet {
    let levels = factors.iter().map(|name| ((*name).clone(), false));
    let figures = columns.iter().map(|name| ((*name).to_owned(), true));
    Sheet {
        title: title.to_owned(),
        about: about.to_owned(),
        columns: levels.chain(figures).collect(),
        rows: Vec::new(),
    }
}

fn stalls(experiment: &Experiment, done: &[&Done]) -> Sheet {
    let factors = factors_but(done, &[]);
    let mut table = sheet(
        "Stalls",
        "A second at 5 % of the usual rate or less is stalled; means over the trials of a cell.",
        &factors,
        &["trials", "stalls", "stalled s", "longest s"],
    );
    for (mut row, trials) in by_cell(experiment, done, &factors) {
        row.push(trials.len().to_string());
        let figures = ["stalls", "stalled_s", "longest_stall_s"];
        row.extend(figures.map(|figure| shown(mean(&trials, figure))));
        table.rows.push(row);
    }
    table
}

fn resources(experiment: &Experiment, done: &[&Done]) -> Sheet {
    let figures = [
        ("server", "server_cpu"),
        ("client", "client_cpu"),
        ("read", "read_by_the_server"),
        ("written", "written_by_the_server"),
        ("disk read", "read_from_disks"),
        ("disk written", "written_to_disks"),
        ("log", "redo_per_event"),
        ("syncs", "file_syncs"),
    ];
    let there: Vec<&(&str, &str)> = figures
        .iter()
        .filter(|(_, figure)| mean(done, figure).is_some())
        .collect();
    let names: Vec<&str> = there.iter().map(|(name, _)| *name).collect();
    let factors = factors_but(done, &[]);
    let mut table = sheet(
        "Resources per event",
        "server and client: CPU in µs; read, written and log: KB of 1,024 bytes, of the server's \
         files and of the disks. – means not observed, or shared with others.",
        &factors,
        &names,
    );
    let mut marks = Vec::new();
    for (mut row, trials) in by_cell(experiment, done, &factors) {
        row.extend(there.iter().map(|(_, figure)| shown(mean(&trials, figure))));
        table.rows.push(row);
        marks.push(included(&trials, &figures.map(|(_, figure)| figure)));
    }
    mark(&mut table, &marks);
    table
}

/// A subject's name in text.
pub(super) fn subject_words(subject: &str) -> &str {
    match subject {
        "sessions" => "sessions that keep the promise",
        "offered" => "rate that keeps the promise",
        "p99" => "p99 response time",
        other => other,
    }
}
