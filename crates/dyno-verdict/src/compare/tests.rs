//! Comparisons of runs with known differences.

mod equivalence;
mod followers;
mod logs;
mod moved;
mod open_loops;
mod pooled;
mod ratios;
mod tables;

use dyno_core::finding::Outcome::{self, Doubt, NotChecked, Pass};
use dyno_core::finding::Verdict;
use dyno_core::record::{Profile, RunRecord, RunState};
use dyno_samples::{self as samples, Product, assert_has, closed, fact, noisy, open_loop, setting};

use crate::compare::{
    Basis, Better, CompareError, CompareOptions, Comparison, Metric, RunToRun, compare,
};

fn run(mean: f64, seed: u64) -> RunRecord {
    let mut run = closed(&noisy(60, mean, 0.05, seed), Product::Mysql);
    run.head.name = format!("run-{mean}-{seed}");
    started(&mut run, seed as f64);
    run
}

fn started(run: &mut RunRecord, at: f64) {
    run.summary.as_mut().unwrap().started_unix_s = Some(1_795_000_000.0 + at);
}

fn sides(base: &[RunRecord], new: &[RunRecord]) -> Comparison {
    sides_with(base, new, &CompareOptions::default())
}

fn sides_with(base: &[RunRecord], new: &[RunRecord], options: &CompareOptions) -> Comparison {
    compared(base, new, options).unwrap()
}

fn compared(
    base: &[RunRecord],
    new: &[RunRecord],
    options: &CompareOptions,
) -> Result<Comparison, CompareError> {
    let base: Vec<&RunRecord> = base.iter().collect();
    let new: Vec<&RunRecord> = new.iter().collect();
    compare(&base, &new, options)
}

fn metric<'a>(comparison: &'a Comparison, name: &str) -> &'a Metric {
    let found = comparison.metrics.iter().find(|metric| metric.name == name);
    found.unwrap_or_else(|| panic!("no metric {name}"))
}

fn outcome(comparison: &Comparison, number: u8) -> Outcome {
    let found = comparison
        .findings
        .iter()
        .find(|finding| finding.number == number);
    found.unwrap().outcome
}

fn figured(mut run: RunRecord, value: f64, unit: &str, better: Option<Better>) -> RunRecord {
    let figure = samples::values::figure("new orders committed", value, unit, better);
    run.summary.as_mut().unwrap().figures = vec![figure];
    run
}

#[test]
fn figures_of_the_workload_are_compared_where_all_runs_have_them() {
    let side = |values: [f64; 3], seed: u64| -> Vec<RunRecord> {
        let better = Some(Better::Higher);
        let of = |(number, value): (usize, f64)| {
            figured(
                run(1000.0, seed + number as u64),
                value,
                "per minute",
                better,
            )
        };
        values.into_iter().enumerate().map(of).collect()
    };
    let (base, new) = (
        side([6000.0, 6010.0, 5990.0], 1),
        side([3000.0, 3005.0, 2995.0], 4),
    );
    let comparison = sides(&base, &new);
    let orders = metric(&comparison, "new orders committed");
    assert_eq!((orders.base, orders.new), (Some(6000.0), Some(3000.0)));
    assert_eq!(orders.unit, "per minute");
    assert!(
        (orders.ratio.unwrap() - 0.5).abs() < 1e-9 && orders.significant,
        "{orders:?}"
    );
    // One run a side gives no interval.
    let alone = sides(&base[..1], &new[..1]);
    let orders = metric(&alone, "new orders committed");
    assert!(orders.low.is_none() && !orders.significant, "{orders:?}");
    for other in [
        figured(run(1000.0, 9), 5.0, "per second", Some(Better::Higher)),
        run(1000.0, 9),
    ] {
        let comparison = sides(&base, &[other]);
        let has_figure = comparison
            .metrics
            .iter()
            .any(|metric| metric.name == "new orders committed");
        assert!(!has_figure);
    }
    let neither = || figured(run(1000.0, 9), 5.0, "per table", None);
    let comparison = sides(&[neither()], &[neither()]);
    assert!(
        !comparison
            .metrics
            .iter()
            .any(|metric| metric.unit == "per table")
    );
}

