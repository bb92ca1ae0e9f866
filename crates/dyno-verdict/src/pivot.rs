//! Runs as a table of two factors: a figure in each cell, its ratio to a base with an interval, the
//! stalled time, and the worst verdict.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use dyno_core::factors;
use dyno_core::finding::{Cause, Verdict};
use dyno_core::record::RunRecord;
use dyno_core::text::{server_name, shell_word};

use crate::compare::{CompareError, CompareOptions, Comparison, EquivalenceTest, compare, unlike};

/// A run's level of a factor: one given by the user, or `workload`, `server` or `sessions`, which
/// every run has.
pub fn level(run: &RunRecord, factor: &str) -> Option<String> {
    let own = run.head.factors.get(factor).cloned();
    let summary = run.summary.as_ref();
    own.or_else(|| match factor {
        "workload" => run.head.workload.known().map(str::to_owned),
        "server" => {
            let target = summary.map_or(&run.head.target, |summary| &summary.target);
            let server = server_name(&target.product, &target.version);
            Some(server).filter(|server| !server.is_empty())
        }
        "sessions" => {
            let drive = run.head.drive.as_ref()?;
            Some(match drive.session_schedule() {
                Some(schedule) => schedule.short(),
                None => drive.sessions.to_string(),
            })
        }
        _ => None,
    })
}

/// The cells of runs in a table of one or two factors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The factor of the rows, and its levels in order.
    pub rows: (String, Vec<String>),
    /// The factor of the columns, and its levels; `None` for a table of one factor.
    pub columns: Option<(String, Vec<String>)>,
    /// The indices of the runs, in the given order, by row and column.
    pub places: BTreeMap<(usize, usize), Vec<usize>>,
}

impl Layout {
    /// Places runs by the levels that `level` returns. Runs without a level are omitted.
    ///
    /// # Errors
    /// The name of a factor that no run has.
    pub fn of<T>(
        runs: &[T],
        level: impl Fn(&T, &str) -> Option<String>,
        rows: &str,
        columns: Option<&str>,
    ) -> Result<Self, String> {
        Self::in_order(runs, level, (rows, columns), |_, one, other| {
            factors::order(one, other)
        })
    }

    /// Builds a table with the levels of each factor in the caller's order.
    ///
    /// # Errors
    /// The name of a factor that no run has.
    pub fn in_order<T>(
        runs: &[T],
        level: impl Fn(&T, &str) -> Option<String>,
        (rows, columns): (&str, Option<&str>),
        order: impl Fn(&str, &str, &str) -> Ordering,
    ) -> Result<Self, String> {
        let levels = |factor: &str| {
            let mut levels: Vec<String> =
                runs.iter().filter_map(|run| level(run, factor)).collect();
            levels.sort_by(|one, other| order(factor, one, other));
            levels.dedup();
            match levels.is_empty() {
                false => Ok((factor.to_owned(), levels)),
                true => Err(factor.to_owned()),
            }
        };
        let rows = levels(rows)?;
        let columns = columns.map(levels).transpose()?;
        let level_index = |run: &T, (name, levels): &(String, Vec<String>)| {
            let own = level(run, name)?;
            levels.iter().position(|level| *level == own)
        };
        let mut places: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for (number, run) in runs.iter().enumerate() {
            let column = match &columns {
                Some(columns) => level_index(run, columns),
                None => Some(0),
            };
            if let (Some(row), Some(column)) = (level_index(run, &rows), column) {
                places.entry((row, column)).or_default().push(number);
            }
        }
        Ok(Self {
            rows,
            columns,
            places,
        })
    }

    /// The factor along which ratios are computed: that of the columns, or of the rows
    /// without columns.
    pub fn along(&self) -> &(String, Vec<String>) {
        self.columns.as_ref().unwrap_or(&self.rows)
    }
}

