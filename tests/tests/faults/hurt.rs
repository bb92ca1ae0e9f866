//! Servers that hang, die and restart under load.

use std::thread;
use std::time::Duration;

use dyno_core::Clock;
use dyno_tests::command::Running;
use dyno_tests::private::at_once;
use dyno_tests::{Kind, Output, PrivateServer, start_private_server};
use serde_json::Value;

use crate::common::{LIMIT, command, dyno, has, sound};

/// How much longer a run may take on a busy machine, in seconds.
const SLACK_S: f64 = 5.0;

/// A private server with a small table in its own database.
fn prepared(kind: Kind) -> (PrivateServer, String) {
    let private = start_private_server(kind);
    let server = private.server();
    server.execute(None, "CREATE DATABASE hurt");
    let url = server.url("hurt");
    dyno(&format!(
        "prepare oltp_point_select --target {url} --table-size 100"
    ))
    .success();
    (private, url)
}

/// Starts a run, and disturbs the server once the measurement has begun. Returns the result and the
/// duration.
fn disturbed_run(line: &str, status: i32, act: impl FnOnce()) -> (serde_json::Value, f64) {
    let began = Clock.now();
    let mut running = Running::start(&mut command(&format!("{line} --json")));
    running.measuring();
    act();
    let output = sound(running.finish(LIMIT)).failure(status);
    let seconds = (Clock.now() - began) as f64 / 1e9;
    (json(&output), seconds)
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}\n{output:?}"))
}

fn count(value: &serde_json::Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("no count: {value}"))
}

fn errors(result: &serde_json::Value) -> u64 {
    let errors = result["errors"].as_object().unwrap();
    errors.values().map(|error| count(&error["count"])).sum()
}

#[test]
fn a_server_that_hangs_does_not_keep_a_run_beyond_its_grace() {
    at_once(Kind::ALL, |kind| {
        let (private, url) = prepared(kind);
        let line =
            format!("run oltp_point_select --target {url} --table-size 100 -c 4 --observe off");
        let (result, seconds) =
            disturbed_run(&format!("{line} -t 3s --warmup 0"), 0, || private.suspend());
        assert!(
            (4.0..5.0 + SLACK_S).contains(&seconds),
            "{kind}: {seconds} s"
        );
        assert_eq!(result["end"]["how"], "completed", "{kind}: {result}");
        assert_eq!(result["events_unfinished"], 4, "{kind}: {result}");
        assert!(count(&result["totals"]["events"]) > 100, "{kind}: {result}");
        // A finding replaces the warning.
        let is_reported = |finding: &Value| {
            let checks = ["idle-sessions", "stalls"];
            checks.contains(&finding["check"].as_str().unwrap())
                && ["doubt", "refuse"].contains(&finding["outcome"].as_str().unwrap())
        };
        let findings = result["findings"].as_array().unwrap();
        assert!(findings.iter().any(is_reported), "{kind}: {findings:#?}");
        let warnings = result["warnings"].to_string();
        assert!(
            !warnings.contains("No transaction finished in"),
            "{kind}: {warnings}"
        );

        // Now the server hangs from the start.
        let limited = format!("run oltp_point_select --target {url}?connect_timeout=1s");
        let output = dyno(&limited).failure(1);
        has(
            &output,
            &["did not answer within 1", "cannot use the target"],
        );
        let (driver, port) = (kind.driver(), private.port());
        let output = dyno(&format!(
            "sysbench oltp_point_select --db-driver={driver} --{driver}-host=127.0.0.1 \
             --{driver}-port={port} --thread-init-timeout=1 --threads=4 run"
        ))
        .failure(2);
        has(
            &output,
            &[
                "failed to initialize within 1 seconds",
                "4 waited for a connection",
            ],
        );
        private.resume();
        dyno(&format!("{line} --events 9 --warmup 0")).success();
    });
}

#[test]
fn a_ledger_that_cannot_be_read_does_not_keep_a_run_from_its_end() {
    at_once(Kind::ALL, |kind| {
        let (private, url) = prepared(kind);
        dyno(&format!("prepare tpcb --scale 1 --target {url}")).success();
        let target = format!("--scale 1 --target {url}?connect_timeout=2s");
        let line = format!("run tpcb {target} -c 2 -t 3s --warmup 0 --results none");
        let (result, seconds) = disturbed_run(&line, 0, || private.suspend());
        // The time limit, the grace, the timeout of the observer, and the connection attempt.
        assert!(
            seconds < 3.0 + 1.0 + 1.0 + 2.0 + 2.0 * SLACK_S,
            "{kind}: {seconds} s"
        );
        let ledger = result["ledger"].as_array().unwrap();
        assert!(!ledger.is_empty(), "{kind}: {result}");
        assert!(
            ledger.iter().all(|sum| sum["found"].is_null()),
            "{kind}: {ledger:#?}"
        );
        private.resume();
    });
}

