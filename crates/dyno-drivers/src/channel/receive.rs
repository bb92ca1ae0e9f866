//! Reading: turns bytes from the socket into answers, and handles bytes that no operation asked
//! for.
//!
//! The descriptor is edge-triggered. A short read has emptied the socket, so later bytes cause
//! another edge. The exception is the peer's end of stream: no edge follows it, so the socket is
//! read until it is empty.

use std::io;

use dyno_core::db::{DbError, ErrorKind, OutcomeKind, Scratch, Submitted};
use zeroize::Zeroize as _;

use super::protocol::{Next, Protocol};
use super::{Channel, State, raw};

/// Maximum number of bytes that a server may send before the login is complete, and between
/// operations. It is many times what any server needs (certificates, notices, settings) and still
/// small.
const UNASKED_BYTES_MAX: u64 = 256 * 1024;

impl<P: Protocol> Channel<P> {
    /// Reads what has arrived and gives it to the protocol.
    pub(super) fn receive(&mut self, scratch: &mut Scratch) -> io::Result<Submitted> {
        loop {
            let Some(read) = raw::read(self.fd, &mut scratch.input)? else {
                return self.nothing_to_read();
            };
            if read == 0 {
                return Err(closed());
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
                let sent = self.send(&mut scratch.output);
                if self.state == State::Handshaking {
                    // It may contain a password.
                    scratch.output.zeroize();
                }
                // A complete answer counts even if its sender has hung up since.
                if next != Next::Finished {
                    sent?;
                }
            }
            match next {
                Next::Finished => {
                    self.finished(read == scratch.input.len());
                    return Ok(Submitted::Ready);
                }
                Next::StartTls => self.start_tls()?,
                Next::Input => {
                    if self.is_too_large(read) {
                        return Ok(Submitted::Ready);
                    }
                    if read < scratch.input.len() && !self.peer_closed {
                        return Ok(Submitted::Pending);
                    }
                }
            }
        }
    }

    /// The socket would block, so its peer has not closed it: the event belonged to the socket that
    /// this one replaced. The end of TLS is handled separately.
    #[cold]
    fn nothing_to_read(&mut self) -> io::Result<Submitted> {
        if self.tls.as_ref().is_some_and(|tls| tls.is_closed()) {
            return Err(closed());
        }
        self.peer_closed = false;
        Ok(Submitted::Pending)
    }

    /// An operation has ended. `filled`: the read filled the buffer, so the socket may hold more.
    #[inline]
    pub(super) fn finished(&mut self, filled: bool) {
        if self.state == State::Handshaking && !self.is_logged_in() {
            return;
        }
        self.state = match filled || self.peer_closed || !self.partial.is_empty() {
            true => State::Unsettled,
            false => State::Idle,
        };
    }

    /// The login has ended.
    #[cold]
    fn is_logged_in(&mut self) -> bool {
        self.received = 0;
        let connected = self.protocol.outcome().kind == OutcomeKind::Connected;
        if connected {
            self.reopen = None;
        } else {
            self.state = State::Refused;
        }
        connected
    }

    /// Whether the incomplete answer exceeds its limit. The operation has then failed.
    #[inline]
    fn is_too_large(&mut self, read: usize) -> bool {
        self.received += read as u64;
        let max = match self.state {
            State::Handshaking => UNASKED_BYTES_MAX,
            _ => self.answer_max,
        };
        if self.received <= max {
            return false;
        }
        self.fail_too_large();
        true
    }

    #[cold]
    fn fail_too_large(&mut self) {
        let what = &self.what;
        let error = if self.state == State::Handshaking {
            let message = format!(
                "{what} sent more than {UNASKED_BYTES_MAX} bytes before the log-in was over: is it \
                 a database server?"
            );
            DbError::new(ErrorKind::Protocol, message)
        } else {
            let message = format!(
                "the answer of {what} is larger than {} bytes, the limit for one operation; raise \
                 it with the target's parameter max_answer",
                self.answer_max
            );
            DbError::new(ErrorKind::TooLarge, message)
        };
        self.protocol.fail(error);
    }

    /// Gives decrypted bytes to the protocol.
    #[inline(always)]
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
        self.consume(received.consumed);
        received.next
    }

    fn consume(&mut self, consumed: usize) {
        self.partial.drain(..consumed);
        if self.partial.is_empty() && self.partial.capacity() > 4096 {
            self.partial = Vec::new();
        }
    }

    /// Gives the leftover bytes to the protocol again.
    pub(super) fn feed_partial(&mut self, scratch: &mut Scratch) -> io::Result<Submitted> {
        scratch.output.clear();
        let next = self.feed(&[], &mut scratch.output);
        if !scratch.output.is_empty() {
            self.send(&mut scratch.output)?;
        }
        if next == Next::Finished {
            self.finished(false);
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
        // The end of the TLS stream counts like the end of the socket's, which may never come.
        self.peer_closed |= tls.is_closed();
        if handshaking && !tls.is_handshaking() {
            let version = tls.version();
            let end_point = tls.end_point();
            self.protocol.tls_established(&version, end_point, output);
        }
        let flushed = self.flush();
        if clear.is_empty() {
            return flushed.map(|()| Next::Input);
        }
        self.protocol.outcome_mut().bytes_in += clear.len() as u64;
        // What the peer sent before it hung up counts, although nothing can be sent to it any more.
        match self.feed(&clear, output) {
            Next::Input => flushed.map(|()| Next::Input),
            next => Ok(next),
        }
    }

    /// Before an operation starts, checks what arrived since the last one and whether the peer has
    /// closed: pending bytes cannot be the answer to a request that was not sent yet. Returns false
    /// if the connection cannot continue; the outcome says why.
    #[cold]
    pub(super) fn settle_down(&mut self, scratch: &mut Scratch) -> bool {
        // The caller starts something other than the next result; the protocol refuses it.
        if self.protocol.is_answering() {
            return true;
        }
        match self.read_unasked(scratch) {
            Ok(()) => {
                self.state = State::Idle;
                true
            }
            Err(error) => {
                self.protocol.fail(error);
                self.shut();
                false
            }
        }
    }

    /// Reads and handles bytes that no operation asked for.
    pub(super) fn read_unasked(&mut self, scratch: &mut Scratch) -> Result<(), DbError> {
        let end = self.drain_socket(scratch);
        // A message sent before the close explains more than the close does.
        let consumed = self.protocol.unasked(&self.partial)?;
        self.consume(consumed);
        end.map_err(|error| self.lost(&error))
    }

    /// Reads until the socket is empty; fails at the end of the stream.
    fn drain_socket(&mut self, scratch: &mut Scratch) -> io::Result<()> {
        let mut total = self.partial.len() as u64;
        while let Some(read) = raw::read(self.fd, &mut scratch.input)? {
            total += read as u64;
            if total > UNASKED_BYTES_MAX {
                let message = "the server sent too much unrequested data";
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            let input = &scratch.input[..read];
            match &mut self.tls {
                _ if read == 0 => return Err(closed()),
                Some(tls) => tls.decrypt(input, &mut self.partial, &mut self.unsent)?,
                None => self.partial.extend_from_slice(input),
            }
        }
        self.peer_closed = false;
        if self.tls.as_ref().is_some_and(|tls| tls.is_closed()) {
            return Err(closed());
        }
        self.flush()
    }
}

fn closed() -> io::Error {
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        "the server closed the connection",
    )
}
