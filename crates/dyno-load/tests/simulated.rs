//! Whole runs in simulated time: the real workers, timers, arrivals and merging, without waiting.
//! Results that a busy machine would blur are exact here.

#![allow(clippy::unwrap_used, clippy::panic)] // a broken test may well panic

mod common;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use common::*;
use dyno_core::clock::simulated::Simulation;
use dyno_core::plan::{Arrivals, Drive, LoadSchedule, OpenLoop, Scheduled};
use dyno_core::summary::RunEnd;
use dyno_load::{Progress, RunConfig, RunOutcome};

/// There is only one simulated time in a process.
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
    Some(OpenLoop::new(per_second, Arrivals::Constant))
}

/// Runs, and returns the events of each interval with the outcome.
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
fn an_open_loop_below_capacity_starts_events_on_time() {
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
    // An arrival due at the end of an interval is counted before it begins.
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
fn an_open_loop_above_capacity_queues_as_computed() {
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
    // The last one begun was due after three quarters of the time.
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

fn scheduled(text: &str, of: Scheduled) -> LoadSchedule {
    LoadSchedule::parse(text, of, None).unwrap()
}

#[test]
fn a_rate_schedule_offers_its_level_in_each_second() {
    let _simulated = simulate();
    let text = "10/s for 30s, 10/s..50/s over 40s, sine 10/s..40/s every 20s for 40s";
    let schedule = scheduled(text, Scheduled::Rate);
    let drive = Drive {
        sessions: 6,
        workers: 2,
        time: Some(Duration::from_secs(110)),
        warmup: Duration::from_secs(5),
        open_loop: open(schedule.mean()),
        schedule: Some(schedule.clone()),
        ..Drive::default()
    };
    // Six sessions serve 60 a second.
    let (events, outcome) = events_per_interval(drive, sleeps(100));
    assert_eq!((outcome.end, events.len()), (RunEnd::Completed, 110));
    for placed in schedule.placed() {
        let (from, to) = (placed.from_s as usize, placed.to_s as usize);
        let served: u64 = events[from..to].iter().sum();
        let due = placed.part.integral(placed.part.seconds);
        // Events in progress at either end count in the neighbouring part.
        assert!((served as f64 - due).abs() <= 6.0, "{placed:?}: {served}");
    }
    for (second, served) in events.iter().enumerate() {
        let due = schedule.mean_within(second as f64, second as f64 + 1.0);
        assert!((*served as f64 - due).abs() <= 6.0, "{second}: {served}");
    }
    assert_eq!(outcome.totals.latencies.response_ns_max, 100_000_000);
    let due = schedule.mean() * schedule.seconds();
    let begun = outcome.totals.counters.events + outcome.unfinished;
    assert!((begun as f64 - due).abs() <= 2.0, "{begun} of {due}");
    assert!(outcome.backlog_max <= 1, "{}", outcome.backlog_max);
}

#[test]
fn sessions_by_schedule_take_part_while_the_level_is_above_them() {
    let _simulated = simulate();
    let schedule = scheduled("2 for 20s, 6 for 20s, 1..4 over 40s", Scheduled::Sessions);
    let drive = Drive {
        sessions: 6,
        workers: 2,
        time: Some(Duration::from_secs(80)),
        warmup: Duration::from_secs(5),
        schedule: Some(schedule),
        ..Drive::default()
    };
    let (events, outcome) = events_per_interval(drive, sleeps(125));
    assert_eq!((outcome.end, events.len()), (RunEnd::Completed, 80));
    // Eight events a second each; an event in progress ends after its session leaves.
    let steps = [
        (0, 20, 2),
        (20, 40, 6),
        (40, 50, 1),
        (50, 60, 2),
        (60, 70, 3),
    ];
    for (from, to, sessions) in steps.into_iter().chain([(70, 80, 4)]) {
        let served: u64 = events[from..to].iter().sum();
        let exact = sessions * 8 * (to - from) as u64;
        assert!(served.abs_diff(exact) <= 6, "{from} to {to} s: {served}");
    }
    // An inactive session was not idle, and each ran as long as the level was above it.
    let by_session = |tid: usize| outcome.sessions.iter().find(|one| one.tid == tid as u32);
    for (tid, seconds) in [(0, 80), (1, 70), (2, 40), (3, 30), (4, 20), (5, 20)] {
        let own = by_session(tid).unwrap();
        assert!(own.events.abs_diff(seconds * 8) <= 2, "{tid}: {own:?}");
        assert!(own.idle.length_ns() < 1_000_000_000, "{tid}: {own:?}");
    }
}

#[test]
fn a_schedule_that_does_not_fit_its_run_is_refused() {
    let refused = |drive: Drive| match run_observed(without_server(drive), sleeps(1), |_| ()) {
        Err(error) => error.to_string(),
        Ok(outcome) => panic!("{outcome:?}"),
    };
    let sessions = Some(scheduled("2 for 1s, 4 for 1s", Scheduled::Sessions));
    let fitting = Drive {
        sessions: 4,
        time: Some(Duration::from_secs(2)),
        schedule: sessions,
        ..Drive::default()
    };
    let longer = Drive {
        time: Some(Duration::from_secs(3)),
        ..fitting.clone()
    };
    assert!(refused(longer).contains("add up to the length of the run"));
    let more = Drive {
        sessions: 5,
        ..fitting.clone()
    };
    assert!(refused(more).contains("the most of its schedule"));
    let closed = Drive {
        schedule: Some(scheduled("1/s for 2s", Scheduled::Rate)),
        ..fitting.clone()
    };
    assert!(refused(closed).contains("needs an open loop"));
    let both = Drive {
        open_loop: open(5.0),
        ..fitting
    };
    assert!(refused(both).contains("where the rate is the load"));
}
