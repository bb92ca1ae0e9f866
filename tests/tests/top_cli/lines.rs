//! The line per interval, and invalid command lines.

use std::process::Command;

use dyno_tests::command::{Running, dyno_path};
use dyno_tests::{Database, Kind, kinds};
use serde_json::Value;

use crate::common::{LIMIT, objects, output};

#[test]
fn servers_have_a_line_each_interval() {
    for kind in kinds() {
        let database = Database::new(kind);
        let url = database.url();
        let lines = output(&["--target", &url, "--interval", "200ms", "--count", "2"]).success();
        assert_eq!(lines.stdout.lines().count(), 3, "{kind}: {}", lines.stdout);
        assert_eq!(lines.stderr, "", "{kind}");
        let snapshots = objects(&["-T", &url, "--interval", "200ms", "--count", "4", "--json"]);
        assert_eq!(snapshots.len(), 4);
        let (rate, least) = match kind {
            // Dyno's own queries count too.
            Kind::Mariadb | Kind::Mysql => ("queries_per_s", 1.0),
            // PostgreSQL's sessions update their statistics about once a second.
            Kind::Postgres => ("commits_per_s", 0.0),
        };
        // A server that answers late on a busy host has no rate in that interval.
        let figures = snapshots
            .iter()
            .rev()
            .map(|one| one["figures"].as_object().unwrap());
        let figures = figures.clone().find(|figures| figures[rate].is_number());
        let figures = figures.unwrap_or_else(|| panic!("{kind}: no {rate} in {snapshots:?}"));
        let rate = figures[rate].as_f64().unwrap();
        assert!(rate >= least, "{kind}: {figures:?}");
        assert!(figures["connected"].is_number(), "{kind}: {figures:?}");
        let source = snapshots[0]["source"].as_str().unwrap();
        assert!(source.contains(&kind.to_string()), "{source}");
    }
}

#[test]
fn sqlite_has_sizes_and_is_left_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("here.db");
    let none = format!("sqlite:{}", file.display());
    let gone = output(&["--target", &none, "--count", "1"]).failure(1);
    assert!(
        gone.stderr.contains("cannot open the SQLite database"),
        "{}",
        gone.stderr
    );
    assert!(!file.exists());
    let made = rusqlite::Connection::open(&file).unwrap();
    made.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
        .unwrap();
    let lines = objects(&["-T", &none, "--interval", "100ms", "--count", "1", "--json"]);
    assert_eq!(lines[0]["figures"]["tables"], 1.0, "{lines:?}");
    assert_eq!(lines[0]["figures"]["file_bytes"], 8192.0, "{lines:?}");
    // A benchmark would have changed the journal mode permanently.
    let journal: String = made
        .query_row("PRAGMA journal_mode", [], |row| row.get(0))
        .unwrap();
    assert_eq!(journal, "delete");
}

#[test]
fn shows_a_run_in_progress() {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("dyno.db");
    let mut command = Command::new(dyno_path());
    command.args([
        "run",
        "oltp_point_select",
        "-t",
        "60s",
        "--warmup",
        "0",
        "--calibrate",
    ]);
    command
        .args(["never", "--table-size", "1000"])
        .env("DYNO_RESULTS", &results);
    command.env_remove("DYNO_TARGET").current_dir(folder.path());
    let mut load = Running::start(&mut command);
    load.measuring();
    let file = results.to_str().unwrap();
    let lines = objects(&["--run", "last", "--results", file, "--count", "3", "--json"]);
    let at = |object: &Value| object["figures"]["at_s"].as_f64().unwrap();
    assert!(at(&lines[2]) > at(&lines[0]), "{lines:?}");
    let figures = &lines[2]["figures"];
    assert!(figures["tx_per_s"].as_f64().unwrap() > 0.0, "{figures}");
    assert!(
        lines[0]["source"]
            .as_str()
            .unwrap()
            .contains("oltp_point_select")
    );
    load.signal(libc::SIGINT);
    load.finish(LIMIT);
}

#[test]
fn reports_bad_command_lines() {
    for (arguments, expected) in [
        (&["last"][..], "unexpected argument 'last'"),
        (&[], "--target URL, --run RUN or --haproxy SOCKET"),
        (
            &["--run", "last", "--haproxy", "x"],
            "cannot be used together",
        ),
        (&["--run", "last", "--proxysql"], "need a --target"),
        (
            &["-T", "mysql://h", "--interval", "1ms"],
            "from 100ms to 1h",
        ),
        (&["-T", "mysql://h", "--count", "0"], "at least 1"),
        (
            &["-T", "mysql://h", "--proxysql", "--pgbouncer"],
            "cannot be used together",
        ),
        (&["-T", "nonsense"], "bad target URL"),
        (&["--haproxy", ""], "a path or HOST:PORT"),
    ] {
        let output = output(arguments).failure(2);
        assert!(
            output.stderr.contains(expected),
            "{arguments:?}: {}",
            output.stderr
        );
    }
    for (arguments, expected) in [
        (
            &["-T", "mysql://u@127.0.0.1:1/", "--count", "1"][..],
            "cannot connect to",
        ),
        (
            &["--run", "last", "--results", "/nowhere/dyno.db"],
            "/nowhere/dyno.db",
        ),
        (
            &[
                "-T",
                "mysql://u@127.0.0.1:1/",
                "--pgbouncer",
                "--count",
                "1",
            ],
            "cannot connect to",
        ),
    ] {
        let output = output(arguments).failure(1);
        assert!(
            output.stderr.contains(expected),
            "{arguments:?}: {}",
            output.stderr
        );
        assert!(!output.stderr.contains("panicked"), "{}", output.stderr);
    }
}
