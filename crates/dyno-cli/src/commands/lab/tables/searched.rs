//! The table of an experiment whose trials search for a load.

use dyno_conduct::lab::figures::{Done, subject};
use dyno_lab::file::Experiment;
use dyno_report::sheet::Sheet;

use super::{by_cell, factors_but, mean, sheet, shown};

/// The loads that searches found.
pub(super) fn searched(experiment: &Experiment, promise: &str, done: &[Done]) -> Sheet {
    let subject = subject(experiment);
    let chosen: Vec<&Done> = done.iter().collect();
    let factors = factors_but(&chosen, &[]);
    let load = match subject {
        "sessions" => "sessions",
        _ => "rate",
    };
    let mut table = sheet(
        &format!("The {promise}"),
        "Means over the trials of a cell, each a separate search; dyno lab status --json has the \
         result of each and the load that broke the promise. p99 and whether the promise was kept \
         there are from the single run at that load.",
        &factors,
        &["trials", load, "p99 latency, ms", "kept there"],
    );
    for (mut row, trials) in by_cell(experiment, &chosen, &factors) {
        row.push(trials.len().to_string());
        row.extend([subject, "p99"].map(|figure| shown(mean(&trials, figure))));
        let kept = trials
            .iter()
            .filter(|done| done.kept(promise) == Some(true))
            .count();
        row.push(format!("{kept} of {}", trials.len()));
        table.rows.push(row);
    }
    table
}
