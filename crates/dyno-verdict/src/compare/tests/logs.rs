//! Comparisons of imported logs.

use dyno_core::finding::Outcome;
use dyno_core::plan::{OptionValue, RandKind, RandPlan};
use dyno_core::record::{RunRecord, Source};
use dyno_samples as samples;
use dyno_samples::assert_has;

use crate::compare::{CompareOptions, compare};

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
fn keys_in_logs_are_a_difference() {
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
    assert_has(&error.to_string(), "key distribution (special");
}

#[test]
fn values_that_a_log_does_not_show_are_marked() {
    let (whole, mut cut) = (samples::imported(), samples::imported());
    let mut more = whole.clone();
    let option = OptionValue::Text("simple".to_owned());
    more.head
        .workload
        .options
        .push(("protocol".to_owned(), option));
    more.head
        .factors
        .insert("disk".to_owned(), "nvme".to_owned());
    cut.head.name = "cut".to_owned();
    let marked = |base: &RunRecord, new: &RunRecord| {
        let found = compare(&[base], &[new], &CompareOptions::default()).unwrap();
        let unrecorded = |what: &str| {
            let mut all = found.differences.iter();
            all.find(|one| one.what == what).unwrap().unrecorded
        };
        ["option protocol", "factor disk"].map(unrecorded)
    };
    assert_eq!(marked(&more, &cut), [true, true]);
    // A run of Dyno without the option has its default.
    let (mut base, new) = (samples::good(), samples::good());
    base.head.workload.options = more.head.workload.options;
    base.head.factors = more.head.factors;
    assert_eq!(marked(&base, &new), [false, false]);
}

#[test]
fn doubts_that_are_not_named_are_counted() {
    let mut run = samples::good();
    let doubt = |check: &str| samples::values::finding(check, 1, Outcome::Doubt, "");
    let evidence = |run: &RunRecord| {
        let found = compare(&[run], &[run], &CompareOptions::default()).unwrap();
        let mut findings = found.findings.into_iter();
        findings
            .find(|one| one.check == "runs-listed")
            .unwrap()
            .evidence
    };
    run.findings = vec![doubt("other-processes")];
    assert_has(&evidence(&run), "is doubtful (other-processes)");
    run.findings.push(doubt("length"));
    assert_has(&evidence(&run), "is doubtful (other-processes and 1 more)");
}

#[test]
fn the_rate_of_a_log_is_its_printed_total() {
    let mut log = samples::imported();
    // A slow end is in the total, but in no whole second.
    let rates = &mut log.summary.as_mut().unwrap().rates;
    (rates.events_per_s, rates.queries_per_s) = (398.0, Some(7_960.0));
    let found = compare(&[&log], &[&log], &CompareOptions::default()).unwrap();
    let value = |name: &str| found.metrics.iter().find(|one| one.is_called(name))?.new;
    assert_eq!(found.base.mean_per_s, Some(398.0));
    assert_eq!(
        (value("events"), value("statements")),
        (Some(398.0), Some(7_960.0))
    );
}

#[test]
fn two_unnamed_workloads_are_not_the_same() {
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
    let unknown = |base: &RunRecord, new: &RunRecord| {
        let found = compare(&[base], &[new], &CompareOptions::default()).unwrap();
        let mut doubts = found.findings.iter();
        assert!(
            doubts.any(|own| own.check == "environments" && own.outcome == Outcome::Doubt),
            "{:?}",
            found.findings
        );
        found.unknown_workloads.len()
    };
    assert_eq!(unknown(&base, &new), 2);
    new.head.workload.name = "orders".to_owned();
    assert_eq!(unknown(&base, &new), 1);
    assert_eq!(unknown(&new, &base), 1);
    assert_eq!(crate::level(&base, "workload"), None);
}

#[test]
fn counters_that_one_log_lacks_are_not_compared() {
    let run = |name: &str, seed: u64, unknown: &[&str]| {
        let mut run = samples::closed(
            &samples::noisy(30, 1000.0, 0.03, seed),
            samples::Product::Mysql,
        );
        run.head.name = name.to_owned();
        let gap = |what: &&str| samples::values::gap(what, "");
        run.not_observed = unknown.iter().map(gap).collect();
        run
    };
    let named = |base: &RunRecord, new: &RunRecord| {
        let found = compare(&[base], &[new], &CompareOptions::default()).unwrap();
        ["statements", "errors"].map(|name| {
            let mut metrics = found.metrics.iter();
            metrics.find(|one| one.is_called(name)).cloned()
        })
    };
    let whole = run("whole", 1, &[]);
    let without = run("without", 2, &["counters.queries", "errors"]);
    assert!(named(&whole, &run("other", 3, &[]))[0].is_some());
    for (base, new) in [(&whole, &without), (&without, &whole)] {
        assert!(named(base, new).iter().all(Option::is_none));
    }
    // Totals are known, the seconds are not.
    let mut totals = run("totals", 4, &["intervals.queries"]);
    totals.intervals.iter_mut().for_each(|interval| {
        (interval.counters.reads, interval.counters.writes) = (0, 0);
        (interval.counters.other, interval.printed) = (0, None);
    });
    let summary = totals.summary.as_mut().unwrap();
    (summary.totals.reads, summary.totals.writes) = (60_000, 0);
    summary.totals.other = 0;
    let per_s = 60_000.0 / summary.measured_s;
    let [statements, _] = named(&whole, &totals);
    let statements = statements.unwrap();
    assert_eq!(statements.new, Some(per_s));
    assert_eq!(statements.low, None);
}

#[test]
fn intervals_of_ten_seconds_have_no_median_second() {
    let tens = |seed: u64| {
        let mut run = samples::imported();
        run.head.name = format!("tens-{seed}");
        for (interval, number) in run.intervals.iter_mut().zip(1..) {
            (interval.at_s, interval.length_s) = (10.0 * f64::from(number), 10.0);
            interval.counters.events *= 10;
        }
        let length_s = 10.0 * run.intervals.len() as f64;
        let own = run.summary.as_mut().unwrap();
        (own.measured_s, own.elapsed_s) = (length_s, length_s);
        run
    };
    let seconds = samples::imported();
    let of = |base: &RunRecord, new: &RunRecord| {
        let found = compare(&[base], &[new], &CompareOptions::default()).unwrap();
        let mut all = found.metrics.into_iter();
        let median = all.find(|one| one.name == "events, median second").unwrap();
        let known = |value: Option<f64>| value.is_some();
        let sides = (
            known(found.base.median_per_s),
            known(found.new.median_per_s),
        );
        assert_eq!((known(median.base), known(median.new)), sides);
        (sides, known(median.ratio))
    };
    assert_eq!(of(&tens(1), &tens(2)), ((false, false), false));
    assert_eq!(of(&seconds, &tens(2)), ((true, false), false));
    assert!(of(&seconds, &seconds).0.0);
}
