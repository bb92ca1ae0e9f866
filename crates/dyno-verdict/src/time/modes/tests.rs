//! Explained and unexplained modes of latencies.

use dyno_core::finding::Outcome::{Doubt, NotChecked, Pass};
use dyno_core::finding::{Cause, Finding};
use dyno_core::record::{Operation, RunRecord, SessionShare};
use dyno_core::summary::EndpointSummary;
use dyno_samples::{self as samples, assert_has, assert_lacks, drop_fact, fact, series};

use crate::tests::{check, expect, judged, summary};

const EVENTS: u64 = 10_000;

/// Latencies about these means with these shares, with the usual noise.
fn latencies(run: &mut RunRecord, modes: &[(f64, f64)]) {
    let total = run.operations[0].total.as_mut().unwrap();
    total.service.reset();
    for (ms, share) in modes {
        for step in -20_i32..=20 {
            let off = f64::from(step) / 10.0;
            let weight = (-off * off / 2.0).exp() / 25.0;
            let ns = ms * 1e6 * (1.0 + 0.08 * off);
            let count = (EVENTS as f64 * share * weight) as u64;
            total.service.saturating_record_n(ns as u64, count);
        }
    }
}

fn of(modes: &[(f64, f64)], change: impl FnOnce(&mut RunRecord)) -> Finding {
    let mut run = samples::good();
    latencies(&mut run, modes);
    change(&mut run);
    judged(&run, "latency-modes")
}

#[test]
fn a_single_mode_passes() {
    expect("latency-modes", Pass, |_| {});
    for modes in [
        &[(3.0, 1.0)][..],
        // A rare slow part is the tail, and one that is twice as slow is one wait more.
        &[(3.0, 0.96), (60.0, 0.04)],
        &[(3.0, 0.5), (6.5, 0.5)],
        // A small pause is the scheduler's.
        &[(0.2, 0.5), (3.0, 0.5)],
    ] {
        let found = of(modes, |_| {});
        assert_eq!(found.outcome, Pass, "{}", found.evidence);
    }
    let few = of(&[], |_| {});
    assert_eq!(few.outcome, NotChecked);
    assert_has(&few.evidence, "Fewer than 500");
    check(&samples::imported(), "latency-modes", NotChecked);
}

#[test]
fn half_of_the_events_that_are_slower_are_named_with_their_share() {
    let found = of(&[(0.3, 0.5), (20.3, 0.5)], |_| {});
    assert_eq!(found.outcome, Doubt);
    for part in [
        "The events have two modes",
        "50 % take about 301 µs",
        "50 % about 20",
    ] {
        assert_has(&found.evidence, part);
    }
    let slow = found.numbers.iter().find(|it| it.name == "slow events");
    assert!((slow.unwrap().value.unwrap() - 50.0).abs() < 1.0);
}

#[test]
fn lock_waits_as_long_as_the_slow_events_are_named() {
    let of = |waiting: f64| {
        of(&[(0.3, 0.5), (20.3, 0.5)], |run| {
            series(run, "db.status.innodb_row_lock_time", &[waiting; 30]);
        })
    };
    let (long, short) = (of(1e3), of(0.01));
    assert_eq!((long.outcome, short.outcome), (Doubt, Doubt));
    let expected = "sessions waited for locks at a time on average";
    assert_has(&long.evidence, expected);
    assert_has(&long.advice, "isolation level");
    assert_lacks(&short.evidence, "locks");
    assert!(long.names(Cause::LockWaits) && !short.names(Cause::LockWaits));
}

#[test]
fn a_quota_that_is_used_up_as_often_makes_modes() {
    let of = |percent: f64| {
        of(&[(7.0, 0.4), (98.0, 0.6)], |run| {
            series(run, "server.cgroup.cpu_throttled", &[percent; 30]);
        })
    };
    assert!(of(56.0).names(Cause::Throttled));
    assert!(!of(5.0).names(Cause::Throttled));
}

#[test]
fn an_equal_share_of_events_explains_a_mode() {
    let modes = [(0.3, 0.7), (20.3, 0.3)];
    let writing = of(&modes, |run| {
        let totals = &mut summary(run).totals;
        totals.writes = totals.events * 3 / 10;
    });
    assert_eq!(writing.outcome, Pass, "{}", writing.evidence);
    assert_has(&writing.evidence, "as many events write");
    let reading = of(&modes, |run| {
        series(run, "db.status.innodb_buffer_pool_reads", &[350.0; 30]);
    });
    assert_eq!(reading.outcome, Pass, "{}", reading.evidence);
    assert_has(&reading.evidence, "from disk");
}

