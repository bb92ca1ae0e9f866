//! Migrations, including steps after the published ones.

use std::path::{Path, PathBuf};
use std::time::Duration;

use dyno_core::cpu_profile::{CpuProfile, ProfiledProcess, Stacks};
use dyno_core::record::{EventDetail, SettingChange};
use tempfile::TempDir;

use super::*;
use crate::open::{PATIENCE, Results};
use crate::read::{Filter, Scope};

/// A file written by version 1, with one run. Never regenerate it.
const VERSION_1: &[u8] = include_bytes!("../../fixtures/version-1.db");

const NEXT: Migration = "ALTER TABLE run ADD COLUMN weather TEXT;
    CREATE TABLE extra (x INTEGER);";

const BROKEN: Migration = "ALTER TABLE run ADD COLUMN weather TEXT; CREATE TABLE run (x);";

fn old_file(folder: &Path) -> PathBuf {
    let path = folder.join("dyno.db");
    std::fs::write(&path, VERSION_1).unwrap();
    path
}

fn version(path: &Path) -> i32 {
    let connection = Connection::open(path).unwrap();
    connection
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap()
}

/// The published steps up to version 1, followed by these.
fn steps(more: &[Migration]) -> Vec<Migration> {
    [&MIGRATIONS[..1], more].concat()
}

#[test]
fn a_file_of_version_1_is_opened_read_and_written() {
    let folder = TempDir::new().unwrap();
    let path = old_file(folder.path());
    let mut results = Results::open(&path).unwrap();
    assert_eq!(version(&path), SCHEMA_VERSION);
    let lines = results.runs(&Filter::default()).unwrap();
    assert_eq!(lines[0].name, "20261121-version-1");
    let run = results.load(1, &Scope::every()).unwrap();
    assert_eq!((run.intervals.len(), run.operations[0].spans.len()), (3, 3));
    assert_eq!(
        run.summary.as_ref().map(|summary| summary.totals.events),
        Some(60)
    );
    assert_eq!(run.findings.len(), 2);
    let target = &run.head.target;
    assert_eq!(target.family, Some(dyno_core::db::Family::Mysql));
    assert_eq!(run.summary.as_ref().unwrap().target.family, target.family);
    // Version 1 did not store plans.
    assert_eq!(run.head.plan, None);
    // Nor profiles, but new runs in the file may have them.
    assert_eq!(run.profiles, []);
    let mut copy = run;
    copy.head.name = "copy".to_owned();
    copy.profiles.push(CpuProfile {
        process: ProfiledProcess::Client,
        frequency_hz: 99,
        samples: 2,
        lost: 0,
        cut: None,
        stacks: Stacks::of_folded("dyno-0;main 2\n"),
    });
    assert_eq!(results.import(&copy).unwrap(), 2);
    assert_eq!(results.cpu_profiles(2).unwrap(), copy.profiles);
    results.remove(&[2]).unwrap();
    let left = "SELECT count(*) FROM cpu_profile";
    let left: i64 = results
        .connection
        .query_row(left, [], |row| row.get(0))
        .unwrap();
    assert_eq!(left, 0);
}

#[test]
fn older_events_get_values_if_their_text_is_unambiguous() {
    let folder = TempDir::new().unwrap();
    let path = old_file(folder.path());
    drop(Results::open_with(&path, PATIENCE, &MIGRATIONS[..12]).unwrap());
    let old = [
        ("setting", "sync_binlog went from 1 to 0"),
        ("setting", "init_connect went from  to SET a = 1"),
        ("setting", "note went from a to b to c"),
        ("setting", "Somebody moved something"),
        ("note", "x went from 1 to 2"),
        ("note", "kernel: I/O error"),
        ("note", "On the server's host: kernel: Out of memory"),
        ("observer", "On the server's host: it ended"),
    ];
    let connection = Connection::open(&path).unwrap();
    connection.execute("DELETE FROM event", []).unwrap();
    for (number, (kind, text)) in old.iter().enumerate() {
        let sql = "INSERT INTO event (run_id, number, at_s, kind, text) VALUES (1, ?1, 0, ?2, ?3)";
        connection
            .execute(sql, (number as i64, kind, text))
            .unwrap();
    }
    drop(connection);
    let results = Results::open(&path).unwrap();
    let run = results.load(1, &Scope::every()).unwrap();
    let setting = |name: &str, from: &str, to: &str| {
        EventDetail::of_setting(SettingChange {
            name: name.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
        })
    };
    let there = EventDetail {
        on_server_host: true,
        ..EventDetail::default()
    };
    let none = EventDetail::default();
    let want = [
        setting("sync_binlog", "1", "0"),
        setting("init_connect", "", "SET a = 1"),
        none.clone(),
        none.clone(),
        none,
        EventDetail::of_kernel_log("I/O error".to_owned()),
        EventDetail {
            on_server_host: true,
            ..EventDetail::of_kernel_log("Out of memory".to_owned())
        },
        there,
    ];
    let got: Vec<EventDetail> = run.events.into_iter().map(|event| event.detail).collect();
    assert_eq!(got, want);
}

