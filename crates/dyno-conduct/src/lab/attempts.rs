//! Attempts of other processes at trials.

use anyhow::Result;
use dyno_results::{Results, Tried};

use super::{Lab, duets, site};

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

/// A trial that was cut off because its process was killed.
pub struct Killed<'a> {
    /// The trial, or both trials of a duet.
    pub label: String,
    /// The statements that undo its changes on a running server; the next trial runs them first.
    pub undo: Vec<String>,
    /// Without such statements: the settings that it may have left on a running server, and how to
    /// undo other changes. The next trial would take them for the server's own settings.
    pub changed: Vec<&'a str>,
}

/// The trials whose processes were killed.
///
/// # Errors
/// The results file, or the file with the statements next to it, cannot be read.
pub fn killed<'a>(lab: &'a Lab, results: &Results) -> Result<Vec<Killed<'a>>> {
    let states = lab.states(results)?;
    let is_cut_off = |number: usize| {
        let state = states.get(&lab.planned[number].identity.to_string());
        state.is_some_and(|state| state.tried == Tried::Begun)
    };
    let mut all = Vec::new();
    for (number, planned) in lab.planned.iter().enumerate() {
        let sides = lab.experiment.sides(&lab.trials, number);
        // One side of a duet stands for both.
        let is_second = sides.is_some_and(|[a, _]| a != number && is_cut_off(a));
        if !is_cut_off(number) || is_second {
            continue;
        }
        let effective = &lab.cell(number).effective;
        let undo = match &effective.server.url {
            Some(url) => site::left_to_undo(results.path(), url)?,
            None => Vec::new(),
        };
        let changes = !effective.online.is_empty() || !effective.sql.is_empty();
        let is_left = effective.server.url.is_some() && changes && undo.is_empty();
        let changed = effective.online.keys().chain(&effective.undo);
        all.push(Killed {
            label: sides.map_or_else(|| planned.label.clone(), |sides| duets::label(lab, sides)),
            undo,
            changed: changed.map(String::as_str).filter(|_| is_left).collect(),
        });
    }
    Ok(all)
}
