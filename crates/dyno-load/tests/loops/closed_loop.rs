//! A closed loop: limits, counts, intervals, turns.

use crate::common::*;
use dyno_core::interval::{Counters, Interval, Latencies};
use dyno_core::plan::Drive;
use dyno_core::session::Entry;
use dyno_core::summary::RunEnd;
use dyno_load::{Progress, Single, StopSignal};

fn drive(sessions: u32, workers: u32) -> Drive {
    Drive {
        sessions,
        workers,
        ..Drive::default()
    }
}

#[test]
fn statements_are_counted_by_outcome_and_events_exactly() {
    let drive = Drive {
        events: Some(1000),
        time: None,
        ..drive(6, 2)
    };
    let behaviour = Behaviour::of(b"rwore");
    let outcome = run(config(drive, Server::default()), behaviour).unwrap();
    let counters = Counters {
        events: 1000,
        reads: 2000,
        writes: 1000,
        other: 1000,
        rows: 2 * 3000 + 2000,
        bytes_in: 5000,
        bytes_out: 5000,
        ..Counters::default()
    };
    assert_eq!(outcome.totals.counters, counters);
    let ended = outcome.statements.ended;
    assert_eq!(ended.transactions, 1000);
    assert_eq!(ended.transactions_possible, 1000);
    let errors = &outcome.totals.errors;
    assert_eq!(errors.len(), 1);
    assert_eq!(errors["1213"].count, 1000);
    assert_eq!(
        errors["1213"].sample,
        "deadlock (error 1213, SQLSTATE HY000)"
    );
    assert_eq!(outcome.totals.endpoints.iter().sum::<u64>(), 4000);
    assert!(outcome.totals.endpoints.iter().all(|count| *count > 0));
    assert_eq!(outcome.totals.latencies.service.len(), 1000);
    assert_eq!(outcome.end, RunEnd::Completed);
    assert_eq!(outcome.unfinished, 0);
    assert_eq!(outcome.events_in_grace(), 0);
    let sessions = &outcome.sessions;
    assert_eq!(
        sessions.iter().map(|s| s.tid).collect::<Vec<_>>(),
        [0, 1, 2, 3, 4, 5]
    );
    assert_eq!(sessions.iter().map(|s| s.events).sum::<u64>(), 1000);
    let busy_ns: u64 = sessions.iter().map(|s| s.busy_ns).sum();
    assert_eq!(busy_ns, outcome.totals.latencies.service_ns_sum);
    assert_eq!(
        outcome.measured_end - outcome.measured_start,
        outcome.elapsed_ns
    );
    assert!(outcome.workers.iter().all(|worker| !worker.stuck));
}

#[test]
fn the_events_limit_is_exact_whatever_the_workers() {
    for (events, sessions, workers) in [(1, 1, 1), (1, 7, 4), (5, 9, 3), (999, 3, 3), (5000, 40, 4)]
    {
        let drive = Drive {
            events: Some(events),
            time: None,
            ..drive(sessions, workers)
        };
        let outcome = run(config(drive, Server::default()), Behaviour::default()).unwrap();
        assert_eq!(outcome.totals.counters.events, events);
        assert_eq!(outcome.totals.latencies.service.len(), events);
    }
}

#[test]
fn ten_thousand_sessions_get_their_turns() {
    let drive = Drive {
        events: Some(100_000),
        time: None,
        ramp_up: ms(20),
        ..drive(10_000, 2)
    };
    let outcome = run(config(drive, Server::default()), Behaviour::default()).unwrap();
    assert_eq!(outcome.totals.counters.events, 100_000);
    assert_eq!(outcome.sessions.len(), 10_000);
    let began = outcome.sessions.iter().filter(|s| s.events > 0).count();
    assert!(began > 500, "only {began} sessions had a turn");
}

#[test]
fn sessions_that_stop_themselves_leave_the_rest_to_others() {
    let drive = Drive {
        events: Some(10_000),
        time: None,
        ..drive(4, 2)
    };
    let behaviour = Behaviour {
        returns_true_after: Some(100),
        ..Behaviour::default()
    };
    let outcome = run(config(drive, Server::default()), behaviour).unwrap();
    assert_eq!(outcome.totals.counters.events, 400);
    assert!(outcome.sessions.iter().all(|s| s.events == 100));
    assert_eq!(outcome.end, RunEnd::Completed);
}

#[test]
fn intervals_add_up_to_the_totals_and_come_in_order() {
    let drive = Drive {
        time: Some(ms(330)),
        interval: ms(50),
        ..drive(6, 2)
    };
    let behaviour = Behaviour::of(b"re");
    let mut sum = Interval::default();
    let mut ends = Vec::new();
    let mut measured = 0;
    let outcome = run_observed(config(drive, Server::default()), behaviour, |progress| {
        let interval = match progress {
            Progress::Started { measured: at } => {
                measured = at;
                return;
            }
            Progress::Interval(interval) => interval,
            Progress::Initialized | Progress::Agents(_) | Progress::Facts(_) => return,
        };
        assert_eq!(interval.index, ends.len() as u64);
        assert_eq!(interval.start, ends.last().copied().unwrap_or(measured));
        ends.push(interval.end);
        sum.counters.merge(&interval.counters);
        Latencies::merge(&mut sum.latencies, &interval.latencies);
        dyno_core::interval::merge_errors(&mut sum.errors, &interval.errors);
    })
    .unwrap();
    let offsets: Vec<u64> = ends
        .iter()
        .map(|end| (end - measured) / 1_000_000)
        .collect();
    assert_eq!(offsets, [50, 100, 150, 200, 250, 300, 330]);
    assert_eq!(outcome.measured_end - outcome.measured_start, 330_000_000);
    // Records that were handed over too late for the observer are in the totals only.
    let window = outcome.in_window();
    assert!(sum.counters.events <= window.events);
    assert!(sum.counters.events > 0);
    let late = window.events - sum.counters.events;
    assert_eq!(
        sum.latencies.service.len() + late + outcome.events_in_grace(),
        outcome.totals.latencies.service.len()
    );
    assert_eq!(outcome.unfinished, 0);
    assert_eq!(
        outcome.totals.counters.events,
        outcome.totals.counters.reads
    );
}

