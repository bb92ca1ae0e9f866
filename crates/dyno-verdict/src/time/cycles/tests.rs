//! Periodic work of the server, and runs that truncate it.

use dyno_core::finding::Outcome::{Doubt, NotChecked, Pass};
use dyno_core::finding::{Cause, Finding};
use dyno_samples::{Product, assert_has, closed, noisy, series, setting};

use super::cycles;
use crate::Context;
use crate::check::CheckResult;
use crate::tests::{expect, judged};
use crate::view::View;

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

/// The result of this check alone, with a backup in these samples.
fn with_backup(rates: &[f64], samples: std::ops::Range<usize>) -> CheckResult {
    let mut run = closed(rates, Product::Mysql);
    let mut seen = vec![0.0; rates.len()];
    seen[samples].fill(1.0);
    series(&mut run, "db.backups", &seen);
    cycles(&View::new(&run, &Context::default()))
}

#[test]
fn a_backup_that_lowers_the_rate_is_a_doubt() {
    let rates = [
        1984.0, 1686.0, 1717.0, 1859.0, 1155.0, 924.0, 753.0, 848.0, 893.0, 972.0, 1026.0, 892.0,
        1135.0, 1866.0,
    ];
    // Seen from 4 s to 12 s, and no longer at 13 s.
    let found = with_backup(&rates, 3..12);
    assert_eq!(found.outcome, Doubt, "{}", found.evidence);
    let expected = "A backup ran from 4 s to 13 s: the rate was 955/s during the backup and \
                    1,822/s otherwise.";
    assert_eq!(found.evidence, expected);
    assert!(found.names(Cause::Backup));
    // Without an effect, it does not matter.
    let free = with_backup(&noisy(30, 1000.0, 0.04, 3), 10..20);
    assert_eq!(free.outcome, NotChecked, "{}", free.evidence);
    assert!(!free.names(Cause::Backup));
}
