//! Arrivals with a simulated clock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::channel;
use std::time::Duration;

use dyno_core::plan::{Arrivals, Drive, OpenLoop};
use dyno_core::rand::Stream;

use super::*;
use crate::arrivals::{Generator, Span};
use crate::calendar::Schedule;
use crate::merger::Merger;
use crate::message::{Mailbox, Start};
use crate::recorder::{Recorder, Shape};
use crate::roles::Cast;
use crate::state::Parts;
use crate::stop::StopSignal;

const SESSIONS: usize = 3;
const BEGIN: Nanos = 1_000_000;

fn generator() -> Generator {
    let open = OpenLoop::new(10_000.0, Arrivals::Poisson);
    let span = Span {
        begin: BEGIN,
        measured: BEGIN,
        end: None,
        limit: Some(5_000),
    };
    Generator::new(open, (7, 0), span)
}

/// A worker's state at the start of a run; the test passes the time.
fn state(limit: Option<Duration>) -> State {
    let (sender, _) = channel();
    let (_, returned) = channel();
    let nothing = Shape {
        endpoints: 0,
        operations: 0,
        roles: 1,
    };
    let mut state = State::new(Parts {
        tids: (0..SESSIONS as u32).collect(),
        connector: None,
        sequence: Arc::new(AtomicU64::new(0)),
        stop: StopSignal::new(),
        mailbox: Mailbox::new().unwrap(),
        recorder: Recorder::new(0, nothing, sender, returned),
        shapes: None,
        early_ns: 0,
        duet: None,
    })
    .unwrap();
    let drive = Drive {
        latency_limit: limit,
        ..Drive::default()
    };
    let schedule = Schedule::unbounded(&drive, BEGIN);
    let start = Start {
        schedule,
        cast: Arc::new(Cast::new(&drive, &schedule, Some(generator()))),
        quota: None,
    };
    state.begin(start, BEGIN);
    state
}

/// Service times at two thirds of the capacity of three sessions, so that queues form and vanish.
fn service_times() -> impl FnMut() -> Nanos {
    let mut stream = Stream::new(1, 0);
    move || 1 + stream.below(400_000)
}

#[test]
fn sessions_serve_arrivals_first_come_first_served() {
    let mut state = state(None);
    let mut service = service_times();
    let mut turns: BinaryHeap<_> = (0..SESSIONS).map(|s| Reverse((BEGIN, s))).collect();
    let mut begun = Vec::new();
    while let Some(Reverse((at, session))) = turns.pop() {
        match state.next_arrival(session, at) {
            Next::Go => {
                begun.push((state.sessions[session].scheduled, at));
                turns.push(Reverse((at + service(), session)));
            }
            Next::Wait => turns.push(Reverse((state.sessions[session].due, session))),
            Next::Stop => {}
        }
    }

    // The textbook queue with three servers.
    let mut service = service_times();
    let mut free: BinaryHeap<_> = (0..SESSIONS).map(|_| Reverse(BEGIN)).collect();
    let mut arrivals = generator();
    let mut expected = Vec::new();
    while let (Some(arrival), Some(Reverse(at))) = (arrivals.claim(), free.pop()) {
        let begin = at.max(arrival);
        expected.push((arrival, begin));
        free.push(Reverse(begin + service()));
    }
    assert_eq!(begun.len(), 5_000);
    assert_eq!(begun, expected);
    assert_eq!(state.begun, 5_000);
    let waits = expected.iter().map(|(due, begin)| begin - due);
    let wait = state.longest_wait;
    assert_eq!(Some(wait.length_ns()), waits.max());
    // The arrival itself, and those due before a session took it up.
    let due = |(due, _): &&(Nanos, Nanos)| (wait.from..=wait.to).contains(due);
    let queue = expected.iter().filter(due).count() as u64;
    let schedule = Schedule::unbounded(&Drive::default(), BEGIN);
    let merger = Merger::new(schedule, &[SESSIONS as u32], Some(generator()));
    assert!(queue > 1);
    assert_eq!(merger.queue_behind(wait), queue);
    assert_eq!(merger.queue_behind(Default::default()), 0);
    let waited = expected.iter().filter(|(due, begin)| begin > due).count();
    assert!((500..4_500).contains(&waited), "{waited} arrivals waited");
}

#[test]
fn a_session_gives_way_after_many_arrivals_that_it_left_out() {
    let mut state = state(Some(Duration::from_nanos(1)));
    let late = BEGIN + 3_600_000_000_000;
    let turns = (0..).take_while(|_| state.next_arrival(0, late) == Next::Wait);
    assert_eq!(turns.count(), 4);
    assert_eq!(state.begun, 5_000);
}

#[test]
fn a_session_late_for_its_arrival_records_the_lag_without_drift() {
    let mut state = state(None);
    let mut arrivals = generator();
    let first = arrivals.claim().unwrap();
    assert_eq!(state.next_arrival(0, BEGIN), Next::Wait);
    assert_eq!(state.next_arrival(0, first + 70), Next::Go);
    let second = arrivals.claim().unwrap();
    assert_eq!(state.next_arrival(0, second + 1), Next::Go);
    // The second was overdue when the session asked: that counts as queueing, not as pacing lag.
    let lag = state.recorder.take_lag().unwrap();
    assert_eq!((lag.service.len(), lag.service_ns_max), (1, 70));
    assert_eq!(state.sessions[0].scheduled, second);
}
