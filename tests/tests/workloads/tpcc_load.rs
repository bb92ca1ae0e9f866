//! TPC-C-like order entry: what the load creates on every server, and what remains of it after an
//! interruption, a kill, or a full disk.

use std::process::Command;
use std::thread;
use std::time::Duration;

use dyno_tests::Kind;

use crate::common::{QUIET, TestDatabase, everywhere, on};

/// 1,666 items, and 50 customers and orders in each district, of which 35 are delivered.
const SMALL: &str = "tpcc --shrink 60 --scale 2 --tables 2";

/// The first field of the first row of a query, as a whole number.
fn number(place: &TestDatabase, sql: &str) -> i64 {
    match place {
        TestDatabase::Server(database) => database.query_one(sql).parse().unwrap(),
        TestDatabase::Sqlite(folder) => {
            let file = rusqlite::Connection::open(folder.path().join("data.db")).unwrap();
            file.query_row(sql, [], |row| row.get(0)).unwrap()
        }
    }
}

#[test]
fn the_load_has_the_specified_row_counts_on_every_server() {
    for place in everywhere() {
        let name = place.name();
        let output = place.dyno(&format!("prepare {SMALL} -c 3")).success();
        assert!(output.stderr.contains("rows"), "{name}: {output:?}");
        place.dyno(&format!("check {SMALL}")).success();
        for set in 1..=2 {
            let count = |table: &str| number(&place, &format!("SELECT COUNT(*) FROM {table}{set}"));
            for (table, rows) in [
                ("item", 1666),
                ("warehouse", 2),
                ("district", 20),
                ("customer", 1000),
                ("history", 1000),
                ("orders", 1000),
                ("new_orders", 300),
                ("stock", 2 * 1666),
            ] {
                assert_eq!(count(table), rows, "{name}: {table}{set}");
            }
            // 10 lines on average. Four standard deviations of the sum of 1,000 are 400.
            let lines = count("order_line");
            assert!((9_600..=10_400).contains(&lines), "{name}: {lines}");
        }
        place.dyno(&format!("cleanup {SMALL}")).success();
    }
}

/// A query for the number of constraints of a kind.
fn of_postgres(kind: char) -> String {
    format!(
        "SELECT COUNT(*) FROM pg_constraint WHERE contype = '{kind}' AND connamespace = \
         'public'::regnamespace"
    )
}

#[test]
fn keys_match_the_options_on_every_server() {
    for place in everywhere() {
        let name = place.name();
        let (references, primary_keys) = match &place {
            TestDatabase::Server(database) if database.server.kind == Kind::Postgres => {
                (of_postgres('f'), of_postgres('p'))
            }
            TestDatabase::Server(database) => {
                let of = |kind| {
                    format!(
                        "SELECT COUNT(*) FROM information_schema.table_constraints WHERE \
                         table_schema = '{}' AND constraint_type = '{kind} KEY'",
                        database.name
                    )
                };
                (of("FOREIGN"), of("PRIMARY"))
            }
            TestDatabase::Sqlite(_) => {
                let of = |pragma: &str, column: &str| {
                    format!(
                        "SELECT COUNT(DISTINCT m.name || {column}) FROM sqlite_master m, \
                         pragma_{pragma}(m.name) p WHERE m.type = 'table' AND m.name NOT LIKE \
                         'sqlite%'"
                    )
                };
                let keyed = of("table_info", "''") + " AND p.pk > 0";
                (of("foreign_key_list", "p.id"), keyed)
            }
        };
        let line = "tpcc --shrink 100";
        for (options, keys) in [
            // The additional key is that of the table that describes the others.
            ("", (10, 9)),
            ("--use_fk=off", (0, 9)),
            ("--use_fk=off --force_pk=on", (0, 10)),
        ] {
            place.dyno(&format!("prepare {line} {options}")).success();
            let found = (number(&place, &references), number(&place, &primary_keys));
            assert_eq!(found, keys, "{name}: {options}");
            place
                .dyno(&format!("run {line} --events 100 {QUIET}"))
                .success();
            place.dyno(&format!("check {line}")).success();
            if keys.0 > 0 && matches!(place, TestDatabase::Server(_)) {
                place.execute("ALTER TABLE stock1 DROP CONSTRAINT fk_stock_10_1");
                let output = place.dyno(&format!("run {line} --events 100 {QUIET}"));
                let expected = "set 1 has 15 of its 16 indexes and foreign keys";
                assert!(output.stderr.contains(expected), "{name}: {output:?}");
            }
            place.dyno(&format!("cleanup {line}")).success();
        }
    }
}

