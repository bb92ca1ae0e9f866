//! Connections that the server closes while their sessions wait for their next event's time.

use crate::common::*;
use dyno_core::plan::{Arrivals, Drive, OpenLoop};
use dyno_core::states::SessionStates;
use dyno_core::summary::RunEnd;
use dyno_load::{Progress, RunOutcome};

const SESSIONS: u32 = 4;

/// Sessions without an event until the end of the run, and their states in its last interval.
fn idle(server: Server, statements: &'static [u8]) -> (RunOutcome, SessionStates) {
    let drive = Drive {
        sessions: SESSIONS,
        workers: 2,
        time: Some(ms(600)),
        interval: ms(100),
        open_loop: Some(OpenLoop::new(0.01, Arrivals::Constant)),
        ..Drive::default()
    };
    let behaviour = Behaviour {
        statements,
        ..Behaviour::default()
    };
    let mut states = Vec::new();
    let outcome = run_observed(config(drive, server), behaviour, |progress| {
        if let Progress::Interval(interval) = progress {
            states.push(interval.states);
        }
    })
    .unwrap();
    assert_eq!(outcome.end, RunEnd::Completed);
    assert_eq!(states.len(), 6);
    (outcome, states[4])
}

#[test]
fn a_waiting_session_whose_connection_was_closed_is_lost() {
    let server = Server {
        patience: Some(ms(50)),
        ..Server::default()
    };
    let (outcome, states) = idle(server, b"r");
    assert_eq!((states.lost, states.waiting), (SESSIONS, 0), "{states:?}");
    assert_eq!(outcome.disconnected(), SESSIONS as usize);
}

#[test]
fn a_waiting_session_with_a_connection_or_without_a_database_is_not_lost() {
    for statements in [&b"r"[..], b""] {
        let (outcome, states) = idle(Server::default(), statements);
        assert_eq!((states.lost, states.waiting), (0, SESSIONS), "{states:?}");
        assert_eq!(outcome.disconnected(), 0);
    }
}