#[test]
fn a_slow_observer_loses_nothing() {
    let drive = Drive {
        time: Some(ms(400)),
        interval: ms(10),
        ..drive(4, 2)
    };
    let mut seen = 0;
    let outcome = run_observed(
        config(drive, Server::default()),
        Behaviour::default(),
        |progress| {
            if let Progress::Interval(interval) = progress {
                if interval.index % 10 == 0 {
                    // Longer than the workers' buffers last.
                    std::thread::sleep(ms(200));
                }
                seen += interval.counters.events;
            }
        },
    )
    .unwrap();
    let sessions: u64 = outcome.sessions.iter().map(|s| s.events).sum();
    assert_eq!(outcome.totals.counters.events, sessions);
    assert_eq!(outcome.totals.latencies.service.len(), sessions);
    assert!(seen > 0 && seen <= sessions);
}

#[test]
fn the_warm_up_is_left_out() {
    let drive = Drive {
        warmup: ms(400),
        time: Some(ms(500)),
        grace: ms(5000),
        ..drive(4, 2)
    };
    // Each event takes longer than the warm-up, so the first event of each session belongs to the
    // warm-up; the second is measured and ends in the grace period.
    let behaviour = Behaviour {
        statements: b"r",
        sleeps: ms(500),
        ..Behaviour::default()
    };
    let outcome = run(config(drive, Server::default()), behaviour).unwrap();
    assert_eq!(outcome.warmup.events, 4);
    assert_eq!(outcome.warmup.reads, 4);
    assert_eq!(outcome.totals.counters.events, 4);
    assert_eq!(outcome.totals.counters.reads, 4);
    assert_eq!(outcome.events_in_grace(), 4);
    assert_eq!(outcome.in_window().events, 0);
    assert_eq!(outcome.sessions.iter().map(|s| s.events).sum::<u64>(), 4);
    assert_eq!(outcome.measured_end - outcome.measured_start, 500_000_000);
    assert!(outcome.elapsed_ns > 500_000_000);
}

#[test]
fn sessions_that_never_wait_give_way() {
    let drive = Drive {
        time: Some(ms(300)),
        ..drive(5, 1)
    };
    let behaviour = Behaviour::burning(std::time::Duration::from_micros(20));
    let outcome = run(config(drive, Server::default()), behaviour).unwrap();
    let events: Vec<u64> = outcome.sessions.iter().map(|s| s.events).collect();
    let (least, most) = (events.iter().min().unwrap(), events.iter().max().unwrap());
    assert!(*least > most / 3, "unfair: {events:?}");
    assert_eq!(outcome.unfinished, 0);
}

#[test]
fn blocking_waits_work_and_let_others_in() {
    let drive = Drive {
        events: Some(300),
        time: None,
        ramp_up: ms(20),
        ..drive(3, 1)
    };
    let behaviour = Behaviour {
        statements: b"rr",
        blocks: true,
        ..Behaviour::default()
    };
    let outcome = run(config(drive, Server::default()), behaviour).unwrap();
    assert_eq!(outcome.totals.counters.events, 300);
    assert_eq!(outcome.totals.counters.reads, 600);
}

#[test]
fn a_command_runs_once_in_every_session_and_one_failure_does_not_end_the_others() {
    let mut config = config(drive(4, 2), Server::default());
    config.entry = Entry::Command("prepare".to_owned());
    let outcome = run(config, Behaviour::default()).unwrap();
    assert_eq!(outcome.totals.counters.writes, 4);
    assert_eq!(outcome.totals.counters.rows, 8);
    assert_eq!(outcome.failures, [(Some(1), "disk full".to_owned())]);
    assert_eq!(
        outcome.end,
        RunEnd::Failed("session 1: disk full".to_owned())
    );
}

#[test]
fn a_single_session_keeps_its_connections_between_entries() {
    let connector = Connector1::new(Server::default());
    let behaviour = Behaviour::of(b"r");
    let stop = StopSignal::new();
    let program = Program1::new(&behaviour);
    let mut single = Single::new(program, Some(connector.clone()), stop.clone(), 0).unwrap();
    assert_eq!(single.run(&Entry::Init), Ok(()));
    assert_eq!(single.run(&Entry::Init), Ok(()));
    assert_eq!(
        connector
            .connected
            .load(std::sync::atomic::Ordering::Relaxed),
        1
    );
    // The stop that ended a measurement does not keep the script from cleaning up; the next request
    // does.
    stop.raise();
    assert_eq!(single.run(&Entry::Done), Ok(()));
    // An entry that any earlier stop affects does not begin.
    assert_eq!(
        single.run_unless_stopped(&Entry::Init),
        Err("stopped by the user".to_owned())
    );
    stop.raise();
    assert_eq!(
        single.run(&Entry::Done),
        Err("stopped by the user".to_owned())
    );
}