#[test]
fn different_datasets_are_a_difference_and_varying_facts_are_not() {
    let of = |seed, dataset: &str, age: &str| {
        let mut run = run(1000.0, seed);
        fact(&mut run, "workload.dataset.fingerprint", dataset);
        fact(&mut run, "workload.dataset.seed", &seed.to_string());
        fact(&mut run, "workload.dataset.scale", "10");
        fact(&mut run, "run.workload.age", age);
        run
    };
    let comparison = sides(&[of(1, "aa", "5")], &[of(2, "bb", "9")]);
    let names: Vec<&str> = comparison
        .differences
        .iter()
        .map(|d| d.what.as_str())
        .collect();
    assert_eq!(names, ["workload.dataset.fingerprint"]);
    let difference = &comparison.differences[0];
    let sides = (difference.base.as_str(), difference.new.as_str());
    assert_eq!(sides, ("aa, seed 1", "bb, seed 2"));
    assert!(!difference.intended);
}

#[test]
fn a_loss_of_a_fifth_is_found_with_its_interval() {
    let comparison = sides(&[run(1000.0, 1)], &[run(800.0, 2)]);
    let events = metric(&comparison, "events");
    let (low, high) = (events.low.unwrap(), events.high.unwrap());
    assert!((events.ratio.unwrap() - 0.8).abs() < 0.03, "{events:?}");
    assert!(low < 0.8 && 0.8 < high && high - low < 0.08, "{events:?}");
    assert!((events.penalty.unwrap() - 0.2).abs() < 0.03, "{events:?}");
    assert!(events.significant && events.p.unwrap() < 1e-6);
    assert_eq!(events.better, Better::Higher);
    // In a closed loop a quarter less throughput means a quarter longer latencies.
    for name in [
        "latency, mean",
        "latency, p50",
        "latency, p95",
        "latency, p99",
    ] {
        let latency = metric(&comparison, name);
        assert!((latency.ratio.unwrap() - 1.25).abs() < 0.06, "{latency:?}");
        assert!(
            latency.low.unwrap() > 1.1 && latency.high.unwrap() < 1.4,
            "{latency:?}"
        );
        assert!(
            latency.significant && latency.penalty.is_none(),
            "{latency:?}"
        );
    }
    let cpu = metric(&comparison, "server CPU");
    assert!((cpu.ratio.unwrap() - 1.25).abs() < 0.03, "{cpu:?}");
    assert!(cpu.low.is_some() && cpu.significant, "{cpu:?}");
    let longest = metric(&comparison, "latency, maximum");
    assert!(longest.low.is_none() && longest.remark.contains("no interval"));
    assert_eq!(comparison.basis, Basis::WithinRuns);
}

#[test]
fn runs_of_the_same_show_no_effect() {
    let mut wrong = 0;
    for seed in 0..12 {
        let comparison = sides(&[run(1000.0, 2 * seed)], &[run(1000.0, 2 * seed + 1)]);
        wrong += usize::from(comparison.metrics.iter().any(|metric| metric.significant));
    }
    // The significance level allows one in twenty, shared by a dozen correlated metrics.
    assert!(wrong <= 2, "{wrong}");
}

#[test]
fn several_runs_a_side_bring_their_own_variance() {
    let base: Vec<_> = (0..4)
        .map(|i| run(1000.0 + 60.0 * i as f64, 2 * i))
        .collect();
    let new: Vec<_> = (0..4)
        .map(|i| run(1040.0 + 60.0 * i as f64, 2 * i + 1))
        .collect();
    let comparison = sides(&base, &new);
    assert_eq!(comparison.basis, Basis::BetweenRuns);
    let events = metric(&comparison, "events");
    // The runs of one side differ by more than the sides do.
    assert!(!events.significant, "{events:?}");
    assert!(
        events.high.unwrap() - events.low.unwrap() > 0.15,
        "{events:?}"
    );
    assert_eq!(outcome(&comparison, 44), Pass);
    assert_eq!(outcome(&comparison, 43), Pass);
    assert_eq!(outcome(&comparison, 47), Pass);
    let within = sides(&base[..1], &new[..1]);
    assert_eq!(outcome(&within, 44), Doubt);
    assert_eq!(outcome(&within, 43), NotChecked);
}

