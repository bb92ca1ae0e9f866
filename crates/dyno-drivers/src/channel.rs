//! The request and response path that every operation takes: a protocol on a socket.
//!
//! Requests are encoded into the worker's shared output buffer and written immediately; responses
//! are read into its shared input buffer and parsed in place. A connection buffers only the bytes
//! that the kernel did not take and messages that have not arrived completely.

use std::io;
use std::os::fd::RawFd;

use dyno_core::bulk::BulkLoad;
use dyno_core::db::{
    Connection, DbError, EndedTransactions, ErrorKind, Outcome, OutcomeKind, Param, ParamKind,
    PipedResult, Row, Scratch, ServerInfo, StatementId, Submitted, TransactionStep,
};

use crate::tls::{TlsSession, TlsSetup};

mod ending;
mod protocol;
mod raw;
mod receive;
#[cfg(test)]
mod tests;

pub use ending::Loss;
pub use protocol::{Next, Protocol, Received};
pub use raw::{Reopen, Socket};

/// The largest answer to an operation, in bytes, unless the target sets another limit.
pub const ANSWER_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// A protocol on a socket.
pub struct Channel<P> {
    protocol: P,
    socket: Option<Box<dyn Socket>>,
    fd: RawFd,
    tls: Option<Box<TlsSession>>,
    tls_setup: Option<Box<TlsSetup>>,
    /// The received part of an incomplete message.
    partial: Vec<u8>,
    unsent: Vec<u8>,
    /// For a second attempt to connect, until the first has succeeded.
    reopen: Option<Reopen>,
    /// Called when the connection is lost.
    lost: Option<Box<dyn FnOnce(Loss) + Send>>,
    state: State,
    /// Readiness or TLS reported the peer's end of stream.
    peer_closed: bool,
    /// Bytes received of the incomplete answer.
    received: u64,
    /// The limit for `received`.
    answer_max: u64,
    endpoint: usize,
    what: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Connecting,
    Handshaking,
    Idle,
    /// Idle, but there may be something to read: bytes that no operation asked for, or the end.
    Unsettled,
    Busy,
    /// The log-in has failed.
    Refused,
    Closed,
}

impl<P: Protocol> Channel<P> {
    /// Creates a channel on a socket that is connecting. `what` names the endpoint in messages;
    /// `tls_setup` is used if the protocol starts TLS.
    pub fn new(
        protocol: P,
        socket: Box<dyn Socket>,
        tls_setup: Option<Box<TlsSetup>>,
        endpoint: usize,
        what: String,
    ) -> Self {
        let fd = socket.as_raw_fd();
        Self {
            protocol,
            socket: Some(socket),
            fd,
            tls: None,
            tls_setup,
            partial: Vec::new(),
            unsent: Vec::new(),
            reopen: None,
            lost: None,
            state: State::Connecting,
            peer_closed: false,
            received: 0,
            answer_max: ANSWER_BYTES_MAX,
            endpoint,
            what,
        }
    }

    /// Limits the size of the answer to one operation, in bytes.
    #[must_use]
    pub fn with_answer_max(mut self, bytes: u64) -> Self {
        self.answer_max = bytes;
        self
    }

    /// Sets a callback for the loss of the connection, or the failure to make one.
    #[must_use]
    pub fn if_lost(mut self, on_loss: Box<dyn FnOnce(Loss) + Send>) -> Self {
        self.lost = Some(on_loss);
        self
    }

    /// Allows a second attempt to connect, on another descriptor, if the protocol supports it.
    #[must_use]
    pub fn with_second_attempt(mut self, reopen: Reopen) -> Self {
        self.reopen = Some(reopen);
        self
    }

    /// Starts an operation: `encode` writes the request, which is sent immediately.
    #[inline]
    fn start(
        &mut self,
        scratch: &mut Scratch,
        encode: impl FnOnce(&mut P, &mut Vec<u8>) -> Submitted,
    ) -> Submitted {
        if self.state != State::Idle && !self.may_start(scratch) {
            return Submitted::Ready;
        }
        scratch.output.clear();
        self.begin();
        let submitted = encode(&mut self.protocol, &mut scratch.output);
        if submitted == Submitted::Pending {
            self.state = State::Busy;
        }
        if scratch.output.is_empty() {
            return submitted;
        }
        match self.send(&mut scratch.output) {
            Ok(()) => submitted,
            Err(error) => self.lose_unsent(scratch, &error),
        }
    }

    #[inline]
    fn begin(&mut self) {
        self.received = 0;
        let outcome = self.protocol.outcome_mut();
        outcome.bytes_in = 0;
        outcome.bytes_out = 0;
        outcome.transactions = EndedTransactions::default();
        outcome.more = false;
        outcome.error = None;
    }

