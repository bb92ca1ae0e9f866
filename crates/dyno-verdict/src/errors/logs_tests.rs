//! Tests of the consistency checks on figures of imported logs.

use dyno_core::finding::Outcome::{Doubt, NotChecked, Pass, Refuse};
use dyno_core::unknown::{LENGTH_UNKNOWN, TOTALS_UNKNOWN};
use dyno_samples::{self as samples, assert_has, fact, values};

use crate::tests::check;

#[test]
fn a_log_agrees_with_itself() {
    let mut run = samples::imported();
    fact(&mut run, "import.stated_time_s", "600");
    fact(&mut run, "import.implied_time_s", "599.2");
    check(&run, "work-done", Pass);
    fact(&mut run, "import.implied_time_s", "120.0");
    let finding = check(&run, "work-done", Doubt);
    assert_has(&finding.evidence, "states 600 s");
    let what = "6000 transactions at 200.00 per second take 30.0 s, but the other figures imply \
                60.0 s";
    fact(&mut run, "import.contradictions", what);
    let finding = check(&run, "work-done", Refuse);
    assert_has(&finding.evidence, what);
}

#[test]
fn a_rounded_mean_of_a_log_is_not_a_contradiction() {
    let mut run = samples::imported();
    let own = run.summary.as_mut().unwrap();
    let sessions = 2;
    own.drive.as_mut().unwrap().sessions = sessions;
    run.head.drive = None;
    (own.measured_s, own.elapsed_s) = (2.0027, 2.0027);
    (own.totals.events, own.service.count) = (142_187, 142_187);
    (own.service.mean_ms, own.service.sum_ms) = (Some(0.03), Some(3986.21));
    check(&run, "work-done", Pass);
    // Without the sum the mean may be half a digit lower.
    run.summary.as_mut().unwrap().service.sum_ms = None;
    check(&run, "work-done", Pass);
    run.summary.as_mut().unwrap().service.mean_ms = Some(0.04);
    let found = check(&run, "work-done", Doubt);
    assert_has(&found.evidence, "more than 2 sessions");
    // The mean of a sample is not that of all events.
    run.summary.as_mut().unwrap().service.count = 14_000;
    check(&run, "work-done", Pass);
}

#[test]
fn time_outside_the_events_of_a_log_is_doubted() {
    let mut run = samples::imported();
    run.intervals.iter_mut().for_each(|one| one.states = None);
    let own = run.summary.as_mut().unwrap();
    let drive = own.drive.as_mut().unwrap();
    (drive.warmup, drive.ramp_up) = Default::default();
    own.totals.errors = 1;
    check(&run, "work-done", Pass);
    dyno_samples::scale(&mut run.summary.as_mut().unwrap().service, 0.3);
    let found = check(&run, "work-done", Doubt);
    assert_has(&found.evidence, "of their time outside events");
    // Without figures nothing is known.
    let own = run.summary.as_mut().unwrap();
    (own.service.mean_ms, own.service.sum_ms) = (None, None);
    check(&run, "work-done", Pass);
}

#[test]
fn a_log_without_totals_does_not_say_that_nothing_was_done() {
    let mut run = samples::imported();
    run.summary = None;
    run.intervals.clear();
    run.not_observed.push(values::gap(TOTALS_UNKNOWN, ""));
    let finding = check(&run, "work-done", Refuse);
    let expected = "The log shows neither totals nor the time they took.";
    assert_eq!(finding.evidence, expected);
}

#[test]
fn numbers_that_a_log_lacks_are_null() {
    let numbers = |run: &dyno_core::record::RunRecord, name: &str| {
        let finding = check(run, name, Pass);
        let unknown = finding
            .numbers
            .into_iter()
            .filter(|own| own.value.is_none());
        unknown.map(|own| own.name).collect::<Vec<_>>()
    };
    let mut run = samples::imported();
    assert_eq!(numbers(&run, "work-done"), [""; 0]);
    let gaps = ["counters.queries", "counters.rows", "counters.retries"];
    run.not_observed
        .extend(gaps.map(|what| values::gap(what, "")));
    assert_eq!(numbers(&run, "work-done"), ["statements", "rows"]);
    let expected = ["attempts to connect that failed", "retries"];
    assert_eq!(numbers(&run, "errors"), expected);
    run.not_observed.push(values::gap(LENGTH_UNKNOWN, ""));
    assert_eq!(numbers(&run, "work-done"), ["events", "statements", "rows"]);
    let finding = check(&run, "work-done", Pass);
    assert_has(&finding.evidence, "the log does not show how many");
    check(&run, "errors", NotChecked);
}