#[test]
fn one_side_after_the_other_is_reported() {
    let base: Vec<_> = (0..3).map(|i| run(1000.0, i)).collect();
    let new: Vec<_> = (3..6).map(|i| run(1000.0, i)).collect();
    assert_eq!(outcome(&sides(&base, &new), 43), Doubt);
}

#[test]
fn an_effect_below_the_hosts_own_variance_does_not_count() {
    let options = CompareOptions {
        run_to_run: Some(RunToRun {
            deviation: 0.08,
            runs: 10,
            when_unix_s: 1_795_000_000.0,
        }),
        ..CompareOptions::default()
    };
    let comparison = sides_with(&[run(1000.0, 1)], &[run(900.0, 2)], &options);
    let events = metric(&comparison, "events");
    assert!(
        !events.significant && events.remark.starts_with("smaller"),
        "{events:?}"
    );
    assert_eq!(outcome(&comparison, 44), Pass);
    let large = sides_with(&[run(1000.0, 1)], &[run(600.0, 2)], &options);
    assert!(metric(&large, "events").significant);
}

#[test]
fn percentiles_come_from_merged_distributions() {
    // A side of a fast and a slow run: the mean of their medians is the median of neither.
    let base = [run(2000.0, 1), run(500.0, 2)];
    let comparison = sides(&base, &[run(1000.0, 3)]);
    let median = metric(&comparison, "latency, p50").base.unwrap();
    let own = |run: &RunRecord| run.summary.as_ref().unwrap().service.percentiles[0].value_ms;
    let (fast, slow) = (own(&base[0]).unwrap(), own(&base[1]).unwrap());
    assert!(
        median >= fast && median < f64::midpoint(fast, slow) * 0.7,
        "{median} {fast} {slow}"
    );
    assert_eq!(outcome(&comparison, 48), Pass);
}

#[test]
fn stalls_are_shown_next_to_mean_and_median() {
    let mut rates = noisy(60, 1000.0, 0.03, 4);
    rates[20..26].fill(0.0);
    let stalled = closed(&rates, Product::Mysql);
    let side = sides(&[run(1000.0, 1)], &[stalled]).new;
    assert_eq!((side.stalled_s, side.stalls), (Some(6.0), Some(1)));
    assert!(side.mean_per_s.unwrap() < side.median_per_s.unwrap() * 0.95);
}

#[test]
fn differences_are_listed_and_doubted_unless_declared() {
    let mut new = run(900.0, 2);
    setting(&mut new, "sync_binlog", "0");
    setting(&mut new, "gtid_binlog_pos", "0-1-999");
    setting(&mut new, "port", "3307");
    fact(&mut new, "host.others.top", "cc1 (9) 0.2 cores");
    let comparison = sides(&[run(1000.0, 1)], std::slice::from_ref(&new));
    let names: Vec<_> = comparison
        .differences
        .iter()
        .map(|d| d.what.as_str())
        .collect();
    assert_eq!(names, ["setting sync_binlog"]);
    assert_eq!(outcome(&comparison, 42), Doubt);
    // A different number of sessions on the command line counts as declared.
    let mut sessions = run(900.0, 2);
    sessions.head.drive.as_mut().unwrap().sessions = 32;
    assert_eq!(outcome(&sides(&[run(1000.0, 1)], &[sessions]), 42), Pass);
    fact(&mut new, "host.kernel", "6.2.0");
    new.head.drive.as_mut().unwrap().sessions = 32;
    let both = sides(&[run(1000.0, 1)], std::slice::from_ref(&new));
    assert_eq!(outcome(&both, 42), Doubt);
    let options = CompareOptions {
        intended: ["sync_binlog", "host.kernel", "Sessions"]
            .map(str::to_owned)
            .into(),
        ..CompareOptions::default()
    };
    let declared = sides_with(&[run(1000.0, 1)], &[new], &options);
    assert!(
        declared
            .differences
            .iter()
            .all(|difference| difference.intended)
    );
    assert_eq!(declared.differences.len(), 3);
    assert_eq!(outcome(&declared, 42), Pass);
}

