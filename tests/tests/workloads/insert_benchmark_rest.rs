//! The Insert Benchmark's rest before its queries: what it does, and that it leaves nothing behind.

use std::time::Duration;

use dyno_tests::command::Running;
use dyno_tests::{Database, Kind, start_private_server_with};
use serde_json::Value;

use crate::common::{QUIET, TestDatabase, eventually, on};

const SMALL: &str = "-c 2 --rows 3000 --write-rows 2000";

fn loaded(place: &TestDatabase) {
    place
        .dyno(&format!("prepare insert_benchmark {SMALL}"))
        .success();
    place.result(&format!("insert_benchmark {SMALL} --settle 0 --steps i0,x"));
}

#[test]
fn a_rest_restores_settings_at_its_end_and_after_an_interrupt() {
    for kind in [Kind::Mariadb, Kind::Mysql] {
        let server = start_private_server_with(kind, &["--log-bin=logged"]);
        let database = Database::on(&server.server());
        let setting = |database: &Database| {
            database.query_one("SELECT ROUND(@@GLOBAL.innodb_max_dirty_pages_pct)")
        };
        let logs = |database: &Database| database.query("SHOW BINARY LOGS");
        let all = |database: &Database| {
            database.query(
                "SHOW GLOBAL VARIABLES WHERE variable_name LIKE 'innodb_max_dirty_pages_pct%' OR \
                 variable_name = 'innodb_idle_flush_pct'",
            )
        };
        let (before, all_before) = (setting(&database), all(&database));
        assert_ne!(before, "1");
        let place = TestDatabase::Server(database);
        let TestDatabase::Server(database) = &place else {
            unreachable!()
        };
        loaded(&place);
        let line = format!("run insert_benchmark {SMALL} --settle 600 --steps qr100 -t 1s {QUIET}");
        let running = place.start(&line);
        eventually("InnoDB flushes", || setting(database) == "1");
        running.signal(2);
        let output = running.finish(Duration::from_secs(60));
        assert_ne!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(all(database), all_before, "{kind}: {output:?}");
        // The run reports what the rest did and how long it took.
        database.execute("FLUSH LOGS");
        assert!(logs(database).len() > 1, "{kind}");
        let rest = "--settle 1 --settle-reset-binlog --steps qr100 -t 1s";
        let runs = place.result(&format!("insert_benchmark {SMALL} {rest}"));
        let done = &runs[0]["phase"]["before"];
        assert_eq!(done["command"], "statistics, settle", "{kind}");
        assert!(done["seconds"].as_f64().unwrap() >= 1.0, "{kind}: {done}");
        let rest_text = done["told"].as_str().unwrap();
        assert!(
            rest_text.contains("(2 tables in parallel)"),
            "{kind}: {rest_text}"
        );
        assert!(
            rest_text.contains("binary logs deleted"),
            "{kind}: {rest_text}"
        );
        assert!(
            rest_text.contains("innodb_max_dirty_pages_pct"),
            "{kind}: {rest_text}"
        );
        assert_eq!(all(database), all_before, "{kind}");
        assert_eq!(logs(database).len(), 1, "{kind}");
        assert_eq!(
            database.tables(),
            ["insert_benchmark_dataset", "pi1", "pi2"],
            "{kind}"
        );
    }
}

/// A setting that the rest sets to 1.
fn dirty_pages_max(database: &Database) -> String {
    database.query_one("SELECT ROUND(@@GLOBAL.innodb_max_dirty_pages_pct)")
}

/// Starts a run with a rest of ten minutes.
fn resting(place: &TestDatabase, database: &Database) -> Running {
    let rest = "--settle 600 --steps qr100 -t 1s";
    let running = place.start(&format!("run insert_benchmark {SMALL} {rest} {QUIET}"));
    eventually("InnoDB flushes", || dirty_pages_max(database) == "1");
    running
}

#[test]
fn the_next_command_restores_the_settings_of_a_killed_rest() {
    for kind in [Kind::Mariadb, Kind::Mysql] {
        // A private server, because the settings are global.
        let server = start_private_server_with(kind, &[]);
        let place = TestDatabase::Server(Database::on(&server.server()));
        let TestDatabase::Server(database) = &place else {
            unreachable!()
        };
        let all = || {
            database.query(
                "SHOW GLOBAL VARIABLES WHERE variable_name LIKE 'innodb_max_dirty_pages_pct%' OR \
                 variable_name = 'innodb_idle_flush_pct'",
            )
        };
        let before = all();
        let run = format!("run insert_benchmark {SMALL} --settle 0 --steps qr100 -t 1s {QUIET}");
        let commands = [
            format!("check insert_benchmark {SMALL}"),
            run,
            format!("cleanup insert_benchmark {SMALL}"),
            format!("prepare insert_benchmark {SMALL}"),
        ];
        for command in commands {
            if database.tables().is_empty() {
                loaded(&place);
            }
            let running = resting(&place, database);
            running.signal(9);
            running.finish(Duration::from_secs(60));
            assert_ne!(all(), before, "{kind}: {command}");
            if command.starts_with("prepare") {
                place.execute("DROP TABLE pi1, pi2");
            }
            let output = place.dyno(&command).success();
            let printed = format!("{} {}", output.stdout, output.stderr);
            assert!(
                printed.contains("the settings that a killed rest had changed: innodb_max_dirty"),
                "{kind}: {output:?}"
            );
            assert_eq!(all(), before, "{kind}: {command}");
            let left = database.tables();
            assert!(
                !left.contains(&"insert_benchmark_rest".to_owned()),
                "{kind}: {left:?}"
            );
        }
    }
}