#[test]
fn an_older_file_is_brought_forward_and_keeps_its_runs() {
    let folder = TempDir::new().unwrap();
    let path = old_file(folder.path());
    let steps = steps(&[NEXT]);
    let results = Results::open_with(&path, PATIENCE, &steps).unwrap();
    assert_eq!(version(&path), 2);
    assert_eq!(results.runs(&Filter::default()).unwrap().len(), 1);
    let sql = "SELECT group_concat(version) FROM schema_history";
    let history: String = results
        .connection
        .query_row(sql, [], |row| row.get(0))
        .unwrap();
    assert_eq!(history, "1,2");
    results
        .connection
        .execute("UPDATE run SET weather = 'fair'", [])
        .unwrap();
    // Opening it again changes nothing.
    drop(Results::open_with(&path, PATIENCE, &steps).unwrap());
}

#[test]
fn reading_brings_an_older_file_forward_too() {
    let folder = TempDir::new().unwrap();
    let path = old_file(folder.path());
    let results = Results::open_read_with(&path, PATIENCE, &steps(&[NEXT])).unwrap();
    assert_eq!(results.runs(&Filter::default()).unwrap().len(), 1);
    assert_eq!(version(&path), 2);
}

/// Before version 12, stalls were not stored, and unknown counts were 0.
#[test]
fn unknown_values_of_each_version_become_null() {
    for version_before in 1..12 {
        let folder = TempDir::new().unwrap();
        let path = old_file(folder.path());
        let results = Results::open_with(&path, PATIENCE, &MIGRATIONS[..version_before]).unwrap();
        // A run of fourteen seconds, eleven of them without an event.
        let sql = "INSERT INTO interval SELECT 1, 99 + at_s, at_s, length_s, sessions,
                   iif(at_s IN (1, 2, 14), 3000, 0), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                   iif(at_s IN (1, 2, 14), 2.5, 0), 0, 0, '{}' ";
        let columns = match version_before {
            1 => "",
            2 => ", 0",
            3..7 => ", 0, 1, 0, 0, 0, 0, 0",
            7 => ", 0, 1, 0, 0, 0, 0, 0, 0",
            _ => ", 0, 1, 0, 0, 0, 0, 0, 0, NULL, NULL",
        };
        let seconds = "FROM (SELECT 1 AS length_s, 1 AS sessions),
                       (WITH RECURSIVE each(at_s) AS
                            (SELECT 1 UNION ALL SELECT at_s + 1 FROM each WHERE at_s < 14)
                        SELECT at_s FROM each)";
        let clear = "DELETE FROM interval; UPDATE run SET source = 'pgbench';
                     INSERT INTO not_observed VALUES (1, 'counters.rows', ''), (1, 'errors', '');";
        results.connection.execute_batch(clear).unwrap();
        let insert = format!("{sql}{columns} {seconds}");
        results.connection.execute(&insert, []).unwrap();
        drop(results);
        let results = Results::open(&path).unwrap();
        assert_eq!(version(&path), SCHEMA_VERSION);
        let count = |sql: &str| -> u32 {
            let whole = format!("SELECT count(*) FROM {sql}");
            results
                .connection
                .query_row(&whole, [], |row| row.get(0))
                .unwrap()
        };
        let nulls = [
            "backlog",
            "concurrency",
            "rows",
            "bytes_in",
            "errors",
            "errors_seen",
        ]
        .map(|column| count(&format!("interval WHERE {column} IS NULL")));
        assert_eq!(nulls, [14; 6], "from version {version_before}");
        assert_eq!(count("interval WHERE max_ms IS NULL"), 11);
        assert_eq!(
            count("interval WHERE retries = 0 AND reads = 0 AND sessions = 1"),
            14
        );
        assert_eq!(
            count("run WHERE errors IS NULL AND queries_per_s IS NOT NULL"),
            1
        );
        assert_eq!(count("where_did_it_stall"), 0);
        let run = results.load(1, &Scope::summary()).unwrap();
        let first = &run.intervals[0];
        assert_eq!(
            (first.max_ms, first.backlog, first.counters.rows),
            (Some(2.5), None, 0)
        );
    }
}

#[test]
fn a_step_that_fails_leaves_the_file_as_it_was() {
    let folder = TempDir::new().unwrap();
    let path = old_file(folder.path());
    Results::open_with(&path, PATIENCE, &steps(&[NEXT, BROKEN])).unwrap_err();
    assert_eq!(version(&path), 1);
    let results = Results::open_with(&path, PATIENCE, &steps(&[])).unwrap();
    assert!(
        results
            .connection
            .prepare("SELECT weather FROM run")
            .is_err()
    );
    assert_eq!(results.runs(&Filter::default()).unwrap().len(), 1);
}

#[test]
fn an_older_file_that_is_locked_is_told() {
    let folder = TempDir::new().unwrap();
    let path = old_file(folder.path());
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let patience = Duration::from_millis(20);
    let error = Results::open_with(&path, patience, &steps(&[NEXT])).unwrap_err();
    assert!(matches!(error.problem, Problem::Locked { .. }), "{error}");
    let error = Results::open_read_with(&path, patience, &steps(&[NEXT])).unwrap_err();
    assert!(
        matches!(error.problem, Problem::Older { version: 1 }),
        "{error}"
    );
}
