//! The account of a worker's sessions: their states and idle times.
//!
//! Sessions are checked once a second and at each interval's end, from figures that they keep
//! anyway, so that events cost nothing extra.

use dyno_core::clock::Nanos;
use dyno_core::session::{Counter, SessionId};
use dyno_core::states::{IdleIn, IdleTime, SessionState, SessionStates};

use crate::outcome::SessionTotals;
use crate::session::{Lifecycle, Session, Wait};
use crate::state::State;

/// The longest time between two checks.
const LOOK_NS: Nanos = 1_000_000_000;

/// A session that completes nothing for this long, and for this many of its events, is reported
/// during the run; the finding `idle-sessions` uses the same limits at the end.
const IDLE_NS: Nanos = 5 * LOOK_NS;
const IDLE_EVENTS: Nanos = 20;

#[derive(Debug)]
pub(crate) struct Accounts {
    of: Vec<Account>,
    /// The next check; never, outside the measurement.
    next: Nanos,
}

#[derive(Clone, Copy, Debug, Default)]
struct Account {
    state: SessionState,
    /// Number of completed statements and events.
    completed: u64,
    /// When `completed` last grew, or the session last waited for its next event's time.
    active: Nanos,
    /// The longest idle time.
    idle: IdleTime,
}

impl Accounts {
    /// For `sessions` that have not begun.
    pub(crate) fn new(sessions: usize) -> Self {
        Self {
            of: vec![Account::default(); sessions],
            next: Nanos::MAX,
        }
    }

    pub(crate) fn begin(&mut self, now: Nanos) {
        self.next = now + LOOK_NS;
        for account in &mut self.of {
            account.active = now;
            account.idle = IdleTime::default();
        }
    }

    pub(crate) fn end(&mut self) {
        self.next = Nanos::MAX;
    }

    pub(crate) fn next_look(&self) -> Nanos {
        self.next
    }

    /// Checks all sessions and counts their states.
    fn look(&mut self, sessions: &[Session], now: Nanos) -> SessionStates {
        let mut states = SessionStates::default();
        for (session, account) in sessions.iter().zip(&mut self.of) {
            account.look(session, now);
            states.add(account.state);
            let works = account.state == SessionState::Working;
            if works && is_idle(session, sessions, now.saturating_sub(account.active)) {
                states.idle += 1;
            }
        }
        if self.next != Nanos::MAX {
            self.next = now + LOOK_NS;
        }
        states
    }

    /// How long a session is known to have completed nothing.
    fn idle_ns(&self, session: SessionId, now: Nanos) -> Nanos {
        let account = self.of.get(session);
        account.map_or(0, |account| now.saturating_sub(account.active))
    }

    /// Each session's sums, with its last check.
    pub(crate) fn totals(&self, sessions: &[Session], out: &mut Vec<SessionTotals>) {
        let totals = |(session, account): (&Session, &Account)| SessionTotals {
            tid: session.tid,
            // The receiver knows the worker.
            worker: 0,
            events: session.events,
            busy_ns: session.busy_ns,
            min_ns: match session.events {
                0 => 0,
                _ => session.min_ns,
            },
            max_ns: session.max_ns,
            finished: (session.finished > 0).then_some(session.finished),
            state: match session.lost {
                true => SessionState::Lost,
                false => account.state,
            },
            disconnected: session.disconnected,
            in_transaction: session.in_transaction,
            active: account.active,
            idle: account.idle,
        };
        out.extend(sessions.iter().zip(&self.of).map(totals));
    }
}

impl Account {
    fn look(&mut self, session: &Session, now: Nanos) {
        let completed = completed(session);
        self.state = state_of(session);
        let goes_on = matches!(self.state, SessionState::Working | SessionState::Connecting);
        // A session that sleeps does what its script wants.
        let sleeps = session.wait == Wait::Sleep && session.attempts == 0;
        if completed != self.completed || !goes_on || sleeps {
            self.completed = completed;
            self.active = now;
            return;
        }
        if now.saturating_sub(self.active) > self.idle.length_ns() {
            let mut idle = IdleTime {
                from: self.active,
                to: now,
                idle_in: idle_in(session, self.state),
                attempts: session.attempts.into(),
            };
            // A wait right after reconnecting is not the cause of the idle time.
            let before = self.idle;
            if before.from == idle.from && before.idle_in == IdleIn::Connecting {
                idle.idle_in = IdleIn::Connecting;
                idle.attempts = idle.attempts.max(before.attempts);
            }
            self.idle = idle;
        }
    }
}

impl State {
    /// Checks all sessions and counts their states.
    pub(crate) fn look_at_sessions(&mut self, now: Nanos) -> SessionStates {
        self.accounts.look(&self.sessions, now)
    }

    /// Records at the end of a session's run whether it has no connection.
    pub(crate) fn note_connection(&mut self, session: SessionId, now: Nanos) {
        let idle_ns = self.accounts.idle_ns(session, now);
        let record = &mut self.sessions[session];
        record.disconnected = is_disconnected(record, idle_ns);
        record.in_transaction = record.events > 0 && record.conns.any_in_transaction();
    }
}

