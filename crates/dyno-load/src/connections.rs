//! Sessions' connections: made, driven by readiness, counted and dropped.

use std::io;
use std::sync::atomic::Ordering;

use dyno_core::clock::Nanos;
use dyno_core::db::{DbError, ErrorKind, OutcomeKind, PipedResult, Submitted};
use dyno_core::interval::Counters;
use dyno_core::session::{ConnId, Counter, SessionId};
use dyno_core::units::format_duration;

use crate::poller::{Poller, is_closed};
use crate::recorder::{Class, Recorder};
use crate::session::{Conn, OperationKind, WATCHED, Wait, token, untoken};
use crate::state::{State, now};
use crate::statements::{Purposes, Statements};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Attempt {
    conn: ConnId,
    deadline: Nanos,
    /// When the session's timer checks it; 0 without a timer. There is one timer for any number of
    /// attempts.
    timer: Nanos,
}

impl State {
    pub(crate) fn open(&mut self, session: SessionId) -> Result<(ConnId, Submitted), DbError> {
        let record = &mut self.sessions[session];
        let Some(connector) = &self.connector else {
            let message = "this command has no database to connect to";
            return Err(DbError::new(ErrorKind::Misuse, message));
        };
        if self.over {
            return Err(DbError::new(ErrorKind::Lost, "the run is over"));
        }
        record.conns.drop_failed();
        let id = record.conns.next_id();
        record.attempts = record.attempts.saturating_add(1);
        // The first connections of sessions are spread over the endpoints the same way in every
        // run.
        let sequence = match id {
            0 => u64::from(record.tid),
            _ => self.sequence.fetch_add(1, Ordering::Relaxed),
        };
        let mut connection = match connector.connect(sequence) {
            Ok(connection) => connection,
            Err(error) => {
                self.recorder.connect_failed(record.class, Some(&error));
                if record.class.is_measured() {
                    self.outages.failed(now());
                }
                return Err(error);
            }
        };
        let timeout = connector.connect_timeout();
        let deadline = timeout.map_or(Nanos::MAX, |timeout| now() + timeout.as_nanos() as Nanos);
        let submitted = connection.advance(&mut self.scratch);
        let conn = record.conns.add(Conn {
            id,
            fd: -1,
            endpoint: connection.endpoint() as u32,
            kind: OperationKind::Connect,
            pending: submitted == Submitted::Pending,
            writes: false,
            closed: false,
            purposes: Purposes::default(),
            connection,
        });
        if let Err(error) = register(&self.poller, session, conn) {
            record.conns.remove(id);
            let message = format!("cannot wait for the connection's socket: {error}");
            return Err(DbError::new(ErrorKind::Lost, message));
        }
        match submitted {
            Submitted::Pending => {
                record.wait = Wait::Connect;
                self.connecting += 1;
                let attempt = &mut self.attempts[session];
                (attempt.conn, attempt.deadline) = (id, deadline);
                if attempt.timer == 0 && deadline < Nanos::MAX {
                    attempt.timer = deadline;
                    self.timers.arm(deadline, session);
                }
            }
            Submitted::Ready => {
                let counts = (&mut self.recorder, &mut self.statements);
                settle(counts, record.class, &mut record.counters, conn);
                self.connect_ended(session, id);
            }
        }
        Ok((id, submitted))
    }

    /// A connection is ready; `last` means for the last time. Returns the session if it waited for
    /// this.
    // Called once per answer, from one place.
    #[inline(always)]
    pub(crate) fn readiness(&mut self, token: u64, last: bool) -> Option<SessionId> {
        let (session, id) = untoken(token);
        let record = self.sessions.get_mut(session)?;
        let Some(conn) = record.conns.find(id) else {
            let idle = matches!(record.wait, Wait::Event | Wait::Sleep);
            return (id == WATCHED && idle).then_some(session);
        };
        if last {
            conn.connection.peer_closed();
            // A connection attempt may continue with another socket.
            conn.closed = !conn.pending || conn.kind != OperationKind::Connect;
        }
        if !conn.pending {
            conn.closed |= conn.connection.has_ended(&mut self.scratch);
            return None;
        }
        if !self.advance(session, id) {
            return None;
        }
        if last {
            self.look_for_end(session, id);
        }
        let wait = self.sessions[session].wait;
        matches!(wait, Wait::Request | Wait::Connect).then_some(session)
    }

    /// The peer closed its side with the last answer. During a connection attempt, that may have
    /// been another socket.
    #[cold]
    fn look_for_end(&mut self, session: SessionId, id: ConnId) {
        if let Some(conn) = self.sessions[session].conns.find(id)
            && let Some(fd) = conn.connection.fd()
        {
            conn.closed = is_closed(fd);
        }
    }

