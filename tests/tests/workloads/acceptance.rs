//! Stopped servers and killed sessions: response times count from when events were due, and the
//! accounts stay correct.

use std::thread;
use std::time::Duration;

use dyno_tests::command::Running;
use dyno_tests::private::at_once;
use dyno_tests::{Database, Kind, Output, start_private_server};
use serde_json::Value;

use crate::common::{LOUD, QUIET, TestDatabase, everywhere, on, outcome, sqlite};

/// How long a run may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(240);

fn json(output: &Output) -> Value {
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}\n{output:?}"))
}

/// The number of latencies that are certainly above this bound.
fn above(latency: &Value, ms: f64) -> u64 {
    let buckets = latency["buckets"].as_array().unwrap();
    let slow = buckets
        .iter()
        .filter(|bucket| bucket["from_ms"].as_f64().unwrap() >= ms);
    slow.map(|bucket| bucket["count"].as_u64().unwrap()).sum()
}

/// The results of open loops on one server, each in its own database. The server is stopped for
/// more than a second in the middle.
fn with_a_stop(kind: Kind, prepare: &str, runs: &[&str]) -> Vec<Value> {
    let private = start_private_server(kind);
    let places = runs.iter().map(|_| {
        let place = TestDatabase::Server(Database::on(&private.server()));
        place.dyno(&format!("prepare {prepare}")).success();
        place
    });
    let places: Vec<TestDatabase> = places.collect();
    let start = |(place, run): (&TestDatabase, &&str)| -> Running {
        place.start(&format!("run {run} --json {LOUD}"))
    };
    let mut running: Vec<Running> = places.iter().zip(runs).map(start).collect();
    running.iter_mut().for_each(Running::measuring);
    thread::sleep(Duration::from_secs(1));
    private.suspend();
    thread::sleep(Duration::from_millis(1400));
    private.resume();
    let ended = running.into_iter().map(|run| run.finish(LIMIT).success());
    let results = ended.map(|output| json(&output)).collect();
    for place in &places {
        place.dyno(&format!("check {prepare}")).success();
    }
    results
}

#[test]
fn a_stalled_server_is_in_the_response_times_of_all_due_events() {
    let load = "-c 4 --rate 200/s -t 8s";
    let runs = ["tpcb", "select_only"].map(|workload| format!("{workload} {load}"));
    // Their rates are low, so the runs do not disturb each other.
    at_once(Kind::ALL, |kind| {
        let results = with_a_stop(kind, "tpcb", &[&runs[0], &runs[1]]);
        for (run, result) in runs.iter().zip(results) {
            let message = format!("{kind} {run}: {result}");
            let response = &result["response"];
            assert!(response["max_ms"].as_f64().unwrap() >= 1000.0, "{message}");
            // 280 events were due during the stop and had to wait. A closed loop would have delayed
            // four.
            assert!(above(response, 50.0) >= 150, "{message}");
            assert!(above(response, 1000.0) >= 30, "{message}");
            assert!(
                result["open_loop"]["backlog_max"].as_u64() > Some(4),
                "{message}"
            );
            assert_eq!(outcome(&result, "consistency"), "pass", "{message}");
            // All events that were due have run: 1600, within four standard deviations, except
            // those due at the very end.
            let events = result["totals"]["events"].as_f64().unwrap();
            let waiting = result["open_loop"]["backlog"].as_f64().unwrap();
            assert!((events + waiting - 1600.0).abs() < 200.0, "{message}");
        }
    });
}

#[test]
fn a_stall_shows_in_the_series_of_concurrency_and_queue() {
    let run = "linkbench --maxid 2001 -c 20 --rate 300/s -t 8s";
    let results = with_a_stop(Kind::Mariadb, "linkbench --maxid 2001", &[run]);
    let result = &results[0];
    let intervals = result["intervals"].as_array().unwrap();
    let highest = |name: &str| {
        let values = intervals.iter().map(|interval| interval[name].as_u64());
        values.max().flatten().unwrap()
    };
    assert!(intervals.len() >= 8, "{result}");
    // All sessions wait for the server, and the arrivals wait for the sessions. An interval ends
    // within these 1.4 s.
    assert_eq!(highest("concurrency"), 20, "{result}");
    assert!(highest("backlog") >= 20, "{result}");
    // Each operation has both times, and half of them are lists.
    let operations = result["operations"].as_array().unwrap();
    for operation in operations {
        for times in ["service", "response"] {
            assert!(operation[times]["count"].as_u64() > Some(0), "{operation}");
        }
    }
    let lists = &operations[0];
    assert_eq!(lists["name"], "get_links_list");
    assert!(
        above(&lists["response"], 50.0) > above(&lists["service"], 50.0),
        "{lists}"
    );
    assert_eq!(outcome(result, "consistency"), "pass", "{result}");
}

