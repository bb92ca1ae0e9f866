//! Results of real runs: the published schema, exact limits, rates, endpoints, and errors by code.

use std::collections::BTreeMap;
use std::fs;

use dyno_tests::schema::violations;
use dyno_tests::{Database, Kind, kinds};
use serde_json::Value;

use crate::common::{dyno, result};

fn prepared(kind: Kind) -> (Database, String) {
    let database = Database::new(kind);
    let table = format!("--target {} --table-size 1000", database.url());
    dyno(&format!("prepare oltp_read_write {table}")).success();
    (database, table)
}

fn count(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("no count: {value}"))
}

#[test]
fn results_match_the_published_schema() {
    let mut lines = vec!["run oltp_read_write --table-size 1000".to_owned()];
    let databases: Vec<_> = kinds().into_iter().map(prepared).collect();
    lines.extend(
        databases
            .iter()
            .map(|(_, table)| format!("run oltp_read_write {table}")),
    );
    for line in lines {
        for more in ["-c 2", "--rate 50/s --percentiles 50,90,99.99"] {
            let result = result(&format!("{line} -t 2s --warmup 0 {more}"));
            let faults = violations("run.json", &result).unwrap();
            assert!(faults.is_empty(), "{line} {more}: {faults:#?}\n{result:#}");
        }
    }
}

#[test]
fn runs_exactly_the_requested_number_of_events() {
    for kind in kinds() {
        let (_database, table) = prepared(kind);
        for sessions in [1, 7, 32] {
            let line = format!("run oltp_point_select {table} -c {sessions} --events 1001");
            let result = result(&format!("{line} --warmup 0"));
            assert_eq!(result["totals"]["events"], 1001, "{kind}: {result}");
            assert_eq!(result["totals"]["reads"], 1001, "{kind}: {result}");
            assert_eq!(result["end"]["how"], "completed", "{kind}: {result}");
        }
    }
}

#[test]
fn keeps_a_rate_or_reports_the_backlog() {
    for kind in kinds() {
        let (_database, table) = prepared(kind);
        let run = |more: &str| result(&format!("run oltp_point_select {table} --warmup 0 {more}"));
        // The seed determines the arrivals, so the expected number comes from the plan and not from
        // the clock.
        let kept = run("-c 4 -t 3s --rate 100/s --arrivals constant");
        let events = count(&kept["totals"]["events"]);
        assert!((295..=300).contains(&events), "{kind}: {kept}");
        assert_eq!(kept["open_loop"]["backlog"], 0, "{kind}: {kept}");
        let (service, response) = (&kept["service"], &kept["response"]);
        let mean = |latency: &Value| latency["mean_ms"].as_f64().unwrap();
        assert_eq!(service["count"], response["count"], "{kind}: {kept}");
        assert!(mean(response) >= mean(service), "{kind}: {kept}");
        assert!(
            !kept["warnings"].to_string().contains("not served"),
            "{kind}: {kept}"
        );
        let missed = run("-c 1 -t 2s --rate 900000/s");
        assert!(
            missed["warnings"].to_string().contains("not served"),
            "{kind}: {missed}"
        );
        assert!(
            count(&missed["open_loop"]["backlog"]) > 100_000,
            "{kind}: {missed}"
        );
        assert!(
            mean(&missed["response"]) > 10.0 * mean(&missed["service"]),
            "{kind}: {missed}"
        );
        assert_eq!(missed["end"]["how"], "completed", "{kind}: {missed}");
    }
}

#[test]
fn endpoints_share_the_sessions() {
    let database = Database::new(Kind::Mariadb);
    let server = &database.server;
    let (port, name) = (server.port, &database.name);
    let socket = server.socket.display();
    let url = format!("mysql://root@127.0.0.1:{port},localhost:{port}/{name}?socket={socket}");
    let table = format!("--target {url} --table-size 100");
    dyno(&format!("prepare oltp_point_select {table} -c 1")).success();
    let result = result(&format!(
        "run oltp_point_select {table} -c 6 -t 2s --warmup 0"
    ));
    let endpoints = result["endpoints"].as_array().unwrap();
    let names: Vec<&str> = endpoints
        .iter()
        .filter_map(|e| e["name"].as_str())
        .collect();
    let local = socket.to_string();
    let expected = [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        local.clone(),
    ];
    assert_eq!(names, expected);
    let sum: u64 = endpoints.iter().map(|e| count(&e["queries"])).sum();
    assert_eq!(sum, count(&result["totals"]["reads"]));
    assert!(
        endpoints.iter().all(|e| count(&e["queries"]) > 0),
        "{result}"
    );
    // Without a host, only the socket is used.
    let lone = format!("mysql://root@localhost/{name}?socket={local}");
    let line = format!("run oltp_point_select --target {lone} --table-size 100 -c 2");
    let result = crate::common::result(&format!("{line} --events 10 --warmup 0"));
    assert_eq!(result["endpoints"].as_array().unwrap().len(), 1, "{result}");
    assert_eq!(result["endpoints"][0]["name"], local.as_str());
}