/// Disturbs a run during its rest, after which the server must have its original settings.
fn in_a_rest(act: impl Fn(&TestDatabase, &Database, Running)) {
    for kind in [Kind::Mariadb, Kind::Mysql] {
        // A private server, because the settings are global.
        let server = start_private_server_with(kind, &[]);
        let place = TestDatabase::Server(Database::on(&server.server()));
        let TestDatabase::Server(database) = &place else {
            unreachable!()
        };
        loaded(&place);
        let before = dirty_pages_max(database);
        act(&place, database, resting(&place, database));
        assert_eq!(dirty_pages_max(database), before, "{kind}");
        assert_eq!(
            database.tables(),
            ["insert_benchmark_dataset", "pi1", "pi2"],
            "{kind}"
        );
    }
}

#[test]
fn a_rest_interrupted_twice_is_undone() {
    in_a_rest(|place, _, running| {
        running.signal(2);
        running.signal(2);
        let output = running.finish(Duration::from_secs(60));
        assert_ne!(output.status.code(), Some(0), "{output:?}");
        // Whether or not the run had time to restore the setting.
        place
            .dyno(&format!("check insert_benchmark {SMALL}"))
            .success();
    });
}

#[test]
fn another_runs_rest_is_not_disturbed() {
    in_a_rest(|place, database, running| {
        let checked = place
            .dyno(&format!("check insert_benchmark {SMALL}"))
            .success();
        assert!(
            checked.stdout.contains("a rest of another run"),
            "{checked:?}"
        );
        assert_eq!(dirty_pages_max(database), "1");
        // So does another run that rests at the same time.
        let rest = "--settle 1 --steps qr100 -t 1s";
        let line = format!("run insert_benchmark {SMALL} {rest} {QUIET}");
        place.dyno(&line).success();
        assert_eq!(dirty_pages_max(database), "1");
        running.signal(2);
        running.finish(Duration::from_secs(60));
    });
}

#[test]
fn tables_are_cleaned_in_parallel() {
    let place = on(Kind::Postgres);
    let TestDatabase::Server(database) = &place else {
        unreachable!()
    };
    loaded(&place);
    // While the first table is locked, a cleanup of one table after another would not reach the
    // second.
    let mut holder = database.server.postgres(&database.name);
    let mut held = holder.transaction().unwrap();
    held.batch_execute("LOCK TABLE pi1 IN SHARE MODE").unwrap();
    let rest = "--settle 0 --steps qp100 -t 1s";
    let running = place.start(&format!(
        "run insert_benchmark {SMALL} {rest} {QUIET} --json"
    ));
    let vacuums = |table: &str| {
        database.query_one(&format!(
            "SELECT vacuum_count FROM pg_stat_user_tables WHERE relname = '{table}'"
        ))
    };
    eventually("the second table is clean", || vacuums("pi2") == "1");
    assert_eq!(vacuums("pi1"), "0");
    held.commit().unwrap();
    let output = running.finish(Duration::from_secs(60)).success();
    let runs: Value = serde_json::from_str(&output.stdout).unwrap();
    let before = &runs[0]["phase"]["before"];
    assert_eq!(before["command"], "statistics, settle", "{before}");
    let rest_text = before["told"].as_str().unwrap();
    assert!(
        rest_text.starts_with("vacuum, statistics (2 tables in parallel)"),
        "{rest_text}"
    );
    assert_eq!(vacuums("pi1"), "1");
}

#[test]
fn a_user_who_may_not_set_globals_rests_without_flushing() {
    let place = on(Kind::Mariadb);
    let TestDatabase::Server(database) = &place else {
        unreachable!()
    };
    loaded(&place);
    let user = format!("{}_u", database.name);
    database.execute(&format!("CREATE USER {user}@'%' IDENTIFIED BY ''"));
    database.execute(&format!("GRANT ALL ON {}.* TO {user}@'%'", database.name));
    let url = place.url().replace("root@", &format!("{user}@"));
    let run = |more: &str| {
        let rest = format!("--settle 1 --steps qr100 -t 1s {more}");
        let line = format!("run insert_benchmark {SMALL} {rest} {QUIET} --json --target {url}");
        dyno_tests::dyno(line.split_whitespace())
    };
    let (auto, on) = (run(""), run("--settle-flush on"));
    database.execute(&format!("DROP USER {user}@'%'"));
    let runs: Value = serde_json::from_str(&auto.success().stdout).unwrap();
    let rest_text = runs[0]["phase"]["before"]["told"].as_str().unwrap();
    assert!(
        rest_text.contains("no flushing: the privilege is missing"),
        "{rest_text}"
    );
    assert_ne!(on.status.code(), Some(0), "{on:?}");
    assert!(on.stderr.contains("--settle-flush=on"), "{on:?}");
}