#[test]
fn a_mode_stays_undecided_if_others_may_have_missed_the_cache() {
    let of = |reads: f64| {
        of(&[(0.3, 0.7), (20.3, 0.3)], |run| {
            series(run, "db.status.innodb_buffer_pool_reads", &[reads; 30]);
            fact(run, "duet.one_server", "yes");
        })
    };
    let many = of(700.0);
    assert_eq!(many.outcome, NotChecked, "{}", many.evidence);
    assert_has(&many.evidence, "they include other load");
    let few = of(1.0);
    assert_eq!(few.outcome, Doubt, "{}", few.evidence);
}

#[test]
fn operations_are_looked_at_one_by_one() {
    let named = |run: &RunRecord, name: &str, ms: &[(f64, f64)]| {
        let mut other = run.clone();
        latencies(&mut other, ms);
        Operation {
            name: name.to_owned(),
            ..other.operations.remove(0)
        }
    };
    // Each has one mode, and all together have two.
    let found = of(&[(0.3, 0.5), (20.3, 0.5)], |run| {
        let both = [
            named(run, "look", &[(0.3, 1.0)]),
            named(run, "pay", &[(20.3, 1.0)]),
        ];
        run.operations.extend(both);
    });
    assert_eq!(found.outcome, Pass, "{}", found.evidence);
    let found = of(&[(0.3, 0.5), (20.3, 0.5)], |run| {
        let both = [
            named(run, "look", &[(0.3, 1.0)]),
            named(run, "pay", &[(0.3, 0.4), (20.3, 0.6)]),
        ];
        run.operations.extend(both);
    });
    assert_eq!(found.outcome, Doubt);
    assert_has(&found.evidence, "The operations pay");
}

#[test]
fn sessions_and_endpoints_that_are_slower_are_named() {
    let found = of(&[(0.3, 0.8), (20.3, 0.2)], |run| {
        let slow = |share: &mut SessionShare, ms: f64, events: u64| {
            (share.events, share.busy_s) = (events, ms / 1e3 * events as f64);
        };
        for share in &mut run.sessions {
            match share.session % 2 {
                0 => slow(share, 0.3, EVENTS / 10),
                _ => slow(share, 20.3, EVENTS / 40),
            }
        }
        let endpoint = |name: &str, queries| EndpointSummary {
            name: name.to_owned(),
            queries,
        };
        summary(run).endpoints = vec![
            endpoint("10.0.0.1:3306", 80_000),
            endpoint("10.0.0.2:3306", 20_000),
        ];
    });
    assert_eq!(found.outcome, Doubt);
    let expected = "they are those of 8 of 16 sessions, as many as the endpoint 10.0.0.2:3306 had";
    assert_has(&found.evidence, expected);
    assert_has(&found.advice, "endpoint");
}

#[test]
fn delayed_acknowledgements_are_named() {
    let counted = |run: &mut RunRecord, per_s: f64| {
        series(run, "host.tcp.delayed_acks", &[per_s; 30]);
    };
    let expected = "a pause of 40 ms, by which Linux delays an acknowledgement";
    let half = of(&[(0.3, 0.5), (41.0, 0.5)], |run| counted(run, 450.0));
    assert_eq!(half.outcome, Doubt);
    assert_has(&half.evidence, expected);
    assert_has(&half.evidence, "TCP_NODELAY on");
    assert_has(&half.advice, "TCP_NODELAY");
    let two = of(&[(0.3, 0.5), (82.0, 0.5)], |run| counted(run, 900.0));
    assert_has(&two.evidence, "2 pauses of 40 ms");
    // All events alike.
    let all = of(&[(41.5, 1.0)], |run| counted(run, 900.0));
    assert_eq!(all.outcome, Doubt, "{}", all.evidence);
    assert_has(&all.evidence, expected);
    // Equally long work that the kernel does not count is not such a pause.
    let busy = of(&[(41.5, 1.0)], |run| counted(run, 3.0));
    assert_eq!(busy.outcome, Pass, "{}", busy.evidence);
    let local = of(&[(0.3, 0.5), (41.0, 0.5)], |run| {
        counted(run, 450.0);
        drop_fact(run, "client.tcp_nodelay");
    });
    assert_lacks(&local.evidence, "Linux");
}
