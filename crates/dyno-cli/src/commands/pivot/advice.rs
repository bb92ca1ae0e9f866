//! What to do about runs that cannot share a table. Each suggested table is tried first.

use std::collections::BTreeSet;

use dyno_core::factors::EVERYBODYS;
use dyno_core::record::RunRecord;
use dyno_core::text::shell_word;
use dyno_verdict::{Base, CompareOptions, Group, Layout, compare, level, pivot};

/// Maximum number of runs that the advice names.
const NAMED_MAX: usize = 20;

/// A run with its levels of the table's factors, which may be settings.
struct Placed<'a> {
    row: String,
    column: Option<String>,
    run: &'a RunRecord,
}

/// A table that the runs can share, or else the runs that can share this one.
pub(super) fn advice(
    groups: &[Group<'_>],
    (layout, base): (&Layout, Base),
    metric: &str,
    options: &CompareOptions,
) -> String {
    let level = |levels: &[String], at: usize| levels.get(at).cloned().unwrap_or_default();
    let mut placed = Vec::new();
    for group in groups {
        let columns = layout.columns.as_ref();
        placed.extend(group.runs.iter().map(|run| Placed {
            row: level(&layout.rows.1, group.row),
            column: columns.map(|(_, levels)| level(levels, group.column)),
            run,
        }));
    }
    let others = others(&placed, layout);
    let works = |(rows, columns): &&(String, String)| {
        is_possible(&placed, layout, (rows, columns), metric, options)
    };
    match others.iter().find(works) {
        Some((rows, columns)) => format!(
            "use --rows {} --columns {}",
            shell_word(rows),
            shell_word(columns)
        ),
        None => format!(
            "name runs that can be compared: {}",
            command(&alike(groups, base, options), layout)
        ),
    }
}

/// The command line of the same table of these runs.
pub(super) fn command(runs: &[i64], layout: &Layout) -> String {
    let names: Vec<String> = match runs.len() {
        1..=NAMED_MAX => runs.iter().map(i64::to_string).collect(),
        _ => vec!["RUN…".to_owned()],
    };
    let columns = layout.columns.as_ref();
    let columns = columns.map_or_else(String::new, |(name, _)| {
        format!(" --columns {}", shell_word(name))
    });
    let rows = shell_word(&layout.rows.0);
    format!("`dyno table {} --rows {rows}{columns}`", names.join(" "))
}

/// Other tables of the same runs: with a second factor, or with a workload in each row, because
/// only runs of one workload are compared.
fn others(placed: &[Placed<'_>], layout: &Layout) -> Vec<(String, String)> {
    let own = placed
        .iter()
        .flat_map(|placed| placed.run.head.factors.keys());
    let own: BTreeSet<&str> = own.map(String::as_str).collect();
    let rows = layout.rows.0.as_str();
    let columns = layout.columns.as_ref().map(|(name, _)| name.as_str());
    let mut tables: Vec<(&str, &str)> = match columns {
        None => own
            .into_iter()
            .chain(EVERYBODYS)
            .map(|name| (rows, name))
            .collect(),
        Some(columns) => vec![(columns, rows), ("workload", columns)],
    };
    tables.push(("workload", rows));
    // What differs between two servers is the server, not a factor that only one of them has.
    if columns.is_none() && on_several_servers(placed) {
        tables.insert(0, (rows, "server"));
    }
    tables.retain(|(rows, columns)| rows != columns);
    let owned = tables.into_iter();
    owned
        .map(|(rows, columns)| (rows.to_owned(), columns.to_owned()))
        .collect()
}

fn on_several_servers(placed: &[Placed<'_>]) -> bool {
    let product = |placed: &Placed<'_>| {
        let server = level(placed.run, "server").unwrap_or_default();
        server.split(' ').next().unwrap_or_default().to_owned()
    };
    let products: BTreeSet<String> = placed.iter().map(product).collect();
    products.len() > 1
}

/// Whether all runs have a place in this table, and can be compared in it.
fn is_possible(
    placed: &[Placed<'_>],
    layout: &Layout,
    (rows, columns): (&str, &str),
    metric: &str,
    options: &CompareOptions,
) -> bool {
    let of_columns = layout.columns.as_ref().map(|(name, _)| name.as_str());
    let level = |placed: &Placed<'_>, name: &str| match name {
        name if name == layout.rows.0 => Some(placed.row.clone()),
        name if Some(name) == of_columns => placed.column.clone(),
        name => level(placed.run, name),
    };
    let Ok(other) = Layout::of(placed, level, rows, Some(columns)) else {
        return false;
    };
    if other.places.values().map(Vec::len).sum::<usize>() < placed.len() {
        return false;
    }
    let group = |((row, column), places): (&(usize, usize), &Vec<usize>)| Group {
        row: *row,
        column: *column,
        runs: places
            .iter()
            .filter_map(|at| Some(placed.get(*at)?.run))
            .collect(),
    };
    let groups: Vec<Group<'_>> = other.places.iter().map(group).collect();
    pivot(&groups, metric, Base::Column(0), options).is_ok()
}

/// The runs that are repetitions of the first of their cell, in cells that can be compared with
/// their base.
fn alike(groups: &[Group<'_>], base: Base, options: &CompareOptions) -> Vec<i64> {
    let is_base = |of: &Group<'_>, group: &Group<'_>| match base {
        Base::Row(row) => group.row == row,
        Base::Column(column) => group.row == of.row && group.column == column,
        Base::None => false,
    };
    let mut ids = Vec::new();
    for group in groups {
        let Some(first) = group.runs.first() else {
            continue;
        };
        let other = groups.iter().find(|other| is_base(group, other));
        let other = other.and_then(|other| other.runs.first()).unwrap_or(first);
        if compare(&[*other], &[*first], options).is_err() {
            continue;
        }
        let repeats = |run: &&&RunRecord| {
            let both = [*first, **run];
            std::ptr::eq(*first, **run) || compare(&both, &both, options).is_ok()
        };
        ids.extend(group.runs.iter().filter(repeats).map(|run| run.id));
    }
    ids.sort_unstable();
    ids
}