#[test]
fn sessions_of_linkbench_have_a_connection_to_write_and_one_to_read() {
    for kind in Kind::ALL {
        let place = on(kind);
        place.dyno("prepare linkbench --maxid 2001").success();
        let TestDatabase::Server(database) = &place else {
            panic!("it is a server");
        };
        let connections = place.sessions().unwrap();
        // Waits until there are this many.
        let settles = |expected: &str| {
            let count = || {
                database
                    .server
                    .query_one(None, &format!("SELECT COUNT(*) {connections}"))
            };
            for _ in 0..100 {
                if count() == expected {
                    break;
                }
                thread::sleep(Duration::from_millis(100));
            }
            assert_eq!(count(), expected, "{kind}");
        };
        for (options, expected) in [("", "6"), ("--connections 1", "3")] {
            let line = format!("run linkbench --maxid 2001 {options} -c 3 -t 60s {QUIET}");
            let running = place.start(&line);
            settles(expected);
            drop(running);
            settles("0");
        }
    }
}

/// Kills a random session of a database, if there is one.
fn kill_one(database: &Database) {
    let name = &database.name;
    let one = match database.server.kind {
        Kind::Postgres => format!(
            "SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity WHERE \
             datname = '{name}' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1) one"
        ),
        Kind::Mariadb | Kind::Mysql => format!(
            "SELECT id FROM information_schema.processlist WHERE db = '{name}' AND id <> \
             CONNECTION_ID() ORDER BY RAND() LIMIT 1"
        ),
    };
    let found = database.server.query(None, &one);
    if let (Kind::Mariadb | Kind::Mysql, Some(row)) = (database.server.kind, found.first()) {
        database.server.execute(None, &format!("KILL {}", row[0]));
    }
}

/// Makes a run of 10,000 transactions while sessions are killed.
fn run_with_kills(place: &TestDatabase, database: &Database) -> Value {
    let line = format!("run tpcb --scale 4 -c 8 --events 10000 --rate 1500/s --json {LOUD}");
    let mut running: Running = place.start(&line);
    running.measuring();
    for kill in 0..20 {
        kill_one(database);
        thread::sleep(Duration::from_millis(60 + 37 * (kill % 5)));
    }
    json(&running.finish(LIMIT).success())
}

#[test]
fn ten_thousand_transactions_are_accounted_for_while_sessions_are_killed() {
    for place in everywhere() {
        place.dyno("prepare tpcb --scale 4 -c 2").success();
        let TestDatabase::Server(database) = &place else {
            continue;
        };
        let result = run_with_kills(&place, database);
        let name = place.name();
        assert_eq!(outcome(&result, "consistency"), "pass", "{name}: {result}");
        assert!(
            result["totals"]["reconnects"].as_u64() >= Some(5),
            "{name}: {result}"
        );
        assert!(
            result["totals"]["events"].as_u64() >= Some(9_900),
            "{name}: {result}"
        );
        // Transactions that are lost in the middle of a COMMIT are counted separately. Only their
        // outcome is unknown.
        let unknown = result["operations"][0]["totals"]["unknown"]
            .as_i64()
            .unwrap();
        let ledger = result["ledger"].as_array().unwrap();
        let of = |sum: &str| ledger.iter().find(|entry| entry["sum"] == sum).unwrap();
        let range = |entry: &Value| {
            let [low, high] = ["expected_low", "expected_high"].map(|end| entry[end].as_i64());
            high.unwrap() - low.unwrap()
        };
        assert_eq!(range(of("transactions")), unknown, "{name}: {result}");
        assert_eq!(range(of("unchanged")), 0, "{name}: {result}");
        place.dyno("check tpcb --scale 4").success();
    }
}

#[test]
fn ten_thousand_transactions_on_a_file_survive_killed_clients() {
    let place = sqlite();
    place.dyno("prepare tpcb").success();
    let TestDatabase::Sqlite(folder) = &place else {
        panic!("it is a file");
    };
    let file = folder.path().join("data.db");
    let mut done = 0;
    for round in 0.. {
        let running = place.start(&format!("run tpcb -c 4 -t 60s {QUIET}"));
        thread::sleep(Duration::from_millis(900 + 170 * (round % 4)));
        drop(running);
        place.dyno("check tpcb").success();
        let open = rusqlite::Connection::open(&file).unwrap();
        let count = "SELECT COUNT(*) FROM pgbench_history";
        let now: i64 = open.query_row(count, [], |row| row.get(0)).unwrap();
        assert!(now >= done && round < 200, "{now} after {done}");
        done = now;
        if done >= 10_000 && round >= 2 {
            break;
        }
    }
    let result = place.result("tpcb -c 2 --events 100");
    assert_eq!(outcome(&result, "consistency"), "pass", "{result}");
}
