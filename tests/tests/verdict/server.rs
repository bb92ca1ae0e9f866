//! Server faults: it stops, restarts, loses its observer, or has the wrong configuration.

use std::thread;
use std::time::Duration;

use dyno_tests::command::Running;
use dyno_tests::private::start_private_server_with;
use dyno_tests::{Kind, Server};

use crate::common::{SHAPES, alone, dyno, judged, judged_while, private, shapes, with_database};

const LOAD: &str = "-c 4 -t 8s --warmup 0";

/// Waits until some intervals of a run have passed.
fn into(running: &mut Running) {
    running.measuring();
    thread::sleep(Duration::from_millis(1500));
}

#[test]
fn a_server_that_stops_or_restarts_is_caught() {
    let _turn = alone();
    for kind in [Kind::Mariadb, Kind::Postgres] {
        let (mut server, url) = private(kind);
        let line = format!("{} {LOAD}", shapes(&url));
        let pid = Some(server.pid());
        let healthy = judged_while(&line, pid, |_| {});
        for check in [
            "stalls",
            "restarts",
            "observers",
            "errors",
            "requested-settings",
        ] {
            match check {
                "requested-settings" => {
                    assert_eq!(healthy.finding(check)["outcome"], "not_checked")
                }
                _ => healthy.passed(check),
            }
        }
        healthy.nothing_but(&[]);

        let stalled = judged_while(&line, pid, |running| {
            into(running);
            server.suspend();
            thread::sleep(Duration::from_secs(3));
            server.resume();
        });
        stalled.caught("stalls", "doubt", "stall");

        let restarted = judged_while(&line, pid, |running| {
            into(running);
            server.kill().unwrap();
            server.start_again().unwrap();
        });
        restarted.caught("restarts", "refuse", "the server was restarted");
        assert_eq!(restarted.result["verdict"], "refused");
    }
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
    // None of them covers a whole second.
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
fn an_observer_that_loses_its_connection_is_missed() {
    let _turn = alone();
    let (server, url) = private(Kind::Postgres);
    let line = format!("{} -c 2 -t 6s --warmup 0", shapes(&url));
    let lost = judged_while(&line, Some(server.pid()), |running| {
        into(running);
        // The sessions' last statement is the script's, the observer's never is.
        let sql = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                   WHERE datname = 'verdict' AND query NOT LIKE 'SELECT v FROM shape%'";
        assert_eq!(server.server().query_one(None, sql), "1");
    });
    lost.caught("observers", "doubt", "no connection");
    // While the observer has no connection, the server does not answer it.
    lost.nothing_but(&["observers", "restarts"]);
}

/// The tables' durability found before the load no longer holds.
#[test]
fn reports_tables_stored_differently_at_the_end() {
    let _turn = alone();
    for (kind, alter, expected) in [
        (
            Kind::Mariadb,
            "ALTER TABLE shape ENGINE = MEMORY",
            "storage of table shape went from innodb to memory",
        ),
        (
            Kind::Postgres,
            "ALTER TABLE shape SET UNLOGGED",
            "storage of table shape went from permanent to unlogged",
        ),
    ] {
        let (server, url) = private(kind);
        let line = format!("{} --reads=1 -c 2 -t 6s --warmup 0", shapes(&url));
        let altered = judged_while(&line, Some(server.pid()), |running| {
            into(running);
            server.server().execute(Some("verdict"), alter);
        });
        altered.caught("moved-settings", "doubt", expected);
    }
}

#[test]
fn what_an_observer_may_not_see_is_not_taken_for_good() {
    let _turn = alone();
    let (server, _) = private(Kind::Mariadb);
    let server = server.server();
    server.execute(None, "CREATE USER plain@'127.0.0.1'");
    server.execute(None, "GRANT ALL ON verdict.* TO plain@'127.0.0.1'");
    let plain = server.url("verdict").replace("root@", "plain@");
    let run = judged(&format!("{SHAPES} --target {plain} -c 2 -t 4s --warmup 0"));
    let gaps = run.result["not_observed"].as_array().unwrap();
    let gap = gaps.iter().find(|gap| gap["what"] == "db.innodb");
    let why = gap.and_then(|gap| gap["why"].as_str()).unwrap_or_default();
    assert!(why.contains("PROCESS"), "{gaps:?}");
    assert_eq!(
        run.finding("cache")["outcome"],
        "pass",
        "{}",
        run.findings_text()
    );
}

#[test]
fn settings_are_compared_with_what_was_expected() {
    let _turn = alone();
    let (server, url) = private(Kind::Mariadb);
    let line = format!("{SHAPES} --target {url} -c 2 -t 1s --warmup 0");
    let name = "innodb_flush_log_at_trx_commit";
    let kept = judged(&format!(
        "{line} --expect {name}=1 --expect max_connections={}",
        of(&server.server(), "max_connections")
    ));
    kept.passed("requested-settings");
    kept.passed("durability");
    let other = judged(&format!(
        "{line} --force --expect {name}=2 --expect no_such_setting=on"
    ));
    other.caught("requested-settings", "refuse", "is 1 instead of 2");
    other.caught(
        "requested-settings",
        "refuse",
        "no_such_setting does not exist",
    );
}

fn of(server: &Server, setting: &str) -> String {
    server.query_one(None, &format!("SELECT @@{setting}"))
}

#[test]
fn reports_a_server_that_may_lose_its_data() {
    let _turn = alone();
    let arguments = ["-c", "fsync=off", "-c", "full_page_writes=off"];
    let server = start_private_server_with(Kind::Postgres, &arguments);
    let url = with_database(&server);
    let line = "oltp_update_non_index --table-size 500 -c 2";
    dyno(&format!("prepare {line} --target {url}"));
    let unsafe_one = judged(&format!("{line} --target {url} -t 1s --warmup 0"));
    unsafe_one.caught("durability", "doubt", "fsync = off");
    let waived = format!("{line} --target {url} -t 1s --warmup 0 --waive durability=scratch");
    let waived = judged(&waived);
    assert_eq!(
        waived.finding("durability")["waived"],
        "scratch",
        "{}",
        waived.findings_text()
    );
}
