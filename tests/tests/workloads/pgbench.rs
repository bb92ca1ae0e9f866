//! pgbench's transactions: the money that was acknowledged is in the tables.

use std::time::Duration;

use dyno_tests::Kind;

use crate::common::{
    LOUD, QUIET, TestDatabase, done, everywhere, fact, fails, on, outcome, refused, sqlite,
};

const MIX: &str = "--mix tpcb@2,simple_update@1,select_only@2";

#[test]
fn money_is_neither_created_nor_lost_on_any_server() {
    for place in everywhere() {
        let name = place.name();
        place
            .dyno("prepare tpcb --history_pk=on --foreign_keys=on")
            .success();
        let result = place.result(&format!("tpcb {MIX} -c 4 -t 2s --grace 20s"));
        let entries = result["ledger"].as_array().unwrap();
        assert_eq!(entries.len(), 8, "{name}");
        for entry in entries {
            assert_eq!(entry["found"], entry["expected_low"], "{name}: {entry}");
            assert_eq!(entry["found"], entry["expected_high"], "{name}: {entry}");
        }
        assert_eq!(outcome(&result, "consistency"), "pass", "{name}");
        let counts = ["tpcb", "simple_update", "select_only"].map(|o| done(&result, o));
        assert!(counts.iter().all(|&count| count > 0), "{name}: {counts:?}");
        let given_up: u64 = result["operations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|operation| operation["totals"]["given_up"].as_u64().unwrap())
            .sum();
        let events = result["totals"]["events"].as_u64().unwrap();
        assert_eq!(counts.iter().sum::<u64>(), events, "{name}");
        assert_eq!(result["totals"]["not_done"], given_up, "{name}");
        // Events that ended after the grace count in the ledger, but not in the figures.
        let added = entries
            .iter()
            .find(|entry| entry["database"] == "history_rows")
            .unwrap();
        assert!(
            added["found"].as_u64().unwrap() >= counts[0] + counts[1],
            "{name}"
        );
        place.dyno("check tpcb").success();

        let alone = place.result("select_only -c 2 --events 500");
        assert_eq!(alone["totals"]["events"], 500, "{name}");
        assert_eq!(alone["totals"]["reads"], 500, "{name}");
        place.dyno("cleanup tpcb").success();
        // There may be nothing to clean up.
        place.dyno("cleanup tpcb").success();
    }
}

#[test]
fn corrupted_data_fails_its_condition() {
    for place in [sqlite(), on(Kind::Postgres), on(Kind::Mariadb)] {
        place.dyno("prepare tpcb").success();
        place
            .dyno(&format!("run tpcb -c 2 --events 200 {QUIET}"))
            .success();
        place.dyno("check tpcb").success();
        let accounts = "the sum of the accounts";
        let tellers = "the sum of the tellers";
        let spoil = |spoil: &str, mend: &str, conditions: &[&str]| {
            place.execute(spoil);
            fails(&place, "tpcb", conditions);
            place.execute(mend);
            place.dyno("check tpcb").success();
        };
        spoil(
            "UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = 77",
            "UPDATE pgbench_accounts SET abalance = abalance - 1 WHERE aid = 77",
            &[accounts],
        );
        spoil(
            "UPDATE pgbench_tellers SET tbalance = tbalance - 5 WHERE tid = 3",
            "UPDATE pgbench_tellers SET tbalance = tbalance + 5 WHERE tid = 3",
            &[tellers],
        );
        spoil(
            "UPDATE pgbench_branches SET bbalance = bbalance + 5",
            "UPDATE pgbench_branches SET bbalance = bbalance - 5",
            &[tellers],
        );
        spoil(
            "INSERT INTO pgbench_history (tid, bid, aid, delta) VALUES (1, 1, 1, 9)",
            "DELETE FROM pgbench_history WHERE mtime IS NULL",
            &[accounts],
        );
        spoil(
            "INSERT INTO pgbench_accounts (aid, bid, abalance) VALUES (100001, 1, 0)",
            "DELETE FROM pgbench_accounts WHERE aid = 100001",
            &["accounts"],
        );
        spoil(
            "INSERT INTO pgbench_branches (bid, bbalance) VALUES (2, 0)",
            "DELETE FROM pgbench_branches WHERE bid = 2",
            &["branches"],
        );
        spoil(
            "INSERT INTO pgbench_tellers (tid, bid, tbalance) VALUES (11, 1, 0)",
            "DELETE FROM pgbench_tellers WHERE tid = 11",
            &["tellers"],
        );
    }
}

#[test]
fn refuses_tables_of_another_scale() {
    for place in [sqlite(), on(Kind::Mysql)] {
        place.dyno("prepare select_only --scale 2").success();
        let output = place.dyno(&format!("run select_only --scale 3 -t 1s {QUIET}"));
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let expected = "the tables have 2 branches instead of 3";
        assert!(output.stderr.contains(expected), "{output:?}");
        place.dyno("cleanup select_only").success();
        let output = place.dyno(&format!("run select_only -t 1s {QUIET}"));
        assert!(output.stderr.contains("dyno prepare"), "{output:?}");
    }
}

#[test]
fn accounts_are_partitioned_as_requested() {
    for place in [on(Kind::Mariadb), on(Kind::Mysql), on(Kind::Postgres)] {
        let TestDatabase::Server(database) = &place else {
            panic!("it is a server");
        };
        let parts = match place.family() {
            "postgres" => {
                "SELECT COUNT(*) FROM pg_inherits WHERE inhparent = 'pgbench_accounts'::regclass"
            }
            _ => {
                "SELECT COUNT(partition_name) FROM information_schema.partitions WHERE \
                 table_schema = DATABASE() AND table_name = 'pgbench_accounts'"
            }
        };
        for (options, expected) in [
            ("", "0"),
            ("--partitions 3", "3"),
            ("--partitions 1", "1"),
            (
                "--partitions 4 --partition_method hash --fillfactor 80",
                "4",
            ),
        ] {
            let name = place.name();
            let prepared = place.dyno(&format!("prepare tpcb -c 2 {options}"));
            let printed = prepared.success().stderr;
            assert!(
                printed.contains("tables ") && printed.contains(" keys "),
                "{name}: {printed}"
            );
            assert_eq!(database.query_one(parts), expected, "{name} {options}");
            let result = place.result(&format!("tpcb {MIX} {options} -c 2 --events 200"));
            assert_eq!(outcome(&result, "consistency"), "pass", "{name} {options}");
            place.dyno("check tpcb").success();
            place.dyno("cleanup tpcb").success();
        }
        if place.family() == "mysql" {
            let both = "prepare tpcb --partitions 2 --foreign_keys=on";
            refused(
                &place,
                both,
                "--partitions and --foreign-keys exclude each other",
            );
        }
    }
}

#[test]
fn the_age_of_the_tables_and_too_few_branches_are_in_the_result_on_every_server() {
    for place in everywhere() {
        let name = place.name();
        place.dyno("prepare tpcb").success();
        for age in ["0 transactions", "60 transactions"] {
            let result = place.result("tpcb -c 3 --events 60");
            let age_fact = "run.workload.age";
            assert_eq!(fact(&result, age_fact), Some(age), "{name}");
            assert_eq!(fact(&result, "workload.dataset.scale"), Some("1"), "{name}");
            let warnings = result["warnings"].to_string();
            let warned = "More sessions (3) than branches (1): they wait";
            assert!(warnings.contains(warned), "{name}: {warnings}");
        }
        // Without a ledger, Dyno does not read the large tables. It takes the number of rows from
        // statistics, or from the number of the last row.
        let result = place.result("tpcb -c 1 --events 60 --ledger off");
        let age = fact(&result, "run.workload.age").unwrap();
        let about = age.strip_prefix("about ").unwrap();
        let rows: f64 = about
            .strip_suffix(" transactions")
            .unwrap()
            .parse()
            .unwrap();
        assert!((1.0..=400.0).contains(&rows), "{name}: {age}");
        assert_eq!(result["warnings"].to_string().find("branches"), None);
        // Tables that another program created have no description, and are accepted.
        place.execute("DROP TABLE pgbench_dataset");
        let result = place.result("select_only -c 1 --events 60");
        let fingerprint = fact(&result, "workload.dataset.fingerprint").unwrap();
        assert!(fingerprint.starts_with("none:"), "{name}: {fingerprint}");
        place.dyno("cleanup tpcb").success();
    }
}

#[test]
fn each_transaction_opens_its_own_connection_on_request() {
    for place in everywhere() {
        let name = place.name();
        place.dyno("prepare tpcb").success();
        for workload in ["tpcb", "select_only"] {
            let line = format!("{workload} --reconnect=on -c 3 --events 60");
            let result = place.result(&line);
            let totals = &result["totals"];
            assert_eq!(totals["events"], 60, "{name} {workload}");
            // The first reconnect of each session counts. One may come too late for another event.
            let reconnects = totals["reconnects"].as_u64().unwrap();
            assert!((57..60).contains(&reconnects), "{name} {workload}");
            assert_eq!(outcome(&result, "consistency"), "pass", "{name}");
        }
        place.dyno("check tpcb").success();
    }
}

#[test]
fn reports_the_age_of_the_tables_and_limits_the_tries() {
    let place = on(Kind::Postgres);
    place.dyno("prepare tpcb").success();
    for (age, events) in [(0, 300), (300, 50)] {
        let line = format!("run tpcb --max_retries 0 -c 3 --events {events} {QUIET}");
        let output = place.dyno(&line).success();
        let expected = format!("the tables begin with {age} transactions in their history");
        assert!(output.stderr.contains(&expected), "{output:?}");
    }
    // Without retries, serialisation failures are given up at once.
    let TestDatabase::Server(database) = &place else {
        panic!("it is a server");
    };
    place.execute(&format!(
        "ALTER DATABASE {} SET default_transaction_isolation = 'repeatable read'",
        database.name
    ));
    let totals = |retries: u32| {
        let line = format!("tpcb --max_retries {retries} -c 8 --events 300");
        let result = place.result(&line);
        assert_eq!(outcome(&result, "consistency"), "pass");
        let totals = &result["operations"][0]["totals"];
        ["retries", "given_up"].map(|name| totals[name].as_u64().unwrap())
    };
    let [retries, given_up] = totals(0);
    assert!(retries == 0 && given_up > 0, "{retries} {given_up}");
    let [retries, _] = totals(100);
    assert!(retries > 0, "{retries}");
}

#[test]
fn too_late_events_are_skipped_and_counted() {
    let place = on(Kind::Postgres);
    place.dyno("prepare tpcb").success();
    // One session that updates one row at a time cannot reach this rate, so the queue would grow.
    let line = "tpcb -c 1 -t 3s --rate 20000 --latency-limit 20ms";
    let result = place.result(line);
    let limit = &result["latency_limit"];
    let (events, skipped) = (&result["totals"]["events"], &limit["skipped"]);
    assert!(skipped.as_u64() > events.as_u64(), "{limit} {events}");
    assert_eq!(limit["limit_ms"], 20.0);
    assert_eq!(outcome(&result, "offered-rate"), "doubt");
    assert_eq!(outcome(&result, "unserved"), "not_checked");
    // Events start within the limit, so the response time is at most the limit plus the service
    // time.
    let longest = result["response"]["max_ms"].as_f64().unwrap();
    let service = result["service"]["max_ms"].as_f64().unwrap();
    assert!(longest <= 21.0 + service, "{longest} {service}");
    // The number of arrivals still waiting, within the random variation of 60,000.
    let waiting = result["open_loop"]["backlog"].as_f64().unwrap();
    let due = events.as_f64().unwrap() + skipped.as_f64().unwrap() + waiting;
    assert!((due - 60_000.0).abs() < 1_500.0, "{due}");
}

#[test]
fn the_ledger_reports_another_writer() {
    let place = on(Kind::Mariadb);
    place.dyno("prepare tpcb").success();
    let mut running = place.start(&format!("run tpcb -c 2 -t 4s --gate --json {LOUD}"));
    running.measuring();
    place.execute("UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = 4711");
    let output = running.finish(Duration::from_secs(60));
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let result: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(outcome(&result, "consistency"), "refuse");
    let findings = result["findings"].as_array().unwrap();
    let found = findings
        .iter()
        .find(|f| f["check"] == "consistency")
        .unwrap();
    let evidence = found["evidence"].as_str().unwrap();
    assert!(evidence.contains("accounts changed by"), "{evidence}");
    // Without a ledger, nothing is compared or reported.
    let result = place.result("tpcb --ledger off --events 20");
    assert_eq!(outcome(&result, "consistency"), "not_checked");
}

#[test]
fn a_killed_client_leaves_nothing_half_done() {
    for place in [
        on(Kind::Mariadb),
        on(Kind::Mysql),
        on(Kind::Postgres),
        sqlite(),
    ] {
        place.dyno("prepare tpcb").success();
        let mut running = place.start(&format!("run tpcb {MIX} -c 8 -t 60s {LOUD}"));
        running.measuring();
        drop(running);
        place.alone_again();
        place.dyno("check tpcb").success();
        // The ledger of the next run agrees, too.
        let result = place.result("tpcb -c 2 --events 100");
        assert_eq!(outcome(&result, "consistency"), "pass", "{}", place.name());
    }
}

#[test]
fn reports_bad_input_and_changes_nothing() {
    let place = sqlite();
    refused(
        &place,
        "prepare tpcb --scale 0",
        "--scale must be a whole number from 1",
    );
    refused(
        &place,
        "prepare tpcb --scale 1.5",
        "--scale must be a whole number from 1",
    );
    refused(&place, &format!("run tpcb {QUIET} -t 1s"), "prepare tpcb");
    place.dyno("prepare tpcb").success();
    refused(
        &place,
        &format!("run tpcb {QUIET} -t 1s --mix none"),
        "must be tpcb, simple_update or select_only",
    );
    refused(
        &place,
        &format!("run tpcb {QUIET} -t 1s --mix tpcb@0"),
        "leaves nothing to do",
    );
    refused(
        &place,
        &format!("run tpcb {QUIET} -t 1s --keys odd"),
        "--keys must be uniform, gaussian",
    );
    refused(
        &place,
        &format!("run tpcb {QUIET} -t 1s --keys gaussian --keys_parameter 1"),
        "--keys_parameter must be 2 or more",
    );
    // Tables of another scale.
    refused(&place, "check tpcb --scale 2", "conditions failed");
    place.dyno("check tpcb").success();
    let file = sqlite();
    refused(&file, "prepare tpcb --partitions 2", "SQLite has none");
    refused(
        &file,
        "prepare tpcb --partition_method list",
        "range or hash",
    );
    let tries = "--max_retries must be a whole number";
    refused(
        &place,
        &format!("run tpcb {QUIET} -t 1s --max_retries 1.5"),
        tries,
    );
    for keys in ["gaussian", "exponential", "zipfian"] {
        let result = place.result(&format!("tpcb --keys {keys} --events 300"));
        assert_eq!(result["totals"]["events"], 300, "{keys}");
    }
}