    /// Checks whether an operation may start on a connection that is not idle; if not, the outcome
    /// says why.
    #[cold]
    fn may_start(&mut self, scratch: &mut Scratch) -> bool {
        match self.state {
            State::Idle => return true,
            State::Unsettled => {
                self.begin();
                return self.settle_down(scratch);
            }
            State::Closed => {
                self.begin();
                let error = DbError::new(ErrorKind::Lost, "the connection is closed");
                self.protocol.fail(error);
            }
            State::Connecting | State::Handshaking | State::Busy | State::Refused => {
                let message = "another operation is in progress on this connection";
                let outcome = self.protocol.outcome_mut();
                outcome.kind = OutcomeKind::Failed;
                outcome.error = Some(Box::new(DbError::misuse(message)));
            }
        }
        false
    }

    /// Sends `output` and keeps what the kernel does not take.
    #[inline(always)]
    fn send(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        self.protocol.outcome_mut().bytes_out += output.len() as u64;
        if self.tls.is_some() || !self.unsent.is_empty() {
            return self.send_later(output);
        }
        let written = raw::write(self.fd, output)?;
        if written < output.len() {
            self.unsent.extend_from_slice(&output[written..]);
        }
        output.clear();
        Ok(())
    }

    /// Sends `output` encrypted, or after what the kernel did not take before.
    fn send_later(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        if let Some(tls) = &mut self.tls {
            tls.encrypt(output, &mut self.unsent)?;
        } else {
            self.unsent.extend_from_slice(output);
        }
        output.clear();
        self.flush()
    }

    /// Writes as much of the unsent bytes as the kernel takes.
    fn flush(&mut self) -> io::Result<()> {
        let mut done = 0;
        while done < self.unsent.len() {
            let written = raw::write(self.fd, &self.unsent[done..])?;
            if written == 0 {
                break;
            }
            done += written;
        }
        self.unsent.drain(..done);
        if self.unsent.is_empty() && self.unsent.capacity() > 4096 {
            self.unsent = Vec::new();
        }
        Ok(())
    }

    fn start_tls(&mut self) -> io::Result<()> {
        let Some(setup) = self.tls_setup.take() else {
            return Err(io::Error::other("TLS was requested without settings"));
        };
        // Bytes sent in the clear must not be taken for bytes sent under TLS.
        if !self.partial.is_empty() {
            let message = "the server sent unencrypted data after agreeing to TLS";
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        let mut tls = TlsSession::new(*setup)?;
        tls.begin(&mut self.unsent)?;
        self.tls = Some(Box::new(tls));
        self.flush()
    }

    /// Receives what has arrived, and sends what is ready.
    #[inline(always)]
    fn drive(&mut self, scratch: &mut Scratch) -> io::Result<Submitted> {
        if self.state == State::Busy && self.unsent.is_empty() {
            return match self.receive(scratch)? {
                Submitted::Ready => Ok(Submitted::Ready),
                Submitted::Pending => self.produce(Submitted::Pending, scratch),
            };
        }
        self.drive_on(scratch)
    }

    /// The same while connecting, or if the kernel did not take all of the last message.
    fn drive_on(&mut self, scratch: &mut Scratch) -> io::Result<Submitted> {
        if self.state == State::Connecting {
            if let Some(error) = raw::pending_error(self.fd)? {
                return Err(error);
            }
            if !raw::is_connected(self.fd) {
                return Ok(Submitted::Pending);
            }
            self.state = State::Handshaking;
            scratch.output.clear();
            self.protocol.connected(&mut scratch.output);
            if !scratch.output.is_empty() {
                self.send(&mut scratch.output)?;
            }
        }
        if !self.unsent.is_empty() {
            self.flush()?;
        }
        let submitted = self.receive(scratch)?;
        self.produce(submitted, scratch)
    }

    /// Sends what a protocol produces in pieces, as long as the kernel takes it.
    fn produce(
        &mut self,
        mut submitted: Submitted,
        scratch: &mut Scratch,
    ) -> io::Result<Submitted> {
        while submitted == Submitted::Pending && self.unsent.is_empty() && self.tls_ready() {
            scratch.output.clear();
            self.protocol.produce(&mut scratch.output);
            if scratch.output.is_empty() {
                break;
            }
            self.send(&mut scratch.output)?;
            if self.unsent.is_empty() {
                // The server may have answered early, with an error.
                submitted = self.receive(scratch)?;
            }
        }
        Ok(submitted)
    }

    fn tls_ready(&self) -> bool {
        self.tls.as_ref().is_none_or(|tls| !tls.is_handshaking())
    }
}

impl<P: Protocol> Connection for Channel<P> {
    #[inline]
    fn advance(&mut self, scratch: &mut Scratch) -> Submitted {
        match self.state {
            // Readiness without an operation: the next operation checks why. Pending bytes of the
            // last one are still being read.
            State::Idle => {
                self.state = State::Unsettled;
                return Submitted::Ready;
            }
            State::Unsettled | State::Refused | State::Closed => return Submitted::Ready,
            State::Connecting | State::Handshaking | State::Busy => {}
        }
        match self.drive(scratch) {
            Ok(submitted) => self.settle(submitted),
            Err(error) => self.lose_hearing(scratch, &error),
        }
    }

