//! A protocol on a socket: the request and response path that every operation takes.
//!
//! Requests are encoded into the worker's shared output buffer and written at once; responses are
//! read into its shared input buffer and parsed in place. Only what the kernel did not take, or a
//! message that has not arrived whole, is kept in buffers of the connection's own.

use std::io::{self, ErrorKind};
use std::os::fd::RawFd;

use dyno_core::bulk::BulkLoad;
use dyno_core::db::{
    Connection, DbError, ErrorClass, Outcome, OutcomeKind, Param, ParamKind, Row, Scratch,
    ServerInfo, StatementId, Submitted,
};

use crate::socket::advice;
use crate::tls::{TlsSession, TlsSetup};

mod protocol;
mod raw;

pub use protocol::{Next, Protocol, Received};
pub use raw::{Reopen, Socket};

/// A protocol on a socket.
pub struct Channel<P> {
    protocol: P,
    socket: Option<Box<dyn Socket>>,
    fd: RawFd,
    tls: Option<Box<TlsSession>>,
    tls_setup: Option<Box<TlsSetup>>,
    /// Bytes received of a message that is not whole yet.
    partial: Vec<u8>,
    /// Bytes that the kernel has not taken yet.
    unsent: Vec<u8>,
    /// For a second attempt to connect, until the first has succeeded.
    reopen: Option<Reopen>,
    state: State,
    endpoint: usize,
    what: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Connecting,
    Handshaking,
    Idle,
    Busy,
    Closed,
}

