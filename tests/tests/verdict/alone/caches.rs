//! Checks a claim about the caches against how they behave over time.

use dyno_tests::Kind;
use dyno_tests::private::start_private_server_with;

use crate::common::{alone, dyno, judged, judged_while, with_database};

#[test]
fn caches_are_warm_after_they_were_cold() {
    let _turn = alone();
    let mut server = start_private_server_with(Kind::Postgres, &[]);
    let url = with_database(&server);
    let line = format!("oltp_point_select --table-size 100000 --target {url}");
    dyno(&format!("prepare {line} -c 1"));
    server.stop().unwrap();
    server.start_again().unwrap();
    // Slow enough that a fast machine does not fill the cache within the first second.
    let line = format!("{line} -c 2 --warmup 0 --rate 300/s");
    let pid = Some(server.pid());
    let cold = judged_while(&format!("{line} -t 9s --claim warm"), pid, |_| {});
    cold.caught("cold-or-warm", "doubt", "claimed to be warm");
    // Read every page once.
    server
        .server()
        .query_one(Some("verdict"), "SELECT count(pad) FROM sbtest1");
    server.server().query_one(
        Some("verdict"),
        "SELECT count(*) FROM (SELECT id FROM sbtest1 ORDER BY id) t",
    );
    let warm = judged_while(&format!("{line} -t 9s --claim warm"), pid, |_| {});
    warm.passed("cold-or-warm");
    warm.nothing_but(&[]);
    let in_memory = judged(&format!("{line} -t 3s --claim in-memory"));
    in_memory.passed("cache");
}
