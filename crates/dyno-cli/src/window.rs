//! Parts of recorded runs, from `--from` and `--to`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use dyno_analysis::summary::rebuild;
use dyno_analysis::window::{Window, cut};
use dyno_core::finding::verdict;
use dyno_core::record::RunRecord;
use dyno_results::Scope;

use crate::options::Parsed;
use crate::run_store;
use crate::settings::{duration, usage};

/// The window of the options; `None` without any.
///
/// # Errors
/// An invalid time, or an end that is not after the beginning.
pub(crate) fn asked(parsed: &Parsed) -> Result<Option<Window>> {
    let seconds = |name: &str| match parsed.value(name) {
        None => Ok(None),
        Some(_) => duration(parsed, name, Duration::ZERO).map(|time| Some(time.as_secs_f64())),
    };
    let window = Window {
        from_s: seconds("from")?,
        to_s: seconds("to")?,
    };
    let from_s = window.from_s.unwrap_or(0.0);
    if let Some(to_s) = window.to_s.filter(|to_s| *to_s <= from_s) {
        return Err(usage(format!(
            "--to: the window ends at {to_s} s, but must end after its start at {from_s} s"
        )));
    }
    Ok((window != Window::default()).then_some(window))
}

/// The part of a run, with its own figures, findings and verdict.
///
/// # Errors
/// No interval of the run is in the window.
pub(crate) fn part(mut run: RunRecord, window: Window) -> Result<RunRecord> {
    let (id, name) = (run.id, run.head.name.clone());
    // An unfinished run is unfinished in every part.
    if run.summary.is_none() {
        run.summary = Some(rebuild(&run));
    }
    let mut part = cut(run, window).map_err(|error| {
        usage(match id {
            0 => format!("{name}: {error}"),
            id => format!("run {id}: {error}"),
        })
    })?;
    part.findings = dyno_run::sorted(dyno_verdict::judge_part(&part));
    part.verdict = Some(verdict(&part.findings));
    let costs = dyno_verdict::costs(&part);
    if let Some(summary) = &mut part.summary {
        summary.costs = costs;
        summary.findings.clone_from(&part.findings);
        summary.verdict = part.verdict;
    }
    Ok(part)
}

/// Loads a run, or its part in the window.
///
/// # Errors
/// The file or run does not exist, or no part of it is in the window.
pub(crate) fn load(
    parsed: &Parsed,
    word: &str,
    scope: &Scope,
    window: Option<Window>,
) -> Result<(PathBuf, RunRecord)> {
    let Some(window) = window else {
        return run_store::load(parsed, word, scope);
    };
    // A part needs the whole record.
    let (file, run) = run_store::load(parsed, word, &Scope::whole())?;
    Ok((file, part(run, window)?))
}
