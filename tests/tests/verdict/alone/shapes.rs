//! Faults of a script: events that fail, do nothing, get slower, or differ between sessions. One
//! healthy run of the same script shows that no check reports anything without a fault.

use std::thread;
use std::time::Duration;

use dyno_tests::Kind;
use dyno_tests::private::at_once;

use crate::common::{alone, dyno, judged, judged_while, private, shapes};
use crate::host::{burners, cpus};

/// Long enough for the checks of steadiness, which need ten whole seconds.
const LONG_ENOUGH: &str = "-c 4 -t 11s --warmup 0";

#[test]
fn each_mistake_of_a_script_is_found_by_its_check() {
    let _turn = alone();
    let (server, url) = private(Kind::Mariadb);
    let shape = shapes(&url);
    let pid = Some(server.pid());
    let run = |more: &str| judged_while(&format!("{shape} {more}"), pid, |_| {});

    // Long enough to rule out a drift.
    let healthy = run("-c 4 -t 30s --warmup 0");
    healthy.nothing_but(&[]);
    for check in [
        "client-cpu",
        "clock-steps",
        "errors",
        "fairness",
        "length",
        "observers",
        "other-load",
        "other-processes",
        "restarts",
        "samples",
        "server-counters",
        "stalls",
        "steady-state",
        "unserved",
        "warm-up",
        "work-done",
    ] {
        healthy.passed(check);
    }
    let requested = healthy.finding("requested-settings");
    assert_eq!(requested["outcome"], "not_checked");

    let uneven = run("-c 4 -t 2s --warmup 0 --uneven=20");
    uneven.caught("fairness", "doubt", "unevenly");
    uneven.nothing_but(&["fairness"]);

    let storm = run("-c 4 -t 2s --warmup 0 --fail-every=4");
    storm.caught("errors", "refuse", "1146");
    storm.nothing_but(&["errors"]);
    assert_eq!(storm.result["verdict"], "refused");

    let drizzle = run("-c 4 -t 2s --warmup 0 --fail-every=30");
    drizzle.caught("errors", "doubt", "1146");

    let idle = run("-c 2 -t 2s --warmup 0 --statements=0");
    idle.caught("work-done", "refuse", "no statement");

    let few = run("-c 1 --events 60 --warmup 0");
    few.caught("length", "doubt", "are too short");
    few.nothing_but(&["length"]);

    // Other load starts in the second half.
    let mut load = Vec::new();
    let crowded = judged_while(&format!("{shape} -c 4 -t 9s --warmup 0"), pid, |_| {
        thread::sleep(Duration::from_millis(4500));
        load = burners(2 * cpus(), None);
    });
    drop(load);
    crowded.caught("other-load", "doubt", "in a row from");
    crowded.caught("other-load", "doubt", "sh (");
}

#[test]
fn a_rate_that_changes_is_reported_by_its_check() {
    let _turn = alone();
    let faults = [
        (
            "--slow-start=2",
            "warm-up",
            "events per second and the rest",
        ),
        ("--growth=0.5", "steady-state", "the rate drifts"),
    ];
    // The events mostly pause, so the runs do not disturb one another.
    at_once(faults, |(option, check, words)| {
        let (server, url) = private(Kind::Mariadb);
        let line = format!("{} {LONG_ENOUGH} {option}", shapes(&url));
        let moved = judged_while(&line, Some(server.pid()), |_| {});
        moved.caught(check, "doubt", words);
    });
}

#[test]
fn statements_that_find_nothing_do_not_count_as_work() {
    let _turn = alone();
    let (server, url) = private(Kind::Mariadb);
    let line = format!("oltp_point_select --target {url} --table-size 500 -c 2");
    dyno(&format!("prepare {line}"));
    let healthy = judged(&format!("{line} -t 1s --warmup 0"));
    healthy.passed("work-done");
    healthy.passed("row-counts");
    server
        .server()
        .execute(Some("verdict"), "DELETE FROM sbtest1");
    let empty = judged(&format!("{line} -t 1s --warmup 0 --force"));
    empty.caught("misses", "doubt", "(100 %) found no row");
    empty.passed("work-done");
    empty.caught("row-counts", "refuse", "sbtest1 has 0 rows instead of 500");
}
