//! `dyno lab run` and `resume`: run the trials one after the other.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use dyno_conduct::lab::attempts::{self, Killed};
use dyno_conduct::lab::{Lab, LabEnd, LabSettings, Pace, conduct, there};
use dyno_results::{Results, StoredExperiment};

use super::caller::Terminal;
use super::{count, definition, options, progress, results_file};
use crate::options::Parsed;
use crate::settings::usage;
use crate::{STATUS_DONE, STATUS_FAILED, STATUS_INTERRUPTED, console, signals};

/// Default limit of failed trials in a row.
const FAILURES_MAX: usize = 3;

/// Runs the rest of an experiment.
///
/// # Errors
/// The file cannot be run, another process runs it, the file was edited and the changes were not
/// accepted, or trials failed too often.
pub(super) fn main(parsed: &Parsed, words: &[String], resumes: bool) -> Result<u8> {
    let failures_max = count(parsed, "max-failures", FAILURES_MAX)?;
    let is_stored = resumes && words.is_empty() && !parsed.has("vary");
    let mut lab = match is_stored {
        true => definition::of_stored(parsed, &Results::open_read(&results_file(parsed)?)?)?,
        false => definition::of(parsed, words)?,
    };
    let path = results_file(parsed)?;
    let mut results = Results::open(&path)?;
    let before = results.experiment(&lab.head.name)?;
    lab.plan_as_before(before.as_ref());
    let Pace { all, done, .. } = Pace::of(&lab, &lab.states(&results)?);
    may_begin(parsed, &lab, before.as_ref(), (resumes, done))?;
    others(&lab, &results)?;
    let terminal = Terminal {
        quiet: parsed.has("quiet"),
    };
    let tables = match done < all {
        false => BTreeMap::new(),
        true => there::look(&lab, parsed.has("reload"), &terminal)?,
    };
    if before.is_none() && done > 0 {
        console::note(&format!(
            "{done} of {all} trials are already in {} as trials of other experiments, and count \
             here, too; use another --results file to start over",
            path.display()
        ));
    }
    let settings = LabSettings {
        failures_max,
        keeps_servers: parsed.has("keep-servers"),
        tables,
    };
    let (stop, options) = (signals::install()?, options(parsed));
    match conduct(&mut lab, &mut results, &settings, &stop, &terminal)? {
        LabEnd::Done { freed } => {
            progress::all_done(&lab, &results, (freed, terminal.quiet), &options)?;
            Ok(STATUS_DONE)
        }
        LabEnd::Early { done, interrupted } => {
            progress::stopped(&lab, done, &options);
            Ok(match interrupted? {
                true => STATUS_INTERRUPTED,
                false => STATUS_FAILED,
            })
        }
    }
}

/// Rejects a second process, and reports the trials that a killed one cut off.
fn others(lab: &Lab, results: &Results) -> Result<()> {
    if let Some((name, pid)) = attempts::running(results)? {
        bail!("{name} is already running, in process {pid}");
    }
    for killed in attempts::killed(lab, results)? {
        console::note(&cut_off(&killed));
    }
    Ok(())
}

/// What becomes of a trial that was cut off, and of its changes on a running server.
fn cut_off(killed: &Killed<'_>) -> String {
    let again = format!(
        "the trial {} was cut off when Dyno was killed, and is run again",
        killed.label
    );
    match (killed.undo.as_slice(), killed.changed.as_slice()) {
        ([], []) => again,
        ([], changed) => format!(
            "warning: {again}; the server may not be restored; check: {}",
            changed.join(", ")
        ),
        (undo, _) => format!(
            "{again}; first Dyno undoes its changes on the server: {}",
            undo.join("; ")
        ),
    }
}

fn may_begin(
    parsed: &Parsed,
    lab: &Lab,
    before: Option<&StoredExperiment>,
    (resumes, done): (bool, usize),
) -> Result<()> {
    let name = &lab.head.name;
    let Some(stored) = before else {
        return match resumes {
            false => Ok(()),
            true => Err(usage(format!(
                "{name} was not started with this results file; start it with `dyno lab run`"
            ))),
        };
    };
    let (changes, all) = (lab.changes(stored), lab.planned.len());
    if let Some(changes) = &changes
        && !parsed.has("accept-changes")
    {
        let (over, how) = match lab.head.file.is_empty() {
            true => ("make it another experiment", "--name NAME"),
            false => ("start over", "another --results file"),
        };
        return Err(usage(format!(
            "{name} has changed since it was planned:\n{changes}{done} of {all} trials are done \
             and unchanged. To go on with the change: --accept-changes; to {over}: {how}"
        )));
    }
    if !resumes && done < all && done > 0 && changes.is_none() {
        return Err(usage(format!(
            "{name} was already started: {done} of {all} trials are done; continue with `dyno lab \
             resume`, or start over with another --results file"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_killed_trial_is_reported_with_its_changes() {
        let killed = |undo: &[&str], changed: Vec<&'static str>| {
            let undo = undo.iter().map(|sql| (*sql).to_owned()).collect();
            cut_off(&Killed {
                label: "pad=201".to_owned(),
                undo,
                changed,
            })
        };
        let again = "the trial pad=201 was cut off when Dyno was killed, and is run again";
        assert_eq!(killed(&[], Vec::new()), again);
        let unknown = killed(&[], vec!["max_connect_errors"]);
        assert!(
            unknown.starts_with("warning: ") && unknown.ends_with("check: max_connect_errors"),
            "{unknown}"
        );
        assert_eq!(
            killed(&["SET GLOBAL a = 1", "SET GLOBAL b = 2"], Vec::new()),
            format!(
                "{again}; first Dyno undoes its changes on the server: SET GLOBAL a = 1; SET \
                 GLOBAL b = 2"
            )
        );
    }
}
