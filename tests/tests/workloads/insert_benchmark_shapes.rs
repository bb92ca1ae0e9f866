//! Variants of the Insert Benchmark: one table for all clients, partitions, and long transactions.

use std::time::Duration;

use dyno_tests::Kind;
use serde_json::Value;

use crate::common::{
    Inserting, QUIET, TestDatabase, done, eventually, everywhere, on, outcome, sqlite,
};

const SMALL: &str = "-c 3 --rows 4000 --write-rows 2000 --settle 0";

fn steps(place: &TestDatabase, line: &str) -> Vec<Value> {
    let result = place.result(&format!("insert_benchmark {SMALL} {line}"));
    result.as_array().unwrap().clone()
}

fn every_book_is_right(place: &TestDatabase, runs: &[Value]) {
    for run in runs {
        let name = &run["phase"]["name"];
        assert_eq!(run["end"]["how"], "completed", "{} {name}", place.name());
        let found = outcome(run, "consistency");
        assert_eq!(found, "pass", "{} {name}: {run:#}", place.name());
    }
}

#[test]
fn clients_that_share_a_table_leave_it_as_large_as_it_was() {
    for place in everywhere() {
        let name = place.name();
        let line = "--tables shared";
        place
            .dyno(&format!("prepare insert_benchmark {SMALL} {line}"))
            .success();
        let all = format!("-t 2s --steps i0,x,i1,i2,qr500,qp100 {line}");
        let runs = steps(&place, &all);
        every_book_is_right(&place, &runs);
        // One table, whose indexes are created once.
        assert_eq!(done(&runs[1], "create_indexes"), 1, "{name}");
        assert_eq!(runs[1]["phase"]["per_event"], 12_100.0, "{name}");
        assert_eq!(runs[0]["ledger"][1]["found"], 12_000, "{name}");
        for step in [2, 3] {
            assert_eq!(runs[step]["ledger"][1]["found"], 0, "{name}, step {step}");
        }
        let checked = place
            .dyno(&format!("check insert_benchmark {SMALL} {line}"))
            .success();
        assert!(checked.stdout.contains("ok      pi1 has "), "{checked:?}");
        assert!(!checked.stdout.contains("pi2"), "{checked:?}");
        place.execute("DELETE FROM pi1 WHERE transactionid % 5 = 0");
        let checked = place.dyno(&format!("check insert_benchmark {SMALL} {line}"));
        assert_eq!(checked.status.code(), Some(1), "{checked:?}");
        place.dyno("cleanup insert_benchmark").success();
    }
}

#[test]
fn partitions_hold_the_rows_where_the_server_has_them() {
    for place in [on(Kind::Mariadb), on(Kind::Mysql), on(Kind::Postgres)] {
        // Enough rows for PostgreSQL to use the indexes.
        let line = "-c 2 --rows 20000 --write-rows 2000 --settle 0 --num-partitions 4";
        place
            .dyno(&format!("prepare insert_benchmark {line}"))
            .success();
        let runs = place.result(&format!(
            "insert_benchmark -t 1s --steps i0,x,i1,qr100,qp100 {line}"
        ));
        every_book_is_right(&place, runs.as_array().unwrap());
        place
            .dyno(&format!("check insert_benchmark {line}"))
            .success();
        let TestDatabase::Server(database) = &place else {
            unreachable!()
        };
        let sql = match database.server.kind {
            Kind::Postgres => {
                "SELECT count(*) FROM pg_inherits WHERE inhparent = 'pi2'::regclass".to_owned()
            }
            _ => format!(
                "SELECT COUNT(*) FROM information_schema.partitions WHERE table_schema = '{}' \
                 AND table_name = 'pi2' AND partition_name IS NOT NULL",
                database.name
            ),
        };
        assert_eq!(database.query_one(&sql), "4", "{}", place.name());
        place.dyno("cleanup insert_benchmark").success();
        assert_eq!(database.tables(), Vec::<String>::new(), "{}", place.name());
    }
    let refused = sqlite().dyno("prepare insert_benchmark --num-partitions 4");
    assert_ne!(refused.status.code(), Some(0));
    assert!(
        refused.stderr.contains("SQLite has no partitions"),
        "{refused:?}"
    );
}

