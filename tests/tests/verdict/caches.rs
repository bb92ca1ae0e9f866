//! Claims about the caches, compared with their behaviour.

use dyno_tests::Kind;
use dyno_tests::private::start_private_server_with;

use crate::common::{alone, dyno, judged, judged_while, with_database};

/// About 25 MB; the small caches hold a fraction of it.
const TABLE: &str = "--table-size 100000";

#[test]
fn data_that_does_not_fit_is_not_in_memory() {
    let _turn = alone();
    for (kind, small) in [
        (Kind::Mariadb, vec!["--innodb-buffer-pool-size=6M"]),
        (Kind::Postgres, vec!["-c", "shared_buffers=1MB"]),
    ] {
        let server = start_private_server_with(kind, &small);
        let url = with_database(&server);
        let line = format!("oltp_point_select {TABLE} --target {url}");
        dyno(&format!("prepare {line} -c 1"));
        let run = |claim: &str| judged(&format!("{line} -c 2 -t 3s --warmup 0 --claim {claim}"));
        run("in-memory").caught("cache", "doubt", "claimed to be in memory");
        run("on-disk").passed("cache");
    }
}

#[test]
fn caches_are_warm_after_they_were_cold() {
    let _turn = alone();
    let mut server = start_private_server_with(Kind::Postgres, &[]);
    let url = with_database(&server);
    let line = format!("oltp_point_select {TABLE} --target {url}");
    dyno(&format!("prepare {line} -c 1"));
    server.stop().unwrap();
    server.start_again().unwrap();
    // Slow enough that the cache does not fill within the first second on a fast machine.
    let line = format!("{line} -c 2 -t 9s --warmup 0 --rate 300/s --claim");
    let pid = Some(server.pid());
    let cold = judged_while(&format!("{line} warm"), pid, |_| {});
    cold.caught("cold-or-warm", "doubt", "claimed to be warm");
    // Reads every page once.
    server
        .server()
        .query_one(Some("verdict"), "SELECT count(pad) FROM sbtest1");
    server.server().query_one(
        Some("verdict"),
        "SELECT count(*) FROM (SELECT id FROM sbtest1 ORDER BY id) t",
    );
    let warm = judged_while(&format!("{line} warm"), pid, |_| {});
    warm.passed("cold-or-warm");
    warm.nothing_but(&[]);
    let in_memory = judged(&format!("{line} in-memory"));
    in_memory.passed("cache");
}
