//! TPC-C-like order entry. The data are consistent after the load, after runs with deadlocks, and
//! after clients were killed; and each condition detects its own violation.

use std::time::Duration;

use dyno_tests::Kind;
use serde_json::Value;

use crate::common::{
    LOUD, QUIET, TestDatabase, done, everywhere, fact, fails, on, outcome, sqlite, totals,
};

/// A small load: 3,333 items, and 100 customers and orders in each district.
const SMALL: &str = "--shrink 30 --scale 2";

/// The number that a query on a file returns.
fn count(place: &TestDatabase, sql: &str) -> f64 {
    let TestDatabase::Sqlite(folder) = place else {
        panic!("only files are counted so");
    };
    let file = rusqlite::Connection::open(folder.path().join("data.db")).unwrap();
    file.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn every_condition_holds_on_every_server() {
    for place in everywhere() {
        let name = place.name();
        place.dyno(&format!("prepare tpcc {SMALL}")).success();
        place.dyno(&format!("check tpcc {SMALL}")).success();
        // Several sessions on two warehouses collide with one another.
        let result = place.result(&format!("tpcc {SMALL} -c 6 -t 3s --remote_lines_pct 10"));
        assert_eq!(
            outcome(&result, "consistency"),
            "pass",
            "{name}: {}",
            result["ledger"]
        );
        assert_eq!(result["ledger"].as_array().unwrap().len(), 5, "{name}");
        assert!(
            done(&result, "new_order") > 0 && done(&result, "payment") > 0,
            "{name}"
        );
        place.dyno(&format!("check tpcc {SMALL}")).success();
        place.dyno(&format!("cleanup tpcc {SMALL}")).success();
        place.dyno(&format!("cleanup tpcc {SMALL}")).success();
    }
}

#[test]
fn killed_clients_leave_every_condition_intact() {
    for place in everywhere() {
        place.dyno(&format!("prepare tpcc {SMALL}")).success();
        let mut running = place.start(&format!("run tpcc {SMALL} -c 8 -t 60s {LOUD}"));
        running.measuring();
        drop(running);
        place.alone_again();
        place.dyno(&format!("check tpcc {SMALL}")).success();
        let result = place.result(&format!("tpcc {SMALL} -c 2 --events 40"));
        assert_eq!(outcome(&result, "consistency"), "pass", "{}", place.name());
    }
}

/// How often all operations together ended in these ways.
fn sum(result: &Value, ends: &[&str]) -> u64 {
    let operations = result["operations"].as_array().unwrap();
    let of = |end: &&str| {
        let totals = operations.iter().map(|o| o["totals"][*end].as_u64());
        totals.map(Option::unwrap).sum::<u64>()
    };
    ends.iter().map(of).sum()
}

#[test]
fn after_deadlocks_every_condition_holds_and_every_event_is_accounted_for() {
    for place in everywhere() {
        let name = place.name();
        place.dyno("prepare tpcc --shrink 100").success();
        for (retries, end) in [(0, "given_up"), (10, "retries")] {
            // The shared locks of serialisable reads collide on the rows of one warehouse.
            let line = format!("tpcc --shrink 100 --trx_level SER -c 16 -t 2s {QUIET} --json");
            let line = format!("run {line} --max_retries {retries}");
            let mut met = 0;
            // When they collide depends on the server. An SQLite file has a single writer, for
            // which the others wait.
            for _ in 0..if matches!(place, TestDatabase::Sqlite(_)) {
                1
            } else {
                15
            } {
                let output = place.dyno(&line).success();
                let result: Value = serde_json::from_str(&output.stdout).unwrap();
                met += sum(&result, &[end]);
                let total = |name: &str| result["totals"][name].as_u64().unwrap();
                let done = sum(&result, &["done", "rolled_back"]);
                assert_eq!(done, total("events"), "{name}");
                let not_done = sum(&result, &["given_up", "unknown"]);
                assert_eq!(not_done, total("not_done"), "{name}");
                assert_eq!(result["service"]["count"], total("events"), "{name}");
                assert_eq!(outcome(&result, "consistency"), "pass", "{name}");
                if met > 0 {
                    break;
                }
            }
            assert!(
                met > 0 || matches!(place, TestDatabase::Sqlite(_)),
                "{name}: {end}"
            );
        }
        place.dyno("check tpcc --shrink 100").success();
    }
}

#[test]
fn the_ledger_reads_large_tables_only_on_request() {
    let place = sqlite();
    let line = "tpcc --shrink 100 --scale 11";
    place.dyno(&format!("prepare {line}")).success();
    for (words, sums) in [("", 3), ("--ledger full", 5), ("--ledger off", 0)] {
        let result = place.result(&format!("{line} --events 100 {words}"));
        assert_eq!(result["ledger"].as_array().unwrap().len(), sums, "{words}");
        let expected = if sums == 0 { "not_checked" } else { "pass" };
        assert_eq!(outcome(&result, "consistency"), expected, "{words}");
    }
    let output = place.dyno(&format!("run {line} --ledger some {QUIET}"));
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn reports_new_orders_all_transactions_and_each_kind() {
    let place = sqlite();
    let folder = tempfile::tempdir().unwrap();
    let (file, page) = (
        folder.path().join("runs.db"),
        folder.path().join("page.html"),
    );
    place.dyno("prepare tpcc --shrink 60").success();
    let kept = QUIET.replace("--results none", &format!("--results {}", file.display()));
    let printed = place.dyno(&format!("run tpcc --shrink 60 --events 460 {kept}"));
    let printed = printed.success().stdout;
    let kinds = [
        "new_order",
        "payment",
        "order_status",
        "delivery",
        "stock_level",
    ];
    let (_, operations) = printed.split_once("  operations ").unwrap();
    for kind in kinds {
        let line = operations
            .lines()
            .find(|line| line.split_whitespace().next() == Some(kind));
        let figures = line.unwrap().split_whitespace().nth(1).unwrap();
        let rate: f64 = figures.replace(',', "").parse().unwrap();
        assert!(rate > 0.0, "{printed}");
    }
    assert!(printed.contains("transactions"), "{printed}");
    let mut report = std::process::Command::new(dyno_tests::command::dyno_path());
    report
        .args(["report", "last", "--results"])
        .arg(&file)
        .arg("-o")
        .arg(&page);
    dyno_tests::command::run(&mut report, Duration::from_secs(60)).success();
    let page = std::fs::read_to_string(page).unwrap();
    for kind in kinds {
        let row = format!("<th scope=\"row\">{kind}</th>");
        assert!(page.contains(&row), "{kind}");
    }
}

#[test]
fn shares_match_the_specification() {
    let place = sqlite();
    place.dyno(&format!("prepare tpcc {SMALL}")).success();
    // 100 decks of 23 cards.
    let line = format!("tpcc {SMALL} --events 2300 --remote_lines_pct 10 --rollback_pct 5");
    let result = place.result(&line);
    for (operation, cards) in [
        ("new_order", 10),
        ("payment", 10),
        ("order_status", 1),
        ("delivery", 1),
        ("stock_level", 1),
    ] {
        let totals = totals(&result, operation);
        let ended = ["done", "rolled_back"].map(|end| totals[end].as_u64().unwrap());
        assert_eq!(ended.iter().sum::<u64>(), cards * 100, "{operation}");
    }
    // Out of 1,000: four standard deviations are 28, 45 for payments, and 1.2 % of the lines.
    let rolled_back = totals(&result, "new_order")["rolled_back"]
        .as_f64()
        .unwrap();
    assert!((rolled_back - 50.0).abs() < 28.0, "{rolled_back}");
    let lines = count(
        &place,
        "SELECT COUNT(*) * 1.0 FROM order_line1 WHERE ol_o_id > 100",
    );
    let remote = count(
        &place,
        "SELECT COUNT(*) * 1.0 FROM order_line1 WHERE ol_o_id > 100 AND ol_w_id <> ol_supply_w_id",
    );
    assert!((remote / lines - 0.1).abs() < 0.013, "{remote} of {lines}");
    let foreign = count(
        &place,
        "SELECT COUNT(*) * 1.0 FROM history1 WHERE h_c_w_id <> h_w_id",
    );
    assert!((foreign - 150.0).abs() < 46.0, "{foreign}");
    let least = count(&place, "SELECT MIN(s_quantity) * 1.0 FROM stock1");
    assert!(least >= 10.0, "{least}");
}

#[test]
fn the_reference_profile_has_its_faults_and_keeps_the_rest() {
    for place in [sqlite(), on(Kind::Mariadb)] {
        let name = place.name();
        let options = "--shrink 30 --scale 2 --profile reference";
        place
            .dyno(&format!("prepare tpcc {options} -c 2"))
            .success();
        let result = place.result(&format!("tpcc {options} -c 3 --events 900"));
        assert_eq!(outcome(&result, "consistency"), "pass", "{name}");
        // Deliberate violations of the specification are reported, but are not failures.
        let checked = place.dyno(&format!("check tpcc {options}")).success();
        for condition in ["S1", "S2", "S3"] {
            let line = format!("known   set 1, condition {condition},");
            assert!(checked.stdout.contains(&line), "{name}: {}", checked.stdout);
        }
        // A standard run on these tables would match neither profile.
        let line = format!("run tpcc --shrink 30 --scale 2 -t 1s {QUIET}");
        let other = place.dyno(&line);
        assert!(!other.status.success(), "{name}: {other:?}");
        let why = "prepared with --profile reference";
        assert!(other.stderr.contains(why), "{name}: {other:?}");
        // The check of the standard profile detects it.
        let standard = "tpcc --shrink 30 --scale 2";
        let broken = ["S1", "S2", "S3"].map(|c| format!("set 1, condition {c},"));
        let broken: Vec<&str> = broken.iter().map(String::as_str).collect();
        fails(&place, standard, &broken);
        if matches!(place, TestDatabase::Sqlite(_)) {
            let count = |sql: &str| count(&place, sql);
            let new = "FROM order_line1 WHERE ol_o_id > 100";
            let remote = format!("SELECT COUNT(*) * 1.0 {new} AND ol_w_id <> ol_supply_w_id");
            assert_eq!(count(&remote), 0.0);
            assert!(count("SELECT COUNT(*) * 1.0 FROM orders1 WHERE o_all_local = 0") > 0.0);
            assert_eq!(count("SELECT SUM(s_ytd) * 1.0 FROM stock1"), 0.0);
            assert_eq!(count("SELECT MAX(c_payment_cnt) * 1.0 FROM customer1"), 1.0);
            // Amounts in whole units, each a hundred of what is stored.
            let cents = format!("SELECT SUM(ol_amount % 100) * 1.0 {new}");
            assert_eq!(count(&cents), 0.0);
            let noise = "SELECT MAX(LENGTH(REPLACE(c_data, SUBSTR(c_data, 1, 1), ''))) * 1.0 \
                         FROM customer1 WHERE c_credit = 'GC'";
            assert_eq!(count(noise), 0.0);
        }
    }
}

#[test]
fn purging_keeps_every_condition() {
    for place in everywhere() {
        let name = place.name();
        place.dyno(&format!("prepare tpcc {SMALL} -c 3")).success();
        // Deliver orders first, so that there is something to purge.
        let line = format!("tpcc {SMALL} --purge=on -c 4 --events 2400 --remote_lines_pct 10");
        let result = place.result(&line);
        assert_eq!(outcome(&result, "consistency"), "pass", "{name}");
        let purged = totals(&result, "purge")["done"].as_u64().unwrap();
        assert!((60..=140).contains(&purged), "{name}: {purged}");
        if matches!(place, TestDatabase::Sqlite(_)) {
            let orders = done(&result, "new_order") as f64;
            let left = count(&place, "SELECT COUNT(*) * 1.0 FROM orders1");
            assert!(left < 2000.0 + orders, "{left}");
        }
        place.dyno(&format!("check tpcc {SMALL}")).success();
    }
}

#[test]
fn the_hottest_hundredth_of_the_items_gets_its_share() {
    // The number of items in the specification, and only new orders.
    let share = |profile: &str| {
        let place = sqlite();
        place
            .dyno(&format!("prepare tpcc --use_fk=off --profile {profile}"))
            .success();
        let result = place.result(&format!("tpcc --profile {profile} --events 6000"));
        // The number of rows in clause 4.3.3, which the load has counted and verified.
        let rows = fact(&result, "workload.dataset.rows").unwrap();
        let counted = "item 100000, warehouse 1, district 10, customer 30000, history 30000, \
                       orders 30000, stock 100000, new_orders 9000, order_line ";
        let lines = rows.strip_prefix(counted).unwrap().parse::<f64>().unwrap();
        // Four standard deviations of the number of lines in 30,000 orders.
        assert!((lines - 300_000.0).abs() < 2_200.0, "{lines}");
        count(
            &place,
            "SELECT SUM(c) * 1.0 / (SELECT COUNT(*) FROM order_line1 WHERE ol_o_id > 3000) FROM \
             (SELECT COUNT(*) c FROM order_line1 WHERE ol_o_id > 3000 GROUP BY ol_i_id ORDER BY \
             c DESC LIMIT 1000)",
        )
    };
    // In 26,000 draws of 100,000 items, the hottest thousand of the sample get more than their true
    // share.
    let standard = share("standard");
    assert!((0.30..0.36).contains(&standard), "{standard}");
    let reference = share("reference");
    assert!(reference < 0.16, "{reference}");
}

#[test]
fn the_same_seed_places_the_same_orders() {
    let orders = || {
        let place = sqlite();
        place.dyno("prepare tpcc --shrink 60 --seed 3").success();
        let line = format!("run tpcc --shrink 60 --seed 3 --events 69 {QUIET}");
        place.dyno(&line).success();
        let sum = |sql| count(&place, sql);
        (
            sum("SELECT SUM(ol_i_id * ol_quantity * 1.0) FROM order_line1"),
            sum("SELECT SUM(h_amount * h_c_id * 1.0) FROM history1"),
            sum("SELECT SUM(s_quantity * s_i_id * 1.0) FROM stock1"),
        )
    };
    assert_eq!(orders(), orders());
}

#[test]
fn a_table_that_is_missing_is_named_on_every_server() {
    for place in everywhere() {
        let name = place.name();
        let refused = |line: &str, why: &str| {
            let output = place.dyno(line);
            assert!(!output.status.success(), "{name}: {line}: {output:?}");
            assert!(output.stderr.contains(why), "{name}: {line}: {output:?}");
            assert!(output.stdout.is_empty(), "{name}: {line}: {output:?}");
        };
        place
            .dyno("prepare tpcc --shrink 100 --use_fk=off")
            .success();
        let more = "item2, of set 2 of --tables 2, cannot be read";
        refused(
            &format!("run tpcc --shrink 100 --tables 2 -t 1s {QUIET}"),
            more,
        );
        refused("check tpcc --shrink 100 --tables 2", more);
        refused(
            &format!("run tpcc --shrink 100 --profile reference -t 1s {QUIET}"),
            "prepared with --profile standard",
        );
        let line = format!("run tpcc --shrink 100 -t 1s {QUIET}");
        let on = match &place {
            TestDatabase::Server(database) if database.server.kind != Kind::Postgres => {
                " ON customer1"
            }
            _ => "",
        };
        place.execute(&format!("DROP INDEX idx_customer_1{on}"));
        refused(&line, "set 1 has 1 of its 2 indexes and foreign keys");
        place.execute("CREATE INDEX idx_customer_1 ON customer1 (c_w_id, c_d_id, c_last, c_first)");
        place.execute("DELETE FROM order_line1 WHERE ol_d_id = 4 AND ol_o_id = 30");
        refused(&line, "9 of 10 districts are there");
        place.execute("DROP TABLE stock1");
        refused(&line, "stock1, of set 1");
        refused("check tpcc --shrink 100", "stock1, of set 1");
        // A cleanup of some tables is refused.
        place.dyno("cleanup tpcc --tables 2").success();
        refused(&line, "item1, of set 1");
    }
}

#[test]
fn reports_bad_input() {
    let place = sqlite();
    let refused = |line: &str, why: &str| {
        let output = place.dyno(line);
        assert!(!output.status.success(), "{line}: {output:?}");
        assert!(output.stderr.contains(why), "{line}: {output:?}");
    };
    refused(
        "prepare tpcc --scale 0",
        "--scale must be a whole number from 1",
    );
    refused(
        "prepare tpcc --tables 0",
        "--tables must be a whole number from 1",
    );
    refused(
        "prepare tpcc --mix cards",
        "--mix must be auto, deck or draw",
    );
    refused(
        "prepare tpcc --rollback_pct 101",
        "--rollback_pct must be a number from 0 to 100",
    );
    refused(&format!("run tpcc -t 1s {QUIET}"), "prepare tpcc");
    place.dyno("prepare tpcc --shrink 60").success();
    let other = format!("run tpcc --shrink 50 -t 1s {QUIET}");
    refused(&other, "the tables have 1666 items instead of 2000");
    let other = format!("run tpcc --shrink 60 --scale 2 -t 1s {QUIET}");
    refused(&other, "the tables have 1 warehouses instead of 2");
    refused(
        "prepare tpcc --profile best",
        "--profile must be standard or reference",
    );
    refused(
        "prepare tpcc --profile reference --purge",
        "--purge is not available in the reference",
    );
    refused(
        "prepare tpcc --data_compressibility 2",
        "must be a number from 0 to 1",
    );
    refused("check tpcc --shrink 50", "conditions failed");
    refused("prepare tpcc --shrink 60", "already exists");
    place.dyno("check tpcc --shrink 60").success();
    // Keying takes at least 2 s, so no transaction ends, and the run does not wait for terminals
    // that think.
    let output = place.dyno(&format!(
        "run tpcc --shrink 60 --think_keying standard -t 1s {QUIET}"
    ));
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    place.dyno("cleanup tpcc").success();
}
