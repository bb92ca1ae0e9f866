//! How runs end when something fails. Time limits are generous: they distinguish "in time" from
//! "never", not the speed of the machine.

use std::sync::Arc;
use std::time::Duration;

use crate::common::*;
use dyno_core::Clock;
use dyno_core::plan::{Arrivals, Drive, OpenLoop};
use dyno_core::session::{Entry, Port, Program, SessionId, Step};
use dyno_core::states::{IdleIn, SessionState};
use dyno_core::summary::RunEnd;
use dyno_load::{LoadError, Progress, Run, Single, StopLevel, StopSignal};

/// The time limit of these runs on a busy machine.
const IN_TIME: Duration = Duration::from_secs(20);

fn drive(sessions: u32, workers: u32) -> Drive {
    Drive {
        sessions,
        workers,
        time: Some(ms(500)),
        grace: ms(100),
        ..Drive::default()
    }
}

fn reads() -> Behaviour {
    Behaviour::of(b"r")
}

fn in_time<T>(body: impl FnOnce() -> T) -> T {
    let start = Clock.now();
    let result = body();
    assert!(Duration::from_nanos(Clock.now() - start) < IN_TIME);
    result
}

#[test]
fn a_server_that_hangs_does_not_keep_the_run() {
    for blocks in [false, true] {
        let server = Server {
            hangs_at: Some(5),
            ..Server::default()
        };
        let behaviour = Behaviour { blocks, ..reads() };
        let sessions = if blocks { 2 } else { 6 };
        let config = config(drive(sessions, 2), server);
        let outcome = in_time(|| run(config, behaviour)).unwrap();
        assert_eq!(outcome.totals.counters.events, 4 * u64::from(sessions));
        assert_eq!(outcome.unfinished, u64::from(sessions));
        assert_eq!(outcome.end, RunEnd::Completed);
        assert!(outcome.workers.iter().all(|worker| !worker.stuck));
        assert_eq!(outcome.measured_end - outcome.measured_start, 500_000_000);
    }
}

#[test]
fn a_worker_stuck_in_its_script_is_left_behind() {
    let behaviour = Behaviour {
        hangs: IN_TIME * 3,
        ..reads()
    };
    let config = config(drive(4, 2), Server::default());
    let outcome = in_time(|| run(config, behaviour)).unwrap();
    assert!(outcome.workers[0].stuck);
    assert!(!outcome.workers[1].stuck);
    assert!(outcome.unfinished >= 1, "{}", outcome.unfinished);
    let tids: Vec<u32> = outcome.sessions.iter().map(|session| session.tid).collect();
    assert_eq!(tids, [0, 1, 2, 3]);
    assert_eq!(outcome.sessions[2].state, SessionState::Lost);
    assert_eq!(outcome.sessions[2].idle.idle_in, IdleIn::Worker);
    assert_ne!(outcome.sessions[3].state, SessionState::Lost);
    let RunEnd::Failed(why) = &outcome.end else {
        panic!("{:?}", outcome.end);
    };
    assert!(why.starts_with("worker 0 with 2 sessions has not responded since second 0.0"));
    assert!(outcome.totals.counters.events > 0);
    assert_eq!(outcome.measured_end - outcome.measured_start, 500_000_000);
}

#[test]
fn a_returning_worker_is_in_the_intervals_and_in_the_totals() {
    let behaviour = Behaviour {
        hangs: ms(400),
        ..reads()
    };
    let drive = Drive {
        time: Some(ms(1000)),
        interval: ms(50),
        ..drive(5, 2)
    };
    let mut shown = 0;
    let mut lost = 0;
    let outcome = in_time(|| {
        run_observed(config(drive, Server::default()), behaviour, |progress| {
            if let Progress::Interval(interval) = progress {
                shown += interval.counters.events;
                lost += interval.states.lost;
                assert_eq!(interval.states.total(), 5, "{interval:?}");
            }
        })
    })
    .unwrap();
    assert_eq!(outcome.end, RunEnd::Completed);
    assert_eq!(shown, outcome.in_window().events);
    // It was frozen for longer than an interval and a half, but not for long.
    assert_eq!(lost, 0);
    assert!(
        outcome
            .sessions
            .iter()
            .all(|session| session.state != SessionState::Lost)
    );
}

#[test]
fn a_failing_session_ends_the_run_and_keeps_its_results() {
    let behaviour = Behaviour {
        fails_at: Some(3),
        ..reads()
    };
    let drive = Drive {
        time: None,
        ..drive(4, 2)
    };
    let outcome = in_time(|| run(config(drive, Server::default()), behaviour)).unwrap();
    assert_eq!(outcome.failures, [(Some(0), "division by zero".to_owned())]);
    let message = "session 0: division by zero".to_owned();
    assert_eq!(outcome.end, RunEnd::Failed(message));
    assert_eq!(outcome.sessions[0].events, 2);
    assert!(outcome.measured_end > outcome.measured_start);
}

#[test]
fn a_session_that_cannot_initialise_is_named() {
    let behaviour = Behaviour {
        fails_init: true,
        ..reads()
    };
    let config = config(drive(3, 2), Server::default());
    let error = in_time(|| run(config, behaviour)).unwrap_err();
    let why = "no such table".to_owned();
    assert_eq!(error, LoadError::Init { tid: 0, why });
}

#[test]
fn slow_initialisation_reports_its_wait() {
    let server = Server {
        refuses_from: Some(3),
        ..Server::default()
    };
    let drive = Drive {
        init_timeout: ms(1000),
        ..drive(5, 2)
    };
    let error = in_time(|| run(config(drive, server), reads())).unwrap_err();
    let expected = LoadError::InitTimeout {
        ready: 3,
        sessions: 5,
        timeout_s: 1.0,
        waits: "2 waited for a connection".to_owned(),
    };
    assert_eq!(error, expected);
}

