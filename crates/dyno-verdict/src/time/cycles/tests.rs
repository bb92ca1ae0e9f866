//! Periodic work of the server, and runs that truncate it.

use dyno_core::finding::Finding;
use dyno_core::finding::Outcome::{Doubt, NotChecked, Pass};
use dyno_samples::{Product, assert_has, closed, noisy, series, setting};

use crate::tests::{expect, judged};

/// A PostgreSQL run with checkpoints that write at these seconds and cost this share of the rate.
fn with_checkpoints(seconds: usize, active: impl Fn(usize) -> bool, cost: f64) -> Finding {
    let mut rates = noisy(seconds, 1000.0, 0.04, 5);
    let mut written = vec![0.0; seconds];
    for second in (0..seconds).filter(|second| active(*second)) {
        rates[second] *= 1.0 - cost;
        written[second] = 800.0;
    }
    let mut run = closed(&rates, Product::Postgres);
    series(&mut run, "db.checkpointer.buffers_written", &written);
    setting(&mut run, "checkpoint_timeout", "5min");
    judged(&run, "whole-cycles")
}

#[test]
fn a_checkpoint_that_was_cut_is_a_doubt() {
    let cut = with_checkpoints(60, |second| second >= 42, 0.3);
    assert_eq!(cut.outcome, Doubt, "{}", cut.evidence);
    for part in ["1 checkpoint took 30 % of 60 s", "% lower meanwhile"] {
        assert_has(&cut.evidence, part);
    }
    // With many cycles, one more or less has no effect.
    let many = with_checkpoints(600, |second| second % 40 < 10, 0.25);
    assert_eq!(many.outcome, Pass, "{}", many.evidence);
    assert_has(&many.evidence, "15 checkpoints");
    let free = with_checkpoints(60, |second| second >= 42, 0.0);
    assert_eq!(free.outcome, Pass, "{}", free.evidence);
    assert_has(&free.evidence, "no lower");
}

#[test]
fn unobserved_checkpoints_are_not_judged() {
    let none = with_checkpoints(30, |_| false, 0.0);
    assert_eq!(none.outcome, NotChecked);
    assert_has(&none.evidence, "every 5min");
    let always = with_checkpoints(30, |_| true, 0.2);
    assert_eq!(always.outcome, NotChecked);
    assert_has(&always.evidence, "all the time");
    expect("whole-cycles", NotChecked, |_| {});
    let age = expect("whole-cycles", NotChecked, |run| {
        series(run, "db.status.innodb_buffer_pool_wait_free", &[0.0; 30]);
        series(run, "db.status.innodb_checkpoint_age", &[1e6; 30]);
        series(run, "db.status.innodb_checkpoint_max_age", &[8e7; 30]);
    });
    assert_has(&age.evidence, "of 76.3 MiB");
}
