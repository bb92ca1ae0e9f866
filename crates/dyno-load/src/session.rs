//! A session's record: compact, because a worker keeps ten thousand of them.

use std::os::fd::RawFd;
use std::sync::Arc;

use dyno_core::clock::Nanos;
use dyno_core::db::{Connection, OutcomeKind};
use dyno_core::session::{ConnId, Counter, OperationId};

use crate::recorder::Class;
use crate::roles::Pacer;
use crate::statements::Purposes;

/// A session as its worker sees it. The first cache lines hold what an operation touches.
#[repr(align(64))]
pub(crate) struct Session {
    pub(crate) conns: Conns,
    pub(crate) started: Nanos,
    /// When its event was due; open loop only.
    pub(crate) scheduled: Nanos,
    /// When to wake it, if it waits for time.
    pub(crate) due: Nanos,
    pub(crate) tid: u32,
    pub(crate) stage: Lifecycle,
    pub(crate) wait: Wait,
    pub(crate) class: Class,
    /// It has a claimed arrival or a place within the events limit that no event has used yet.
    pub(crate) claimed: bool,
    /// It was free and waiting when its arrival was due.
    pub(crate) waited: bool,
    pub(crate) in_event: bool,
    /// Work of its event failed.
    pub(crate) spoilt: bool,
    pub(crate) role: u16,
    /// The events of this session do not count as the run's.
    pub(crate) background: bool,
    pub(crate) lost: bool,
    /// It has had a connection.
    pub(crate) connected: bool,
    /// The run ended while the session had lost its connection and could not reconnect.
    pub(crate) disconnected: bool,
    /// The run ended between two events of the session, with an open transaction.
    pub(crate) in_transaction: bool,
    /// Connection attempts since its last connection, saturating; 0 once it has one.
    pub(crate) attempts: u16,
    /// The due times of its events, in an open loop.
    pub(crate) pacer: Option<Arc<Pacer>>,
    /// When it ended by itself; 0 before.
    pub(crate) finished: Nanos,
    /// Number of detached events.
    pub(crate) detached: u32,
    /// The operation in progress.
    pub(crate) work: Option<OpenOperation>,
    /// Totals since the session began, in sysbench's order.
    pub(crate) counters: [u64; Counter::COUNT],
    pub(crate) events: u64,
    /// Time in measured events, without the wait before them.
    pub(crate) busy_ns: Nanos,
    /// The shortest and the longest measured event.
    pub(crate) min_ns: Nanos,
    pub(crate) max_ns: Nanos,
}

/// An operation in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenOperation {
    pub(crate) operation: OperationId,
    pub(crate) retries: u16,
    /// When the first try began.
    pub(crate) started: Nanos,
    /// Duration of the first try, once there is a second.
    pub(crate) first_ns: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifecycle {
    /// The initialisation has not begun.
    Queued,
    /// It initialises.
    Init,
    /// It is initialised.
    Ready,
    /// It runs.
    Run,
    /// It cleans up.
    Done,
    /// It is over.
    Ended,
}

impl Lifecycle {
    /// No entry of its script is in progress.
    pub(crate) fn is_between_entries(self) -> bool {
        matches!(self, Self::Queued | Self::Ready | Self::Ended)
    }
}

impl Class {
    /// The same, or `Outside` if it must not be counted.
    #[inline]
    pub(crate) fn unless(self, uncounted: bool) -> Self {
        match uncounted {
            true => Self::Outside,
            false => self,
        }
    }

    /// Whether statements and errors are measured.
    #[inline]
    pub(crate) fn is_measured(self) -> bool {
        matches!(self, Self::Measured | Self::Overlapping)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    Turn,
    Connect,
    Request,
    /// For the instant at which its next event may begin.
    Event,
    Sleep,
}

impl Session {
    pub(crate) fn new(tid: u32) -> Self {
        Self {
            conns: Conns::default(),
            started: 0,
            scheduled: 0,
            due: 0,
            tid,
            stage: Lifecycle::Queued,
            wait: Wait::Turn,
            class: Class::Outside,
            claimed: false,
            waited: false,
            in_event: false,
            spoilt: false,
            role: 0,
            background: false,
            lost: false,
            connected: false,
            disconnected: false,
            in_transaction: false,
            attempts: 0,
            pacer: None,
            finished: 0,
            detached: 0,
            work: None,
            counters: [0; Counter::COUNT],
            events: 0,
            busy_ns: 0,
            min_ns: Nanos::MAX,
            max_ns: 0,
        }
    }

    /// The wait in words.
    pub(crate) fn awaited(&self) -> &'static str {
        match self.wait {
            Wait::Connect => "it was waiting for a connection",
            Wait::Request => "it was waiting for the answer of a statement",
            Wait::Event | Wait::Sleep => "it was sleeping",
            Wait::Turn => "it was running its script",
        }
    }
}

pub(crate) struct Conn {
    pub(crate) connection: Box<dyn Connection>,
    pub(crate) id: ConnId,
    /// The registered descriptor, or -1.
    pub(crate) fd: RawFd,
    pub(crate) endpoint: u32,
    pub(crate) kind: OperationKind,
    /// An operation is in progress.
    pub(crate) pending: bool,
    /// Write readiness is reported.
    pub(crate) writes: bool,
    /// The peer is known to have closed it.
    pub(crate) closed: bool,
    /// The purposes of its statements.
    pub(crate) purposes: Purposes,
}

