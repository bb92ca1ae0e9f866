//! Faults of the server: it stops, or closes the observer's connection.

use std::thread;
use std::time::Duration;

use dyno_tests::Kind;
use dyno_tests::command::Running;
use dyno_tests::private::at_once;

use crate::common::{alone, judged_while, private, shapes};

const LOAD: &str = "-c 4 -t 8s --warmup 0";

/// Waits until a few intervals of a run have passed.
fn into(running: &mut Running) {
    running.measuring();
    thread::sleep(Duration::from_millis(1500));
}

#[test]
fn reports_a_server_that_stops() {
    let _turn = alone();
    let servers = [Kind::Mariadb, Kind::Postgres].map(|kind| {
        let (server, url) = private(kind);
        (server, format!("{} {LOAD}", shapes(&url)))
    });
    // `shapes` already has the run without a fault on MariaDB.
    let (server, line) = &servers[1];
    let healthy = judged_while(line, Some(server.pid()), |_| {});
    for check in ["stalls", "restarts", "observers", "errors"] {
        healthy.passed(check);
    }
    let requested = healthy.finding("requested-settings");
    assert_eq!(requested["outcome"], "not_checked");
    healthy.nothing_but(&[]);

    at_once(&servers, |(server, line)| {
        let stalled = judged_while(line, Some(server.pid()), |running| {
            into(running);
            server.suspend();
            thread::sleep(Duration::from_secs(3));
            server.resume();
        });
        stalled.caught("stalls", "doubt", "stall");
    });
}

#[test]
fn reports_whether_server_or_client_was_frozen_to_the_millisecond() {
    let _turn = alone();
    let (server, url) = private(Kind::Mariadb);
    let line = format!("{} -c 4 -t 9s --warmup 0", shapes(&url));
    let pause = Duration::from_millis(700);
    let silent = judged_while(&line, Some(server.pid()), |running| {
        into(running);
        for _ in 0..4 {
            server.suspend();
            thread::sleep(pause);
            server.resume();
            thread::sleep(pause);
        }
    });
    // None of these stalls covers a whole second.
    silent.caught("stalls", "doubt", "4 stalls of 2.8");
    silent.passed("client-cpu");

    let frozen = judged_while(&line, Some(server.pid()), |running| {
        into(running);
        for _ in 0..3 {
            running.signal(libc::SIGSTOP);
            thread::sleep(pause);
            running.signal(libc::SIGCONT);
            thread::sleep(pause);
        }
    });
    frozen.caught("client-cpu", "doubt", "itself paused 3 times for 2");
    frozen.passed("stalls");
}

#[test]
fn reports_an_observer_that_loses_its_connection() {
    let _turn = alone();
    let (server, url) = private(Kind::Postgres);
    let line = format!("{} -c 2 -t 6s --warmup 0", shapes(&url));
    let lost = judged_while(&line, Some(server.pid()), |running| {
        into(running);
        // The last statement of a session is the script's, which the observer's never is.
        let sql = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                   WHERE datname = 'verdict' AND query NOT LIKE 'SELECT v FROM shape%'";
        assert_eq!(server.server().query_one(None, sql), "1");
    });
    lost.caught("observers", "doubt", "no connection");
    // While the observer is disconnected, the server does not answer it.
    lost.nothing_but(&["observers", "restarts"]);
}
