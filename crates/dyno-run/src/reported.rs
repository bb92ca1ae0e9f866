//! The script's reports of a run, in the summary and in the record.

use dyno_core::summary::RunSummary;

use crate::job::Ready;
use crate::sink::Sinks;

/// Adds everything the script reported, including its figures, to the summary.
pub(crate) fn complete(ready: &mut Ready, summary: &mut RunSummary, sinks: &Sinks) {
    let (report, outcome) = ready.reported(summary);
    summary.facts = report.facts;
    summary.figures = report.figures;
    summary.warnings.extend(report.warnings);
    if let Err(error) = outcome {
        let error = error.chain();
        sinks.warn(error.clone());
        summary
            .warnings
            .push(format!("Some figures are missing: {error}"));
    }
}
