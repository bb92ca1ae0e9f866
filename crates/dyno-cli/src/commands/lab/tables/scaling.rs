//! The table of an experiment's scaling, and the law that it follows.

use dyno_conduct::lab::figures::Done;
use dyno_core::finding::Cause;
use dyno_lab::file::{Experiment, Factor, Level, OneOrMany, Table};
use dyno_lab::{Law, law};

use super::shared::{included, mark};
use super::{LabTable, by_cell, factors_but, head, mean, sheet, shown};

/// Speed-up and efficiency along a factor.
pub(super) fn scaling(
    experiment: &Experiment,
    table: &Table,
    done: &[&Done],
    figure: &str,
) -> LabTable {
    let Some(over) = &table.over else {
        return LabTable::Missing("a scaling table needs over = \"FACTOR\"".to_owned());
    };
    let Some(factor) = experiment.factor(over) else {
        return LabTable::Missing(format!("there is no factor '{over}'"));
    };
    let columns = table
        .columns
        .as_ref()
        .map(OneOrMany::all)
        .unwrap_or_default();
    let factors: Vec<&String> = factors_but(done, &[over])
        .into_iter()
        .filter(|name| columns.is_empty() || columns.contains(name))
        .collect();
    let mut sheet_table = sheet(
        &format!("Scaling over {over}"),
        "Speed-up over the first level; efficiency is the speed-up divided by the ratio of the \
         levels, if they are numbers or numbers of CPUs.",
        &factors,
        &[over, &head(figure), "speed-up", "efficiency"],
    );
    let (mut laws, mut marks) = (Vec::new(), Vec::new());
    for (row, trials) in by_cell(experiment, done, &factors) {
        let points = rows(factor, &row, &trials, figure, &mut sheet_table.rows);
        marks.extend(includes(factor, &trials, figure));
        let name: Vec<String> = factors
            .iter()
            .zip(&row)
            .map(|(factor, level)| format!("{factor} {level}"))
            .collect();
        let found = law(factor, &points);
        laws.extend(found.map(|law| sentence(&law, &name.join(", "), over)));
    }
    mark(&mut sheet_table, &marks);
    for law in laws {
        sheet_table.about += &format!(" {law}");
    }
    LabTable::Sheet(sheet_table)
}

/// Adds the rows of one cell; returns its levels, as numbers, with the figure.
fn rows(
    factor: &Factor,
    row: &[String],
    trials: &[&Done],
    figure: &str,
    rows: &mut Vec<Vec<String>>,
) -> Vec<(f64, f64)> {
    let over = factor.name.get_ref();
    let at = |level: &str| -> Option<f64> {
        let own = |done: &&&Done| {
            let own = done.measured.levels.get(over);
            own.is_some_and(|own| own == level)
        };
        let own: Vec<&Done> = trials.iter().filter(own).copied().collect();
        mean(&own, figure)
    };
    let levels: Vec<&Level> = factor
        .levels
        .get_ref()
        .iter()
        .map(|l| l.get_ref())
        .collect();
    let first = levels.first().and_then(|level| at(level.name()));
    let smallest = levels.first().and_then(|level| level.size());
    let mut points = Vec::new();
    for level in levels {
        let own = at(level.name());
        points.extend(level.size().zip(own));
        let speed_up = own.zip(first).map(|(own, first)| own / first);
        let ratio = level.size().zip(smallest).map(|(own, first)| own / first);
        let efficiency = speed_up.zip(ratio).map(|(own, ratio)| own / ratio);
        let mut row = row.to_vec();
        row.push(level.name().to_owned());
        row.extend([own, speed_up, efficiency].map(shown));
        rows.push(row);
    }
    points
}

/// Whose work the figure includes at each level of a cell.
fn includes(factor: &Factor, trials: &[&Done], figure: &str) -> Vec<Option<Cause>> {
    let over = factor.name.get_ref();
    let at = |level: &str| {
        let own = |done: &&&Done| done.measured.levels.get(over).map(String::as_str) == Some(level);
        let own: Vec<&Done> = trials.iter().filter(own).copied().collect();
        included(&own, &[figure])
    };
    let levels = factor.levels.get_ref().iter();
    levels.map(|level| at(level.get_ref().name())).collect()
}

/// A sentence with the law of a cell.
fn sentence(law: &Law, cell: &str, over: &str) -> String {
    let of = match cell {
        "" => String::new(),
        cell => format!(" of {cell}"),
    };
    let Law::Fit { fit, least } = law else {
        return format!(
            "No scalability law is fitted{of}: memory grows with the level while the data stay the \
             same, so the speed-up includes that of a larger cache."
        );
    };
    let peak = match fit.peak() {
        Some(peak) => format!("highest at {} {over}", shown(Some(peak * least))),
        None => "no highest point".to_owned(),
    };
    format!(
        "Universal Scalability Law{of}: contention {:.3}, coherence {:.5}, {peak}; it deviates \
         from each point by at most {:.0} %.",
        fit.contention,
        fit.coherence,
        fit.misses_by * 100.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factor(levels: &str) -> Experiment {
        let text = format!(
            "experiment = 1\nquestion = '?'\n[load]\nworkload = 'tpcc'\n\
             [[factor]]\nname = 'size'\napplies = 'start'\nlevels = {levels}\n"
        );
        Experiment::parse("x", &text, None).unwrap()
    }

    #[test]
    fn prints_a_law_if_only_one_resource_grows() {
        let sizes = "[{ name = 'a', host = { cpus = 1 } }, { name = 'b', host = { cpus = 2 } }]";
        let cpus = factor(sizes);
        assert_eq!(
            cpus.factors[0].levels.get_ref()[1].get_ref().size(),
            Some(2.0)
        );
        let linear: Vec<(f64, f64)> = [1.0, 2.0, 4.0, 8.0].map(|n| (n, n * 50.0)).into();
        let law = |of: &Experiment, points: &[(f64, f64)]| {
            law(&of.factors[0], points).map(|law| sentence(&law, "fs ext4", "size"))
        };
        let sentence = law(&cpus, &linear).unwrap();
        assert!(
            sentence.contains("of fs ext4: contention 0.000"),
            "{sentence}"
        );
        assert!(law(&cpus, &linear[..3]).is_none());
        let both = "[{ name = 'a', host = { cpus = 1, memory = '1G' } }]";
        assert!(
            law(&factor(both), &linear)
                .unwrap()
                .contains("No scalability law")
        );
    }
}
