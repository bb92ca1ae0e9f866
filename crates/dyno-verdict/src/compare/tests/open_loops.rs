//! Open loops with a requested rate.

use dyno_core::summary::LatencyLimit;
use dyno_samples::open_loop;

use super::{run, sides};

#[test]
fn an_open_loop_is_judged_by_its_response_time() {
    let open = |above: u64, backlog: u64, seed: u64| {
        let mut run = open_loop(60, 500.0, seed);
        run.head.name = format!("open-{seed}");
        let summary = run.summary.as_mut().unwrap();
        summary.latency_limit = Some(LatencyLimit {
            limit_ms: 10.0,
            above,
            skipped: 0,
        });
        summary.open_loop.as_mut().unwrap().backlog = Some(backlog);
        summary.response.as_mut().unwrap().count = 1_000;
        run
    };
    let comparison = sides(&[open(0, 0, 1)], &[open(50, 700, 2)]);
    assert!(comparison.is_open_loop());
    assert_eq!(comparison.subject().unwrap().name, "response time, p95");
    let kept_up = comparison.kept_up().into_iter();
    let kept_up: Vec<_> = kept_up.map(|own| (own.name.as_str(), own.new)).collect();
    assert_eq!(
        kept_up,
        [
            ("late events", Some(5.0)),
            ("backlog at the end", Some(700.0))
        ]
    );
    let closed = sides(&[run(1000.0, 1)], &[run(900.0, 2)]);
    assert!(!closed.is_open_loop() && closed.kept_up().is_empty());
    assert_eq!(closed.subject().unwrap().name, "events");
}