/// The settings of an experiment's levels are intended, but only between different levels.
#[test]
fn settings_that_a_factor_changes_are_intended() {
    let level = |mean: f64, seed: u64, level: &str, value: &str| {
        let mut run = run(mean, seed);
        setting(&mut run, "sync_binlog", value);
        run.head
            .factors
            .insert("binlog".to_owned(), level.to_owned());
        let plan = run.head.plan.as_mut().unwrap();
        plan.record.varied = vec!["sync_".to_owned()];
        run
    };
    let judged = |new: RunRecord| outcome(&sides(&[level(1000.0, 1, "durable", "1")], &[new]), 42);
    assert_eq!(judged(level(1000.0, 2, "fast", "0")), Pass);
    assert_eq!(judged(level(1000.0, 2, "durable", "0")), Doubt);
}

#[test]
fn figures_of_another_meaning_are_refused() {
    let base = [run(1000.0, 1)];
    let options = CompareOptions::default();
    let refused = |new: RunRecord| compared(&base, &[new], &options).unwrap_err();
    let mut reference = run(1000.0, 2);
    reference.head.profile = Profile::Reference;
    assert!(matches!(refused(reference), CompareError::Profiles { .. }));
    let mut other = run(1000.0, 2);
    other.head.workload.name = "tpcc.lua".to_owned();
    let error = refused(other.clone());
    assert_has(&error.to_string(), "oltp_read_write and tpcc");
    let insist = CompareOptions {
        other_workload: true,
        ..CompareOptions::default()
    };
    assert!(compared(&base, &[other], &insist).is_ok());
    let mut renamed = run(1000.0, 2);
    renamed.operations[0].name = "NEW_ORDER".to_owned();
    assert!(matches!(refused(renamed), CompareError::Operations { .. }));
    assert!(matches!(
        refused(open_loop(30, 500.0, 1)),
        CompareError::Loops { .. }
    ));
    let mut empty = run(1000.0, 2);
    empty.summary.as_mut().unwrap().totals.events = 0;
    assert!(matches!(refused(empty), CompareError::NoEvents(_)));
    let none = compared(&base, &[], &options).unwrap_err();
    assert_eq!(none, CompareError::NoRuns("new"));
}

#[test]
fn logs_are_compared_by_their_printed_figures() {
    let comparison = sides(&[samples::imported()], &[samples::imported()]);
    let printed = metric(&comparison, "latency, p95");
    assert_eq!(printed.ratio, Some(1.0));
    assert!(
        printed.low.is_none() && printed.remark.contains("printed"),
        "{printed:?}"
    );
    assert!(metric(&comparison, "latency, p99").base.is_none());
    assert!(metric(&comparison, "events").low.is_some());
    assert!(metric(&comparison, "server CPU").base.is_none());
    let (mut other, mut third) = (samples::imported(), samples::imported());
    other.head.name += "-2";
    third.head.name += "-3";
    let two = sides(&[samples::imported(), other], &[third]);
    assert!(metric(&two, "latency, p95").base.is_none());
}

#[test]
fn a_run_counts_once() {
    let again = || run(1000.0, 1);
    let options = CompareOptions::default();
    let twice = |base: &[RunRecord], new: &[RunRecord]| {
        let error = compared(base, new, &options).unwrap_err();
        assert_has(&error.to_string(), "is given twice");
    };
    twice(&[again(), again()], &[run(1000.0, 2)]);
    twice(&[again(), run(1000.0, 2)], &[run(1000.0, 3), again()]);
    // A run does not differ from itself.
    assert!(compared(&[again()], &[again()], &options).is_ok());
}