impl<P: Protocol> Channel<P> {
    /// A protocol on a socket that is connecting. `what` names the endpoint in messages;
    /// `tls_setup` is what a `StartTls` will use.
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
            state: State::Connecting,
            endpoint,
            what,
        }
    }

    /// Allows a second attempt to connect where the protocol knows one, with another descriptor.
    #[must_use]
    pub fn with_second_attempt(mut self, reopen: Reopen) -> Self {
        self.reopen = Some(reopen);
        self
    }

    /// Starts an operation: `encode` writes the request, which is sent at once.
    #[inline]
    fn start(
        &mut self,
        scratch: &mut Scratch,
        encode: impl FnOnce(&mut P, &mut Vec<u8>) -> Submitted,
    ) -> Submitted {
        if self.state != State::Idle {
            return self.refuse();
        }
        scratch.output.clear();
        let outcome = self.protocol.outcome_mut();
        outcome.bytes_in = 0;
        outcome.bytes_out = 0;
        outcome.more = false;
        outcome.error = None;
        let submitted = encode(&mut self.protocol, &mut scratch.output);
        if submitted == Submitted::Pending {
            self.state = State::Busy;
        }
        if scratch.output.is_empty() {
            return submitted;
        }
        match self.send(&mut scratch.output) {
            Ok(()) => submitted,
            Err(error) => self.lose_hearing(scratch, &error),
        }
    }

    fn refuse(&mut self) -> Submitted {
        if self.state == State::Closed {
            let error = DbError::new(ErrorClass::Lost, "the connection is closed");
            self.protocol.fail(error);
            return Submitted::Ready;
        }
        let message = "another operation is under way on this connection";
        let outcome = self.protocol.outcome_mut();
        outcome.kind = OutcomeKind::Failed;
        outcome.error = Some(Box::new(DbError::new(ErrorClass::Misuse, message)));
        Submitted::Ready
    }

    /// Sends `output`, keeping what the kernel does not take.
    #[inline]
    fn send(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        self.protocol.outcome_mut().bytes_out += output.len() as u64;
        if self.tls.is_none() && self.unsent.is_empty() {
            let written = raw::write(self.fd, output)?;
            if written < output.len() {
                self.unsent.extend_from_slice(&output[written..]);
            }
            output.clear();
            return Ok(());
        }
        if let Some(tls) = &mut self.tls {
            tls.encrypt(output, &mut self.unsent)?;
        } else {
            self.unsent.extend_from_slice(output);
        }
        output.clear();
        self.flush()
    }

    /// Writes what is unsent, as far as the kernel takes it.
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

    /// Reads what has arrived and gives it to the protocol.
    fn receive(&mut self, scratch: &mut Scratch) -> io::Result<Submitted> {
        loop {
            let read = raw::read(self.fd, &mut scratch.input)?;
            let Some(read) = read else {
                return Ok(Submitted::Pending);
            };
            if read == 0 {
                let message = "the server closed the connection";
                return Err(io::Error::new(ErrorKind::UnexpectedEof, message));
            }
            scratch.output.clear();
            let Scratch { input, output } = scratch;
            let next = if self.tls.is_some() {
                self.feed_encrypted(&input[..read], output)?
            } else {
                self.protocol.outcome_mut().bytes_in += read as u64;
                self.feed(&input[..read], output)
            };
            if !scratch.output.is_empty() {
                self.send(&mut scratch.output)?;
            }
            match next {
                Next::Finished => {
                    if self.protocol.outcome().kind == OutcomeKind::Connected {
                        self.reopen = None;
                    }
                    self.state = State::Idle;
                    return Ok(Submitted::Ready);
                }
                Next::StartTls => self.start_tls()?,
                // A short read has emptied the socket; edge-triggered readiness comes again.
                Next::Input if read < scratch.input.len() => return Ok(Submitted::Pending),
                Next::Input => {}
            }
        }
    }

    /// Gives bytes in the clear to the protocol.
    #[inline]
    fn feed(&mut self, input: &[u8], output: &mut Vec<u8>) -> Next {
        if self.partial.is_empty() {
            let received = self.protocol.receive(input, output);
            if received.consumed < input.len() {
                self.partial.extend_from_slice(&input[received.consumed..]);
            }
            return received.next;
        }
        self.partial.extend_from_slice(input);
        let received = self.protocol.receive(&self.partial, output);
        self.partial.drain(..received.consumed);
        if self.partial.is_empty() && self.partial.capacity() > 4096 {
            self.partial = Vec::new();
        }
        received.next
    }

    /// Gives the bytes that were left over to the protocol once more.
    fn feed_partial(&mut self, scratch: &mut Scratch) -> io::Result<Submitted> {
        scratch.output.clear();
        let next = self.feed(&[], &mut scratch.output);
        if !scratch.output.is_empty() {
            self.send(&mut scratch.output)?;
        }
        if next == Next::Finished {
            self.state = State::Idle;
            return Ok(Submitted::Ready);
        }
        Ok(Submitted::Pending)
    }

    fn feed_encrypted(&mut self, input: &[u8], output: &mut Vec<u8>) -> io::Result<Next> {
        let Some(tls) = &mut self.tls else {
            return Ok(Next::Input);
        };
        let mut clear = Vec::new();
        let handshaking = tls.is_handshaking();
        tls.decrypt(input, &mut clear, &mut self.unsent)?;
        if handshaking && !tls.is_handshaking() {
            let version = tls.version();
            let end_point = tls.end_point();
            self.protocol.tls_established(&version, end_point, output);
        }
        self.flush()?;
        if clear.is_empty() {
            return Ok(Next::Input);
        }
        self.protocol.outcome_mut().bytes_in += clear.len() as u64;
        Ok(self.feed(&clear, output))
    }

    fn start_tls(&mut self) -> io::Result<()> {
        let Some(setup) = self.tls_setup.take() else {
            return Err(io::Error::other("TLS was asked for without settings"));
        };
        // Whoever put it on the wire, it must not be taken for something said under TLS.
        if !self.partial.is_empty() {
            let message = "the server sent data in the clear behind its agreement to TLS";
            return Err(io::Error::new(ErrorKind::InvalidData, message));
        }
        let mut tls = TlsSession::new(*setup)?;
        tls.begin(&mut self.unsent)?;
        self.tls = Some(Box::new(tls));
        self.flush()
    }

    /// The server hung up. What it said before may still be there to read, and explains more than
    /// the broken connection does.
    #[cold]
    fn lose_hearing(&mut self, scratch: &mut Scratch, error: &io::Error) -> Submitted {
        let told = [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset].contains(&error.kind());
        if told && let Ok(Submitted::Ready) = self.receive(scratch) {
            return self.settle(Submitted::Ready);
        }
        self.lose(error)
    }

    /// Ends the connection with an error as the outcome.
    fn lose(&mut self, error: &io::Error) -> Submitted {
        let (class, message) = match (self.state, error.kind()) {
            (State::Connecting, _) => (
                ErrorClass::Lost,
                format!("cannot connect to {}: {error}{}", self.what, advice(error)),
            ),
            (_, ErrorKind::InvalidData) => (
                ErrorClass::Protocol,
                format!("TLS with {} failed: {error}", self.what),
            ),
            _ => (
                ErrorClass::Lost,
                format!("lost the connection to {}: {error}", self.what),
            ),
        };
        self.protocol.fail(DbError::new(class, message));
        if self.tls.is_some() {
            // The alert tells the server why; it may be gone already.
            let _ = self.flush();
        }
        self.end()
    }

    /// The connection cannot go on; perhaps another can.
    #[cold]
    fn end(&mut self) -> Submitted {
        let reopen = self.reopen.take();
        match reopen.filter(|_| self.protocol.retry()).map(|open| open()) {
            Some(Ok((socket, tls_setup))) => {
                self.shut();
                self.fd = socket.as_raw_fd();
                self.socket = Some(socket);
                self.tls_setup = tls_setup;
                self.state = State::Connecting;
                return Submitted::Pending;
            }
            Some(Err(error)) => {
                let message = format!("cannot connect to {} again: {error}", self.what);
                self.protocol.fail(DbError::new(ErrorClass::Lost, message));
            }
            None => {}
        }
        self.shut();
        Submitted::Ready
    }

    /// An operation has ended, or not: a connection that cannot go on is closed.
    #[inline]
    fn settle(&mut self, submitted: Submitted) -> Submitted {
        let error = self.protocol.outcome().error.as_ref();
        let broken = error
            .is_some_and(|error| matches!(error.class, ErrorClass::Protocol | ErrorClass::Lost));
        if submitted == Submitted::Ready && broken {
            return self.end();
        }
        submitted
    }

    fn shut(&mut self) {
        self.state = State::Closed;
        self.socket = None;
        self.tls = None;
        self.partial = Vec::new();
        self.unsent = Vec::new();
    }

    fn drive(&mut self, scratch: &mut Scratch) -> io::Result<Submitted> {
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
        let mut submitted = self.receive(scratch)?;
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
        if matches!(self.state, State::Idle | State::Closed) {
            return self.idle_event(scratch);
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
        let submitted = self.start(scratch, |protocol, output| protocol.next_result(output));
        if submitted == Submitted::Ready {
            return submitted;
        }
        // What follows may have arrived together with the previous result, be it here or in the
        // socket: no readiness will tell of it.
        match self.feed_partial(scratch) {
            Ok(Submitted::Ready) => self.settle(Submitted::Ready),
            Ok(Submitted::Pending) => self.advance(scratch),
            Err(error) => self.lose(&error),
        }
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

    #[inline]
    fn wants_write(&self) -> bool {
        !self.unsent.is_empty() || self.state == State::Connecting
    }

    fn close(&mut self) {
        if matches!(self.state, State::Idle) {
            let mut output = Vec::new();
            self.protocol.terminate(&mut output);
            // The server may be gone already; there is nobody left to tell.
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
}

impl<P: Protocol> Channel<P> {
    /// Readiness without an operation: the server closed the connection, or sent a notice. What it
    /// sent is kept for the next operation's reading; an end of file surfaces there too.
    fn idle_event(&mut self, _scratch: &mut Scratch) -> Submitted {
        Submitted::Ready
    }
}
