//! Runs with and without a level rate: trends, falls, spells, and quiet short runs.

use dyno_core::finding::Outcome::{Doubt, NotChecked};
use dyno_samples::{assert_begins, assert_has, noisy};

use super::tests::rated;
use crate::tests::{check, judged};

#[test]
fn a_growing_table_drifts_from_its_beginning_on() {
    let noise = noisy(20, 1.0, 0.1, 8);
    let rates: Vec<f64> = (0..20)
        .map(|s| 3593.0 / (1.0 + 3.3 * s as f64).sqrt() * noise[s])
        .collect();
    let found = check(&rated(&rates), "steady-state", Doubt);
    for part in ["The rate drifts.", "drifts by -8", "most of it at first"] {
        assert_has(&found.evidence, part);
    }
    check(&rated(&rates), "warm-up", NotChecked);
    // `warm-up` reports a low rate that ends with the beginning.
    let mut rates = noisy(30, 1000.0, 0.04, 5);
    rates[..3].fill(200.0);
    check(&rated(&rates), "warm-up", Doubt);
    let early = judged(&rated(&rates), "steady-state");
    assert_ne!(early.outcome, Doubt, "{}", early.evidence);
}

#[test]
fn a_collapse_is_a_doubt_and_at_most_100_percent() {
    // The rate collapses to the end or recovers, with and without enough events for `stalls`.
    for level in [1000.0, 10.0] {
        for (from, to) in [(7, 12), (4, 9)] {
            let mut rates = noisy(12, level, 0.08, 3);
            rates[from..to].iter_mut().for_each(|rate| *rate *= 0.01);
            let run = rated(&rates);
            let findings = ["steady-state", "stalls"].map(|name| judged(&run, name));
            let doubts = findings.iter().filter(|found| found.outcome == Doubt);
            assert_eq!(doubts.count(), 1, "{level} {from}: {findings:?}");
            let numbers = findings[0].numbers.iter();
            let drifts = numbers.filter(|number| number.name.starts_with("drift"));
            let least = drifts.filter_map(|drift| drift.value).fold(0.0, f64::min);
            assert!(least >= -100.0, "{findings:?}");
        }
    }
}

#[test]
fn costly_low_spells_are_not_steady() {
    let mut rates = noisy(120, 1000.0, 0.05, 5);
    for second in (0..120).filter(|second| second % 40 > 34) {
        rates[second] *= 0.4;
    }
    let found = check(&rated(&rates), "steady-state", Doubt);
    assert_begins(&found.evidence, "The rate falls by 6");
    assert_has(&found.evidence, "3 times, for 15 s together, which costs 7");
    // Any host has one or two low seconds.
    let mut rates = noisy(60, 1000.0, 0.05, 5);
    rates[20..22].fill(500.0);
    let found = judged(&rated(&rates), "steady-state");
    assert_ne!(found.outcome, Doubt, "{}", found.evidence);
}

#[test]
fn few_long_intervals_show_a_fall() {
    let levels = [
        4800.0, 4700.0, 4600.0, 4500.0, 2500.0, 1900.0, 1920.0, 1925.0,
    ];
    for cut in [0, 1] {
        // Each of these intervals is thirty seconds long.
        let seconds: Vec<f64> = (levels[cut..].iter())
            .flat_map(|rate| [*rate; 30])
            .collect();
        let mut run = rated(&seconds);
        let each = run.intervals.chunks_exact(30).map(|chunk| {
            let mut whole = chunk[0].clone();
            whole.at_s = chunk[29].at_s;
            whole.length_s = 30.0;
            chunk[1..]
                .iter()
                .for_each(|one| whole.counters.merge(&one.counters));
            whole
        });
        run.intervals = each.collect();
        let found = judged(&run, "steady-state");
        assert_eq!(found.outcome, Doubt, "{cut}: {}", found.evidence);
    }
}

/// A valid run of twelve seconds: the allowed variation.
#[test]
fn quiet_short_runs_are_long_enough() {
    let outcomes = (0..20).map(|seed| {
        let run = rated(&noisy(12, 1000.0, 0.1, seed));
        judged(&run, "length").outcome
    });
    let doubts = outcomes.filter(|outcome| *outcome == Doubt).count();
    assert!(doubts <= 2, "{doubts} of 20");
}