/// The runs of a cell and its position.
#[derive(Debug)]
pub struct Group<'a> {
    /// Row of the cell, from 0.
    pub row: usize,
    /// Column of the cell, from 0.
    pub column: usize,
    /// Repetitions.
    pub runs: Vec<&'a RunRecord>,
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Row of the cell, from 0.
    pub row: usize,
    /// Column of the cell, from 0.
    pub column: usize,
    /// The ids of its runs.
    pub runs: Vec<i64>,
    /// The figure over all of its runs; `None` if they lack it.
    pub value: Option<f64>,
    /// The figure over that of the base; `None` for the base itself, and if one is missing.
    pub ratio: Option<f64>,
    /// Lower bound of the ratio, as in `compare`.
    pub low: Option<f64>,
    /// Upper bound of the ratio.
    pub high: Option<f64>,
    /// Whether it is the same as the base, if that was tested; undecided without an interval.
    pub equivalence: Option<EquivalenceTest>,
    /// The stalled time of its runs, in seconds; `None` if unknown for one.
    pub stalled_s: Option<f64>,
    /// The worst verdict of its runs; `None` if one was not judged.
    pub verdict: Option<Verdict>,
    /// Whether a valid verdict needs a qualification: hardly any check applied to one of its runs.
    pub thin: bool,
    /// The other work that the figure includes, if any was found.
    pub includes: Option<Cause>,
}

/// The base of the ratios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// This row of a table without columns.
    Row(usize),
    /// This column, in each row.
    Column(usize),
    /// No ratios: the cells are not comparable, such as those of different workloads.
    None,
}

/// The cells of a table, in the order of the groups, with the unit of the figure.
///
/// `metric` is the name of one of `compare`'s metrics. The base of a cell is the group in the
/// column `base` of its row; in a table without columns, the one in the row `base`.
///
/// # Errors
/// See [`compare`]: runs in one cell that are not repetitions, or different workloads.
pub fn pivot(
    groups: &[Group<'_>],
    metric: &str,
    base: Base,
    options: &CompareOptions,
) -> Result<(Vec<Cell>, String), CompareError> {
    let is_base = |of: &Group<'_>, group: &Group<'_>| match base {
        Base::Row(row) => group.row == row,
        Base::Column(column) => group.row == of.row && group.column == column,
        Base::None => false,
    };
    let mut unit = String::new();
    let mut cells = Vec::new();
    for group in groups {
        let other = groups.iter().find(|other| is_base(group, other));
        let to_itself = other.is_none_or(|other| std::ptr::eq(other, group));
        let against = other.filter(|_| !to_itself).unwrap_or(group);
        let compared = compare(&against.runs, &group.runs, options)?;
        cells.push(cell(group, &compared, metric, to_itself, &mut unit));
    }
    Ok((cells, unit))
}

/// A warning about cells with runs that differ in a factor that is neither rows nor columns: one
/// figure of unlike runs.
pub fn pooled(groups: &[Group<'_>]) -> Option<String> {
    let warnings = [by_servers(groups), by_factors(groups), undeclared(groups)];
    let warnings: Vec<String> = warnings.into_iter().flatten().collect();
    (!warnings.is_empty()).then(|| warnings.join(" "))
}

const NAMED_MAX: usize = 6;

/// Undeclared differences between runs of one cell: settings, tables, load.
fn undeclared(groups: &[Group<'_>]) -> Option<String> {
    let mut found: BTreeSet<String> = BTreeSet::new();
    for group in groups {
        let Some((first, others)) = group.runs.split_first() else {
            continue;
        };
        // Compare only runs with the same factors and server: other differences are attributed to
        // these.
        let same = |other: &&&RunRecord| {
            other.head.factors == first.head.factors && product(other) == product(first)
        };
        for other in others.iter().filter(same) {
            found.extend(unlike(first, other));
        }
    }
    let count = found.len();
    let mut names: Vec<String> = found.into_iter().take(NAMED_MAX).collect();
    if count > names.len() {
        names.push(format!("{} more", count - names.len()));
    }
    (count > 0).then(|| {
        format!(
            "Runs of one cell have undeclared differences in {}: run `dyno compare` on two of them \
             for details.",
            names.join(", ")
        )
    })
}

/// The server's product: `MariaDB`.
fn product(run: &RunRecord) -> &str {
    let summary = run.summary.as_ref();
    let target = summary.map_or(&run.head.target, |summary| &summary.target);
    &target.product
}

fn products<'a>(runs: &[&'a RunRecord]) -> BTreeSet<&'a str> {
    let all = runs.iter().map(|run| product(run));
    all.filter(|product| !product.is_empty()).collect()
}

