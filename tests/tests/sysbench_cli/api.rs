//! The script API on real servers.

use std::process::Command;
use std::time::Duration;

use dyno_core::Clock;
use dyno_tests::command::{Running, dyno_path};
use dyno_tests::{Database, Kind, kinds};

use super::{body, figure, ours_on, theirs_on, words};

/// sysbench's client library can log in to these without further setup.
const ORACLES: [Kind; 2] = [Kind::Mariadb, Kind::Postgres];

/// Runs the script's `show` command on all servers. Each must print `expected`.
fn prints(kinds: &[Kind], line: &str, expected: &str) {
    for kind in kinds {
        let output = ours_on(&Database::new(*kind), &format!("{line} show")).success();
        assert_eq!(body(&output), expected, "{kind} {line}");
    }
}

#[test]
fn results_match_sysbench() {
    for kind in ORACLES {
        let database = Database::new(kind);
        let [ours, theirs] = [ours_on, theirs_on].map(|run| run(&database, "results show"));
        assert_eq!(body(&ours.success()), body(&theirs.success()), "{kind}");
    }
}

#[test]
fn parameters_arrive_as_they_are() {
    let expected = "1\t1.5\t13\tit's \\ \"so\" ?\n2\tnil\tnil\tnil\n3\t-2\t0\t\n\
                    4\t0.25\t290\tzzzzzzzzzzzzzzzzzzzz\n5\t7\t5\tshort\n6\t7\t3\t###\n\
                    fetched\t5\tabc\tnil\n";
    for mode in ["auto", "disable"] {
        prints(&kinds(), &format!("values --db-ps-mode={mode}"), expected);
    }
}

#[test]
fn connections_of_a_session_do_not_mix() {
    let expected = "1\t3\t2\tnil\nreconnected\t0\ttrue\t4\n\
                    ALERT: attempt to use an already closed connection\nclosed\tfalse\n";
    prints(&kinds(), "connections", expected);
}

#[test]
fn requests_may_have_several_results() {
    let expected = "first\t1\t1\nnext\t2\t2\nnext\tfalse\tfalse\n8\ttrue\n9\tfalse\n\
                    prepared\t1\nafter\t4\n";
    prints(&[Kind::Mariadb, Kind::Mysql], "procedure", expected);
}

#[test]
fn bulk_inserts_span_statements() {
    prints(&kinds(), "bulk", "12000\t72006000\n");
}

#[test]
fn an_error_that_a_hook_ignores_repeats_the_event() {
    for kind in ORACLES {
        let database = Database::new(kind);
        let line = "ignorable --events=3 --time=0 run";
        for output in [ours_on(&database, line), theirs_on(&database, line)] {
            let text = output.success().stdout;
            // The message that the threads have started may come between these lines.
            for line in ["\tSELECT * FROM absent\ttrue\n", "\nagain\ttrue\n"] {
                assert!(text.contains(line), "{text}");
            }
            assert_eq!(figure(&text, "ignored errors:"), 1.0, "{text}");
            assert_eq!(figure(&text, "transactions:"), 3.0, "{text}");
            assert_eq!(figure(&text, "queries:"), 3.0, "{text}");
        }
    }
}

#[test]
fn reports_failed_statements_as_sysbench_does() {
    for kind in ORACLES {
        let database = Database::new(kind);
        let fatal = |text: &str| -> Vec<String> {
            let lines = text.lines().filter(|line| line.starts_with("FATAL: "));
            lines.map(str::to_owned).collect()
        };
        let [ours, theirs] = [ours_on, theirs_on]
            .map(|run| fatal(&run(&database, "fails_in_sql run").failure(1).stdout));
        assert!(ours.len() > 1, "{ours:?}");
        assert_eq!(ours, theirs, "{kind}");
    }
}

#[test]
fn old_style_scripts_run() {
    for kind in ORACLES {
        for run in [ours_on, theirs_on] {
            let database = Database::new(kind);
            let call = |rest: &str| {
                run(&database, &format!("legacy --oltp-table-size=50 {rest}")).success()
            };
            call("prepare");
            assert_eq!(database.query_one("SELECT COUNT(*) FROM legacy"), "50");
            let text = call("--events=20 --time=0 run").stdout;
            let changed = "SELECT COUNT(*) FROM legacy WHERE k > 100 OR c NOT LIKE '%-%'";
            assert_ne!(database.query_one(changed), "0", "{text}");
            for (label, count) in [
                ("read:", 20.0),
                ("write:", 20.0),
                ("other:", 40.0),
                ("transactions:", 20.0),
            ] {
                assert_eq!(figure(&text, label), count, "{kind} {label}\n{text}");
            }
            call("cleanup");
            assert!(database.tables().is_empty());
        }
    }
}

#[test]
fn queries_may_come_from_anywhere() {
    let database = Database::new(Kind::Mariadb);
    let line = "callbacks --threads=4 --events=20 --time=0 run";
    let counts = [ours_on, theirs_on].map(|run| {
        let text = run(&database, line).success().stdout;
        ["transactions:", "read:", "other:", "ignored errors:"].map(|label| figure(&text, label))
    });
    assert_eq!(counts[0], counts[1]);
    assert_eq!(counts[0][0], 20.0);
}

#[test]
fn a_lost_connection_is_reopened() {
    for kind in kinds() {
        let database = Database::new(kind);
        let mut command = Command::new(dyno_path());
        command.arg("sysbench").args(database.sysbench_options());
        command.args(words("select_one --threads=2 --time=3 run"));
        let running = Running::start(&mut command);
        kill_one_of(&database, 2);
        let text = running.finish(Duration::from_secs(60)).success().stdout;
        assert_eq!(figure(&text, "reconnects:"), 1.0, "{kind}\n{text}");
        assert_eq!(figure(&text, "ignored errors:"), 0.0, "{kind}\n{text}");
    }
}

/// Kills one connection to the database as soon as there are this many.
fn kill_one_of(database: &Database, count: usize) {
    let others = match database.server.kind {
        Kind::Postgres => {
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() \
             AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        }
        Kind::Mariadb | Kind::Mysql => {
            "SELECT id FROM information_schema.processlist \
             WHERE db = DATABASE() AND id <> CONNECTION_ID()"
        }
    };
    let deadline_ns = Clock.now() + 30_000_000_000;
    let connections = loop {
        let connections = database.query(others);
        if connections.len() == count {
            break connections;
        }
        assert!(Clock.now() < deadline_ns, "there are {connections:?}");
        std::thread::sleep(Duration::from_millis(10));
    };
    let id = &connections[0][0];
    match database.server.kind {
        Kind::Postgres => {
            database.query_one(&format!("SELECT pg_terminate_backend({id})"));
        }
        Kind::Mariadb | Kind::Mysql => database.execute(&format!("KILL {id}")),
    }
}
