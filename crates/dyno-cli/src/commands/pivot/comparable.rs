//! Leaves out runs that would prevent a whole table.

use std::collections::{BTreeMap, BTreeSet};

use dyno_results::{RunLine, RunStage};
use dyno_verdict::Layout;

use crate::console;

/// Leaves out runs without a figure: no event ended.
pub(super) fn leave_out_empty(lines: &mut Vec<RunLine>, named: &[i64]) {
    report(&empty_to_report(lines, named), "no event ended");
    lines.retain(|line| !is_empty(line));
}

fn is_empty(line: &RunLine) -> bool {
    match line.events_per_s {
        Some(rate) => rate <= 0.0,
        None => line.stage != RunStage::Imported,
    }
}

/// A run that ended before its first event matters only to a user who names it.
fn empty_to_report(lines: &[RunLine], named: &[i64]) -> Vec<i64> {
    let empty = lines.iter().filter(|line| is_empty(line));
    let empty = empty.filter(|line| line.stage == RunStage::Completed || named.contains(&line.id));
    empty.map(|line| line.id).collect()
}

/// Leaves out open loops among closed ones or the reverse, whichever are fewer, because they are
/// not comparable. Ratios run along the columns, or along the rows if there are no columns.
pub(super) fn leave_out_other_loops(layout: &mut Layout, lines: &[RunLine]) {
    let by_row = layout.columns.is_some();
    let is_open = |run: &usize| {
        lines
            .get(*run)
            .is_some_and(|line| line.offered_per_s.is_some())
    };
    let mut counts: BTreeMap<usize, [usize; 2]> = BTreeMap::new();
    let side = |row: usize| if by_row { row } else { 0 };
    for ((row, _), runs) in &layout.places {
        let counts = counts.entry(side(*row)).or_default();
        let open = runs.iter().filter(|run| is_open(run)).count();
        *counts = [counts[0] + runs.len() - open, counts[1] + open];
    }
    let (mut open, mut closed) = (Vec::new(), Vec::new());
    for ((row, _), runs) in &mut layout.places {
        let [of_closed, of_open] = counts.get(&side(*row)).copied().unwrap_or_default();
        if of_closed == 0 || of_open == 0 {
            continue;
        }
        let keeps_open = of_open > of_closed;
        let left_out = if keeps_open { &mut closed } else { &mut open };
        let ids = runs.iter().filter(|run| is_open(run) != keeps_open);
        left_out.extend(ids.filter_map(|run| Some(lines.get(*run)?.id)));
        runs.retain(|run| is_open(run) == keeps_open);
    }
    layout.places.retain(|_, runs| !runs.is_empty());
    report(&open, "an open loop is not compared with closed ones");
    report(&closed, "a closed loop is not compared with open ones");
}

/// Reports runs of servers that lack a setting by which the table is ordered.
pub(super) fn report_other_servers(layout: &Layout, lines: &[RunLine], setting: &str) {
    let placed: BTreeSet<usize> = layout.places.values().flatten().copied().collect();
    let products = lines.iter().map(|line| (line.id, line.product.as_str()));
    for (product, ids) in other_servers(&placed, products) {
        let why = format!(
            "{product} has no {setting}; to compare the servers, use --rows server or --columns \
             server"
        );
        report(&ids, &why);
    }
}

/// Reports the runs that are left out because the log does not name their workload or server.
pub(super) fn report_nameless(lines: &[RunLine], factor: &str) {
    let nameless = lines
        .iter()
        .filter(|line| line.stage == RunStage::Imported && line.level(factor).is_none());
    let ids: Vec<i64> = nameless.map(|line| line.id).collect();
    if ["workload", "server"].contains(&factor) {
        let why =
            format!("the {factor} is unknown; import the log again with --{factor} NAME --replace");
        report(&ids, &why);
    }
}

/// The runs of servers without any placed run, by product. Runs are numbered in this order.
fn other_servers<'a>(
    placed: &BTreeSet<usize>,
    runs: impl Iterator<Item = (i64, &'a str)>,
) -> BTreeMap<&'a str, Vec<i64>> {
    let mut there = BTreeSet::new();
    let mut others: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for (place, (id, product)) in runs.enumerate() {
        match placed.contains(&place) {
            true => {
                there.insert(product);
            }
            false => others.entry(product).or_default().push(id),
        }
    }
    others.retain(|product, _| !product.is_empty() && !there.contains(product));
    others
}

fn report(ids: &[i64], why: &str) {
    let names: Vec<String> = ids.iter().map(i64::to_string).collect();
    let runs = if ids.len() == 1 { "run" } else { "runs" };
    if !names.is_empty() {
        console::note(&format!("left out: {runs} {}: {why}", names.join(", ")));
    }
}

#[cfg(test)]
mod tests {
    use dyno_core::factors::Factors;
    use dyno_core::record::Source;

    use super::*;

    fn line(id: i64, stage: RunStage, events_per_s: Option<f64>) -> RunLine {
        RunLine {
            id,
            name: format!("run {id}"),
            stage,
            verdict: None,
            checks: 0,
            checks_made: 0,
            checks_waived: 0,
            source: Source::Dyno,
            started_unix_s: None,
            workload: Some("tpcc".to_owned()),
            command: "run".to_owned(),
            target: String::new(),
            product: String::new(),
            server_version: String::new(),
            sessions: Some(1),
            offered_per_s: None,
            events_per_s,
            queries_per_s: None,
            p95_ms: None,
            p99_ms: None,
            errors: None,
            note: String::new(),
            factors: Factors::new(),
            schedule: None,
        }
    }

    #[test]
    fn runs_that_failed_at_once_are_only_reported_if_named() {
        let lines = [
            line(1, RunStage::Completed, Some(100.0)),
            line(2, RunStage::Completed, Some(0.0)),
            line(3, RunStage::Failed, None),
            line(4, RunStage::Imported, None),
        ];
        assert_eq!(empty_to_report(&lines, &[]), [2]);
        assert_eq!(empty_to_report(&lines, &[1, 3]), [2, 3]);
    }

    #[test]
    fn servers_without_a_level_are_found() {
        let runs = [
            (1, "MariaDB"),
            (2, "PostgreSQL"),
            (3, "MariaDB"),
            (4, "PostgreSQL"),
            (5, ""),
        ];
        let placed = BTreeSet::from([0]);
        let found = other_servers(&placed, runs.into_iter());
        assert_eq!(found, BTreeMap::from([("PostgreSQL", vec![2, 4])]));
        let placed = BTreeSet::from([0, 1]);
        assert!(other_servers(&placed, runs.into_iter()).is_empty());
    }
}
