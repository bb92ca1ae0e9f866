//! Whole runs in simulated time: the real workers, timers, arrivals and merging, and no second
//! waited for. What a busy machine blurs otherwise is exact here.

#![allow(clippy::unwrap_used)] // a broken test may well panic

mod common;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use common::*;
use dyno_core::clock::simulated::Simulation;
use dyno_core::plan::{Arrivals, Drive, OpenLoop};
use dyno_core::summary::RunEnd;
use dyno_load::{Progress, RunConfig, RunOutcome};

/// There is one simulated time in a process.
fn simulate() -> (Simulation, MutexGuard<'static, ()>) {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    (Simulation::begin(7_000_000_000).unwrap(), turn)
}

fn without_server(drive: Drive) -> RunConfig {
    RunConfig {
        connector: None,
        ..config(drive, Server::default())
    }
}

fn sleeps(ms_each: u64) -> Behaviour {
    Behaviour {
        sleeps: ms(ms_each),
        ..Behaviour::default()
    }
}

fn open(per_second: f64) -> Option<OpenLoop> {
    Some(OpenLoop {
        per_second,
        arrivals: Arrivals::Constant,
    })
}

/// Runs, and answers the events of each interval beside what came of it.
fn events_per_interval(drive: Drive, behaviour: Behaviour) -> (Vec<u64>, RunOutcome) {
    let mut events = Vec::new();
    let outcome = run_observed(without_server(drive), behaviour, |progress| {
        if let Progress::Interval(interval) = progress {
            assert_eq!(interval.index, events.len() as u64);
            assert_eq!(interval.states.running(), 6);
            events.push(interval.counters.events);
        }
    });
    (events, outcome.unwrap())
}

#[test]
fn every_second_of_a_closed_loop_is_the_same() {
    let _simulated = simulate();
    let drive = Drive {
        sessions: 6,
        workers: 2,
        time: Some(Duration::from_secs(900)),
        warmup: Duration::from_secs(60),
        ..Drive::default()
    };
    let (events, outcome) = events_per_interval(drive, sleeps(125));
    assert_eq!(outcome.end, RunEnd::Completed);
    assert_eq!(events.len(), 900);
    // An event that ends with the interval may count in either.
    let sum: u64 = events.iter().sum();
    let exact = 6 * 8 * 900;
    assert!(sum.abs_diff(exact) <= 6, "{sum}");
    assert!(events.iter().all(|count| count.abs_diff(48) <= 6));
    let latencies = &outcome.totals.latencies;
    assert_eq!(latencies.service_ns_min, 125_000_000);
    assert_eq!(latencies.service_ns_max, 125_000_000);
    assert_eq!(outcome.unfinished, 0);
}

#[test]
fn what_an_open_loop_can_serve_begins_when_it_is_due() {
    let _simulated = simulate();
    let drive = Drive {
        sessions: 6,
        workers: 3,
        time: Some(Duration::from_secs(400)),
        open_loop: open(40.0),
        ..Drive::default()
    };
    // Six sessions serve 60 a second.
    let (events, outcome) = events_per_interval(drive, sleeps(100));
    assert_eq!(events.len(), 400);
    let totals = &outcome.totals;
    assert_eq!(totals.counters.events + outcome.unfinished, 40 * 400);
    // One that is due as an interval ends is counted before it begins.
    assert!(
        outcome.backlog == 0 && outcome.backlog_max <= 1,
        "{outcome:?}"
    );
    assert_eq!(totals.latencies.response_ns_min, 100_000_000);
    assert_eq!(
        totals.latencies.response_ns_sum,
        totals.latencies.service_ns_sum
    );
}

#[test]
fn what_it_cannot_serve_waits_as_long_as_arithmetic_says() {
    let _simulated = simulate();
    let drive = Drive {
        sessions: 6,
        workers: 1,
        time: Some(Duration::from_secs(300)),
        open_loop: open(80.0),
        ..Drive::default()
    };
    // Six sessions serve 60 of 80 a second: 20 more wait with each.
    let (events, outcome) = events_per_interval(drive, sleeps(100));
    let served = outcome.totals.counters.events;
    assert!(served.abs_diff(60 * 300) <= 6, "{served}");
    assert_eq!(served + outcome.backlog + outcome.unfinished, 80 * 300);
    assert!(
        outcome.backlog.abs_diff(20 * 300) <= 12,
        "{}",
        outcome.backlog
    );
    assert!(events.iter().all(|count| count.abs_diff(60) <= 6));
    // The last one begun was due when three quarters of the time were over.
    let longest = outcome.totals.latencies.response_ns_max;
    assert!(
        longest.abs_diff(75_000_000_000) < 1_000_000_000,
        "{longest}"
    );
}

#[test]
fn events_that_outlive_the_grace_are_unfinished() {
    let _simulated = simulate();
    let drive = Drive {
        sessions: 6,
        workers: 2,
        time: Some(Duration::from_secs(25)),
        grace: Duration::from_secs(3),
        ..Drive::default()
    };
    let (events, outcome) = events_per_interval(drive, sleeps(10_000));
    // They end at 10 and 20 s; the third would at 30, two seconds after the grace.
    assert_eq!(events.iter().sum::<u64>(), 12);
    assert_eq!((events[9] + events[10], events[19] + events[20]), (6, 6));
    assert_eq!(outcome.unfinished, 6);
    assert_eq!(
        outcome.measured_end - outcome.measured_start,
        25_000_000_000
    );
}