#[test]
fn runs_of_one_side_are_repetitions_of_each_other() {
    let with = |sessions: u32, seed: u64| {
        let mut run = run(1000.0, seed);
        if let Some(drive) = &mut run.head.drive {
            drive.sessions = sessions;
        }
        if let Some(drive) = run.summary.as_mut().and_then(|run| run.drive.as_mut()) {
            drive.sessions = sessions;
        }
        run
    };
    let error = compared(
        &[with(1, 1), with(8, 2), with(32, 3)],
        &[with(8, 4)],
        &CompareOptions::default(),
    );
    let error = error.unwrap_err().to_string();
    assert_has(&error, "sessions (1 and 8)");
    let mut plain = with(1, 6);
    plain.head.plan.as_mut().unwrap().driver.prepare_on_server = false;
    let error = compared(
        &[with(1, 1), plain],
        &[with(1, 4)],
        &CompareOptions::default(),
    );
    let error = error.unwrap_err().to_string();
    assert_has(&error, "statements (prepared");
    // A run of an old version has no plan.
    let mut old = with(1, 7);
    old.head.plan = None;
    let sides = compared(
        &[with(1, 1), old],
        &[with(1, 4)],
        &CompareOptions::default(),
    );
    assert!(sides.is_ok(), "{sides:?}");
    // Different kinds on the two sides are allowed, and a different length is not another kind.
    let mut longer = with(8, 5);
    if let Some(drive) = &mut longer.head.drive {
        drive.time = Some(std::time::Duration::from_secs(120));
    }
    let sides = compared(
        &[with(1, 1), with(1, 2)],
        &[with(8, 3), longer],
        &CompareOptions::default(),
    );
    assert!(sides.is_ok(), "{sides:?}");
}

#[test]
fn runs_that_were_refused_are_named() {
    let mut refused = run(900.0, 2);
    refused.verdict = Some(Verdict::Refused);
    let comparison = sides(&[run(1000.0, 1)], &[refused]);
    // A gate must not accept it.
    assert_eq!(outcome(&comparison, 50), Outcome::Refuse);
    let mut failed = run(900.0, 4);
    failed.state = RunState::Failed;
    assert_eq!(outcome(&sides(&[run(1000.0, 1)], &[failed]), 50), Doubt);
    assert_eq!(
        outcome(&sides(&[run(1000.0, 1)], &[run(900.0, 3)]), 50),
        Pass
    );
    assert_eq!(comparison.findings.len(), 9);
}

#[test]
fn errors_on_one_side_alone_have_no_ratio() {
    let mut failing = run(1000.0, 2);
    for interval in &mut failing.intervals {
        interval.counters.errors = 12;
    }
    failing.summary.as_mut().unwrap().totals.errors = 720;
    let comparison = sides(&[run(1000.0, 1)], &[failing]);
    let errors = metric(&comparison, "errors");
    assert_eq!((errors.base, errors.ratio), (Some(0.0), None));
    assert_has(&errors.remark, "none on the base side");
}

#[test]
fn another_class_of_durability_is_a_difference_between_families() {
    let mut base = run(1000.0, 1);
    let mut new = closed(&noisy(60, 1000.0, 0.05, 2), Product::Postgres);
    let class = |base: &RunRecord, new: &RunRecord| {
        let both = sides(std::slice::from_ref(base), std::slice::from_ref(new));
        let found = both
            .differences
            .into_iter()
            .find(|difference| difference.what == "durability class");
        found.map(|difference| (difference.base, difference.new))
    };
    assert_eq!(class(&base, &new), None);
    setting(&mut new, "synchronous_commit", "off");
    let durable = "each commit durable".to_owned();
    let expected = (durable, "lost on process crash".to_owned());
    assert_eq!(class(&base, &new), Some(expected));
    // Another server decides.
    let mut foreign = new.clone();
    let far = "db.tables.used_elsewhere[foreign]";
    fact(&mut foreign, far, "other.far");
    assert_eq!(class(&base, &foreign), None);
    setting(&mut base, "innodb_flush_log_at_trx_commit", "0");
    assert_eq!(class(&base, &new), None);
    base.settings.clear();
    assert_eq!(class(&base, &new), None);
}