    /// Continues a pending operation. True when it has ended and was counted.
    #[inline]
    pub(crate) fn advance(&mut self, session: SessionId, id: ConnId) -> bool {
        let record = &mut self.sessions[session];
        let Some(conn) = record.conns.find(id) else {
            return false;
        };
        let mut submitted = conn.connection.advance(&mut self.scratch);
        let connects = conn.kind == OperationKind::Connect && conn.pending;
        if submitted == Submitted::Pending && connects {
            // The driver may have changed the socket.
            if let Err(error) = register(&self.poller, session, conn) {
                abort_unwatched(conn, &error);
                submitted = Submitted::Ready;
            }
        } else if (submitted == Submitted::Pending || conn.writes)
            && !update_interest(&self.poller, session, conn)
        {
            submitted = Submitted::Ready;
        }
        if submitted == Submitted::Ready {
            let counts = (&mut self.recorder, &mut self.statements);
            settle(counts, record.class, &mut record.counters, conn);
            if connects {
                self.connecting -= 1;
                self.connect_ended(session, id);
            }
        }
        submitted == Submitted::Ready
    }

    /// When the connection attempt is abandoned.
    pub(crate) fn connect_deadline(&self, session: SessionId, id: ConnId) -> Nanos {
        let attempt = self
            .attempts
            .get(session)
            .filter(|attempt| attempt.conn == id);
        attempt.map_or(Nanos::MAX, |attempt| attempt.deadline)
    }

    /// The timer of a connecting session has fired. True if the attempt was abandoned, so that the
    /// session continues.
    #[cold]
    pub(crate) fn connect_is_due(&mut self, session: SessionId, due: Nanos) -> bool {
        let attempt = &mut self.attempts[session];
        if attempt.timer != due {
            return false;
        }
        attempt.timer = 0;
        let (id, deadline) = (attempt.conn, attempt.deadline);
        let record = &mut self.sessions[session];
        let conn = record.conns.find(id);
        if !conn.is_some_and(|conn| conn.pending && conn.kind == OperationKind::Connect) {
            return false;
        }
        if deadline > due {
            self.attempts[session].timer = deadline;
            self.timers.arm(deadline, session);
            return false;
        }
        let waits = record.wait == Wait::Connect;
        self.give_up_connecting(session, id);
        waits
    }

    /// A connection attempt timed out.
    #[cold]
    pub(crate) fn give_up_connecting(&mut self, session: SessionId, id: ConnId) {
        let record = &mut self.sessions[session];
        let timeout = self.connector.as_ref().and_then(|c| c.connect_timeout());
        let Some(conn) = record.conns.find(id).filter(|conn| conn.pending) else {
            return;
        };
        conn.connection.abort(&format!(
            "no answer within {}; the target's parameter connect_timeout sets how long an attempt \
             may take",
            format_duration(timeout.unwrap_or_default())
        ));
        self.connecting -= 1;
        let counts = (&mut self.recorder, &mut self.statements);
        settle(counts, record.class, &mut record.counters, conn);
        self.connect_ended(session, id);
    }

    /// Records the result of a connection attempt.
    fn connect_ended(&mut self, session: SessionId, id: ConnId) {
        let record = &mut self.sessions[session];
        let Some(conn) = record.conns.find(id) else {
            return;
        };
        let failed = conn.connection.outcome().kind == OutcomeKind::Failed;
        let measured = record.class.is_measured();
        match failed {
            true if measured => self.outages.failed(now()),
            true => {}
            false => {
                record.attempts = 0;
                record.connected = true;
                self.outages.succeeded(now());
            }
        }
    }

    /// Drops a session's connections; cleanly if they are idle.
    pub(crate) fn close_connections(&mut self, session: SessionId, politely: bool) {
        for mut conn in self.sessions[session].conns.drain() {
            self.connecting -= u32::from(conn.pending && conn.kind == OperationKind::Connect);
            if politely && !conn.pending {
                conn.connection.close();
            }
        }
    }
}

