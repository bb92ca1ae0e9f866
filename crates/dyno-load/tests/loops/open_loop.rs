//! An open loop: arrivals do not wait for sessions.

use crate::common::*;
use dyno_core::plan::{Arrivals, Drive, OpenLoop};
use dyno_core::summary::RunEnd;
use dyno_load::{Progress, RunOutcome};

fn drive(per_second: f64, arrivals: Arrivals, sessions: u32, workers: u32) -> Drive {
    Drive {
        sessions,
        workers,
        time: Some(ms(400)),
        open_loop: Some(OpenLoop::new(per_second, arrivals)),
        ..Drive::default()
    }
}

/// Every due arrival has ended, had not begun, or was in progress at the end.
fn accounted(outcome: &RunOutcome) -> u64 {
    outcome.totals.counters.events + outcome.backlog + outcome.unfinished
}

#[test]
fn every_arrival_below_capacity_is_served_and_both_latencies_are_recorded() {
    let behaviour = Behaviour::of(b"r");
    let drive = drive(500.0, Arrivals::Constant, 8, 2);
    let mut running = Vec::new();
    let outcome = run_observed(config(drive, Server::default()), behaviour, |progress| {
        if let Progress::Interval(interval) = progress {
            running.push(interval.states.running());
        }
    })
    .unwrap();
    // Sessions stay until the deadline, though the last arrival comes before it.
    assert_eq!(running, [8]);
    assert_eq!(outcome.measured_end - outcome.measured_start, 400_000_000);
    assert_eq!(accounted(&outcome), 200);
    assert!(outcome.totals.counters.events >= 150, "{outcome:?}");
    let latencies = &outcome.totals.latencies;
    assert_eq!(latencies.service.len(), outcome.totals.counters.events);
    assert_eq!(latencies.response.len(), latencies.service.len());
    assert!(latencies.response_ns_sum >= latencies.service_ns_sum);
    assert!(latencies.response_ns_min >= latencies.service_ns_min);
    let lag = outcome.pacing_lag.unwrap();
    assert!(!lag.service.is_empty() && lag.service.len() <= latencies.service.len());
}

#[test]
fn a_rate_above_capacity_builds_a_backlog_and_is_not_fatal() {
    let behaviour = Behaviour::burning(ms(5));
    let drive = Drive {
        interval: ms(100),
        ..drive(2000.0, Arrivals::Constant, 2, 1)
    };
    let mut backlogs = Vec::new();
    let outcome = run_observed(config(drive, Server::default()), behaviour, |progress| {
        if let Progress::Interval(interval) = progress {
            backlogs.push(interval.backlog);
        }
    })
    .unwrap();
    assert_eq!(outcome.end, RunEnd::Completed);
    // A worker burns 5 ms per event, so at most 80 of 800 arrivals begin in 400 ms.
    assert_eq!(accounted(&outcome), 800);
    assert!(outcome.backlog >= 700, "backlog {}", outcome.backlog);
    // When the last event began, or at the end.
    let more = outcome.backlog_max - outcome.backlog;
    assert!(more <= 1, "{more}");
    assert!(backlogs.is_sorted() && backlogs.len() == 4, "{backlogs:?}");
    let latencies = &outcome.totals.latencies;
    assert!(latencies.response_ns_sum > 2 * latencies.service_ns_sum);
    // No session was free when an arrival was due, except for the first ones.
    assert!(outcome.pacing_lag.unwrap().service.len() <= 3);
}

#[test]
fn arrivals_of_the_warm_up_are_left_out() {
    let drive = Drive {
        warmup: ms(100),
        ..drive(1000.0, Arrivals::Constant, 4, 2)
    };
    let outcome = run(config(drive, Server::default()), Behaviour::default()).unwrap();
    // The last of them may begin late and is then measured; on a busy machine a few more.
    let before = outcome.warmup.events;
    assert!((50..=100).contains(&before), "{before} in the warm-up");
    assert_eq!(outcome.warmup.events + accounted(&outcome), 500);
}

#[test]
fn the_backlog_of_the_warm_up_is_served_in_the_measurement() {
    let behaviour = Behaviour::burning(ms(5));
    let drive = Drive {
        warmup: ms(200),
        ..drive(2000.0, Arrivals::Constant, 2, 1)
    };
    let outcome = run(config(drive, Server::default()), behaviour).unwrap();
    // A worker that burns 5 ms per event serves 120 in 600 ms, and 400 were due in the warm-up.
    let events = outcome.totals.counters.events;
    assert!(events > 0 && outcome.warmup.events > 0, "{outcome:?}");
    assert_eq!(outcome.warmup.events + accounted(&outcome), 1200);
    // They have waited since they were due.
    let latencies = &outcome.totals.latencies;
    assert!(
        latencies.response_ns_min > latencies.service_ns_max,
        "{outcome:?}"
    );
}

#[test]
fn the_events_limit_counts_arrivals() {
    let drive = Drive {
        events: Some(123),
        time: None,
        warmup: ms(20),
        ..drive(5000.0, Arrivals::Poisson, 7, 3)
    };
    let outcome = run(config(drive, Server::default()), Behaviour::default()).unwrap();
    assert_eq!(outcome.totals.counters.events, 123);
    assert_eq!(outcome.backlog, 0);
    assert_eq!(outcome.end, RunEnd::Completed);
}

#[test]
fn code_that_cannot_yield_is_paced_too() {
    let behaviour = Behaviour {
        blocks: true,
        ..Behaviour::default()
    };
    let drive = drive(250.5, Arrivals::Constant, 1, 1);
    let outcome = run(config(drive, Server::default()), behaviour).unwrap();
    assert_eq!(accounted(&outcome), 101);
    assert!(outcome.totals.counters.events >= 50);
}

#[test]
fn a_seed_fixes_the_arrivals() {
    let count = |seed| {
        let drive = Drive {
            seed,
            ..drive(1000.0, Arrivals::Poisson, 4, 1)
        };
        let outcome = run(config(drive, Server::default()), Behaviour::default()).unwrap();
        accounted(&outcome)
    };
    // The arrivals within 400 ms after the start are the same for any sessions.
    assert_eq!(count(1), count(1));
}
