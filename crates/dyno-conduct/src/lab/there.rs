//! Tables on running servers: Dyno uses the user's tables and never drops them without permission.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, anyhow};
use dyno_core::{Target, redact};
use dyno_lab::file::ResetData;
use dyno_load::StopSignal;
use dyno_run::TablesThere;
use dyno_server::Online;

use super::server::{is_of_host, settings};
use super::{Caller, Lab, line};
use crate::{tables_there, usage};

/// What Dyno may do to a workload's tables on a running server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Use the existing tables unchanged.
    Use,
    /// Load the tables, which do not exist. This process may drop them again.
    Load,
    /// Drop and reload the tables, as the user requested.
    Reload,
}

/// Connects to each running server and checks its tables before the first trial.
///
/// # Errors
/// A server does not answer, tables do not fit, or they would have to be dropped; nothing was
/// touched.
pub fn look<C: Caller>(lab: &Lab, reload: bool, caller: &C) -> Result<BTreeMap<String, Mode>> {
    they_answer(lab)?;
    let mut lines: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
    // Some workloads have a table for each session.
    let cells = lab.trials.cells.iter();
    let sessions = cells.filter_map(|cell| cell.effective.load.sessions).max();
    for cell in lab.trials.cells.iter().filter(|cell| !is_of_host(cell)) {
        let Some(url) = &cell.effective.server.url else {
            continue;
        };
        let image = lab.experiment.image_of(cell);
        let own = lines.entry(url.clone()).or_default();
        if let Some(line) = line::prepare(&image, Some(url), &lab.base)
            && !own.contains(&line)
        {
            own.push(line);
        }
    }
    let resets = matches!(
        lab.experiment.reset.data,
        Some(ResetData::Restore | ResetData::Empty)
    );
    let mut modes = BTreeMap::new();
    for (url, lines) in lines {
        let found = lines.iter().map(|line| tables(line, sessions, caller));
        let found: Vec<TablesThere> = found.collect::<Result<_>>()?;
        let of = redact::text(&url);
        if let Some(why) = foreign(&found) {
            return Err(usage(format!(
                "{of}: {why}. Nothing was touched; rename it or drop it yourself, or name another \
                 database"
            )));
        }
        let mode = match reload {
            true => Mode::Reload,
            false => mode(&found, resets).map_err(|why| {
                usage(format!(
                    "{of}: {why}. Nothing was touched; --reload drops the workload's tables there \
                     and loads them again"
                ))
            })?,
        };
        modes.insert(url, mode);
    }
    try_settings(lab, &modes)?;
    Ok(modes)
}

/// Connects to running servers before the first trial: a wrong password would fail every trial.
fn they_answer(lab: &Lab) -> Result<()> {
    let cells = lab.trials.cells.iter();
    let urls: BTreeSet<&str> = cells
        .filter_map(|cell| cell.effective.server.url.as_deref())
        .collect();
    for url in urls {
        let early = |error| anyhow!("before the first trial: {error}");
        let url = dyno_server::url_of(url).map_err(early)?;
        if Target::parse(&url).is_ok_and(|target| !target.family.is_embedded()) {
            Online::connect(&url).map_err(early)?;
        }
    }
    Ok(())
}

/// Why a table with one of the workload's names must not be dropped.
fn foreign(found: &[TablesThere]) -> Option<&str> {
    found.iter().find_map(|one| match one {
        TablesThere::Foreign(why) => Some(why.as_str()),
        _ => None,
    })
}

/// Changes the settings of each cell and restores them if tables will be loaded, so that a setting
/// that the server refuses stops the lab before the load.
fn try_settings(lab: &Lab, modes: &BTreeMap<String, Mode>) -> Result<()> {
    let mut tried = BTreeSet::new();
    for cell in &lab.trials.cells {
        let effective = &cell.effective;
        let Some(url) = &effective.server.url else {
            continue;
        };
        let loads = matches!(modes.get(url), Some(Mode::Load | Mode::Reload));
        let set = settings(&Default::default(), &effective.online)?;
        if !loads || set.is_empty() || !tried.insert((url, format!("{set:?}"))) {
            continue;
        }
        let mut online = Online::connect(url)?;
        let undo = online
            .set(&set)
            .map_err(|why| anyhow!("before the first trial: {why}"))?;
        online.undo(undo)?;
    }
    Ok(())
}

/// The mode for a server, from the existing tables of each data set of an experiment.
fn mode(found: &[TablesThere], resets: bool) -> Result<Mode, String> {
    let Some(first) = found.iter().find(|one| **one != TablesThere::None) else {
        return Ok(Mode::Load);
    };
    // Tables that may belong to someone else, with a name that the workload does not use.
    let tables = match first {
        TablesThere::Fit | TablesThere::Misfit(_) => "the workload's tables already exist",
        _ => "tables already exist, perhaps the workload's",
    };
    if found.len() > 1 {
        return Err(format!(
            "{tables}, and this experiment needs {} different data sets",
            found.len()
        ));
    }
    if let TablesThere::Misfit(why) | TablesThere::Foreign(why) = first {
        return Err(format!("the existing tables do not fit: {why}"));
    }
    if resets {
        return Err(format!(
            "{tables}, and [reset] needs them reloaded for each trial"
        ));
    }
    Ok(Mode::Use)
}

/// The existing tables of a data set.
fn tables<C: Caller>(prepare: &[String], sessions: Option<u32>, caller: &C) -> Result<TablesThere> {
    let mut line = prepare.to_vec();
    "run".clone_into(&mut line[1]);
    line.extend(["--results", "none", "--quiet"].map(str::to_owned));
    if let Some(sessions) = sessions.filter(|_| !line.iter().any(|word| word == "--sessions")) {
        line.push(format!("--sessions={sessions}"));
    }
    let found = caller
        .plan(line)
        .and_then(|(command, _)| tables_there(command, &StopSignal::new()));
    found.context("before the first trial")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_others_are_never_reloaded() {
        use TablesThere::{Fit, Foreign};
        assert_eq!(foreign(&[Fit]), None);
        let found = [Fit, Foreign("item1 is not the workload's".to_owned())];
        assert_eq!(foreign(&found), Some("item1 is not the workload's"));
    }

    #[test]
    fn existing_tables_are_used_and_dropped_only_on_request() {
        use TablesThere::{Fit, Misfit, None, Unknown};
        assert_eq!(mode(&[], true), Ok(Mode::Load));
        assert_eq!(mode(&[None, None], true), Ok(Mode::Load));
        assert_eq!(mode(&[Fit], false), Ok(Mode::Use));
        assert_eq!(mode(&[Unknown], false), Ok(Mode::Use));
        for (found, resets, why) in [
            (vec![Fit], true, "reloaded for each trial"),
            (vec![Unknown], true, "perhaps the workload's"),
            (vec![Fit, Fit], false, "2 different data sets"),
            (vec![None, Fit], false, "2 different data sets"),
            (vec![Misfit("few rows".to_owned())], false, "few rows"),
        ] {
            let said = mode(&found, resets).unwrap_err();
            assert!(said.contains(why), "{found:?}: {said}");
        }
    }
}
