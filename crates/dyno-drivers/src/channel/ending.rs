//! How connections end.

use std::io;

use dyno_core::db::{DbError, ErrorKind, Scratch, Submitted};

use super::protocol::Protocol;
use super::{Channel, State};
use crate::socket::advice;

/// How a connection was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// It was never made: refused, or no answer.
    Unreachable,
    /// It broke, or the server ended it.
    Broken,
}

impl<P: Protocol> Channel<P> {
    /// The connection broke. A message that the server sent before may still be readable, and
    /// explains more than the broken connection does.
    #[cold]
    pub(super) fn lose_hearing(&mut self, scratch: &mut Scratch, error: &io::Error) -> Submitted {
        if is_hang_up(error) {
            // No further edge will come.
            self.peer_closed = true;
            if let Ok(Submitted::Ready) = self.receive(scratch) {
                return self.settle(Submitted::Ready);
            }
        }
        self.lose(error)
    }

    /// The connection broke before the whole request was sent: nothing readable can be its answer.
    #[cold]
    pub(super) fn lose_unsent(&mut self, scratch: &mut Scratch, error: &io::Error) -> Submitted {
        let said = match is_hang_up(error) {
            true => self.read_unasked(scratch).err(),
            false => None,
        };
        let error = said.unwrap_or_else(|| self.lost(error));
        self.protocol.fail(error);
        self.end()
    }

    /// Ends the connection with an error as the outcome.
    pub(super) fn lose(&mut self, error: &io::Error) -> Submitted {
        let error = self.lost(error);
        self.protocol.fail(error);
        if self.tls.is_some() {
            // The alert gives the server the reason; it may be gone already.
            let _ = self.flush();
        }
        self.end()
    }

    /// The error for a failure of the socket or of TLS.
    pub(super) fn lost(&self, error: &io::Error) -> DbError {
        let what = &self.what;
        match (self.state, error.kind()) {
            (State::Connecting, _) => {
                let message = format!("cannot connect to {what}: {error}{}", advice(error));
                DbError::new(ErrorKind::Lost, message)
            }
            (State::Handshaking, io::ErrorKind::InvalidData) => {
                let message = format!("TLS with {what} failed: {error}");
                DbError::new(ErrorKind::Protocol, message)
            }
            _ => {
                let message = format!("lost the connection to {what}: {error}");
                DbError::new(ErrorKind::Lost, message)
            }
        }
    }

    /// This connection cannot continue, but a second attempt may.
    #[cold]
    pub(super) fn end(&mut self) -> Submitted {
        let reopen = self.reopen.take();
        match reopen.filter(|_| self.protocol.retry()).map(|open| open()) {
            Some(Ok((socket, tls_setup))) => {
                let lost = self.lost.take();
                self.shut();
                self.lost = lost;
                self.fd = socket.as_raw_fd();
                self.socket = Some(socket);
                self.tls_setup = tls_setup;
                self.peer_closed = false;
                self.received = 0;
                self.state = State::Connecting;
                return Submitted::Pending;
            }
            Some(Err(error)) => {
                let message = format!("cannot connect to {} again: {error}", self.what);
                self.protocol.fail(DbError::new(ErrorKind::Lost, message));
            }
            None => {}
        }
        self.shut();
        Submitted::Ready
    }

    /// Closes the connection if the operation ended and the connection cannot continue.
    #[inline]
    pub(super) fn settle(&mut self, submitted: Submitted) -> Submitted {
        if submitted == Submitted::Ready && self.is_broken() {
            return self.end();
        }
        submitted
    }

    #[inline]
    fn is_broken(&self) -> bool {
        let error = self.protocol.outcome().error.as_ref();
        error.is_some_and(|error| error.ends_connection || self.state == State::Refused)
    }

    /// Fails the pending operation and the connection, because the caller stops waiting for it.
    #[cold]
    pub(super) fn give_up(&mut self, why: &str) {
        let what = &self.what;
        let message = match self.state {
            State::Connecting => format!("cannot connect to {what}: {why}"),
            State::Handshaking => format!("cannot log in to {what}: {why}"),
            _ => format!("lost the connection to {what}: {why}"),
        };
        self.reopen = None;
        self.protocol.fail(DbError::new(ErrorKind::Lost, message));
        self.shut();
    }

    pub(super) fn shut(&mut self) {
        if let Some(on_loss) = self.lost.take() {
            let error = self.protocol.outcome().error.as_ref();
            match error.is_some_and(|error| error.lost_connection()) {
                _ if self.state == State::Connecting => on_loss(Loss::Unreachable),
                true => on_loss(Loss::Broken),
                false => {}
            }
        }
        self.state = State::Closed;
        self.socket = None;
        self.tls = None;
        self.partial = Vec::new();
        self.unsent = Vec::new();
    }
}

/// Whether the peer closed the connection, as opposed to a failure of the kernel.
fn is_hang_up(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
    )
}
