//! Roles: background sessions with their own paces.

use crate::common::*;
use dyno_core::plan::{Arrivals, Drive, OpenLoop, Pace, Role};
use dyno_core::summary::RunEnd;
use dyno_load::RunOutcome;

fn role(name: &str, sessions: u32, background: bool, pace: Option<Pace>) -> Role {
    Role {
        name: name.to_owned(),
        sessions,
        background,
        unit: "events".to_owned(),
        per_event: 1.0,
        pace,
    }
}

fn pace(per_second: f64, each: bool, skip_after_s: Option<f64>) -> Option<Pace> {
    Some(Pace {
        arrivals: OpenLoop::new(per_second, Arrivals::Constant),
        each,
        skip_after_s,
    })
}

fn drive(roles: Vec<Role>) -> Drive {
    Drive {
        sessions: roles.iter().map(|role| role.sessions).sum(),
        workers: 2,
        time: Some(ms(400)),
        roles,
        ..Drive::default()
    }
}

fn reads() -> Behaviour {
    Behaviour::of(b"r")
}

fn by_session(outcome: &RunOutcome) -> Vec<u64> {
    outcome
        .sessions
        .iter()
        .map(|session| session.events)
        .collect()
}

#[test]
fn background_events_are_counted_apart_and_keep_their_pace() {
    let roles = vec![
        role("together", 2, true, pace(100.0, false, None)),
        role("each", 3, true, pace(50.0, true, None)),
        role("work", 2, false, None),
    ];
    let outcome = run(config(drive(roles), Server::default()), reads()).unwrap();
    assert_eq!(outcome.end, RunEnd::Completed);
    let roles = &outcome.totals.roles;
    // Arrivals of 400 ms at constant gaps, the first at once.
    assert!((30..=40).contains(&roles[0].events), "{roles:?}");
    assert!((45..=60).contains(&roles[1].events), "{roles:?}");
    let each = &by_session(&outcome)[2..5];
    assert!(
        each.iter().all(|events| (15..=20).contains(events)),
        "{each:?}"
    );
    assert!(roles[2].events > 100, "{roles:?}");
    assert_eq!(roles[2].events, outcome.totals.counters.events);
    assert_eq!(outcome.totals.latencies.service.len(), roles[2].events);
    assert_eq!(outcome.totals.latencies.response.len(), 0);
    // Statements of all roles are the server's work.
    let all: u64 = roles.iter().map(|role| role.events).sum();
    assert_eq!(outcome.totals.counters.reads, all);
    assert_eq!((outcome.backlog, outcome.pacing_lag.is_none()), (0, true));
}

#[test]
fn the_run_ends_with_its_last_foreground_session() {
    let roles = vec![role("work", 3, false, None), role("beside", 2, true, None)];
    let drive = Drive {
        time: None,
        events: Some(30),
        ..drive(roles)
    };
    let outcome = run(config(drive, Server::default()), reads()).unwrap();
    assert_eq!(outcome.end, RunEnd::Completed);
    assert_eq!(outcome.totals.counters.events, 30);
    assert_eq!(outcome.totals.roles[0].events, 30);
    assert!(outcome.totals.roles[1].events > 0);
    let finished: Vec<bool> = (outcome.sessions.iter())
        .map(|session| session.finished.is_some())
        .collect();
    assert_eq!(finished, [true, true, true, false, false]);
}

#[test]
fn a_worker_with_one_busy_session_learns_that_only_background_is_left() {
    let drive = Drive {
        time: None,
        events: Some(30),
        ..drive(vec![
            role("work", 1, false, None),
            role("beside", 1, true, None),
        ])
    };
    let at_once = Behaviour::of(b"");
    let outcome = run(config(drive, Server::default()), at_once).unwrap();
    assert_eq!(outcome.end, RunEnd::Completed);
    assert_eq!(outcome.totals.roles[0].events, 30);
    assert!(outcome.totals.roles[1].events > 0);
}

#[test]
fn events_that_cannot_start_in_time_are_skipped_and_counted() {
    // Every event takes 20 ms and 100 a second are due: four of five cannot start in time.
    let slow = Behaviour::burning(ms(20));
    let late = drive(vec![
        role("late", 1, true, pace(250.0, true, Some(0.01))),
        role("work", 1, false, None),
    ]);
    let outcome = run(config(late, Server::default()), slow).unwrap();
    let role = outcome.totals.roles[0];
    assert!(role.skipped > role.events, "{role:?}");
    assert!(
        (30..=100).contains(&(role.skipped + role.events)),
        "{role:?}"
    );
}

#[test]
fn a_latency_limit_skips_late_events_and_accounts_for_every_arrival() {
    let slow = Behaviour::burning(ms(5));
    let drive = Drive {
        sessions: 2,
        workers: 1,
        time: Some(ms(400)),
        open_loop: Some(OpenLoop::new(2000.0, Arrivals::Constant)),
        latency_limit: Some(ms(20)),
        ..Drive::default()
    };
    let outcome = run(config(drive, Server::default()), slow).unwrap();
    let role = outcome.totals.roles[0];
    assert_eq!(role.events, outcome.totals.counters.events);
    let accounted = role.events + role.skipped + outcome.backlog + outcome.unfinished;
    assert_eq!(accounted, 800, "{role:?} {}", outcome.backlog);
    assert!(role.skipped > 500, "{role:?}");
    // All events that ran began within the limit.
    let latencies = &outcome.totals.latencies;
    let (latest, longest) = (latencies.response_ns_max, latencies.service_ns_max);
    assert!(latest <= longest + 21_000_000, "{latest} {longest}");
}

#[test]
fn refuses_impossible_roles() {
    let refused = |drive: Drive| run(config(drive, Server::default()), reads()).unwrap_err();
    let alone = drive(vec![role("a", 1, true, None)]);
    assert!(refused(alone).to_string().contains("in the foreground"));
    let short = Drive {
        sessions: 3,
        ..drive(vec![role("a", 1, false, None)])
    };
    assert!(refused(short).to_string().contains("as many sessions as"));
    let never = drive(vec![role("a", 1, false, pace(0.0, true, None))]);
    assert!(refused(never).to_string().contains("rate"));
}
