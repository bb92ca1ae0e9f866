//! LinkBench's social graph. Counts match links after the load, after runs, and after clients were
//! killed; and each condition detects its own violation.

use std::thread;
use std::time::Duration;

use dyno_tests::Kind;
use serde_json::Value;

use crate::common::{
    LOUD, QUIET, TestDatabase, done, everywhere, fails, on, outcome, refused, sqlite,
};

const SMALL: &str = "--maxid 2001";

/// The rows that a query on a file returns, with every field as text.
fn rows(place: &TestDatabase, sql: &str) -> Vec<Vec<String>> {
    let TestDatabase::Sqlite(folder) = place else {
        panic!("only files are read so");
    };
    let file = rusqlite::Connection::open(folder.path().join("data.db")).unwrap();
    let mut statement = file.prepare(sql).unwrap();
    let columns = statement.column_count();
    let read = |row: &rusqlite::Row<'_>| {
        let text = |value| match value {
            rusqlite::types::Value::Text(text) => text,
            other => format!("{other:?}"),
        };
        (0..columns).map(|i| row.get(i).map(text)).collect()
    };
    let found = statement.query_map([], read).unwrap();
    found.map(Result::unwrap).collect()
}

/// The number that a query on a file returns.
fn count(place: &TestDatabase, sql: &str) -> f64 {
    let answer = &rows(place, &format!("SELECT CAST(({sql}) AS TEXT)"))[0][0];
    answer.parse().unwrap_or_else(|_| panic!("{sql}: {answer}"))
}

fn ledger_holds(result: &Value, place: &TestDatabase) {
    let name = place.name();
    let found = outcome(result, "consistency");
    assert_eq!(found, "pass", "{name}: {}", result["ledger"]);
    assert_eq!(result["ledger"].as_array().unwrap().len(), 4, "{name}");
}

#[test]
fn counts_agree_with_links_on_every_server() {
    for place in everywhere() {
        let name = place.name();
        let prepared = place.dyno(&format!("prepare linkbench {SMALL} -c 3"));
        prepared.success();
        place.dyno(&format!("check linkbench {SMALL}")).success();
        let result = place.result(&format!("linkbench {SMALL} -c 6 -t 3s"));
        ledger_holds(&result, &place);
        let operations = result["operations"].as_array().unwrap();
        assert_eq!(operations.len(), 10, "{name}");
        for operation in operations {
            let done = operation["totals"]["done"].as_u64().unwrap();
            assert!(done > 0, "{name}: {operation}");
        }
        // All sessions change the count of the same links, half of them in opposite directions.
        let hot = format!("linkbench {SMALL} --mix update_link@3,delete_link@2,add_link@1 -c 6");
        let result = place.result(&format!("{hot} -t 2s"));
        ledger_holds(&result, &place);
        place.dyno(&format!("check linkbench {SMALL}")).success();
        place.dyno("cleanup linkbench --maxid 0").success();
        place.dyno("cleanup linkbench").success();
    }
}

#[test]
fn partitions_types_and_other_ids_are_as_requested() {
    for place in [on(Kind::Mariadb), on(Kind::Mysql), on(Kind::Postgres)] {
        let options = "--startid 5001 --maxid 5501 --link_types 3 --partitions 4 \
                       --node_bytes 2000 --link_bytes 100 --list_limit 5 --history_pct 50";
        place
            .dyno(&format!("prepare linkbench {options}"))
            .success();
        let line = format!("linkbench {options} -c 4 --events 2000 --rate 2000/s");
        ledger_holds(&place.result(&line), &place);
        place.dyno(&format!("check linkbench {options}")).success();
        let TestDatabase::Server(database) = &place else {
            continue;
        };
        let one = |sql: &str| database.query_one(sql);
        assert_eq!(one("SELECT COUNT(DISTINCT link_type) FROM linktable"), "3");
        assert_eq!(one("SELECT COUNT(*) FROM nodetable WHERE id < 5001"), "0");
        let parts = match database.server.kind {
            Kind::Postgres => {
                "SELECT COUNT(*) FROM pg_inherits WHERE inhparent = 'linktable'::regclass"
            }
            Kind::Mariadb | Kind::Mysql => {
                "SELECT COUNT(*) FROM information_schema.partitions WHERE table_schema = \
                 DATABASE() AND table_name = 'linktable'"
            }
        };
        assert_eq!(one(parts), "4");
        place.dyno("cleanup linkbench").success();
    }
}

