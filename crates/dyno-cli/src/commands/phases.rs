//! The summary of a workload's phases.

use std::path::Path;

use anyhow::Result;
use dyno_core::plan::PhasePlan;
use dyno_core::summary::RunSummary;
use dyno_report::phases::{Sequence, Table, ladder, step, terminal};
use dyno_report::terminal::Look;
use dyno_results::{Results, Scope};

use crate::console;
use crate::output::Output;

/// Prints the summary of all phases, and a ladder's table.
///
/// # Errors
/// The output file cannot be written, or a record cannot be read.
pub(super) fn show(
    phases: &[PhasePlan],
    done: &[RunSummary],
    look: &Look,
    output: Output,
) -> Result<()> {
    let steps = match output {
        Output::Json => Ok(None),
        Output::Terminal | Output::Both(..) => steps(phases, done),
    };
    let written = output.write_all(done, look);
    if let Some(table) = steps? {
        let tables = [table];
        console::page(look, |look| terminal(&tables, look));
    }
    written
}

/// A ladder's table of active tables, from the records; `None` if this is not a ladder.
fn steps(phases: &[PhasePlan], done: &[RunSummary]) -> Result<Option<Table>> {
    // They ran in order, but the last ones may be missing.
    let is_step = |(phase, run)| step(phase).map(|_| run);
    let mut runs = Vec::new();
    for summary in phases.iter().zip(done).filter_map(is_step) {
        // Without a record there are no series.
        if let Some(recorded) = &summary.recorded {
            let results = Results::open_read(Path::new(&recorded.file))?;
            runs.push(results.load(recorded.id, &Scope::whole())?);
        }
    }
    Ok(ladder(&[Sequence::of(runs)]))
}
