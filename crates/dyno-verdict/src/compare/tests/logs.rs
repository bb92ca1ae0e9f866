//! Comparisons of imported logs.

use dyno_core::plan::{RandKind, RandPlan};
use dyno_core::record::{RunRecord, Source};

use crate::compare::{CompareError, CompareOptions, compare};
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

#[test]
fn two_workloads_that_nobody_named_are_not_the_same() {
    let nameless = |name: &str, seed: u64| {
        let mut run = samples::closed(
            &samples::noisy(30, 1000.0, 0.03, seed),
            samples::Product::Mysql,
        );
        run.head.name = name.to_owned();
        run.head.source = Source::Sysbench;
        run.head.workload.name.clear();
        run
    };
    let (base, mut new) = (nameless("base", 1), nameless("new", 2));
    let told = |base: &RunRecord, new: &RunRecord| {
        let refused = compare(&[base], &[new], &CompareOptions::default()).unwrap_err();
        let CompareError::UnknownWorkload { unknown, .. } = refused.clone() else {
            panic!("{refused}")
        };
        assert!(refused.to_string().contains("--workload"), "{refused}");
        unknown
    };
    assert!(told(&base, &new).contains("base"));
    new.head.workload.name = "orders".to_owned();
    assert!(told(&base, &new).contains("base"));
    assert!(told(&new, &base).contains("base"));
    assert_eq!(crate::level(&base, "workload"), None);
    let insisted = CompareOptions {
        other_workload: true,
        ..CompareOptions::default()
    };
    assert!(compare(&[&base], &[&new], &insisted).is_ok());
}