/// Whether a session that completed nothing for `idle_ns` lost its connection and could not make
/// another, or needed none before its run ended. A workload may reconnect for each event; a session
/// about to do so is not disconnected.
fn is_disconnected(session: &Session, idle_ns: Nanos) -> bool {
    let begins = session.wait == Wait::Connect && session.attempts <= 1 && idle_ns < LOOK_NS;
    let connects = connects(session) && !begins;
    session.connected && (connects || session.conns.all_closed() || session.conns.any_lost())
}

/// Whether a session that completed nothing for `idle_ns` is idle, compared with its own events, or
/// those of its worker if it has none yet.
fn is_idle(session: &Session, all: &[Session], idle_ns: Nanos) -> bool {
    if idle_ns < IDLE_NS {
        return false;
    }
    let own = (session.busy_ns, session.events);
    let (busy_ns, events) = match own.1 {
        0 => all.iter().fold((0, 0), |(busy_ns, events), session| {
            (busy_ns + session.busy_ns, events + session.events)
        }),
        _ => own,
    };
    let mean_ns = busy_ns.checked_div(events).unwrap_or(0);
    idle_ns >= mean_ns.saturating_mul(IDLE_EVENTS)
}

/// A number that grows with each completed statement and event.
fn completed(session: &Session) -> u64 {
    let counters = &session.counters;
    counters[Counter::Read as usize]
        + counters[Counter::Write as usize]
        + counters[Counter::Other as usize]
        + counters[Counter::Event as usize]
}

pub(crate) fn state_of(session: &Session) -> SessionState {
    match session.stage {
        Lifecycle::Ended | Lifecycle::Done if session.lost => SessionState::Lost,
        Lifecycle::Ended | Lifecycle::Done => SessionState::Finished,
        Lifecycle::Queued | Lifecycle::Init | Lifecycle::Ready => SessionState::Waiting,
        Lifecycle::Run if connects(session) => SessionState::Connecting,
        Lifecycle::Run if session.wait == Wait::Sleep && session.conns.all_closed() => {
            SessionState::Lost
        }
        Lifecycle::Run if session.in_event || session.detached > 0 => SessionState::Working,
        Lifecycle::Run => match session.wait {
            Wait::Event | Wait::Sleep if session.conns.all_closed() => SessionState::Lost,
            Wait::Event | Wait::Sleep => SessionState::Waiting,
            Wait::Turn | Wait::Connect | Wait::Request => SessionState::Working,
        },
    }
}

/// Whether a session is reconnecting, including pauses between attempts.
fn connects(session: &Session) -> bool {
    session.wait == Wait::Connect || (session.attempts > 0 && session.conns.all_failed())
}

