//! Comparisons of imported logs.

use dyno_core::plan::{RandKind, RandPlan};

use crate::compare::{CompareOptions, compare};
use crate::samples;

#[test]
fn latencies_of_an_open_loop_are_response_times() {
    let run = samples::open_loop(30, 500.0, 1);
    let found = compare(&[&run], &[&run], &CompareOptions::default()).unwrap();
    let mut named = found
        .metrics
        .iter()
        .filter(|one| one.is_called("latency, p95"));
    assert_eq!(named.next().unwrap().name, "response time, p95");
    assert!(named.next().is_none());
}

#[test]
fn what_logs_tell_of_keys_is_a_difference() {
    let log = |name: &str, kind| {
        let mut run = samples::imported();
        run.head.name = name.to_owned();
        run.summary.as_mut().unwrap().rand = Some(RandPlan {
            kind,
            ..RandPlan::default()
        });
        run
    };
    let (one, other) = (log("one", RandKind::Special), log("two", RandKind::Zipfian));
    let third = log("three", RandKind::Special);
    let found = compare(&[&one], &[&other], &CompareOptions::default()).unwrap();
    let mut named = found.differences.iter().map(|difference| &difference.what);
    assert!(named.any(|what| what == "key distribution"), "{found:?}");
    let error = compare(&[&one, &other], &[&third], &CompareOptions::default()).unwrap_err();
    assert!(
        error.to_string().contains("key distribution (special"),
        "{error}"
    );
}