fn stop_when_measuring(
    stop: &Arc<StopSignal>,
    level: StopLevel,
) -> impl FnMut(Progress<'_>) + use<> {
    let stop = Arc::clone(stop);
    move |progress| {
        if let Progress::Interval(_) = progress {
            stop.set(level);
        }
    }
}

#[test]
fn the_first_stop_ends_the_measurement_with_a_report() {
    let config = config(
        Drive {
            time: None,
            interval: ms(50),
            ..drive(4, 2)
        },
        Server::default(),
    );
    let observer = stop_when_measuring(&config.stop, StopLevel::End);
    let outcome = in_time(|| run_observed(config, reads(), observer)).unwrap();
    assert_eq!(outcome.end, RunEnd::Interrupted);
    assert!(outcome.totals.counters.events > 0);
    assert_eq!(outcome.unfinished, 0);
    assert_eq!(outcome.sessions.len(), 4);
    let measured_ns = outcome.measured_end - outcome.measured_start;
    assert!(measured_ns >= 50_000_000);
}

#[test]
fn the_second_stop_drops_everything_at_once() {
    let config = config(
        Drive {
            time: None,
            grace: Duration::from_secs(600),
            interval: ms(50),
            ..drive(4, 2)
        },
        Server::default(),
    );
    let behaviour = Behaviour {
        sleeps: Duration::from_secs(600),
        ..reads()
    };
    let observer = stop_when_measuring(&config.stop, StopLevel::Abandon);
    let outcome = in_time(|| run_observed(config, behaviour, observer)).unwrap();
    assert_eq!(outcome.end, RunEnd::Interrupted);
    assert_eq!(outcome.unfinished, 4);
    assert!(outcome.workers.iter().all(|worker| !worker.stuck));
}

#[test]
fn waiting_for_an_arrival_ends_with_the_run() {
    let config = config(
        Drive {
            grace: Duration::from_secs(600),
            open_loop: Some(OpenLoop::new(0.001, Arrivals::Constant)),
            ..drive(3, 2)
        },
        Server::default(),
    );
    let outcome = in_time(|| run(config, reads())).unwrap();
    assert_eq!(outcome.totals.counters.events, 1);
    assert_eq!(outcome.end, RunEnd::Completed);
    assert_eq!(outcome.measured_end - outcome.measured_start, 500_000_000);
}

#[test]
fn a_stop_in_the_warm_up_measures_nothing() {
    let mut config = config(
        Drive {
            warmup: Duration::from_secs(600),
            ..drive(2, 1)
        },
        Server::default(),
    );
    config.connector = None;
    let stop = Arc::clone(&config.stop);
    let outcome = in_time(|| {
        run_observed(config, Behaviour::default(), |progress| {
            if let Progress::Started { .. } = progress {
                stop.raise();
            }
        })
    })
    .unwrap();
    assert_eq!(outcome.end, RunEnd::Interrupted);
    assert_eq!(outcome.totals.counters.events, 0);
    assert_eq!(outcome.measured_end, outcome.measured_start);
}

#[test]
fn a_stop_before_the_start_and_senseless_settings_are_refused() {
    let early = config(drive(2, 1), Server::default());
    early.stop.raise();
    let error = in_time(|| run(early, reads())).unwrap_err();
    assert_eq!(error, LoadError::Interrupted);
    for (sessions, workers, rate) in [(0, 1, 1.0), (1, 0, 1.0), (1, 1, 0.0), (1, 1, f64::NAN)] {
        let drive = Drive {
            open_loop: Some(OpenLoop::new(rate, Arrivals::Poisson)),
            ..drive(sessions, workers)
        };
        let refused = run(config(drive, Server::default()), reads());
        assert!(matches!(refused, Err(LoadError::Config(_))), "{refused:?}");
    }
    let refused = run(config(drive(4_000_000_000, 2), Server::default()), reads());
    assert!(matches!(refused, Err(LoadError::Config(_))), "{refused:?}");
}

#[test]
fn a_call_to_a_silent_server_times_out_and_reports_its_wait() {
    let server = Server {
        hangs_at: Some(1),
        ..Server::default()
    };
    let program = Program1::new(&Behaviour::default());
    let connector = Connector1::new(server);
    let mut single = Single::new(program, Some(connector), StopSignal::new(), 0).unwrap();
    single.bound_calls(ms(50));
    let call = Entry::Call("ledger".to_owned());
    let why = in_time(|| single.run(&call)).unwrap_err();
    assert_eq!(
        why,
        "it did not end within 50ms: it was waiting for the answer of a statement"
    );
}

struct Broken;

impl Program for Broken {
    fn enter(&mut self, _: SessionId, _: u32, _: &Entry) -> Result<(), String> {
        Ok(())
    }

    #[allow(clippy::panic)] // this is the bug
    fn resume(&mut self, _: &mut dyn Port, _: SessionId) -> Step {
        panic!("a bug")
    }
}

#[test]
fn a_program_that_fails_to_start_or_panics_is_reported() {
    let refused = Run::start(
        config(drive(2, 2), Server::default()),
        |worker| match worker {
            0 => Ok(Program1::new(&Behaviour::default())),
            _ => Err("no memory for a script".to_owned()),
        },
        |_| {},
    );
    let why = "no memory for a script".to_owned();
    assert_eq!(refused.unwrap_err(), LoadError::Start(why));
    let broken = Run::start(
        config(drive(2, 2), Server::default()),
        |_| Ok(Broken),
        |_| {},
    );
    let LoadError::Start(why) = broken.unwrap_err() else {
        panic!("expected a breakdown");
    };
    assert!(why.ends_with("crashed: a bug"), "{why}");
}
