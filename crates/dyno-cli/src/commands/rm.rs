//! `dyno rm`: delete runs from the results file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use dyno_core::text::plural;
use dyno_results::{Filter, Results, RunStage};

use crate::definitions::RM;
use crate::options::{Grammar, Script, help, parse};
use crate::settings::usage;
use crate::{STATUS_DONE, console, run_store};

/// Removes runs.
///
/// # Errors
/// A run does not exist or is still running, and nothing is removed; or the file cannot be written.
pub(super) fn main(args: &[String]) -> Result<u8> {
    let parsed = parse(args, RM, Script::Declares(&[]), Grammar::Dyno)?;
    if parsed.has("help") {
        console::help(&format!(
            "Usage: dyno rm RUN…\n\n\
             Delete runs from their results file permanently.\n\
             {}",
            help(RM, Grammar::Dyno)
        ));
        return Ok(STATUS_DONE);
    }
    if parsed.words.is_empty() {
        return Err(usage("dyno rm needs a RUN to remove"));
    }
    let mut files: BTreeMap<PathBuf, Vec<i64>> = BTreeMap::new();
    for word in run_store::all(&parsed.words)? {
        let (path, run) = run_store::locate(&parsed, &word)?;
        let results = Results::open_read(&path)?;
        let id = results.find(&run)?;
        let filter = Filter {
            stage: Some(RunStage::Running),
            ..Filter::default()
        };
        if results.runs(&filter)?.iter().any(|line| line.id == id) {
            return Err(anyhow::anyhow!("run {id} is still running: stop it first"));
        }
        let ids = files.entry(path).or_default();
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    for (path, ids) in files {
        let freed = Results::open(&path)?.remove(&ids)?;
        let names: Vec<String> = ids.iter().map(i64::to_string).collect();
        let shrunk = match freed {
            0 => "its space is kept for new runs".to_owned(),
            freed => format!("it is {:.1} MB smaller", freed as f64 / 1e6),
        };
        console::out(&format!(
            "{}: removed run{} {}; {shrunk}\n",
            path.display(),
            plural(ids.len()),
            names.join(", ")
        ));
    }
    Ok(STATUS_DONE)
}