/// Counts the result of an operation.
#[inline(always)]
pub(crate) fn settle(
    (recorder, statements): (&mut Recorder, &mut Statements),
    class: Class,
    own: &mut [u64; Counter::COUNT],
    conn: &mut Conn,
) {
    conn.pending = false;
    let outcome = conn.connection.outcome();
    if let Some(shapes) = &mut statements.shapes {
        let own = conn.purposes.shapes();
        shapes.end(own, outcome, now(), class.is_measured());
    }
    if class.is_measured() {
        statements.transactions(outcome.transactions);
    }
    let counters = recorder.counters(class);
    counters.bytes_in += outcome.bytes_in;
    counters.bytes_out += outcome.bytes_out;
    own[Counter::BytesRead as usize] += outcome.bytes_in;
    own[Counter::BytesWritten as usize] += outcome.bytes_out;
    if outcome.kind == OutcomeKind::Piped {
        return conn.purposes.pipe();
    }
    if conn.kind == OperationKind::Pipeline {
        return settle_pipeline((recorder, statements), class, own, conn);
    }
    if outcome.kind == OutcomeKind::Failed {
        match (conn.kind, outcome.error.as_deref()) {
            (OperationKind::Connect, error) => recorder.connect_failed(class, error),
            (kind, Some(error)) if !is_answer(kind, error) => recorder.error(class, error),
            _ => {}
        }
        return;
    }
    match conn.kind {
        OperationKind::Connect | OperationKind::Pipeline | OperationKind::PipedResult => {}
        OperationKind::Service => {
            if outcome.kind == OutcomeKind::Prepared {
                conn.purposes.prepared(outcome.statement);
            }
        }
        OperationKind::NextResult => counters.rows += outcome.rows + outcome.affected,
        OperationKind::Statement => {
            let result = PipedResult {
                has_rows: outcome.kind == OutcomeKind::Rows,
                rows: outcome.rows,
                affected: outcome.affected,
            };
            let purpose = || conn.purposes.ended();
            let counter = count(counters, result);
            if counter == Counter::Other
                && class.is_measured()
                && let Some(purpose) = purpose()
            {
                statements.ended(purpose);
            }
            own[counter as usize] += 1;
            recorder.statement(class, conn.endpoint as usize);
        }
    }
}

/// Counts a completed statement.
#[inline(always)]
fn count(counters: &mut Counters, result: PipedResult) -> Counter {
    let (counter, rows) = match result {
        PipedResult { has_rows: true, .. } => (Counter::Read, result.rows),
        PipedResult { affected: 1.., .. } => (Counter::Write, result.affected),
        _ => (Counter::Other, 0),
    };
    counters.add(counter, 1);
    counters.reads_empty += u64::from(counter == Counter::Read && rows == 0);
    counters.rows += rows;
    counter
}

/// Counts the completed statements of a pipeline, and the error that stopped it: the server skips
/// the rest.
fn settle_pipeline(
    (recorder, statements): (&mut Recorder, &mut Statements),
    class: Class,
    own: &mut [u64; Counter::COUNT],
    conn: &mut Conn,
) {
    let measured = class.is_measured();
    let mut completed = 0;
    while let Some(result) = conn.connection.piped(completed) {
        let counter = count(recorder.counters(class), result);
        if counter == Counter::Other
            && measured
            && let Some(purpose) = conn.purposes.piped(completed)
        {
            statements.ended(purpose);
        }
        if let Some(shapes) = &mut statements.shapes {
            shapes.piped(conn.purposes.shapes(), completed, Some(result), measured);
        }
        own[counter as usize] += 1;
        recorder.statement(class, conn.endpoint as usize);
        completed += 1;
    }
    if let Some(error) = conn.connection.outcome().error.as_deref() {
        recorder.error(class, error);
        if let Some(shapes) = &mut statements.shapes {
            shapes.piped(conn.purposes.shapes(), completed, None, measured);
        }
    }
    conn.purposes.forget_piped();
}

/// Whether an error only answers Dyno's own probe: a statement that the server cannot prepare is
/// sent as text.
fn is_answer(kind: OperationKind, error: &DbError) -> bool {
    kind == OperationKind::Service && error.kind == ErrorKind::Unsupported
}

/// Asks for write readiness only while bytes wait. False if that fails, which fails the operation.
#[inline]
pub(crate) fn update_interest(poller: &Poller, session: SessionId, conn: &mut Conn) -> bool {
    let writes = conn.connection.wants_write();
    // The number of a lost connection's descriptor may have been reused by another connection.
    if writes != conn.writes && conn.connection.fd() == Some(conn.fd) {
        conn.writes = writes;
        if let Err(error) = poller.modify(conn.fd, token(session, conn.id), writes) {
            abort_unwatched(conn, &error);
            return false;
        }
    }
    true
}

#[cold]
fn abort_unwatched(conn: &mut Conn, error: &io::Error) {
    let why = format!("cannot wait for the connection's socket: {error}");
    conn.connection.abort(&why);
}

/// Registers a connecting socket, whatever was registered before.
fn register(poller: &Poller, session: SessionId, conn: &mut Conn) -> io::Result<()> {
    let Some(fd) = conn.connection.fd() else {
        return Ok(());
    };
    let writes = conn.connection.wants_write();
    let token = token(session, conn.id);
    // The number may now belong to another socket, which is not registered.
    let known = conn.fd == fd && poller.modify(fd, token, writes).is_ok();
    if !known {
        poller.add(fd, token, writes)?;
    }
    conn.fd = fd;
    conn.writes = writes;
    Ok(())
}
