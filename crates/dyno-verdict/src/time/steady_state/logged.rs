//! An imported log's own statement on the steadiness of its run.

use dyno_core::catalogue::names;

use crate::check::CheckResult;
use crate::view::View;

/// The finding from the log's own statement, or else from the measurement.
pub(super) fn steady_state(view: &View) -> CheckResult {
    unsteady(view).unwrap_or_else(|| super::steady_state(view))
}

/// The doubt if the tool reported that its load or rate was not steady.
fn unsteady(view: &View) -> Option<CheckResult> {
    let why = view
        .run
        .fact(names::IMPORT_UNSTEADY)
        .filter(|_| view.imported())?;
    Some(CheckResult::doubt(
        format!("The log itself says: {}.", why.trim_end_matches('.')),
        "Run it again, longer or with more work: the mean covers the whole time and fits no part \
         of it.",
    ))
}
