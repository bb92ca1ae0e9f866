//! Runs as a table of two factors: a figure in each cell, its ratio to a base with an interval, the
//! stalled time, and the worst verdict.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use dyno_core::factors;
use dyno_core::finding::{Cause, Verdict};
use dyno_core::record::RunRecord;
use dyno_core::text::shell_word;

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
            let (product, version) = (&target.product, &target.version);
            Some(format!("{product} {version}").trim().to_owned())
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

    /// The same with the levels of each factor in the caller's order.
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
    /// Whether it is the same as the base, if that was tested.
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
        equivalence: ratio.and_then(|one| one.equivalence),
        stalled_s: compared.new.stalled_s,
        verdict,
        thin: verdict == Some(Verdict::Valid) && runs.iter().any(|run| run.thin),
        includes: found.and_then(|one| one.new_includes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_samples::{Product, assert_has, assert_lacks, closed, noisy, series};

    fn run(id: i64, level: f64) -> RunRecord {
        let mut run = closed(&noisy(30, level, 0.02, id as u64), Product::Mysql);
        (run.id, run.verdict) = (id, Some(Verdict::Valid));
        run.head.name = format!("run {id}");
        run
    }

    #[test]
    fn warns_about_cells_of_unlike_runs() {
        let mut runs: Vec<RunRecord> = (1..=4).map(|id| run(id, 1_000.0)).collect();
        for (run, (memory, binlog)) in
            runs.iter_mut()
                .zip([("5G", "on"), ("5G", "off"), ("10G", "on"), ("10G", "on")])
        {
            run.head
                .factors
                .insert("memory".to_owned(), memory.to_owned());
            run.head
                .factors
                .insert("binlog".to_owned(), binlog.to_owned());
        }
        let group = |row, runs: &[&'static RunRecord]| Group {
            row,
            column: 0,
            runs: runs.to_vec(),
        };
        let all: Vec<&'static RunRecord> = runs
            .into_iter()
            .map(|run| &*Box::leak(Box::new(run)))
            .collect();
        let warning = pooled(&[group(0, &all[..2]), group(1, &all[2..])]).unwrap();
        assert_has(&warning, "differ in binlog (off, on) and count");
        assert_eq!(pooled(&[group(0, &all[2..])]), None);
    }

    #[test]
    fn different_servers_in_a_cell_are_told_apart_by_the_server() {
        let mut maria = run(1, 1_000.0);
        let mut postgres = closed(&noisy(30, 1_000.0, 0.02, 2), Product::Postgres);
        (postgres.id, postgres.head.name) = (2, "run 2".to_owned());
        let level = ("flush_method".to_owned(), "O_DIRECT".to_owned());
        maria.head.factors.extend([level]);
        for (run, product) in [(&mut maria, "MariaDB"), (&mut postgres, "PostgreSQL")] {
            run.head.target.product = product.to_owned();
            run.summary.as_mut().unwrap().target.product = product.to_owned();
        }
        let warning = |runs: &[&RunRecord]| {
            let runs = runs.to_vec();
            pooled(&[Group {
                row: 0,
                column: 0,
                runs,
            }])
        };
        let both = warning(&[&maria, &postgres]).unwrap();
        assert_has(&both, "differ in their server (MariaDB, PostgreSQL) and");
        assert_has(&both, "or select one, as with --where server=MariaDB.");
        assert_lacks(&both, "flush_method");
        // A factor of both servers is a difference, too.
        let level = ("flush_method".to_owned(), "fsync".to_owned());
        postgres.head.factors.extend([level]);
        let both = warning(&[&maria, &postgres]).unwrap();
        assert_has(&both, "differ in flush_method (O_DIRECT, fsync)");
        assert_eq!(warning(&[&maria]), None);
    }

    #[test]
    fn cells_match_the_comparison_of_their_runs() {
        let mut runs: Vec<RunRecord> = (1..=6).map(|id| run(id, 1_000.0)).collect();
        runs.extend((7..=9).map(|id| run(id, 1_300.0)));
        runs[7].verdict = Some(Verdict::Doubtful);
        let all: Vec<&RunRecord> = runs.iter().collect();
        let group = |row, column, from: usize| Group {
            row,
            column,
            runs: all[from..from + 3].to_vec(),
        };
        let options = CompareOptions {
            equivalent: dyno_stats::Margin::new(0.02),
            ..CompareOptions::default()
        };
        let groups = [group(0, 0, 0), group(0, 1, 6), group(1, 1, 3)];
        let (cells, unit) = pivot(&groups, "events", Base::Column(0), &options).unwrap();
        assert_eq!(unit, "per second");
        let expected = compare(&all[..3], &all[6..], &options).unwrap();
        let events = &expected.metrics[0];
        let [base, other, alone] = &cells[..] else {
            panic!("{cells:?}")
        };
        assert_eq!((base.value, base.ratio), (events.base, None));
        assert_eq!((other.value, other.ratio), (events.new, events.ratio));
        assert_eq!((other.low, other.high), (events.low, events.high));
        assert_eq!(other.equivalence, events.equivalence);
        assert!(events.equivalence.is_some() && base.equivalence.is_none());
        assert_eq!(other.verdict, Some(Verdict::Doubtful));
        assert_eq!(other.runs, [7, 8, 9]);
        // A row without the base has no ratios.
        assert_eq!(alone.ratio, None);
        // A single level is a column as well.
        let groups = [group(0, 0, 0), group(1, 0, 6)];
        let (cells, _) = pivot(&groups, "events", Base::Column(0), &options).unwrap();
        assert!(cells.iter().all(|cell| cell.ratio.is_none()));
        // Without columns the base is a row.
        let groups = [group(0, 0, 0), group(1, 0, 6)];
        let (cells, _) = pivot(&groups, "events", Base::Row(1), &options).unwrap();
        assert!(
            cells[0]
                .ratio
                .is_some_and(|ratio| (0.7..0.85).contains(&ratio))
        );
        assert_eq!(cells[1].ratio, None);
        let (cells, _) = pivot(&groups, "no such", Base::Row(1), &options).unwrap();
        assert_eq!(cells[0].value, None);
        // Without a base, runs that cannot be compared have their values.
        let mut tpcc = run(10, 500.0);
        tpcc.head.workload.name = "tpcc.lua".to_owned();
        let groups = [
            group(0, 0, 0),
            Group {
                row: 1,
                column: 0,
                runs: vec![&tpcc],
            },
        ];
        assert!(pivot(&groups, "events", Base::Row(0), &options).is_err());
        let (cells, _) = pivot(&groups, "events", Base::None, &options).unwrap();
        let whole = |cell: &Cell| cell.value.is_some() && cell.ratio.is_none();
        assert!(cells.len() == 2 && cells.iter().all(whole));
    }

    #[test]
    fn costs_with_the_work_of_other_clients_are_marked() {
        let mut runs = [run(1, 1_000.0), run(2, 1_000.0)];
        series(&mut runs[1], "db.other_sessions_active", &[1.0; 30]);
        let group = |row: usize| Group {
            row,
            column: 0,
            runs: vec![&runs[row]],
        };
        let groups = [group(0), group(1)];
        let includes = |metric: &str| {
            let options = CompareOptions::default();
            let (cells, _) = pivot(&groups, metric, Base::Row(1), &options).unwrap();
            cells.iter().map(|cell| cell.includes).collect::<Vec<_>>()
        };
        assert_eq!(includes("server CPU"), [None, Some(Cause::OtherClients)]);
        assert_eq!(includes("client CPU"), [None, None]);
        assert_eq!(includes("events"), [None, None]);
        let compared = compare(&[&runs[1]], &[&runs[0]], &CompareOptions::default()).unwrap();
        let mut metrics = compared.metrics.iter();
        let server = metrics.find(|metric| metric.name == "server CPU").unwrap();
        let marks = (server.base_includes, server.new_includes);
        assert_eq!(marks, (Some(Cause::OtherClients), None));
    }

    #[test]
    fn runs_are_at_their_levels_and_runs_without_one_are_left_out() {
        let mut runs: Vec<RunRecord> = (1..=4).map(|id| run(id, 1_000.0)).collect();
        let levels = [("12G", "xfs"), ("5G", "xfs"), ("12G", "zfs")];
        for (run, (memory, fs)) in runs.iter_mut().zip(levels) {
            run.head.factors.insert("memory".into(), memory.into());
            run.head.factors.insert("fs".into(), fs.into());
        }
        let layout = Layout::of(&runs, level, "memory", Some("fs")).unwrap();
        assert_eq!(layout.rows.1, ["5G", "12G"]);
        let places: Vec<_> = layout.places.into_iter().collect();
        assert_eq!(
            places,
            [((0, 0), vec![1]), ((1, 0), vec![0]), ((1, 1), vec![2])]
        );
        // Every run has some factors; a user's factor with the same name takes precedence.
        let sessions = runs[3].head.drive.as_ref().unwrap().sessions.to_string();
        assert_eq!(level(&runs[3], "sessions"), Some(sessions));
        runs[3]
            .head
            .factors
            .insert("sessions".into(), "many".into());
        assert_eq!(level(&runs[3], "sessions").as_deref(), Some("many"));
        let alone = Layout::of(&runs, level, "workload", None).unwrap();
        assert_eq!((alone.places.len(), alone.along().1.len()), (1, 1));
        assert_eq!(Layout::of(&runs, level, "cpu", None), Err("cpu".to_owned()));
    }
}