#[test]
fn killed_clients_leave_counts_intact() {
    for place in everywhere() {
        place.dyno(&format!("prepare linkbench {SMALL}")).success();
        let line = format!("run linkbench {SMALL} --mix add_link@1,delete_link@1 -c 6 -t 60s");
        let mut running = place.start(&format!("{line} {LOUD}"));
        running.measuring();
        drop(running);
        place.alone_again();
        place.dyno(&format!("check linkbench {SMALL}")).success();
    }
}

/// What corrupts the data, how to repair it, and the conditions that it violates.
const VIOLATIONS: &[(&str, &str, &[&str])] = &[
    (
        "UPDATE counttable SET count = count + 1 WHERE count > 5",
        "UPDATE counttable SET count = count - 1 WHERE count > 6",
        &["counts are the numbers"],
    ),
    (
        "UPDATE linktable SET visibility = 0 WHERE id1 = id2",
        "UPDATE linktable SET visibility = 1 WHERE id1 = id2",
        &["counts are the numbers"],
    ),
    (
        "UPDATE counttable SET id = id + 100000",
        "UPDATE counttable SET id = id - 100000",
        &["counts are the numbers", "visible links are counted"],
    ),
    (
        "UPDATE linktable SET visibility = 7 WHERE id1 = id2",
        "UPDATE linktable SET visibility = 1 WHERE id1 = id2",
        &["counts are the numbers", "links are visible or hidden"],
    ),
    (
        "INSERT INTO nodetable (id, type, version, time, data) VALUES (5, 2048, 1, 1, 'x')",
        "DELETE FROM nodetable WHERE id = 5",
        &["nodes come from the load"],
    ),
    // If a link is missing and its count agrees, the link is still lost.
    (
        "DELETE FROM linktable WHERE id1 = 13; UPDATE counttable SET count = 0 WHERE id = 13",
        "",
        &["no link is lost"],
    ),
];

#[test]
fn each_condition_detects_its_corruption() {
    for place in everywhere() {
        let options = "--startid 11 --maxid 311 --link_types 1";
        place
            .dyno(&format!("prepare linkbench {options}"))
            .success();
        place.dyno(&format!("check linkbench {options}")).success();
        for (spoil, mend, conditions) in VIOLATIONS {
            for statement in spoil.split(';') {
                place.execute(statement);
            }
            fails(&place, &format!("linkbench {options}"), conditions);
            if !mend.is_empty() {
                place.execute(mend);
                place.dyno(&format!("check linkbench {options}")).success();
            }
        }
    }
    // Servers whose counts are unsigned do not let them fall below zero.
    for place in [sqlite(), on(Kind::Postgres)] {
        place.dyno("prepare linkbench --maxid 301").success();
        place.execute("UPDATE counttable SET count = -1 WHERE id = 3 AND count = 1");
        let broken = ["counts are the numbers", "counts are not negative"];
        fails(&place, "linkbench --maxid 301", &broken);
    }
}

#[test]
fn the_ledger_reports_another_writer() {
    for (kind, wrong, what) in [
        (
            Kind::Mariadb,
            "DELETE FROM nodetable WHERE id = 77",
            "nodes",
        ),
        (
            Kind::Postgres,
            "INSERT INTO linktable VALUES (1, 9999, 7, 0, 'x', 1, 1)",
            "links",
        ),
    ] {
        let place = on(kind);
        place.dyno(&format!("prepare linkbench {SMALL}")).success();
        // The run itself must not touch the rows of the other writer.
        let line = format!("run linkbench {SMALL} --mix get_node@1,add_link@1 -c 2 -t 4s");
        let mut running = place.start(&format!("{line} --gate --json {LOUD}"));
        running.measuring();
        place.execute(wrong);
        let output = running.finish(Duration::from_secs(60));
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let result: Value = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!(outcome(&result, "consistency"), "refuse");
        for entry in result["ledger"].as_array().unwrap() {
            let right = entry["found"] == entry["expected_low"];
            assert_eq!(right, entry["sum"] != what, "{entry}");
        }
    }
}