fn idle_in(session: &Session, state: SessionState) -> IdleIn {
    match (state, session.wait) {
        (SessionState::Connecting, _) => IdleIn::Connecting,
        (_, Wait::Request) => IdleIn::Statement,
        _ => IdleIn::Script,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STAGES: [Lifecycle; 6] = [
        Lifecycle::Queued,
        Lifecycle::Init,
        Lifecycle::Ready,
        Lifecycle::Run,
        Lifecycle::Done,
        Lifecycle::Ended,
    ];
    const WAITS: [Wait; 5] = [
        Wait::Turn,
        Wait::Connect,
        Wait::Request,
        Wait::Event,
        Wait::Sleep,
    ];

    /// Lifecycle, wait, in an event, lost, attempts, events.
    type Drawn = (usize, usize, bool, bool, u16, u64);

    fn session((stage, wait, in_event, lost, attempts, events): Drawn) -> Session {
        let mut session = Session::new(0);
        session.stage = STAGES[stage];
        session.wait = WAITS[wait];
        session.in_event = in_event;
        session.lost = lost;
        session.attempts = attempts;
        session.counters[Counter::Event as usize] = events;
        session
    }

    proptest! {
        #[test]
        fn every_session_is_in_one_state(
            looks in proptest::collection::vec(
                proptest::collection::vec(
                    (0..6_usize, 0..5_usize, any::<bool>(), any::<bool>(), 0..3_u16, 0..9_u64),
                    7,
                ),
                1..9,
            ),
        ) {
            let mut accounts = Accounts::new(7);
            accounts.begin(0);
            for (second, drawn) in (1..).zip(looks) {
                let sessions: Vec<Session> = drawn.into_iter().map(session).collect();
                let states = accounts.look(&sessions, second * LOOK_NS);
                prop_assert_eq!(states.total(), 7);
                let mut totals = Vec::new();
                accounts.totals(&sessions, &mut totals);
                prop_assert_eq!(totals.len(), 7);
                for total in totals {
                    prop_assert!(total.idle.to <= second * LOOK_NS);
                    prop_assert!(total.active <= second * LOOK_NS);
                }
            }
        }
    }

    fn running(wait: Wait) -> Session {
        let mut session = Session::new(0);
        session.stage = Lifecycle::Run;
        session.in_event = true;
        session.wait = wait;
        session
    }

    /// The result of one check per second of an unchanging session.
    fn idle(session: Session, seconds: u64) -> SessionTotals {
        let sessions = [session];
        let mut accounts = Accounts::new(1);
        accounts.begin(0);
        for second in 1..=seconds {
            accounts.look(&sessions, second * LOOK_NS);
        }
        let mut totals = Vec::new();
        accounts.totals(&sessions, &mut totals);
        totals[0]
    }

    #[test]
    fn a_failed_or_slow_connect_is_a_disconnection() {
        let connecting = |attempts, idle_ns| {
            let mut session = running(Wait::Connect);
            session.attempts = attempts;
            session.connected = true;
            is_disconnected(&session, idle_ns)
        };
        assert!(!connecting(1, 0));
        assert!(!connecting(1, LOOK_NS - 1));
        // A server that does not even refuse.
        assert!(connecting(1, LOOK_NS));
        assert!(connecting(2, 0));
        // It pauses between two attempts.
        let mut session = running(Wait::Sleep);
        session.attempts = 1;
        session.connected = true;
        assert!(is_disconnected(&session, 0));
        // A session that never had a connection has lost none.
        session.connected = false;
        assert!(!is_disconnected(&session, 0));
        session.connected = true;
        session.attempts = 0;
        assert!(!is_disconnected(&session, 10 * LOOK_NS));
    }

    #[test]
    fn waiting_for_an_answer_or_a_connection_is_idle_and_waiting_for_time_is_not() {
        let found = idle(running(Wait::Request), 9).idle;
        let expected = IdleTime {
            from: 0,
            to: 9 * LOOK_NS,
            idle_in: IdleIn::Statement,
            attempts: 0,
        };
        assert_eq!(found, expected);
        let mut without = running(Wait::Sleep);
        without.attempts = 4;
        let found = idle(without, 3);
        assert_eq!(found.state, SessionState::Connecting);
        let expected = IdleTime {
            from: 0,
            to: 3 * LOOK_NS,
            idle_in: IdleIn::Connecting,
            attempts: 4,
        };
        assert_eq!(found.idle, expected);
        let mut outside = running(Wait::Event);
        outside.in_event = false;
        for session in [running(Wait::Sleep), outside] {
            assert_eq!(idle(session, 9).idle, IdleTime::default());
        }
    }

    #[test]
    fn reports_long_hangs_during_the_run() {
        let after = |seconds, sessions: &[Session]| {
            let mut accounts = Accounts::new(sessions.len());
            accounts.begin(0);
            accounts.look(sessions, seconds * LOOK_NS).idle
        };
        let with_events = |mean_ns| {
            let mut session = running(Wait::Request);
            (session.events, session.busy_ns) = (100, 100 * mean_ns);
            session
        };
        let short = with_events(1_000_000);
        assert_eq!(after(4, std::slice::from_ref(&short)), 0);
        assert_eq!(after(5, std::slice::from_ref(&short)), 1);
        // Its events take long.
        let long = with_events(LOOK_NS);
        assert_eq!(after(19, std::slice::from_ref(&long)), 0);
        assert_eq!(after(20, std::slice::from_ref(&long)), 1);
        // It has none yet, so those of others count.
        assert_eq!(after(5, &[running(Wait::Request)]), 1);
        assert_eq!(after(5, &[running(Wait::Request), with_events(LOOK_NS)]), 0);
        // Sleeping, waiting for the next event and connecting are not idle.
        let mut connecting = running(Wait::Connect);
        connecting.attempts = 4;
        assert_eq!(after(9, &[running(Wait::Sleep), connecting]), 0);
    }

    #[test]
    fn a_session_that_reconnected_was_idle_while_connecting() {
        let mut accounts = Accounts::new(1);
        accounts.begin(0);
        let mut without = running(Wait::Sleep);
        without.attempts = 9;
        for second in 1..=3 {
            accounts.look(std::slice::from_ref(&without), second * LOOK_NS);
        }
        let sessions = [running(Wait::Request)];
        accounts.look(&sessions, 4 * LOOK_NS);
        let mut totals = Vec::new();
        accounts.totals(&sessions, &mut totals);
        let expected = IdleTime {
            from: 0,
            to: 4 * LOOK_NS,
            idle_in: IdleIn::Connecting,
            attempts: 9,
        };
        assert_eq!(totals[0].idle, expected);
    }

    #[test]
    fn a_completed_statement_ends_an_idle_time_and_the_longest_is_kept() {
        let mut sessions = [running(Wait::Request)];
        let mut accounts = Accounts::new(1);
        accounts.begin(0);
        for second in 1..=20 {
            if second == 5 || second == 7 || second > 12 {
                sessions[0].counters[Counter::Read as usize] += 1;
            }
            accounts.look(&sessions, second * LOOK_NS);
        }
        let mut totals = Vec::new();
        accounts.totals(&sessions, &mut totals);
        let idle = totals[0].idle;
        assert_eq!((idle.from, idle.to), (7 * LOOK_NS, 12 * LOOK_NS));
        assert_eq!(totals[0].active, 20 * LOOK_NS);
    }
}
