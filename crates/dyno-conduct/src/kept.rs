//! The statements that undo changes on running servers, in a file next to the results file: a
//! process that is killed undoes nothing, and the next one would take its changes for the server's
//! own settings.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use dyno_core::{Target, redact};
use dyno_server::Online;

/// Statements by the URL of their server, without its password.
type UndoByServer = BTreeMap<String, Vec<String>>;

/// Keeps the statements that undo changes on a server, before they are made.
///
/// # Errors
/// The file cannot be read or written.
pub(crate) fn keep(results: &Path, url: &str, undo: Vec<String>) -> Result<()> {
    if undo.is_empty() {
        return Ok(());
    }
    let mut kept = read(results)?;
    kept.insert(key(url), undo);
    write(results, &kept)
}

/// Undoes changes that a killed process left on a server. Returns the statements that it executed.
///
/// # Errors
/// The file cannot be read, or the server refuses.
pub(crate) fn undo(results: &Path, url: &str) -> Result<Option<String>> {
    let Some(undo) = left(results, url)? else {
        return Ok(None);
    };
    let words = undo.join("; ");
    let undone = Online::connect(url)?.undo(undo);
    undone.with_context(|| format!("cannot undo what an earlier trial changed: {words}"))?;
    forget(results, url)?;
    Ok(Some(words))
}

/// The statements that a killed process has left for a server.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn left(results: &Path, url: &str) -> Result<Option<Vec<String>>> {
    Ok(read(results)?.remove(&key(url)))
}

/// Removes the statements of a server after they have run.
///
/// # Errors
/// The file cannot be read, written or removed.
pub(crate) fn forget(results: &Path, url: &str) -> Result<()> {
    let mut kept = read(results)?;
    if kept.remove(&key(url)).is_none() {
        return Ok(());
    }
    write(results, &kept)
}

/// The URL without its password.
fn key(url: &str) -> String {
    let target = Target::parse(url);
    target.map_or_else(|_| redact::text(url), |target| target.label())
}

fn file(results: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(results);
    name.push(ending);
    PathBuf::from(name)
}

fn read(results: &Path) -> Result<UndoByServer> {
    let file = file(results, "-undo");
    let cannot = || format!("cannot read {}", file.display());
    match fs::read_to_string(&file) {
        Ok(text) => serde_json::from_str(&text).with_context(cannot),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(UndoByServer::new()),
        Err(error) => Err(error).with_context(cannot),
    }
}

/// Replaces the file as a whole, so that a kill leaves the old one or the new one.
fn write(results: &Path, kept: &UndoByServer) -> Result<()> {
    let (file, new) = (file(results, "-undo"), file(results, "-undo.new"));
    let replace = || -> Result<()> {
        if kept.is_empty() {
            return Ok(fs::remove_file(&file)?);
        }
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        let mut written = options.open(&new)?;
        written.write_all(serde_json::to_string_pretty(kept)?.as_bytes())?;
        Ok(fs::rename(&new, &file)?)
    };
    replace().with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_kept_for_each_server_until_they_have_run() {
        let name = format!("dyno-kept-{}", std::process::id());
        let results = std::env::temp_dir().join(name);
        let (one, other) = ("mysql://me:canary@db1/d", "mysql://me@db2/d");
        assert_eq!(left(&results, one).unwrap(), None);
        let undo = vec!["SET GLOBAL a = 1".to_owned()];
        keep(&results, one, undo.clone()).unwrap();
        keep(&results, other, vec!["SET GLOBAL b = 2".to_owned()]).unwrap();
        assert_eq!(left(&results, one).unwrap(), Some(undo));
        let file = file(&results, "-undo");
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains("db1") && !text.contains("canary"), "{text}");
        forget(&results, one).unwrap();
        assert_eq!(left(&results, one).unwrap(), None);
        assert!(left(&results, other).unwrap().is_some());
        forget(&results, other).unwrap();
        forget(&results, other).unwrap();
        assert!(!file.exists());
    }
}
