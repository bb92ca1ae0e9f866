//! Ratios within pairs of levels of a factor that are measured next to each other.

use dyno_conduct::lab::figures::Done;
use dyno_lab::file::{Experiment, Table};

use super::{LabTable, by_cell, factors_but, mean, sheet, shown};

/// The table of a factor's pairs.
pub(super) fn paired(experiment: &Experiment, table: &Table, done: &[&Done]) -> LabTable {
    let Some(pair) = table.pair.as_deref().or(experiment.pair()) else {
        return LabTable::Missing("a paired table needs pair = \"FACTOR\"".to_owned());
    };
    let Some(base) = experiment.base_level(pair) else {
        return LabTable::Missing(format!("there is no factor '{pair}'"));
    };
    let factors = factors_but(done, &[pair]);
    let mut sheet_table = sheet(
        &format!("Ratios within pairs of {pair}"),
        "Each ratio compares neighbours in time; its interval covers the variation between blocks.",
        &factors,
        &[
            match experiment.subject() {
                "rate" => "ratio of rates",
                _ => "ratio of p99 latencies",
            },
            "p99 latency, difference in ms",
        ],
    );
    for (mut row, trials) in by_cell(experiment, done, &factors) {
        let measured: Vec<dyno_lab::Measured> =
            trials.iter().map(|done| done.measured.clone()).collect();
        let side = |is_base: bool| -> Vec<&Done> {
            let own = |done: &&&Done| (done.measured.levels.get(pair) == Some(&base)) == is_base;
            trials.iter().filter(own).copied().collect()
        };
        let found = dyno_lab::effects(experiment, &measured, experiment.subject());
        let own = found
            .into_iter()
            .find(|effect| effect.base == format!("{pair}={base}"));
        let difference = mean(&side(false), "p99").zip(mean(&side(true), "p99"));
        row.push(own.map_or_else(|| "–".to_owned(), |effect| effect.ratio.words()));
        row.push(shown(difference.map(|(new, base)| new - base)));
        sheet_table.rows.push(row);
    }
    LabTable::Sheet(sheet_table)
}