#[test]
fn the_number_of_links_is_as_published() {
    let place = sqlite();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/degrees.lua");
    let degrees = |maxid: u64| -> Vec<f64> {
        let output = place.dyno(&format!("check {script} --maxid {maxid}"));
        let text = output.success().stdout;
        let numbers = text.split_whitespace().map(|number| number.parse());
        numbers.collect::<Result<_, _>>().unwrap()
    };
    let [nodes, linked, most, right, faulty] = degrees(10_000_001)[..] else {
        panic!("five figures");
    };
    // 45.3 % without links, at most 961,963 links, 4.097 on average; and at this size the surplus
    // of the faulty split, 44,458,555 - 41,721,824.
    assert!((linked / nodes - 0.547).abs() < 1e-6, "{linked}");
    assert_eq!(most.to_string(), "961963");
    assert!((right / nodes - 4.097).abs() < 0.005, "{right}");
    let surplus = faulty - right;
    assert!((surplus / 2_736_731.0 - 1.0).abs() < 0.005, "{surplus}");
    for small in [2, 3, 11, 1_001, 1_048_577] {
        let [nodes, linked, _, right, faulty] = degrees(small)[..] else {
            panic!("five figures");
        };
        assert!(
            linked >= nodes / 2.0 && right >= linked && faulty >= right,
            "{small}"
        );
    }
    // The tables must match the formula.
    let small = degrees(5_001);
    for (profile, links) in [("standard", small[3]), ("reference", small[4])] {
        let place = sqlite();
        place
            .dyno(&format!(
                "prepare linkbench --maxid 5001 --profile {profile}"
            ))
            .success();
        let found = count(&place, "SELECT COUNT(*) * 1.0 FROM linktable");
        assert!((found - links).abs() < 0.5, "{profile}: {found}, {links}");
        let without =
            "SELECT COUNT(*) * 1.0 FROM nodetable WHERE id NOT IN (SELECT id1 FROM linktable)";
        let without = count(&place, without);
        assert!((without / 5000.0 - 0.453).abs() < 0.0005, "{without}");
    }
}

/// The expected number of distinct values in this many draws from `ranks` by Zipf's law.
fn distinct(ranks: u32, exponent: f64, draws: f64) -> f64 {
    let weights = || (1..=ranks).map(|rank| f64::from(rank).powf(-exponent));
    let sum: f64 = weights().sum();
    weights()
        .map(|weight| 1.0 - (1.0 - weight / sum).powf(draws))
        .sum()
}

#[test]
fn shares_and_keys_are_as_published() {
    let place = sqlite();
    place.dyno(&format!("prepare linkbench {SMALL}")).success();
    let result = place.result(&format!("linkbench {SMALL} --events 20000 --seed 4"));
    let shares: [(&str, f64); 10] = [
        ("get_links_list", 50.71),
        ("get_node", 12.93),
        ("add_link", 8.99),
        ("update_link", 8.01),
        ("update_node", 7.37),
        ("count_link", 4.89),
        ("delete_link", 2.99),
        ("add_node", 2.57),
        ("delete_node", 1.01),
        ("multiget_link", 0.53),
    ];
    for (operation, share) in shares {
        let found = done(&result, operation) as f64;
        let expected = share * 200.0;
        // Five standard deviations.
        let room = 5.0 * (expected * (1.0 - share / 100.0)).sqrt();
        assert!(
            (found - expected).abs() < room,
            "{operation}: {found}, {expected}"
        );
    }
    // The nodes that have changed show how the draws are distributed.
    let place = sqlite();
    place.dyno(&format!("prepare linkbench {SMALL}")).success();
    place
        .dyno(&format!(
            "run linkbench {SMALL} --mix update_node@1 --events 2000 --seed 4 {QUIET}"
        ))
        .success();
    let changed = count(
        &place,
        "SELECT COUNT(*) * 1.0 FROM nodetable WHERE version = 2",
    );
    let expected = distinct(2000, 0.606, 2000.0);
    assert!((changed - expected).abs() < 60.0, "{changed}, {expected}");
    // So do the nodes whose links were written. The reference profile has another distribution.
    for (profile, exponent) in [("standard", 0.741), ("reference", 0.8)] {
        let place = sqlite();
        let options = format!("{SMALL} --profile {profile} --link_types 1 --seed 4");
        place
            .dyno(&format!("prepare linkbench {options}"))
            .success();
        let newest = count(&place, "SELECT MAX(time) * 1.0 FROM linktable");
        thread::sleep(Duration::from_millis(50));
        place
            .dyno(&format!(
                "run linkbench {options} --mix add_link@1 --events 3000 {QUIET}"
            ))
            .success();
        let touched = count(
            &place,
            &format!("SELECT COUNT(DISTINCT id1) * 1.0 FROM linktable WHERE time > {newest}"),
        );
        let expected = distinct(2000, exponent, 3000.0);
        assert!(
            (touched - expected).abs() < 25.0,
            "{profile}: {touched}, {expected}"
        );
    }
}

/// All rows without their times, which depend on the clock.
fn contents(place: &TestDatabase) -> Vec<Vec<String>> {
    let mut all = rows(
        place,
        "SELECT id1, id2, link_type, visibility, data, version FROM linktable",
    );
    all.extend(rows(
        place,
        "SELECT id, link_type, count, version FROM counttable",
    ));
    all.extend(rows(place, "SELECT id, type, version, data FROM nodetable"));
    all
}