#[test]
fn an_observer_that_gets_no_answer_does_not_keep_a_run_from_its_end() {
    at_once(Kind::ALL, |kind| {
        let (private, url) = prepared(kind);
        let line = format!(
            "run oltp_point_select --target {url} --table-size 100 -c 4 -t 600s --warmup 0 \
             --calibrate never --results none --json"
        );
        let mut running = Running::start(&mut command(&line));
        running.measuring();
        thread::sleep(Duration::from_secs(1));
        private.suspend();
        // The observers query once a second: by now one query is in flight and should have been
        // answered.
        thread::sleep(Duration::from_millis(1500));
        let stopped = Clock.now();
        running.signal(libc::SIGINT);
        let result = json(&sound(running.finish(LIMIT)).failure(130));
        let seconds = (Clock.now() - stopped) as f64 / 1e9;
        // The grace and the timeout of the observer are a second each.
        assert!(seconds < 2.0 + SLACK_S, "{kind}: {seconds} s");
        assert_eq!(result["end"]["how"], "interrupted", "{kind}: {result}");
        let gaps = result["not_observed"].as_array().unwrap();
        let settings = gaps.iter().find(|gap| gap["what"] == "settings.end");
        let why = settings.unwrap_or_else(|| panic!("{kind}: {gaps:#?}"))["why"].to_string();
        assert!(why.contains("did not answer within 1 s"), "{kind}: {why}");
        private.resume();
    });
}

#[test]
fn a_server_that_dies_is_reported_with_earlier_figures() {
    at_once(Kind::ALL, |kind| {
        let (mut private, url) = prepared(kind);
        let line =
            format!("run oltp_point_select --target {url} --table-size 100 -c 4 -t 8s --warmup 0");
        // No session was connected at the end.
        let (result, seconds) = disturbed_run(&line, 1, || private.kill().unwrap());
        assert!(seconds < 10.0 + SLACK_S, "{kind}: {seconds} s");
        assert!(count(&result["totals"]["events"]) > 100, "{kind}: {result}");
        // Each session lost its connection, which is an error, and then failed to reconnect, which
        // is not one. The run is long enough for a large process to exit on a busy machine.
        assert!((1..=4).contains(&errors(&result)), "{kind}: {result}");
        let failed = count(&result["totals"]["connects_failed"]);
        assert!(failed > 4, "{kind}: {result}");
        // There are few attempts, because the pauses between them grow to a second.
        assert!(failed < 4 * 60, "{kind}: {result}");
        assert_eq!(result["states"]["connecting"], 4, "{kind}: {result}");
        // One sample is kept for each error code. The first session to reconnect may have found the
        // port still open, because the process was exiting.
        let samples = result["errors"].to_string() + &result["connect_errors"].to_string();
        let reasons = [
            "cannot connect",
            "closed the connection",
            "lost the connection",
        ];
        assert!(
            reasons.iter().any(|words| samples.contains(words)),
            "{kind}: {samples}"
        );

        private.start_again().unwrap();
        let stop = format!("{line} --lost-connections stop");
        let (result, _) = disturbed_run(&stop, 1, || private.kill().unwrap());
        assert!(
            result["end"].to_string().contains("failed"),
            "{kind}: {result}"
        );
        assert!(
            result["measured_s"].as_f64().unwrap() < 7.9,
            "{kind}: {result}"
        );
        assert!(count(&result["totals"]["events"]) > 100, "{kind}: {result}");
        assert!((1..=4).contains(&errors(&result)), "{kind}: {result}");
    });
}

#[test]
fn sessions_that_wait_for_an_event_notice_that_their_server_is_gone() {
    at_once([Kind::Mariadb, Kind::Postgres], |kind| {
        let (mut private, url) = prepared(kind);
        // No event is due within the run.
        let line = format!(
            "run oltp_point_select --target {url} --table-size 100 -c 4 --rate 0.01/s \
             --arrivals constant -t 6s --warmup 0 --calibrate never --observe off"
        );
        let (result, _) = disturbed_run(&line, 1, || private.kill().unwrap());
        assert_eq!(result["end"]["how"], "completed", "{kind}: {result}");
        let intervals = result["intervals"].as_array().unwrap();
        for states in [&result["states"], &intervals[intervals.len() - 2]["states"]] {
            let without = count(&states["lost"]) + count(&states["connecting"]);
            assert_eq!(
                (without, count(&states["waiting"])),
                (4, 0),
                "{kind}: {states}"
            );
        }
    });
}

