//! The port that a worker offers to the program of a session.

use std::io;
use std::os::fd::RawFd;

use dyno_core::clock::Nanos;
use dyno_core::db::{Connection, DbError, Submitted, TransactionStep};
use dyno_core::session::{
    ConnId, Counter, Detached, Next, OperationEnd, OperationId, Port, Request, SessionId,
};

use crate::connections::{settle, update_interest};
use crate::duet::Turn;
use crate::poller;
use crate::quota::Permission;
use crate::recorder::Class;
use crate::session::{Lifecycle, OperationKind, WATCHED, Wait, token};
use crate::state::{State, as_connection, now};
use crate::statements::{Purpose, Purposes, Statements};
use crate::stop::stoppable;

/// A session yields after this many events without waiting, if the worker has others.
const TURN_EVENTS_MAX: u32 = 64;
/// A session also yields after this time.
const TURN_NS_MAX: Nanos = 1_000_000;
/// How long to wait for other workers to return part of the events limit.
const QUOTA_RETRY_NS: Nanos = 1_000_000;

/// Records a statement before it is sent.
#[inline(always)]
fn note(statements: &mut Statements, purposes: &mut Purposes, operation: &Request<'_>) {
    match *operation {
        Request::Query(sql) => {
            statements.query(sql);
            purposes.query(sql);
        }
        Request::Execute(statement, params) => {
            statements.execute(statement, params);
            purposes.execute(statement);
        }
        Request::Prepare(sql, _) => {
            statements.prepare(sql);
            purposes.prepare(sql);
        }
        Request::Transaction(step) => purposes.ends(match step {
            TransactionStep::Begin { .. } => None,
            TransactionStep::Commit => Some(Purpose::Commit),
            TransactionStep::Rollback => Some(Purpose::Rollback),
        }),
        Request::BulkLoad(_) => purposes.ends(None),
        Request::Recover
        | Request::CloseStatement(_)
        | Request::NextResult
        | Request::EndPipeline => {}
    }
}

/// The kind of a step to the next result, after an operation of kind `last`.
fn further(last: OperationKind) -> OperationKind {
    match last {
        OperationKind::Pipeline | OperationKind::PipedResult => OperationKind::PipedResult,
        _ => OperationKind::NextResult,
    }
}

impl Port for State {
    fn connect(&mut self, session: SessionId) -> Result<(ConnId, Submitted), DbError> {
        self.stamp = 0;
        self.open(session)
    }

    #[inline]
    fn submit(
        &mut self,
        session: SessionId,
        id: ConnId,
        operation: Request<'_>,
    ) -> Option<Submitted> {
        self.stamp = 0;
        if self.sessions[session].conns.find(id)?.pending {
            // One operation at a time: wait here for the last one if the session did not yield.
            self.wait(session, id);
        }
        let record = &mut self.sessions[session];
        let conn = record.conns.find(id)?;
        let scratch = &mut self.scratch;
        let connection = conn.connection.as_mut();
        note(&mut self.statements, &mut conn.purposes, &operation);
        if let Some(shapes) = &mut self.statements.shapes {
            shapes.begin(conn.purposes.shapes(), &operation, now());
        }
        let (kind, submitted) = match operation {
            Request::Query(sql) => (OperationKind::Statement, connection.query(scratch, sql)),
            Request::Transaction(step) => (
                OperationKind::Statement,
                connection.transaction(scratch, step),
            ),
            Request::Recover => (
                OperationKind::Service,
                connection.transaction(scratch, TransactionStep::Rollback),
            ),
            Request::Execute(statement, params) => {
                let executed = connection.execute(scratch, statement, params);
                (OperationKind::Statement, executed)
            }
            Request::BulkLoad(load) => {
                let load = stoppable(load, &self.stop, self.after_end);
                (
                    OperationKind::Statement,
                    connection.bulk_load(scratch, load),
                )
            }
            Request::Prepare(sql, kinds) => {
                let prepared = connection.prepare(scratch, sql, kinds);
                (OperationKind::Service, prepared)
            }
            Request::CloseStatement(statement) => (
                OperationKind::Service,
                connection.close_statement(scratch, statement),
            ),
            Request::NextResult => (further(conn.kind), connection.next_result(scratch)),
            Request::EndPipeline => (OperationKind::Pipeline, connection.end_pipeline(scratch)),
        };
        conn.kind = kind;
        if submitted == Submitted::Ready {
            // An interrupted operation is not a server error.
            let class = record.class.unless(self.mailbox.gave_up());
            let counts = (&mut self.recorder, &mut self.statements);
            settle(counts, class, &mut record.counters, conn);
            return Some(Submitted::Ready);
        }
        if !update_interest(&self.poller, session, conn) {
            let counts = (&mut self.recorder, &mut self.statements);
            settle(counts, record.class, &mut record.counters, conn);
            return Some(Submitted::Ready);
        }
        conn.pending = true;
        record.wait = Wait::Request;
        Some(Submitted::Pending)
    }

