//! Attempts of other processes at trials.

use anyhow::Result;
use dyno_results::{Results, Tried};

use super::Lab;

/// An experiment that is running now, and its process. Concurrent trials would disturb each other,
/// and might be the same.
///
/// # Errors
/// The results file cannot be read.
pub fn running(results: &Results) -> Result<Option<(String, i64)>> {
    for name in results.experiments()? {
        if let Some(stored) = results.experiment(&name)?
            && let Some(pid) = results.who_runs(stored.id)?
        {
            return Ok(Some((name, pid)));
        }
    }
    Ok(None)
}

/// A trial whose process was killed and may have left changes on a running server: the next trial
/// would take them for the server's own settings.
pub struct Killed<'a> {
    /// The trial.
    pub label: &'a str,
    /// The changed settings, and how to undo other changes.
    pub changed: Vec<&'a str>,
}

/// The trials whose processes were killed.
///
/// # Errors
/// The results file cannot be read.
pub fn killed<'a>(lab: &'a Lab, results: &Results) -> Result<Vec<Killed<'a>>> {
    let states = lab.states(results)?;
    let mut all = Vec::new();
    for (number, planned) in lab.planned.iter().enumerate() {
        let effective = &lab.cell(number).effective;
        let changes = !effective.online.is_empty() || !effective.sql.is_empty();
        let state = states.get(&planned.identity.to_string());
        let is_begun = state.is_some_and(|state| state.tried == Tried::Begun);
        if effective.server.url.is_some() && changes && is_begun {
            let changed = effective.online.keys().chain(&effective.undo);
            all.push(Killed {
                label: &planned.label,
                changed: changed.map(String::as_str).collect(),
            });
        }
    }
    Ok(all)
}
