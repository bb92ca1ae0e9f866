//! Makes runs with the library: no process, no terminal, and a sink that stores everything.

#![allow(clippy::unwrap_used)]

mod common;

use common::{drive, run};
use dyno_core::interval::Counters;

#[test]
fn a_sink_takes_the_run_from_its_head_to_its_end() {
    let (measured, given) = run("function event() end", drive(), true);
    let measured = measured.unwrap();
    assert!(measured.trouble.is_none());
    let summary = measured.summary;
    assert_eq!(summary.totals.events, 2_000);
    assert!(summary.verdict.is_some());
    // What the sink was called with adds up to the run.
    assert_eq!(given.counters, summary.totals);
    assert_eq!(given.latencies, 2_000);
    let place = |name| given.calls.iter().position(|call| *call == name);
    assert_eq!(place("head"), Some(0));
    assert!(place("started") < place("interval"));
    assert_eq!(given.calls.last(), Some(&"end"));
    assert_eq!(
        given.summary.map(|given| given.totals),
        Some(summary.totals)
    );
    // Each sample belongs to a series that was announced, and each series has its own number.
    let mut numbers: Vec<u32> = given.series.iter().map(|(number, _)| *number).collect();
    assert!(given.samples.iter().all(|sample| numbers.contains(sample)));
    let series = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), series);
    assert!(
        given
            .series
            .iter()
            .any(|(_, name)| name.starts_with("host."))
    );
}

#[test]
fn a_run_that_cannot_begin_has_no_end() {
    let (measured, given) = run(
        "function init() error('not today') end function event() end",
        drive(),
        false,
    );
    let error = measured.map(|_| ()).unwrap_err();
    let text = error.chain();
    assert!(
        text.starts_with("init() failed") && text.contains("not today"),
        "{text}"
    );
    assert_eq!(given.calls, ["head"]);
    assert_eq!(given.counters, Counters::default());
}

#[test]
fn a_failing_script_ends_the_run_and_keeps_its_measurements() {
    let script =
        "local n = 0; function event() n = n + 1; if n > 100 then error('worn out') end end";
    let (measured, given) = run(script, drive(), false);
    let summary = measured.unwrap().summary;
    assert!(
        format!("{:?}", summary.end).contains("worn out"),
        "{:?}",
        summary.end
    );
    assert!(summary.totals.events >= 100);
    assert_eq!(given.counters, summary.totals);
    assert_eq!(given.calls.last(), Some(&"end"));
}
