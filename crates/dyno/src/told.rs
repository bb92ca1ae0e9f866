//! What the script tells of a run, in the summary and in the record.

use dyno_core::summary::RunSummary;

use crate::console;
use crate::job::Ready;

/// Puts into the summary what the script has told, its figures included.
pub fn complete(ready: &mut Ready, summary: &mut RunSummary) {
    let (told, made) = ready.told(summary);
    summary.facts = told.facts;
    summary.figures = told.figures;
    summary.warnings.extend(told.warnings);
    if let Err(error) = made {
        console::note(&format!("warning: {error:#}"));
        summary
            .warnings
            .push(format!("Figures are missing: {error:#}"));
    }
}