#[test]
fn a_killed_load_is_cleaned_up_and_repeated_on_every_server() {
    // Foreign keys restrict the order in which tables can be dropped.
    let line = "tpcc --shrink 10 --scale 3";
    for place in everywhere() {
        let name = place.name();
        let loading = place.start(&format!("prepare {line} -c 2"));
        let some = |table: &str| {
            let rows = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                number(&place, &format!("SELECT COUNT(*) FROM {table}"))
            }));
            rows.unwrap_or(0) > 0
        };
        // Another process may be writing to the file at this moment.
        while !some("stock1") {
            thread::sleep(Duration::from_millis(20));
        }
        drop(loading);
        let run = place.dyno(&format!("run {line} -t 1s {QUIET}"));
        let check = place.dyno(&format!("check {line}"));
        assert!(!check.status.success(), "{name}: {check:?}");
        assert!(!run.status.success(), "{name}: {run:?}");
        let why = "not completely loaded";
        assert!(run.stderr.contains(why), "{name}: {run:?}");
        // `prepare` refuses to load over a partial load.
        let again = place.dyno(&format!("prepare {line}"));
        assert!(!again.status.success(), "{name}: {again:?}");
        assert!(again.stderr.contains("exists"), "{name}: {again:?}");
        place.dyno(&format!("cleanup {line}")).success();
        let small = "tpcc --shrink 100";
        place.dyno(&format!("prepare {small}")).success();
        place.dyno(&format!("check {small}")).success();
    }
}

#[test]
fn reports_a_disk_that_fills_during_the_load_and_cleans_up_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let target = format!("sqlite:{}", folder.path().join("data.db").display());
    // A file size limit in KiB stands in for a full disk, which a test may not be able to create.
    let dyno = |words: &str, room: u32| {
        let program = dyno_tests::command::dyno_path();
        let line = format!(
            "trap '' XFSZ; ulimit -f {}; exec {} {words} --target {target}",
            2 * room,
            program.display()
        );
        let mut shell = Command::new("sh");
        dyno_tests::command::run(shell.args(["-c", &line]), Duration::from_secs(120))
    };
    let output = dyno("prepare tpcc --shrink 2 -q", 8_192);
    assert!(!output.status.success(), "{output:?}");
    assert!(output.stderr.starts_with("error: "), "{output:?}");
    let why = ["database or disk is full", "disk I/O error"];
    let reported = why.iter().any(|why| output.stderr.contains(why));
    assert!(reported, "{output:?}");
    // What was committed is not in the way, and there is space again.
    dyno("cleanup tpcc", 8_192).success();
    dyno("prepare tpcc --shrink 100", 65_536).success();
    dyno("check tpcc --shrink 100", 65_536).success();
}

#[test]
fn foreign_keys_that_no_server_checks_are_verified_by_query() {
    for kind in [Kind::Mariadb, Kind::Mysql] {
        let place = on(kind);
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("orphans.lua");
        let text = "local keys = require('foreign_keys')\n\
            function prepare()\n\
              local con = sysbench.sql.driver():connect()\n\
              con:query('CREATE TABLE parent (a INT, b INT, PRIMARY KEY (a, b))')\n\
              con:query('CREATE TABLE child (id INT PRIMARY KEY, x INT, y INT, KEY (x, y))')\n\
              con:query('INSERT INTO parent VALUES (1, 1), (1, 2)')\n\
              con:query('INSERT INTO child VALUES (1, 1, 2), (2, 1, NULL), (3, 1, 1)')\n\
              keys.add(con, {{'child', 'x, y', 'parent', 'a, b', 'proved'}})\n\
              con:query('ALTER TABLE child DROP FOREIGN KEY proved')\n\
              con:query('INSERT INTO child VALUES (4, 7, 8), (5, 7, 9)')\n\
              keys.add(con, {{'child', 'x, y', 'parent', 'a, b'}})\n\
            end\n\
            function event() end\n";
        std::fs::write(&script, text).unwrap();
        let output = place
            .dyno(&format!("prepare {}", script.display()))
            .failure(1);
        let found = "2 rows of child have no row of parent that they refer to, for instance (x, y) \
                    = (7, ";
        assert!(output.stderr.contains(found), "{output:?}");
    }
}