#[test]
fn the_same_seed_loads_the_same_rows_and_runs_the_same_operations() {
    let with = |sessions: u32, seed: u32| {
        let place = sqlite();
        let options = format!("--maxid 5001 --seed {seed}");
        place
            .dyno(&format!("prepare linkbench {options} -c {sessions}"))
            .success();
        let loaded = contents(&place);
        place
            .dyno(&format!("run linkbench {options} --events 500 {QUIET}"))
            .success();
        (loaded, contents(&place))
    };
    let (loaded, after) = with(1, 3);
    assert!(loaded != after);
    assert!((loaded.clone(), after) == with(3, 3));
    assert!(loaded != with(1, 4).0);
}

#[test]
fn the_result_contains_the_profile() {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("results.db");
    let results = results.to_str().unwrap();
    for profile in ["standard", "reference"] {
        let place = sqlite();
        let options = format!("linkbench --maxid 301 --profile {profile}");
        place.dyno(&format!("prepare {options}")).success();
        let quiet = "-q --calibrate never --observe off --warmup 0";
        let line = format!("run {options} --events 100 {quiet} --results {results}");
        place.dyno(&line).success();
    }
    let file = rusqlite::Connection::open(results).unwrap();
    let profiles = "SELECT group_concat(profile) FROM (SELECT profile FROM run ORDER BY id)";
    let profiles: String = file.query_row(profiles, [], |row| row.get(0)).unwrap();
    assert_eq!(profiles, "standard,reference");
    let mut compare = std::process::Command::new(dyno_tests::command::dyno_path());
    compare.args(["compare", "1", "2", "--results", results]);
    let output = compare.output().unwrap();
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && why.contains("profile"), "{why}");
}

#[test]
fn reports_bad_input() {
    let place = sqlite();
    let whole = "must be a whole number from";
    refused(&place, "prepare linkbench --maxid 0", whole);
    refused(&place, "prepare linkbench --maxid 10.5", whole);
    refused(&place, "prepare linkbench --link_types 0", whole);
    refused(&place, "prepare linkbench --connections 3", whole);
    refused(
        &place,
        "prepare linkbench --startid 9 --maxid 9",
        "there would be no node",
    );
    refused(
        &place,
        "prepare linkbench --profile faulty",
        "standard or reference",
    );
    refused(
        &place,
        "prepare linkbench --history_pct 101",
        "from 0 to 100",
    );
    refused(
        &place,
        "prepare linkbench --partitions many",
        "auto or a number",
    );
    refused(
        &place,
        "prepare linkbench --partitions 2",
        "SQLite has none",
    );
    place.dyno("cleanup linkbench").success();
}

#[test]
fn reports_tables_that_do_not_fit() {
    let place = sqlite();
    refused(
        &place,
        &format!("run linkbench -t 1s {QUIET}"),
        "prepare linkbench",
    );
    refused(&place, "check linkbench", "prepare linkbench");
    place.dyno("prepare linkbench --maxid 301").success();
    refused(&place, "prepare linkbench --maxid 301", "already exists");
    let other = "were prepared with --startid 1 --maxid 301";
    for wrong in [
        "--maxid 201",
        "--maxid 301 --profile reference",
        "--maxid 301 --link_types 3",
    ] {
        refused(
            &place,
            &format!("run linkbench {wrong} -t 1s {QUIET}"),
            other,
        );
        refused(&place, &format!("check linkbench {wrong}"), other);
    }
    let mix = format!("run linkbench --maxid 301 -t 1s {QUIET} --mix");
    let none = "must be get_links_list, get_node,";
    refused(&place, &format!("{mix} get_nodes@1"), none);
    refused(&place, &format!("{mix} get_node@x"), none);
    refused(&place, &format!("{mix} get_node@0"), "leaves nothing to do");
    place.execute("DELETE FROM linkbench_settings");
    refused(
        &place,
        "check linkbench --maxid 301",
        "not completely loaded",
    );
    place.dyno("cleanup linkbench").success();
}

#[test]
fn refuses_found_rows_in_the_target() {
    for place in [on(Kind::Mariadb), on(Kind::Mysql)] {
        place.dyno("prepare linkbench --maxid 301").success();
        let line = format!("run linkbench --maxid 301 --events 10 {QUIET}");
        let target = format!("{}?found_rows=1", place.url());
        let mut command = std::process::Command::new(dyno_tests::command::dyno_path());
        command
            .args(line.split_whitespace())
            .args(["--target", &target]);
        let output = command.output().unwrap();
        let why = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{why}");
        assert!(why.contains("remove found_rows=1 from the target"), "{why}");
    }
}
