//! Runs that look good but are not: the right check names each cause, with numbers, and a run
//! without the cause gives no finding.

use std::thread;
use std::time::Duration;

use dyno_tests::command::Running;
use dyno_tests::private::start_private_server_with;
use dyno_tests::{Kind, Server};

use crate::common::{SHAPES, alone, dyno, judged, judged_while, private, shapes, with_database};
use crate::relay::in_two_parts;

#[test]
fn reports_a_level_change_with_its_second() {
    let _turn = alone();
    let (server, url) = private(Kind::Mariadb);
    let line = format!("{} -c 4 -t 20s --warmup 0", shapes(&url));
    let pid = Some(server.pid());
    let stepped = judged_while(&format!("{line} --step-at=12 --step=1.7"), pid, |_| {});
    if stepped.host.was_busy() {
        return;
    }
    stepped.caught("steady-state", "doubt", "the rate steps by -");
    let evidence = stepped.finding("steady-state")["evidence"]
        .as_str()
        .unwrap();
    let at = |second: u32| evidence.contains(&format!("at {second} s (p < 0.001)"));
    assert!((11..=13).any(at), "{evidence}");
    assert!(!evidence.contains("rate drifts;"), "{evidence}");
    stepped.passed("warm-up");
}

#[test]
fn statements_that_are_slower_are_a_mode_with_its_share() {
    let _turn = alone();
    for kind in [Kind::Mariadb, Kind::Postgres] {
        let (server, url) = private(kind);
        let line = format!("{} -c 4 -t 6s --warmup 0 --pause=0", shapes(&url));
        let pid = Some(server.pid());
        judged_while(&line, pid, |_| {}).passed("latency-modes");
        let slow = judged_while(&format!("{line} --slow-share=0.4"), pid, |_| {});
        slow.caught("latency-modes", "doubt", "the events have two modes");
        let numbers = slow.finding("latency-modes")["numbers"].as_array().unwrap();
        let number = |name: &str| {
            let found = numbers.iter().find(|number| number["name"] == name);
            found.unwrap()["value"].as_f64().unwrap()
        };
        assert!(
            (number("slow events") - 40.0).abs() < 5.0,
            "{}",
            slow.findings_text()
        );
        assert!(
            (number("slow mode") - 21.0).abs() < 4.0,
            "{}",
            slow.findings_text()
        );
        assert!(number("fast mode") < 5.0, "{}", slow.findings_text());
    }
}

#[test]
fn delayed_acknowledgements_are_named_by_their_pause() {
    let _turn = alone();
    for kind in [Kind::Mariadb, Kind::Postgres] {
        let (server, url) = private(kind);
        let line = format!("{} -c 4 -t 6s --warmup 0 --pause=0", shapes(&url));
        for every in [1, 2] {
            let port = in_two_parts(server.server().port, every);
            let own = format!(":{}/", server.server().port);
            let through = line.replace(&own, &format!(":{port}/"));
            let paused = judged_while(&through, Some(server.pid()), |_| {});
            let expected = "pause of 40 ms, by which linux delays an acknowledgement";
            paused.caught("latency-modes", "doubt", expected);
            let advice = &paused.finding("latency-modes")["advice"];
            assert!(advice.as_str().unwrap().contains("TCP_NODELAY"), "{advice}");
        }
    }
}

#[test]
fn statements_that_touch_no_table_are_no_work() {
    let _turn = alone();
    for kind in [Kind::Mariadb, Kind::Mysql, Kind::Postgres] {
        let (server, url) = private(kind);
        let pid = Some(server.pid());
        let healthy = judged_while(
            &format!("{} -c 4 -t 6s --warmup 0", shapes(&url)),
            pid,
            |_| {},
        );
        healthy.passed("work-done");
        let line = format!("{SHAPES} --target {url} -c 4 -t 6s --warmup 0");
        let none = judged_while(&line, pid, |_| {});
        none.caught("work-done", "doubt", "% of the statements touch no table");
        none.nothing_but(&["work-done"]);
    }
}

#[test]
fn reports_statements_that_always_use_the_same_row() {
    let _turn = alone();
    for kind in [Kind::Mariadb, Kind::Mysql, Kind::Postgres] {
        let (server, url) = private(kind);
        let pid = Some(server.pid());
        let line = format!("{} -c 4 -t 6s --warmup 0", shapes(&url));
        judged_while(&line, pid, |_| {}).nothing_but(&[]);
        let same = judged_while(&format!("{line} --same-key=1"), pid, |_| {});
        same.caught("key-distribution", "doubt", "only 1 differed");
        same.nothing_but(&["key-distribution"]);
        let line = format!("{line} --reads=0 --writes=1 --same-key=1 --pause=0");
        let locked = judged_while(&line, pid, |_| {});
        locked.caught("key-distribution", "doubt", "only 1 differed");
    }
}

