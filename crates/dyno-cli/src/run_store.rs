//! Finds results files and runs by their names on the command line.

use std::path::{Path, PathBuf};

use anyhow::Result;
use dyno_core::record::{RESULTS_FILE, RunRecord};
use dyno_results::{Results, Scope};

use crate::options::Parsed;

/// The results file of the options or `$DYNO_RESULTS`, by default `dyno.db` in the current folder;
/// `None` for `none`.
pub(crate) fn file(parsed: &Parsed) -> Option<PathBuf> {
    named(parsed.value("results"), Some(RESULTS_FILE))
}

/// The results file of an option; `None` if neither it nor `otherwise` names one.
pub(crate) fn named(option: Option<&str>, otherwise: Option<&str>) -> Option<PathBuf> {
    let variable = std::env::var("DYNO_RESULTS")
        .ok()
        .filter(|value| !value.is_empty());
    let name = option.map(str::to_owned).or(variable);
    match name.as_deref().or(otherwise) {
        None | Some("none") => None,
        Some(name) => Some(PathBuf::from(name)),
    }
}

/// The results file, for commands that require one.
///
/// # Errors
/// The user said `none`.
pub(crate) fn required(parsed: &Parsed) -> Result<PathBuf> {
    file(parsed).ok_or_else(|| {
        crate::settings::usage("this needs a results file: name it with --results or $DYNO_RESULTS")
    })
}

/// Loads a run by `last`, its number, or a prefix of its name, each optionally after another
/// results file (`other.db:12`).
///
/// # Errors
/// The file or run does not exist.
pub(crate) fn load(parsed: &Parsed, word: &str, scope: &Scope) -> Result<(PathBuf, RunRecord)> {
    let (path, run) = locate(parsed, word)?;
    let results = Results::open_read(&path)?;
    let id = results.find(&run)?;
    Ok((path, results.load(id, scope)?))
}

/// The results file, and the run's name in it.
///
/// # Errors
/// The user said `none`.
pub(crate) fn locate(parsed: &Parsed, word: &str) -> Result<(PathBuf, String)> {
    match in_file(word) {
        Some((file, run)) => Ok((PathBuf::from(file), run.to_owned())),
        None => Ok((required(parsed)?, word.to_owned())),
    }
}

/// The file and the run of `FILE:RUN`.
pub(crate) fn in_file(word: &str) -> Option<(&str, &str)> {
    let parts = word.rsplit_once(':');
    parts.filter(|(file, _)| Path::new(file).is_file())
}

/// The runs of a word such as `1,2`, which are joined by commas.
///
/// # Errors
/// There are only commas and blanks.
pub(crate) fn joined(word: &str) -> Result<Vec<String>> {
    let runs = word.split(',').map(str::trim).filter(|run| !run.is_empty());
    let runs: Vec<&str> = runs.collect();
    match runs.is_empty() {
        true => Err(crate::settings::usage(format!("there is no run '{word}'"))),
        false => Ok(in_one_file(&runs)),
    }
}

/// The runs of all words, in order.
///
/// # Errors
/// See [`joined`].
pub(crate) fn all(words: &[String]) -> Result<Vec<String>> {
    let mut runs = Vec::new();
    for word in words {
        runs.extend(joined(word)?);
    }
    Ok(runs)
}

/// The runs of a side, in which `FILE:1,2` is two runs of that file: a run without a file is in the
/// file of the run before it.
fn in_one_file(runs: &[&str]) -> Vec<String> {
    let mut before: Option<&str> = None;
    let mut whole = Vec::new();
    for run in runs {
        let own = in_file(run).map(|(file, _)| file);
        whole.push(match (own, before) {
            (None, Some(file)) => format!("{file}:{run}"),
            _ => (*run).to_owned(),
        });
        before = own.or(before);
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_joined_by_commas_are_several_in_one_file() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let (one, two) = (format!("{file}:1"), format!("{file}:2"));
        let found = joined(&format!("{one}, 2,")).unwrap();
        assert_eq!(found, [one, two]);
        assert_eq!(joined("1,no.db:2").unwrap(), ["1", "no.db:2"]);
        let error = joined(" ,").unwrap_err().to_string();
        assert!(error.contains("there is no run ' ,'"), "{error}");
        let words = ["2,3", "last"].map(str::to_owned);
        assert_eq!(all(&words).unwrap(), ["2", "3", "last"]);
    }
}
