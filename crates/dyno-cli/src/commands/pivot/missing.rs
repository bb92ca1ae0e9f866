//! Why a cell lacks a figure that each of its runs has.

use dyno_core::record::RunRecord;
use dyno_verdict::{Cell, CompareError, CompareOptions, Group, Layout, Metric, compare};

use super::advice::command;

/// Explains cells of several runs that lack a figure which a single run has; `None` if there is
/// nothing to explain.
///
/// # Errors
/// The runs of a cell are not repetitions of each other.
pub(super) fn explain(
    groups: &[Group<'_>],
    (cells, layout): (&[Cell], &Layout),
    (figure, metric): (&str, &str),
    options: &CompareOptions,
) -> Result<Option<String>, CompareError> {
    let without = |group: &&Group<'_>| {
        let mut own = cells.iter();
        let own = own.find(|cell| (cell.row, cell.column) == (group.row, group.column));
        group.runs.len() > 1 && own.is_some_and(|cell| cell.value.is_none())
    };
    let Some(group) = groups.iter().find(without) else {
        return Ok(None);
    };
    let of = |runs: &[&RunRecord]| -> Result<Option<Metric>, CompareError> {
        let mut metrics = compare(runs, runs, options)?.metrics.into_iter();
        Ok(metrics.find(|one| one.is_called(metric)))
    };
    let alone = of(&group.runs[..1])?.is_some_and(|one| one.new.is_some());
    let why = of(&group.runs)?.map(|one| one.remark);
    let why = why.filter(|why| alone && !why.is_empty());
    Ok(why.map(|why| {
        let firsts = groups.iter().filter_map(|group| group.runs.first());
        let firsts: Vec<i64> = firsts.map(|run| run.id).collect();
        format!(
            "--figure {figure} does not exist for several runs in a cell ({why}): name one run for \
             each cell, e.g. {}",
            command(&firsts, layout)
        )
    }))
}

#[cfg(test)]
mod tests {
    use dyno_import::{Log, Options, Tool, import};
    use dyno_verdict::{Base, pivot};

    use super::*;

    #[test]
    fn percentiles_of_several_logs_are_missing_for_a_reason() {
        let text = include_str!("../../../../dyno-import/fixtures/ladder.out");
        let log = Log { name: "log", text };
        let run = |argv: &str| {
            let text = format!("{argv}\n{}", log.text.split("== threads 2").next().unwrap());
            let log = Log {
                name: "log",
                text: &text,
            };
            let imported = import(Tool::Sysbench, &[log], &[], &Options::default()).unwrap();
            imported.runs.into_iter().next().unwrap()
        };
        let (one, other) = (run(""), run("2026-11-21 10:00:00\n# again"));
        let mut other = other;
        other.head.name += "-again";
        let options = CompareOptions::default();
        let group = |runs: Vec<&'static RunRecord>| Group {
            row: 0,
            column: 0,
            runs,
        };
        let all: Vec<&'static RunRecord> =
            [one, other].map(|run| &*Box::leak(Box::new(run))).to_vec();
        let layout = Layout {
            rows: ("memory".to_owned(), vec!["1G".to_owned()]),
            columns: None,
            places: Default::default(),
        };
        let found = |groups: &[Group<'_>], metric: &str| {
            let (cells, _) = pivot(groups, metric, Base::Row(0), &options).unwrap();
            let why = explain(groups, (&cells, &layout), ("p95", metric), &options);
            (cells[0].value, why.unwrap())
        };
        let (value, why) = found(&[group(all.clone())], "latency, p95");
        assert_eq!(value, None);
        let why = why.unwrap();
        assert!(why.contains("percentiles are never averaged"), "{why}");
        let advice = "one run for each cell, e.g. `dyno table 0 --rows memory`";
        assert!(why.ends_with(advice), "{why}");
        assert_eq!(
            found(&[group(all[..1].to_vec())], "latency, p95"),
            (Some(8.43), None)
        );
        assert_eq!(found(&[group(all)], "latency, p12"), (None, None));
    }
}
