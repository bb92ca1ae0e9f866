//! Results files and the runs in them, as the command line names them.

use std::path::{Path, PathBuf};

use anyhow::Result;
use dyno_core::record::{RESULTS_FILE, RunRecord};
use dyno_results::{Results, Scope};

use crate::options::Parsed;

/// The results file that the options or `$DYNO_RESULTS` name, else `dyno.db` here; `None` where
/// they say `none`.
pub fn file(parsed: &Parsed) -> Option<PathBuf> {
    named(parsed.value("results"), Some(RESULTS_FILE))
}

/// The same where there is no option and `otherwise` may be none.
pub fn named(option: Option<&str>, otherwise: Option<&str>) -> Option<PathBuf> {
    let variable = std::env::var("DYNO_RESULTS")
        .ok()
        .filter(|value| !value.is_empty());
    let name = option.map(str::to_owned).or(variable);
    match name.as_deref().or(otherwise) {
        None | Some("none") => None,
        Some(name) => Some(PathBuf::from(name)),
    }
}

/// The file for commands that cannot do without one.
///
/// # Errors
/// The user said `none`.
pub fn required(parsed: &Parsed) -> Result<PathBuf> {
    file(parsed).ok_or_else(|| {
        crate::settings::usage("this needs a results file: name it with --results or $DYNO_RESULTS")
    })
}

/// A run as a word names it: `last`, its number, the beginning of its name, each perhaps with
/// another results file before it (`other.db:12`).
///
/// # Errors
/// No such file or run.
pub fn load(parsed: &Parsed, word: &str, scope: &Scope) -> Result<(PathBuf, RunRecord)> {
    let (path, run) = place(parsed, word)?;
    let results = Results::open_read(&path)?;
    let id = results.find(&run)?;
    Ok((path, results.load(id, scope)?))
}

/// The results file and the run's own name in it.
///
/// # Errors
/// The user said `none`.
pub fn place(parsed: &Parsed, word: &str) -> Result<(PathBuf, String)> {
    if let Some((file, run)) = word.rsplit_once(':')
        && Path::new(file).is_file()
    {
        return Ok((PathBuf::from(file), run.to_owned()));
    }
    Ok((required(parsed)?, word.to_owned()))
}
