//! The table of data written during the load of trials.

use dyno_conduct::lab::figures::Done;
use dyno_lab::file::Experiment;
use dyno_results::Captured;

use super::{LabTable, by_cell, factors_but, mean, sheet, shown};

const MB: f64 = 1e6;

/// The write rate of each cell, and the fraction of statements that were captured.
pub(super) fn captured(experiment: &Experiment, done: &[&Done]) -> LabTable {
    if done.iter().all(|done| done.captured.is_none()) {
        return LabTable::Missing(
            "a table of captures: no trial has an output = { file = \"…\" }".to_owned(),
        );
    }
    let factors = factors_but(done, &[]);
    let mut sheet_table = sheet(
        "Captured during the load",
        "Means over the trials of a cell: what was written, in MB (1,000,000 bytes) per second of \
         the run with its warm-up; statements counted in it, as a share of those that the server \
         executed meanwhile.",
        &factors,
        &["rate", "MB/s", "statements", "of executed, %"],
    );
    for (mut row, trials) in by_cell(experiment, done, &factors) {
        let of = |value: &dyn Fn(&Captured) -> Option<f64>| {
            let values = trials
                .iter()
                .filter_map(|done| value(done.captured.as_ref()?));
            dyno_stats::mean(&values.collect::<Vec<_>>())
        };
        row.push(shown(mean(&trials, "rate")));
        row.push(shown(of(&|own| Some(own.bytes as f64 / MB / own.length_s))));
        row.push(shown(of(&|own| own.statements.map(|count| count as f64))));
        row.push(shown(of(&|own| {
            let executed = own.executed.filter(|count| *count > 0)?;
            Some(100.0 * own.statements? as f64 / executed as f64)
        })));
        sheet_table.rows.push(row);
    }
    LabTable::Sheet(sheet_table)
}
