//! The table of trials with phases: each phase at each level, and relative to the baseline.

use dyno_conduct::lab::figures::Done;
use dyno_lab::file::Experiment;

use super::shared::mark;
use super::{LabTable, by_cell, factors_but, head, sheet, shown};

/// A figure of each phase of each cell, and its ratio to the baseline's.
pub(super) fn phases(experiment: &Experiment, done: &[&Done], figure: &str) -> LabTable {
    let mut steps: Vec<&String> = Vec::new();
    // In the order of execution.
    for run in done.iter().flat_map(|done| &done.runs) {
        let step = run.head.phase.as_ref().map(|phase| &phase.name);
        steps.extend(step.filter(|step| !steps.contains(step)));
    }
    if steps.is_empty() {
        return LabTable::Missing("a table of phases: no trial has phases".to_owned());
    }
    let factors = factors_but(done, &[]);
    let mut sheet_table = sheet(
        &format!("Phases: {figure}"),
        "Means over the trials of a cell; the ratio is to the base levels of all factors, phase by \
         phase. dyno phases RUN shows one trial in full.",
        &factors,
        &["phase", &head(figure), "ratio"],
    );
    sheet_table.columns[factors.len()].1 = false;
    let of = |trials: &[&Done], step: &str| -> Option<f64> {
        let own = |done: &&&Done| done.measured.is_usable();
        let values: Vec<f64> = trials
            .iter()
            .filter(own)
            .filter_map(|done| Some(done.measured.steps.get(step)?.get(figure)?.value))
            .collect();
        dyno_stats::mean(&values)
    };
    let base: Vec<&Done> = done
        .iter()
        .filter(|done| {
            let mut levels = done.measured.levels.iter();
            levels.all(|(name, level)| experiment.base_level(name).as_ref() == Some(level))
        })
        .copied()
        .collect();
    let includes = |trials: &[&Done], step: &str| {
        let mut own = trials.iter().filter(|done| done.measured.is_usable());
        own.find_map(|done| done.measured.steps.get(step)?.get(figure)?.includes)
    };
    let mut marks = Vec::new();
    for (levels, trials) in by_cell(experiment, done, &factors) {
        for step in &steps {
            let (own, base) = (of(&trials, step), of(&base, step));
            let ratio = own.zip(base).map(|(own, base)| own / base);
            let mut row = levels.clone();
            row.push((*step).clone());
            row.extend([own, ratio].map(shown));
            sheet_table.rows.push(row);
            marks.push(includes(&trials, step));
        }
    }
    mark(&mut sheet_table, &marks);
    LabTable::Sheet(sheet_table)
}