/// Two sessions lock two rows in opposite orders.
const DEADLOCKS: &str = "
function thread_init(tid)
  con = sysbench.sql.driver():connect()
  first, second = 1, 2
  if tid % 2 == 1 then first, second = 2, 1 end
end
function event()
  con:query('BEGIN')
  con:query('UPDATE pair SET n = n + 1 WHERE id = ' .. first)
  ffi.C.usleep(2000)
  con:query('UPDATE pair SET n = n + 1 WHERE id = ' .. second)
  con:query('COMMIT')
end
ffi = require('ffi')
ffi.cdef('int usleep(unsigned int);')
";

#[test]
fn deadlocks_are_ignored_and_counted_by_code() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("deadlocks.lua");
    fs::write(&script, DEADLOCKS).unwrap();
    for kind in kinds() {
        let database = Database::new(kind);
        database.execute("CREATE TABLE pair (id int PRIMARY KEY, n int)");
        database.execute("INSERT INTO pair VALUES (1, 0), (2, 0)");
        let line = format!(
            "run {} --target {} -c 2 -t 5s --warmup 0",
            script.display(),
            database.url()
        );
        let ran = result(&line);
        let code = match kind {
            Kind::Postgres => "40P01",
            _ => "1213",
        };
        let seen = &ran["errors"][code];
        let deadlocks = count(&seen["count"]);
        assert!(deadlocks > 0, "{kind}: {ran}");
        let sample = seen["sample"].as_str().unwrap().to_lowercase();
        assert!(sample.contains("deadlock"), "{kind}: {sample}");
        assert_eq!(ran["totals"]["errors"], deadlocks, "{kind}: {ran}");
        assert_eq!(ran["end"]["how"], "completed", "{kind}: {ran}");
        // The database holds exactly the reported rows.
        let events = count(&ran["totals"]["events"]);
        let unfinished = count(&ran["events_unfinished"]);
        let rows: u64 = database
            .query_one("SELECT n FROM pair WHERE id = 1")
            .parse()
            .unwrap();
        assert!(
            (events..=events + unfinished).contains(&rows),
            "{kind}: {rows}, {ran}"
        );
        // If no error is ignored, the first one ends the run.
        let output = dyno(&format!("{line} --ignore-errors none --json -q")).failure(1);
        let ended: Value = serde_json::from_str(&output.stdout).unwrap();
        assert!(
            ended["end"].to_string().to_lowercase().contains("deadlock"),
            "{kind}: {ended}"
        );
    }
}

/// A kind of error has the same name on every database, in scripts, in the result and in the
/// summary.
#[test]
fn errors_are_of_the_same_kinds_on_all_databases() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/kinds.lua");
    let folder = tempfile::tempdir().unwrap();
    let databases: Vec<_> = kinds().into_iter().map(Database::new).collect();
    let mut targets: Vec<_> = databases.iter().map(Database::url).collect();
    targets.push(format!("sqlite:{}/kinds.db", folder.path().display()));
    for target in &targets {
        let line = format!(
            "run {script} --target {target} -c 1 --events 1 --warmup 0 --ignore-errors all"
        );
        let ran = result(&line);
        assert_eq!(ran["end"]["how"], "completed", "{target}: {ran}");
        let mut kinds = BTreeMap::new();
        for error in ran["errors"].as_object().unwrap().values() {
            let kind = error["kind"].as_str().unwrap().to_owned();
            *kinds.entry(kind).or_insert(0) += count(&error["count"]);
        }
        let expected = [
            ("conflict", 1),
            ("duplicate", 2),
            ("no_table", 1),
            ("statement", 2),
            ("table_exists", 1),
        ];
        assert_eq!(
            kinds,
            expected
                .map(|(kind, count)| (kind.to_owned(), count))
                .into(),
            "{target}: {ran}"
        );
        let printed = dyno(&line).success();
        let printed = printed
            .stdout
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(
            printed.contains(
                "(2 duplicate keys, 2 bad statements, 1 conflict, 1 missing table, 1 existing \
                 table)"
            ),
            "{target}: {printed}"
        );
    }
    let sqlite = result(&format!(
        "run {script} --target {} -c 1 --events 1 --warmup 0 --ignore-errors all",
        targets[databases.len()]
    ));
    for (code, kind) in [
        ("517", "conflict"),
        ("1555", "duplicate"),
        ("2067", "duplicate"),
        ("1", "statement"),
        ("1 no_table", "no_table"),
    ] {
        assert_eq!(sqlite["errors"][code]["kind"], kind, "{sqlite}");
    }
}

#[test]
fn refuses_to_ignore_unknown_errors() {
    let output = dyno("run oltp_read_only --ignore-errors deadlocks").failure(2);
    assert!(
        output.stderr.contains("'deadlocks'") && output.stderr.contains("conflict"),
        "{}",
        output.stderr
    );
}