    fn start_pipeline(&mut self, session: SessionId, id: ConnId) -> Option<Result<(), DbError>> {
        let conn = self.sessions[session].conns.find(id)?;
        conn.purposes.forget_piped();
        Some(conn.connection.start_pipeline())
    }

    fn wait(&mut self, session: SessionId, id: ConnId) {
        loop {
            let at = now();
            self.tick(at);
            let limit = self.limit_of(session);
            self.over |= at >= limit;
            let (over, until) = (self.over, self.next_mark.min(limit));
            let Some(conn) = self.sessions[session].conns.find(id) else {
                return;
            };
            if !conn.pending {
                return;
            }
            if over {
                self.disconnect(session, id);
                return;
            }
            let deadline = match conn.kind {
                OperationKind::Connect => self.connect_deadline(session, id),
                _ => Nanos::MAX,
            };
            if at >= deadline {
                self.give_up_connecting(session, id);
                return;
            }
            let Some(conn) = self.sessions[session].conns.find(id) else {
                return;
            };
            let (fd, writes) = (conn.connection.fd(), conn.connection.wants_write());
            let waker = &self.mailbox.waker;
            if poller::wait_for(fd, writes, waker, at, until.min(deadline)) {
                conn.connection.peer_closed();
            }
            if self.advance(session, id) {
                self.heard(now());
                self.sessions[session].wait = Wait::Turn;
                return;
            }
        }
    }

    #[inline]
    fn connection(&mut self, session: SessionId, id: ConnId) -> Option<&mut dyn Connection> {
        self.sessions[session].conns.find(id).map(as_connection)
    }

    fn disconnect(&mut self, session: SessionId, id: ConnId) {
        self.stamp = 0;
        let record = &mut self.sessions[session];
        let Some(mut conn) = record.conns.remove(id) else {
            return;
        };
        if conn.pending {
            record.wait = Wait::Turn;
            self.connecting -= u32::from(conn.kind == OperationKind::Connect);
        } else {
            conn.connection.close();
        }
    }

    #[inline]
    fn next_event(&mut self, session: SessionId) -> Next {
        if self.stamp == 0 {
            self.stamp = now();
        }
        let at = self.stamp;
        self.tick(at);
        let Some(calendar) = &self.calendar else {
            return Next::Stop;
        };
        if self.stopping
            || self.over
            || !self.has_events
            || self.sessions[session].stage != Lifecycle::Run
        {
            return Next::Stop;
        }
        if at < self.ramp_end {
            let begin = calendar.schedule().begin_of(self.sessions[session].tid);
            if at < begin {
                return self.pause(session, begin);
            }
        }
        if let Some(levels) = &self.levels
            && let Some(until) = levels.parked_until(self.sessions[session].tid, at)
        {
            return self.park(session, until);
        }
        if let Some(turns) = &mut self.turns {
            match turns.at(at) {
                Turn::Works => {}
                Turn::Waits(until) => return self.park(session, until),
                Turn::Over => return Next::Stop,
            }
        }
        self.turn_events += 1;
        if self.turn_events == 1 {
            self.turn_start = at;
        } else if (self.live > 1 || self.has_background)
            && (self.turn_events > TURN_EVENTS_MAX || at - self.turn_start >= TURN_NS_MAX)
        {
            return Next::Wait;
        }
        let record = &mut self.sessions[session];
        if record.pacer.is_some() {
            return self.next_arrival(session, at);
        }
        if !calendar.measures(at) {
            record.class = Class::Warmup;
            return Next::Go;
        }
        if let Some(quota) = &self.quota
            && !record.background
        {
            match quota.take(&mut self.lease) {
                Permission::Granted => {}
                Permission::Later => return self.pause(session, at + QUOTA_RETRY_NS),
                Permission::Exhausted => return Next::Stop,
            }
        }
        self.sessions[session].class = Class::Measured;
        Next::Go
    }

    fn wait_event(&mut self, session: SessionId) -> Next {
        loop {
            let next = self.next_event(session);
            if next != Next::Wait {
                return next;
            }
            while self.sessions[session].wait == Wait::Event {
                let at = now();
                self.tick(at);
                let due = self.sessions[session].due;
                if at >= due || self.stopping || self.over {
                    break;
                }
                let until = due.min(self.next_mark);
                poller::wait_for(None, false, &self.mailbox.waker, at, until);
            }
            self.sessions[session].wait = Wait::Turn;
            self.stamp = 0;
            self.turn_events = 0;
        }
    }

    #[inline]
    fn event_start(&mut self, session: SessionId) {
        let started = match self.stamp {
            0 => now(),
            stamp => stamp,
        };
        let record = &mut self.sessions[session];
        self.in_events += u32::from(!record.in_event && !record.background);
        record.in_event = true;
        record.spoilt = false;
        record.started = started;
    }

