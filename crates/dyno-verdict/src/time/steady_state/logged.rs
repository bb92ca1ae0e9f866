//! What an imported log says itself about how steady its run was.

use dyno_core::record::LOG_UNSTEADY;

use crate::check::Made;
use crate::view::View;

/// The finding by the log's own words, else by what was measured.
pub(super) fn steady_state(view: &View) -> Made {
    unsteady(view).unwrap_or_else(|| super::steady_state(view))
}

/// The doubt where the tool said that its load or its rate was not steady.
fn unsteady(view: &View) -> Option<Made> {
    let why = view.run.fact(LOG_UNSTEADY).filter(|_| view.imported())?;
    Some(Made::doubt(
        format!("The log itself says: {}.", why.trim_end_matches('.')),
        "The mean covers the whole time and fits no part of it. Run it again, longer or with more \
         work.",
    ))
}
