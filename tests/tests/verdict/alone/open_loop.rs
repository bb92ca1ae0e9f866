//! Open loops: offered load and capacity. With a pause of 10 ms, a session makes a hundred events a
//! second on any machine.

use dyno_tests::Kind;

use crate::common::{alone, judged_while, private, shapes};

#[test]
fn reports_a_rate_above_the_capacity_and_none_below() {
    let _turn = alone();
    let (server, url) = private(Kind::Mariadb);
    let shape = shapes(&url);
    let line = format!("{shape} --pause=0.01 -c 4 -t 5s --warmup 0");
    let run =
        |rate: &str| judged_while(&format!("{line} --rate {rate}"), Some(server.pid()), |_| {});
    let kept = run("100/s");
    for check in ["offered-rate", "schedule-lag", "unserved"] {
        kept.passed(check);
    }
    kept.nothing_but(&[]);
    let missed = run("2000/s");
    missed.caught("offered-rate", "doubt", "growing from second to second");
    missed.nothing_but(&["offered-rate"]);
    // Overloaded from the warm-up on. The backlog is worked off during the measurement, and the
    // server must not count more events than the client.
    let line = format!("{shape} --pause=0.01 -c 4 -t 6s --warmup 2s");
    let line = format!("{line} --rate 10000/s");
    let queued = judged_while(&line, Some(server.pid()), |_| {});
    queued.caught("offered-rate", "doubt", "growing from second to second");
    queued.passed("server-counters");
    queued.nothing_but(&["offered-rate"]);
}