    #[inline]
    fn event_stop(&mut self, session: SessionId) {
        let at = now();
        if at >= self.next_mark {
            self.pass_marks(at);
        }
        self.stamp = at;
        self.answered = true;
        if !self.drop_event(session) {
            return;
        }
        if self.gives_up(at) {
            // It ended when the grace period was over, perhaps because its connection was closed.
            self.unfinished += 1;
            return;
        }
        let record = &mut self.sessions[session];
        if record.spoilt {
            return self.end_spoilt(session, at);
        }
        record.counters[Counter::Event as usize] += 1;
        match record.class {
            Class::Measured => {
                let service_ns = at - record.started;
                record.events += 1;
                record.busy_ns += service_ns;
                record.min_ns = record.min_ns.min(service_ns);
                record.max_ns = record.max_ns.max(service_ns);
                if record.background {
                    return self.recorder.background_event(record.role);
                }
                let open = record.pacer.as_ref().is_some_and(|pacer| pacer.own);
                let response_ns = open.then(|| at - record.scheduled);
                (self.recorder).event(record.role, at, service_ns, response_ns);
                if let Some(turns) = &mut self.turns {
                    let latency_ns = response_ns.unwrap_or(service_ns);
                    turns.ended(record.started, at, latency_ns);
                }
            }
            Class::Warmup | Class::Overlapping => {
                if !record.background {
                    self.recorder.counters(Class::Warmup).events += 1;
                }
                if self.calendar.as_ref().is_some_and(|c| c.measures(at)) {
                    record.class = Class::Measured;
                }
            }
            Class::Outside => {}
        }
    }

    fn event_detach(&mut self, session: SessionId) -> Detached {
        self.detach(session)
    }

    fn event_attach(&mut self, session: SessionId, event: Detached) {
        self.attach(session, event);
    }

    fn watch(&mut self, session: SessionId, fd: RawFd) -> io::Result<()> {
        self.poller.add(fd, token(session, WATCHED), false)
    }

    fn operation_start(&mut self, session: SessionId, operation: OperationId) {
        self.begin_work(session, operation);
    }

    fn operation_retry(&mut self, session: SessionId) {
        self.repeat_work(session);
    }

    fn operation_stop(&mut self, session: SessionId, end: OperationEnd) {
        self.end_work(session, end);
    }

    fn think(&mut self, session: SessionId, duration_ns: Nanos) {
        // Outside an event, so that the end of the run wakes it.
        self.drop_event(session);
        let due = now().saturating_add(duration_ns);
        self.set_timer(session, due, Wait::Sleep);
    }

    fn thought(&mut self, session: SessionId) -> bool {
        if self.stopping || self.over {
            return false;
        }
        self.stamp = 0;
        self.event_start(session);
        true
    }

    fn sleep(&mut self, session: SessionId, duration_ns: Nanos) {
        let due = now().saturating_add(duration_ns);
        self.set_timer(session, due, Wait::Sleep);
    }

    fn wait_sleep(&mut self, session: SessionId) -> bool {
        let record = &mut self.sessions[session];
        let due = std::mem::take(&mut record.due);
        // It still has its turn: the end of the run must not give it another.
        record.wait = Wait::Turn;
        loop {
            let at = now();
            self.tick(at);
            let limit = self.limit_of(session);
            self.over |= at >= limit;
            // The same wake-up as for sessions that sleep outside events and can yield.
            let record = &self.sessions[session];
            let idle = self.stopping && !record.in_event && record.stage == Lifecycle::Run;
            if self.over || idle || at >= due {
                break;
            }
            let until = due.min(self.next_mark).min(limit);
            poller::wait_for(None, false, &self.mailbox.waker, at, until);
        }
        // When it continued.
        self.sessions[session].due = due;
        self.stamp = 0;
        !self.over
    }

    #[inline]
    fn count(&mut self, session: SessionId, counter: Counter, amount: u64) {
        let record = &mut self.sessions[session];
        record.counters[counter as usize] += amount;
        self.recorder.counters(record.class).add(counter, amount);
    }

    fn counted(&self, session: SessionId, counter: Counter) -> u64 {
        self.sessions[session].counters[counter as usize]
    }

    fn error_not_ignored(&mut self, session: SessionId) {
        let record = &mut self.sessions[session];
        let own = &mut record.counters[Counter::Error as usize];
        *own = own.saturating_sub(1);
        let errors = &mut self.recorder.counters(record.class).errors;
        *errors = errors.saturating_sub(1);
    }

    fn count_retry(&mut self, session: SessionId) {
        self.sessions[session].spoilt = false;
        self.tried_again(session);
    }
}

#[cfg(test)]
mod tests;