#[test]
fn a_server_that_comes_back_is_loaded_again() {
    for kind in Kind::ALL {
        let (mut private, url) = prepared(kind);
        let line =
            format!("run oltp_point_select --target {url} --table-size 100 -c 4 -t 12s --warmup 0");
        let (result, _) = disturbed_run(&line, 0, || {
            private.kill().unwrap();
            private.start_again().unwrap();
        });
        assert_eq!(result["end"]["how"], "completed", "{kind}: {result}");
        assert_eq!(result["totals"]["reconnects"], 4, "{kind}: {result}");
        // A failed connection attempt is not a failed transaction.
        assert_eq!(errors(&result), 4, "{kind}: {result}");
        let intervals = result["intervals"].as_array().unwrap();
        let last = &intervals[intervals.len() - 2];
        assert!(count(&last["counters"]["events"]) > 100, "{kind}: {result}");
    }
}

#[test]
fn reconnects_after_an_administrator_kills_a_connection() {
    for kind in Kind::ALL {
        let (private, url) = prepared(kind);
        let server = private.server();
        let connections = match kind {
            Kind::Postgres => "SELECT pid FROM pg_stat_activity WHERE datname = 'hurt'",
            _ => "SELECT id FROM information_schema.processlist WHERE db = 'hurt'",
        };
        let kill = || {
            // On a busy machine, the sessions may still be connecting.
            let patience = Clock.now() + 10_000_000_000;
            let mut ids = server.query(None, connections);
            while ids.len() < 4 && Clock.now() < patience {
                thread::sleep(Duration::from_millis(50));
                ids = server.query(None, connections);
            }
            assert_eq!(ids.len(), 4, "{kind}: {ids:?}");
            for id in ids.into_iter().flatten() {
                match kind {
                    Kind::Postgres => {
                        let sql = format!("SELECT pg_terminate_backend({id})");
                        server.query_one(None, &sql);
                    }
                    _ => server.execute(None, &format!("KILL {id}")),
                }
            }
        };
        // An observer would need another connection.
        let line = format!(
            "run oltp_point_select --target {url} --table-size 100 -c 4 -t 3s --warmup 0 \
             --observe off"
        );
        let (result, _) = disturbed_run(&line, 0, kill);
        assert_eq!(result["end"]["how"], "completed", "{kind}: {result}");
        assert_eq!(result["totals"]["reconnects"], 4, "{kind}: {result}");
        assert_eq!(errors(&result), 4, "{kind}: {result}");
        // Interrupted transactions are repeated, and nothing is counted twice.
        assert_eq!(result["totals"]["retries"], 4, "{kind}: {result}");
    }
}

#[test]
fn reports_more_sessions_than_the_server_accepts() {
    for kind in [Kind::Mariadb, Kind::Postgres] {
        let arguments: &[&str] = match kind {
            Kind::Postgres => &["-c", "max_connections=12"],
            _ => &["--max-connections=12"],
        };
        let private = dyno_tests::private::start_private_server_with(kind, arguments);
        private.server().execute(None, "CREATE DATABASE hurt");
        let url = private.server().url("hurt");
        let table = format!("--target {url} --table-size 100");
        dyno(&format!("prepare oltp_point_select {table} -c 1")).success();
        let line = format!("run oltp_point_select {table} -c 40 -t 1s");
        let early = dyno(&line).failure(3);
        has(
            &early,
            &["the server allows 12 (max_connections)", "--force"],
        );
        let output = dyno(&format!("{line} --force")).failure(1);
        has(
            &output,
            &["could not be initialised", "raise its max_connections"],
        );
        let texts = [
            "Too many connections",
            "too many clients",
            "remaining connection slots",
        ];
        let reported = texts.iter().any(|text| output.stderr.contains(text));
        assert!(reported, "{kind}: {output:?}");
        // The server's connections are free again.
        dyno(&format!(
            "run oltp_point_select {table} -c 4 --events 9 --warmup 0"
        ))
        .success();
    }
}