#[test]
fn reports_reads_of_missing_keys() {
    let _turn = alone();
    let (server, url) = private(Kind::Postgres);
    let line = format!("oltp_point_select --target {url} --table-size 2000 -c 2 -t 3s --warmup 0");
    dyno(&format!("prepare {line}"));
    judged(&line).passed("misses");
    let sql = "DELETE FROM sbtest1 WHERE id % 4 = 1";
    server.server().execute(Some("verdict"), sql);
    let gaps = judged(&format!("{line} --force"));
    gaps.caught("misses", "doubt", "found no row");
    gaps.nothing_but(&["misses", "row-counts"]);
}

#[test]
fn reports_a_query_cache_that_answers() {
    let _turn = alone();
    let arguments = ["--query-cache-type=ON", "--query-cache-size=16M"];
    let server = start_private_server_with(Kind::Mariadb, &arguments);
    let url = with_database(&server);
    let line = format!("{} -c 4 -t 6s --warmup 0", shapes(&url));
    let cached = judged_while(&line, Some(server.pid()), |_| {});
    cached.caught("query-cache", "doubt", "query_cache_type = on");
    cached.nothing_but(&["query-cache"]);
    server
        .server()
        .execute(None, "SET GLOBAL query_cache_type = OFF");
    judged_while(&line, Some(server.pid()), |_| {}).passed("query-cache");
}

#[test]
fn reports_tables_scanned_without_an_index() {
    let _turn = alone();
    for kind in [Kind::Mariadb, Kind::Postgres] {
        let (server, url) = private(kind);
        let line = "oltp_point_select --table-size 5000 -c 2 -t 6s --warmup 0";
        let line = format!("{line} --target {url}");
        dyno(&format!("prepare {line}"));
        judged(&line).passed("statistics");
        let without_index = match kind {
            Kind::Postgres => &[
                "ALTER TABLE sbtest1 DROP CONSTRAINT sbtest1_pkey",
                "DROP INDEX k_1",
            ][..],
            Kind::Mariadb | Kind::Mysql => &[
                "ALTER TABLE sbtest1 MODIFY id INTEGER NOT NULL, DROP PRIMARY KEY, DROP INDEX k_1",
            ],
        };
        for sql in without_index {
            server.server().execute(Some("verdict"), sql);
        }
        let scans = judged(&line);
        scans.caught("statistics", "doubt", "without any index: sbtest1");
        scans.nothing_but(&["statistics"]);
    }
}

#[test]
fn reports_logs_of_every_statement() {
    let _turn = alone();
    for (kind, arguments, expected) in [
        (Kind::Mariadb, &["--general-log=1"][..], "general_log = on"),
        (
            Kind::Mysql,
            &["--slow-query-log=1", "--long-query-time=0"],
            "slow_query_log = on with long_query_time = 0",
        ),
        (
            Kind::Postgres,
            &["-c", "log_statement=all"],
            "log_statement = all",
        ),
    ] {
        let server = start_private_server_with(kind, arguments);
        let url = with_database(&server);
        let line = format!("{} -c 2 -t 3s --warmup 0", shapes(&url));
        let logged = judged_while(&line, Some(server.pid()), |_| {});
        logged.caught("statement-logs", "doubt", expected);
        logged.nothing_but(&["statement-logs"]);
    }
}

/// Waits until the observer has read the settings and some intervals have passed.
fn into(running: &mut Running) {
    running.measuring();
    thread::sleep(Duration::from_millis(2500));
}

#[test]
fn reports_a_setting_that_moves_and_moves_back() {
    let _turn = alone();
    let load = "-c 2 -t 9s --warmup 0";
    for kind in [Kind::Mariadb, Kind::Mysql] {
        let (server, url) = private(kind);
        let administrator = server.server();
        let before = administrator.query_one(None, "SELECT @@innodb_io_capacity");
        let moved = judged_while(&format!("{} {load}", shapes(&url)), None, |running| {
            into(running);
            administrator.execute(None, "SET GLOBAL innodb_io_capacity = 333");
            thread::sleep(Duration::from_millis(2500));
            let back = format!("SET GLOBAL innodb_io_capacity = {before}");
            administrator.execute(None, &back);
        });
        let expected = format!("innodb_io_capacity went from {before} to 333 at");
        moved.caught("moved-settings", "doubt", &expected);
    }
    let (server, url) = private(Kind::Postgres);
    let administrator = server.server();
    let line = format!("{} {load}", shapes(&url));
    judged_while(&line, None, |_| {}).passed("moved-settings");
    let moved = judged_while(&line, None, |running| {
        into(running);
        set(
            &administrator,
            "ALTER SYSTEM SET checkpoint_timeout = '7min'",
        );
        thread::sleep(Duration::from_millis(2500));
        set(&administrator, "ALTER SYSTEM RESET checkpoint_timeout");
    });
    let expected = "checkpoint_timeout went from 5min to 7min at";
    moved.caught("moved-settings", "doubt", expected);
}

/// Two separate statements: transactions may not contain them.
fn set(administrator: &Server, sql: &str) {
    administrator.execute(None, sql);
    administrator.query_one(None, "SELECT pg_reload_conf()");
}
