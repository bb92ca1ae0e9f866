//! Tests migrations, with more steps after those that were published.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use super::*;
use crate::open::{PATIENCE, Results};
use crate::read::Filter;

const NEXT: Migration = "ALTER TABLE run ADD COLUMN weather TEXT;
    CREATE TABLE extra (x INTEGER);";

const BROKEN: Migration = "ALTER TABLE run ADD COLUMN weather TEXT; CREATE TABLE run (x);";

/// A file of the first version.
fn old_file(folder: &Path) -> PathBuf {
    let path = folder.join("dyno.db");
    drop(Results::open_with(&path, PATIENCE, &MIGRATIONS[..1]).unwrap());
    path
}

fn version(path: &Path) -> i32 {
    let connection = Connection::open(path).unwrap();
    connection
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap()
}

/// The step to the first version, followed by these.
fn steps(more: &[Migration]) -> Vec<Migration> {
    [&MIGRATIONS[..1], more].concat()
}

#[test]
fn a_file_from_before_the_first_release_is_refused_and_left_alone() {
    let folder = TempDir::new().unwrap();
    let path = old_file(folder.path());
    let connection = Connection::open(&path).unwrap();
    connection
        .pragma_update(None, "user_version", FIRST - 1)
        .unwrap();
    drop(connection);
    for error in [
        Results::open(&path).unwrap_err(),
        Results::open_read(&path).unwrap_err(),
    ] {
        let message = error.to_string();
        assert!(
            message.contains("version 12, of a build before the first release"),
            "{message}"
        );
    }
    assert_eq!(version(&path), FIRST - 1);
}

#[test]
fn an_older_file_is_brought_forward_and_keeps_its_runs() {
    let folder = TempDir::new().unwrap();
    let path = old_file(folder.path());
    let steps = steps(&[NEXT]);
    let results = Results::open_with(&path, PATIENCE, &steps).unwrap();
    assert_eq!(version(&path), FIRST + 1);
    assert_eq!(results.runs(&Filter::default()).unwrap().len(), 0);
    let sql = "SELECT group_concat(version) FROM schema_history";
    let history: String = results
        .connection
        .query_row(sql, [], |row| row.get(0))
        .unwrap();
    assert_eq!(history, "13,14");
    results
        .connection
        .execute("UPDATE run SET weather = 'fair'", [])
        .unwrap();
    // Opening the file again changes nothing.
    drop(Results::open_with(&path, PATIENCE, &steps).unwrap());
}

#[test]
fn reading_brings_an_older_file_forward_too() {
    let folder = TempDir::new().unwrap();
    let path = old_file(folder.path());
    let results = Results::open_read_with(&path, PATIENCE, &steps(&[NEXT])).unwrap();
    assert_eq!(results.runs(&Filter::default()).unwrap().len(), 0);
    assert_eq!(version(&path), FIRST + 1);
}

#[test]
fn a_step_that_fails_leaves_the_file_as_it_was() {
    let folder = TempDir::new().unwrap();
    let path = old_file(folder.path());
    Results::open_with(&path, PATIENCE, &steps(&[NEXT, BROKEN])).unwrap_err();
    assert_eq!(version(&path), FIRST);
    let results = Results::open_with(&path, PATIENCE, &steps(&[])).unwrap();
    assert!(
        results
            .connection
            .prepare("SELECT weather FROM run")
            .is_err()
    );
    assert_eq!(results.runs(&Filter::default()).unwrap().len(), 0);
}

#[test]
fn a_locked_older_file_is_an_error() {
    let folder = TempDir::new().unwrap();
    let path = old_file(folder.path());
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let patience = Duration::from_millis(20);
    let error = Results::open_with(&path, patience, &steps(&[NEXT])).unwrap_err();
    assert!(matches!(error.problem, Problem::Locked { .. }), "{error}");
    let error = Results::open_read_with(&path, patience, &steps(&[NEXT])).unwrap_err();
    assert!(
        matches!(error.problem, Problem::Older { version: FIRST }),
        "{error}"
    );
}
