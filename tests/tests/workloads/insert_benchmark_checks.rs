//! What the Insert Benchmark reports: wrong plans, missing rows and index entries, and keys that
//! decrease.

use std::time::Duration;

use dyno_tests::Kind;
use serde_json::Value;

use crate::common::{Inserting, QUIET, TestDatabase, fails, on, outcome, sqlite};

const SMALL: &str = "-c 2 --rows 3000 --write-rows 2000";

fn loaded(place: &TestDatabase, more: &str) {
    place
        .dyno(&format!("prepare insert_benchmark {SMALL}"))
        .success();
    place.result(&format!(
        "insert_benchmark {SMALL} --settle 0 --steps i0,x {more}"
    ));
}

fn refused(place: &TestDatabase, line: &str, words: &str) {
    let output = place.dyno(&format!("run insert_benchmark {SMALL} {line} {QUIET}"));
    assert_ne!(output.status.code(), Some(0), "{}: {line}", place.name());
    assert!(output.stderr.contains(words), "{line}: {}", output.stderr);
}

#[test]
fn refuses_to_measure_queries_without_their_indexes() {
    for place in [sqlite(), on(Kind::Postgres)] {
        loaded(&place, "");
        place.execute("DROP INDEX pi1_registersegment");
        let step = "--settle 0 --steps qr100 -t 1s";
        refused(&place, step, "pi1 has no index registersegment");
        // An index whose columns do not match the query.
        place.execute("CREATE INDEX pi1_registersegment ON pi1 (cashregisterid, customerid)");
        refused(
            &place,
            step,
            "the plan of the query registersegment is not index-only",
        );
        place.result(&format!(
            "insert_benchmark {SMALL} {step} --check-plans=off"
        ));
        // Queries by the primary key do not need that index.
        place.result(&format!(
            "insert_benchmark {SMALL} --settle 0 --steps qp100 -t 1s"
        ));
    }
    for place in [on(Kind::Mariadb), on(Kind::Mysql)] {
        loaded(&place, "");
        place.execute(
            "ALTER TABLE pi1 DROP INDEX registersegment, ADD INDEX registersegment \
             (cashregisterid, customerid)",
        );
        let step = "--settle 0 --steps qr100 -t 1s";
        refused(
            &place,
            step,
            "the plan of the query registersegment is not index-only",
        );
    }
}

#[test]
fn check_reports_missing_index_entries() {
    let place = sqlite();
    loaded(&place, "");
    // Declare a partial index as a full one.
    place.execute(
        "DROP INDEX pi2_pdc; \
         CREATE INDEX pi2_pdc ON pi2 (price, dateandtime, customerid) WHERE price < 250; \
         PRAGMA writable_schema = ON; \
         UPDATE sqlite_schema SET sql = replace(sql, ' WHERE price < 250', '') \
         WHERE name = 'pi2_pdc'; \
         PRAGMA writable_schema = RESET",
    );
    let workload = format!("insert_benchmark {SMALL}");
    fails(&place, &workload, &["pi2: index pdc holds "]);
    let place = on(Kind::Postgres);
    loaded(&place, "");
    // Insert rows while an index is not maintained.
    place.execute("UPDATE pg_index SET indisready = false WHERE indexrelid = 'pi1_pdc'::regclass");
    place.execute(
        "INSERT INTO pi1 (dateandtime, cashregisterid, customerid, productid, price, data) \
         SELECT dateandtime, cashregisterid, customerid, productid, price, data FROM pi1 LIMIT 10",
    );
    place.execute("UPDATE pg_index SET indisready = true WHERE indexrelid = 'pi1_pdc'::regclass");
    fails(&place, &workload, &["pi1: index pdc holds 3050 of 3060"]);
}

/// Runs a step, and executes a statement outside Dyno once the step inserts rows.
fn disturbed(place: &TestDatabase, line: &str, sql: &str) -> dyno_tests::Output {
    let line = format!("run insert_benchmark {SMALL} {line} --gate --json {QUIET}");
    let inserting = Inserting::since(place);
    let running = place.start(&line);
    inserting.wait();
    place.execute(sql);
    running.finish(Duration::from_secs(120))
}

#[test]
fn the_ledger_reports_rows_inserted_by_others() {
    for place in [sqlite(), on(Kind::Mysql), on(Kind::Postgres)] {
        loaded(&place, "");
        let output = disturbed(
            &place,
            "--step qr100 -t 6s",
            "INSERT INTO pi2 (dateandtime, cashregisterid, customerid, productid, price, data) \
             SELECT dateandtime, cashregisterid, customerid, productid, price, data FROM pi1 \
             WHERE transactionid BETWEEN 2000 AND 2004",
        );
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let run: Value = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!(outcome(&run, "consistency"), "refuse", "{}", place.name());
    }
}

#[test]
fn a_lowest_key_that_goes_back_ends_the_run() {
    for place in [sqlite(), on(Kind::Mariadb), on(Kind::Postgres)] {
        loaded(&place, "");
        let output = disturbed(
            &place,
            "--step qr500 -t 100s --min-key-every 1",
            "INSERT INTO pi1 (transactionid, dateandtime, cashregisterid, customerid, productid, \
             price, data) SELECT -5, dateandtime, cashregisterid, customerid, productid, price, \
             data FROM pi2 ORDER BY transactionid DESC LIMIT 1",
        );
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let printed = format!("{} {}", output.stdout, output.stderr);
        assert!(
            printed.contains("the lowest key of pi1 went back"),
            "{output:?}"
        );
    }
}

#[test]
fn every_step_can_be_calibrated() {
    for place in [on(Kind::Mysql), on(Kind::Postgres)] {
        place
            .dyno(&format!("prepare insert_benchmark {SMALL}"))
            .success();
        let steps = "--steps i0,x,i1,qr100,qp100 --htap-transaction-seconds 1 -t 1s --settle 0";
        let line = format!("run insert_benchmark {SMALL} {steps} --calibrate always");
        let output = place.dyno(&format!("{line} --observe off --results none"));
        let output = output.success();
        let made = output.stderr.matches("Calibrating").count();
        assert_eq!(made, 5, "{output:?}");
        assert!(!output.stderr.contains("no calibration"), "{output:?}");
    }
}

#[test]
fn reports_impossible_options() {
    let place = sqlite();
    for (line, words) in [
        ("--tables many", "--tables must be per_client or shared"),
        (
            "--settle-flush maybe",
            "--settle-flush must be auto, on or off",
        ),
        (
            "--index-rows few",
            "--index-rows must be auto or a whole number",
        ),
        (
            "--min-key-every -1",
            "--min-key-every must be auto or a whole",
        ),
        (
            "--settle-reset-binlog",
            "only MySQL and MariaDB have binary logs",
        ),
        ("--htap-transaction-seconds 0.5", "must be a whole number"),
    ] {
        refused(&place, line, words);
    }
}