    #[inline]
    fn query(&mut self, scratch: &mut Scratch, sql: &[u8]) -> Submitted {
        self.start(scratch, |protocol, output| protocol.query(sql, output))
    }

    fn transaction(&mut self, scratch: &mut Scratch, step: TransactionStep) -> Submitted {
        self.start(scratch, |protocol, output| {
            protocol.transaction(step, output)
        })
    }

    fn prepare(&mut self, scratch: &mut Scratch, sql: &[u8], kinds: &[ParamKind]) -> Submitted {
        self.start(scratch, |protocol, output| {
            protocol.prepare(sql, kinds, output)
        })
    }

    #[inline]
    fn execute(
        &mut self,
        scratch: &mut Scratch,
        statement: StatementId,
        params: &[&Param],
    ) -> Submitted {
        self.start(scratch, |protocol, output| {
            protocol.execute(statement, params, output)
        })
    }

    fn close_statement(&mut self, scratch: &mut Scratch, statement: StatementId) -> Submitted {
        self.start(scratch, |protocol, output| {
            protocol.close_statement(statement, output)
        })
    }

    fn bulk_load(&mut self, scratch: &mut Scratch, load: BulkLoad) -> Submitted {
        self.start(scratch, |protocol, output| protocol.bulk_load(load, output))
    }

    fn next_result(&mut self, scratch: &mut Scratch) -> Submitted {
        if !matches!(self.state, State::Idle | State::Unsettled) {
            self.may_start(scratch);
            return Submitted::Ready;
        }
        self.begin();
        scratch.output.clear();
        // Nothing is sent for it.
        if self.protocol.next_result(&mut scratch.output) == Submitted::Ready {
            return Submitted::Ready;
        }
        self.state = State::Busy;
        // The next result may have arrived with the previous one, in our buffer or in the socket's,
        // so no readiness event will announce it.
        match self.feed_partial(scratch) {
            Ok(Submitted::Ready) => self.settle(Submitted::Ready),
            Ok(Submitted::Pending) => self.advance(scratch),
            Err(error) => self.lose(&error),
        }
    }

    fn start_pipeline(&mut self) -> Result<(), DbError> {
        self.protocol.start_pipeline()
    }

    fn end_pipeline(&mut self, scratch: &mut Scratch) -> Submitted {
        self.start(scratch, |protocol, output| protocol.end_pipeline(output))
    }

    fn drop_pipeline(&mut self) {
        self.protocol.drop_pipeline();
    }

    fn piped(&self, index: usize) -> Option<PipedResult> {
        self.protocol.piped(index)
    }

    fn keep_names(&mut self) {
        self.protocol.keep_names();
    }

    fn names(&self) -> &[Vec<String>] {
        self.protocol.names()
    }

    #[inline]
    fn outcome(&self) -> &Outcome {
        self.protocol.outcome()
    }

    fn next_row(&mut self, row: &mut Row) -> bool {
        self.protocol.next_row(row)
    }

    fn free_result(&mut self) {
        self.protocol.free_result();
    }

    fn fd(&self) -> Option<RawFd> {
        self.socket.as_ref().map(|_| self.fd)
    }

    fn peer_closed(&mut self) {
        self.peer_closed = true;
    }

    fn has_ended(&mut self, scratch: &mut Scratch) -> bool {
        match self.state {
            State::Idle | State::Unsettled if !self.protocol.is_answering() => {
                let goes_on = self.read_unasked(scratch).is_ok();
                // The next operation handles an incomplete message or an end of stream.
                self.state = match goes_on && self.partial.is_empty() {
                    true => State::Idle,
                    false => State::Unsettled,
                };
                !goes_on
            }
            State::Idle => {
                self.state = State::Unsettled;
                false
            }
            State::Refused | State::Closed => true,
            _ => false,
        }
    }

    fn abort(&mut self, why: &str) {
        self.give_up(why);
    }

    #[inline]
    fn wants_write(&self) -> bool {
        !self.unsent.is_empty() || self.state == State::Connecting
    }

    fn close(&mut self) {
        if matches!(self.state, State::Idle | State::Unsettled) {
            let mut output = Vec::new();
            self.protocol.terminate(&mut output);
            // The server may be gone already.
            let _ = self.send(&mut output);
        }
        self.shut();
    }

    fn server(&self) -> &ServerInfo {
        self.protocol.server()
    }

    fn endpoint(&self) -> usize {
        self.endpoint
    }

    fn transaction_failed(&self) -> bool {
        self.protocol.transaction_failed()
    }

    fn in_transaction(&self) -> bool {
        self.protocol.in_transaction()
    }
}