/// Different servers in one cell.
fn by_servers(groups: &[Group<'_>]) -> Option<String> {
    let all = groups.iter().map(|group| products(&group.runs));
    let mixed: BTreeSet<&str> = all.filter(|all| all.len() > 1).flatten().collect();
    let known: Vec<&str> = mixed.into_iter().collect();
    let example = known.first()?;
    Some(format!(
        "Runs of one cell differ in their server ({}) and count as repetitions: use server as rows \
         or columns, or select one, as with --where server={}.",
        known.join(", "),
        shell_word(example)
    ))
}

/// Whether only runs of some of a cell's servers have this factor, such as a setting that the
/// others lack. It then cannot tell the servers apart any better than their names.
fn is_of_some_servers(group: &Group<'_>, name: &str) -> bool {
    let has = |run: &&RunRecord| run.head.factors.contains_key(name);
    let with: Vec<&RunRecord> = group.runs.iter().copied().filter(has).collect();
    products(&with).len() < products(&group.runs).len()
}

fn by_factors(groups: &[Group<'_>]) -> Option<String> {
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for group in groups {
        let factors = group.runs.iter().map(|run| &run.head.factors);
        let names: BTreeSet<&String> = factors.clone().flat_map(BTreeMap::keys).collect();
        for name in names {
            if is_of_some_servers(group, name) {
                continue;
            }
            let levels: BTreeSet<&str> = factors
                .clone()
                .map(|factors| factors.get(name).map_or("none", String::as_str))
                .collect();
            if levels.len() > 1 {
                found.entry(name).or_default().extend(levels);
            }
        }
    }
    if found.is_empty() {
        return None;
    }
    let factors = found.iter().map(|(name, levels)| {
        let levels: Vec<&str> = levels.iter().copied().collect();
        format!("{name} ({})", levels.join(", "))
    });
    Some(format!(
        "Runs of one cell differ in {} and count as repetitions: use that as rows or columns, or \
         select a level with --where.",
        factors.collect::<Vec<_>>().join(", ")
    ))
}

fn cell(
    group: &Group<'_>,
    compared: &Comparison,
    metric: &str,
    to_itself: bool,
    unit: &mut String,
) -> Cell {
    let mut metrics = compared.metrics.iter();
    let found = metrics.find(|one| one.is_called(metric));
    if let Some(found) = found {
        unit.clone_from(&found.unit);
    }
    let ratio = found.filter(|_| !to_itself);
    let without_interval = || {
        let tested = ratio
            .and_then(|one| one.ratio)
            .zip(compared.equivalent_within);
        tested.map(|(ratio, margin)| EquivalenceTest::without_interval(ratio, margin))
    };
    let runs = &compared.new.runs;
    // A run that was not judged is not valid.
    let judged = runs
        .iter()
        .map(|run| run.verdict)
        .collect::<Option<Vec<_>>>();
    let verdict = judged.and_then(|all| all.into_iter().max());
    Cell {
        row: group.row,
        column: group.column,
        runs: runs.iter().map(|run| run.id).collect(),
        value: found.and_then(|one| one.new),
        ratio: ratio.and_then(|one| one.ratio),
        low: ratio.and_then(|one| one.low),
        high: ratio.and_then(|one| one.high),
        equivalence: ratio
            .and_then(|one| one.equivalence)
            .or_else(without_interval),
        stalled_s: compared.new.stalled_s,
        verdict,
        thin: verdict == Some(Verdict::Valid) && runs.iter().any(|run| run.thin),
        includes: found.and_then(|one| one.new_includes),
    }
}

#[cfg(test)]
mod tests;