impl Conn {
    /// Whether the connection attempt failed.
    fn never_was(&self) -> bool {
        let failed = || self.connection.outcome().kind == OutcomeKind::Failed;
        self.kind == OperationKind::Connect && !self.pending && failed()
    }
}

/// How an operation counts in the statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperationKind {
    /// A connection being made.
    Connect,
    /// A statement.
    Statement,
    /// A further result of a statement: its rows count, but it is not another statement.
    NextResult,
    /// All statements of a pipeline.
    Pipeline,
    /// A further result of a pipeline, whose rows were counted when it ended.
    PipedResult,
    /// Preparing or closing a statement.
    Service,
}

/// A session's connections by number: the first inline, because nearly all sessions have only one,
/// and others in order. Numbers are never reused.
#[derive(Default)]
pub(crate) struct Conns {
    first: Option<Conn>,
    /// Boxed, because few sessions have any.
    #[allow(clippy::box_collection)]
    rest: Option<Box<Vec<Conn>>>,
    next: ConnId,
}

impl Conns {
    /// The next connection's number.
    pub(crate) fn next_id(&mut self) -> ConnId {
        let id = self.next;
        // Four billion connections of one session: the run ends earlier.
        self.next = self.next.wrapping_add(1);
        id
    }

    pub(crate) fn add(&mut self, conn: Conn) -> &mut Conn {
        if self.is_empty() {
            return self.first.insert(conn);
        }
        let rest = self.rest.get_or_insert_default();
        rest.push(conn);
        let last = rest.len() - 1;
        &mut rest[last]
    }

    /// All but the first.
    fn rest(&self) -> &[Conn] {
        self.rest.as_deref().map_or(&[], Vec::as_slice)
    }

    fn is_empty(&self) -> bool {
        self.first.is_none() && self.rest().is_empty()
    }

    /// Whether there are only failed attempts.
    pub(crate) fn all_failed(&self) -> bool {
        self.first.iter().chain(self.rest()).all(Conn::never_was)
    }

    /// Whether all connections are closed, and there was at least one.
    pub(crate) fn all_closed(&self) -> bool {
        let any = self.first.iter().chain(self.rest()).any(|conn| conn.closed);
        let mut all = self.first.iter().chain(self.rest());
        any && all.all(|conn| conn.closed || conn.never_was())
    }

    /// Whether one was closed unnoticed: no operation has failed because of it.
    pub(crate) fn any_lost(&self) -> bool {
        let mut all = self.first.iter().chain(self.rest());
        all.any(|conn| conn.closed && conn.connection.outcome().kind != OutcomeKind::Failed)
    }

    /// Whether a connection has an open transaction.
    pub(crate) fn any_in_transaction(&self) -> bool {
        let mut all = self.first.iter().chain(self.rest());
        all.any(|conn| !conn.closed && conn.connection.in_transaction())
    }

    /// Removes failed attempts: a session that makes another one has read the error.
    pub(crate) fn drop_failed(&mut self) {
        if self.first.as_ref().is_some_and(Conn::never_was) {
            self.first = None;
        }
        if let Some(rest) = &mut self.rest {
            rest.retain(|conn| !conn.never_was());
        }
    }

    #[inline]
    pub(crate) fn find(&mut self, id: ConnId) -> Option<&mut Conn> {
        match &mut self.first {
            Some(conn) if conn.id == id => Some(conn),
            _ => {
                let rest = self.rest.as_mut()?;
                let index = rest.binary_search_by_key(&id, |conn| conn.id).ok()?;
                rest.get_mut(index)
            }
        }
    }

    pub(crate) fn remove(&mut self, id: ConnId) -> Option<Conn> {
        if self.first.as_ref().is_some_and(|conn| conn.id == id) {
            return self.first.take();
        }
        let rest = self.rest.as_mut()?;
        let index = rest.binary_search_by_key(&id, |conn| conn.id).ok()?;
        Some(rest.remove(index))
    }

    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Conn> + use<> {
        let rest = self.rest.take().map_or_else(Vec::new, |rest| *rest);
        self.first.take().into_iter().chain(rest)
    }
}

/// The poller's token of a connection. Numbers are never reused, so late readiness of a closed
/// connection finds nothing.
#[inline]
pub(crate) fn token(session: usize, conn: ConnId) -> u64 {
    (session as u64) << 32 | u64::from(conn)
}

/// Marks a descriptor that the session's program watches, instead of a connection.
pub(crate) const WATCHED: ConnId = ConnId::MAX;

/// The session and connection of a token.
#[inline]
pub(crate) fn untoken(token: u64) -> (usize, ConnId) {
    ((token >> 32) as usize, token as ConnId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_takes_few_cache_lines() {
        assert!(size_of::<Session>() <= 256, "{}", size_of::<Session>());
    }

    #[test]
    fn tokens_keep_both_numbers() {
        assert_eq!(untoken(token(9_999, u32::MAX)), (9_999, u32::MAX));
        assert_ne!(token(9_999, u32::MAX), crate::poller::WAKE);
    }
}