/// How many open transactions with a snapshot there are in this database.
fn open_transactions(place: &TestDatabase) -> Option<String> {
    let TestDatabase::Server(database) = place else {
        return None;
    };
    let sql = match database.server.kind {
        Kind::Postgres => format!(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = '{}' AND backend_xmin IS NOT \
             NULL AND state = 'idle in transaction'",
            database.name
        ),
        _ => format!(
            "SELECT COUNT(*) FROM information_schema.innodb_trx t JOIN \
             information_schema.processlist p ON p.id = t.trx_mysql_thread_id WHERE p.db = '{}' \
             AND p.command = 'Sleep' AND t.trx_isolation_level = 'REPEATABLE READ'",
            database.name
        ),
    };
    Some(database.query_one(&sql))
}

#[test]
fn each_client_has_a_reader_that_keeps_a_transaction_open() {
    for place in everywhere() {
        let name = place.name();
        place
            .dyno(&format!("prepare insert_benchmark {SMALL}"))
            .success();
        steps(&place, "--steps i0,x");
        // Long enough to see the transactions, if this server shows them.
        let seen = open_transactions(&place).is_some();
        let held = match seen {
            true => "--htap-transaction-seconds 1000 -t 200s",
            false => "--htap-transaction-seconds 1000 -t 5s",
        };
        let line = format!("run insert_benchmark {SMALL} --steps qr100 {held} --json {QUIET}");
        let running = place.start(&line);
        if seen {
            let inserting = Inserting::since(&place);
            eventually("three transactions are open", || {
                // InnoDB answers from a cache if it is asked more often than ten times a second.
                std::thread::sleep(Duration::from_millis(250));
                open_transactions(&place).is_some_and(|count| count == "3")
            });
            inserting.wait();
            running.signal(2);
        }
        let output = running.finish(Duration::from_secs(60));
        let output = output.failure(if seen { 130 } else { 0 });
        let runs: Value = serde_json::from_str(&output.stdout).unwrap();
        let runs = runs.as_array().unwrap();
        assert_eq!(outcome(&runs[0], "consistency"), "pass", "{name}");
        let how = if seen { "interrupted" } else { "completed" };
        assert_eq!(runs[0]["end"]["how"], how, "{name}");
        // The readers ran their first query, and the run ended before the second.
        assert_eq!(done(&runs[0], "htap"), 3, "{name}");
        // Their snapshots must stay open until the second query, or the run would fail.
        let runs = steps(
            &place,
            "--steps i1,qr100 -t 3s --htap-transaction-seconds 1",
        );
        every_book_is_right(&place, &runs);
        assert!(done(&runs[1], "htap") > 3, "{name}");
    }
}

#[test]
fn refuses_readers_that_would_block_writers() {
    let place = sqlite();
    place
        .dyno(&format!("prepare insert_benchmark {SMALL}"))
        .success();
    steps(&place, "--steps i0,x");
    let url = format!("{}?journal_mode=delete", place.url());
    let held = "--step i1 --htap-transaction-seconds 1";
    let line = format!("run insert_benchmark {SMALL} {held} {QUIET} --target {url}");
    let output = dyno_tests::dyno(line.split_whitespace());
    assert_ne!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.contains("leave it at wal"), "{output:?}");
}

#[test]
fn a_six_figure_number_of_rows_goes_through_all_steps() {
    let place = on(Kind::Postgres);
    let size = "-c 4 --rows 50000 --write-rows 10000 --settle 0";
    place
        .dyno(&format!("prepare insert_benchmark {size}"))
        .success();
    let runs = place.result(&format!("insert_benchmark {size} -t 1s"));
    let runs = runs.as_array().unwrap();
    assert_eq!(runs.len(), 10);
    every_book_is_right(&place, runs);
    assert_eq!(runs[0]["ledger"][1]["found"], 200_000);
    let checked = place
        .dyno(&format!("check insert_benchmark {size}"))
        .success();
    let lines = checked.stdout.lines().filter(|line| line.starts_with("ok"));
    assert_eq!(lines.count(), 4 * 5, "{checked:?}");
}
