//! The server's side: its treatment of the bytes, and how it ends.

use std::io::{Read, Write};
use std::sync::Arc;

use dyno_core::rand::Stream;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use rustls::{ServerConfig, ServerConnection};

use super::Kind;
use super::link::{Listener, ServerEnd};
use super::tls::Tls;
use crate::fuzzing::echo::{Echo, MysqlEcho, PostgresEcho, Turn};

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The server closes: FIN, or RST if it has unread bytes.
    Close,
    /// It closes only its sending half, and reads no more.
    Half,
    /// RST.
    Reset,
    /// The end of TLS without the end of the connection.
    Notify,
}

/// The fault of one connection; none by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// How it ends; the fields below decide when.
    pub end: Option<End>,
    /// After this number of bytes sent.
    pub after_sent: Option<u64>,
    /// After this number of bytes read.
    pub after_read: Option<u64>,
    /// The end comes together with the last bytes, not later.
    pub together: bool,
    /// After this number of answers the server sends a reason, and ends.
    pub farewell_after: Option<u64>,
    /// After this number of answers the server sends an unasked one.
    pub stray_after: Option<u64>,
    /// The byte to change: sent (true) or read, and its position.
    pub corrupt: Option<(bool, u64)>,
}

impl Plan {
    pub(super) fn random(random: &mut Stream, tls: bool) -> Self {
        let mut plan = Self {
            together: random.below(4) > 0,
            ..Self::default()
        };
        let end = match random.below(if tls { 4 } else { 3 }) {
            0 => End::Close,
            1 => End::Half,
            2 => End::Reset,
            _ => End::Notify,
        };
        // Most of a conversation is the login, above all under TLS.
        let bytes = if tls { 3_000 } else { 700 };
        match random.below(10) {
            0..5 => plan.after_sent = Some(random.below(bytes)),
            5 => plan.after_read = Some(random.below(bytes)),
            6 | 7 => plan.farewell_after = Some(random.below(4)),
            8 => plan.stray_after = Some(1 + random.below(3)),
            _ => plan.corrupt = Some((random.below(2) == 0, random.below(bytes))),
        }
        if plan.stray_after.is_none() && plan.corrupt.is_none() {
            plan.end = Some(end);
        }
        plan
    }
}

/// A server for one client. It accepts a second connection only if the client tries again.
pub(super) struct Server {
    listener: Listener,
    kind: Kind,
    tls: Option<Arc<ServerConfig>>,
    plan: Plan,
    random: Stream,
    peer: Option<Peer>,
    answered_before: u64,
    /// Its first connection was accepted.
    accepted: bool,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.plan)?;
        let Some(peer) = &self.peer else {
            return write!(f, ", no connection accepted");
        };
        let (sent, read, left) = (peer.sent, peer.read, peer.wire.len());
        write!(f, ", sent {sent}, {left} more to send, read {read}; ")?;
        write!(f, "deaf: {}, ended: {}", peer.deaf, peer.ended)
    }
}

struct Peer {
    socket: Option<ServerEnd>,
    echo: Box<dyn Echo>,
    tls: Option<Arc<ServerConfig>>,
    session: Option<ServerConnection>,
    /// Incomplete requests.
    clear: Vec<u8>,
    wire: Vec<u8>,
    sent: u64,
    read: u64,
    /// It reads and answers no more; pending bytes are still sent.
    deaf: bool,
    ended: bool,
    strayed: bool,
    said_farewell: bool,
}

impl Server {
    pub(super) fn new(kind: Kind, tls: Option<&Tls>, plan: Plan, seed: u64) -> Self {
        Self {
            listener: Listener::new(kind.link),
            kind,
            tls: tls.map(|tls| tls.server.clone()),
            plan,
            random: Stream::new(seed, 1),
            peer: None,
            answered_before: 0,
            accepted: false,
        }
    }

    /// What clients connect to.
    pub(super) fn listener(&self) -> &Listener {
        &self.listener
    }

    /// The bytes sent and read on the latest connection.
    pub(super) fn bytes(&self) -> (u64, u64) {
        let peer = self.peer.as_ref();
        peer.map_or((0, 0), |peer| (peer.sent, peer.read))
    }

    pub(super) fn answered(&self) -> u64 {
        let now = self.peer.as_ref().map_or(0, |peer| peer.echo.answered());
        self.answered_before + now
    }

    pub(super) fn strayed(&self) -> bool {
        self.peer.as_ref().is_some_and(|peer| peer.strayed)
    }

    pub(super) fn said_farewell(&self) -> bool {
        self.peer.as_ref().is_some_and(|peer| peer.said_farewell)
    }

    /// Whether bytes are changed on the way, so that an answer may contain anything.
    pub(super) fn corrupts(&self) -> bool {
        self.tls.is_none() && self.plan.corrupt.is_some()
    }

    /// Whether a byte was planned to be changed at all.
    pub(super) fn corrupted(&self) -> bool {
        self.plan.corrupt.is_some()
    }

    /// Whether everything it has to say was sent.
    pub(super) fn is_quiet(&self) -> bool {
        let peer = self.peer.as_ref();
        peer.is_some_and(|peer| peer.ended || peer.wire.is_empty())
    }

    /// Whether the client's kernel has received all of that.
    pub(super) fn is_delivered(&self) -> bool {
        let socket = self.peer.as_ref().and_then(|peer| peer.socket.as_ref());
        socket.is_none_or(ServerEnd::is_delivered)
    }

    /// The server has waited too long: it closes. False if it cannot any more.
    pub(super) fn give_up(&mut self) -> bool {
        let socket = self.peer.as_mut().and_then(|peer| peer.socket.take());
        socket.is_some()
    }

    /// Does a piece of work, if any.
    pub(super) fn step(&mut self) -> bool {
        let accepted = self.accept();
        let Some(peer) = &mut self.peer else {
            return accepted;
        };
        let mut worked = peer.read(&self.plan, &mut self.random);
        worked |= peer.speak_out_of_turn(&self.plan);
        worked |= peer.write(&self.plan, &mut self.random);
        accepted || worked
    }

    fn accept(&mut self) -> bool {
        let Some(socket) = self.listener.accept() else {
            return false;
        };
        if std::mem::replace(&mut self.accepted, true) {
            // The second attempt of a client whose first was refused.
            self.answered_before = self.answered();
            self.plan = Plan::default();
        }
        let offers = self.tls.is_some();
        let mut peer = Peer {
            socket: Some(socket),
            echo: match self.kind.speaks {
                super::Speaks::Mysql => Box::new(MysqlEcho::new(offers)),
                super::Speaks::Postgres => Box::new(PostgresEcho::new(offers)),
            },
            tls: self.tls.clone(),
            session: None,
            clear: Vec::new(),
            wire: Vec::new(),
            sent: 0,
            read: 0,
            deaf: false,
            ended: false,
            strayed: false,
            said_farewell: false,
        };
        peer.echo.greet(&mut peer.wire);
        if self.plan.after_sent == Some(0) || self.plan.after_read == Some(0) {
            peer.end(&self.plan);
        }
        self.peer = Some(peer);
        true
    }
}

impl Peer {
    /// Reads a piece, and answers complete requests.
    fn read(&mut self, plan: &Plan, random: &mut Stream) -> bool {
        let Some(socket) = self.socket.as_ref().filter(|_| !self.deaf) else {
            return false;
        };
        let mut buffer = [0; 16 * 1024];
        let len = match random.below(4) {
            0 => 1 + random.below(20) as usize,
            1 => 1 + random.below(500) as usize,
            _ => buffer.len(),
        };
        // Small pieces would make large requests too slow.
        let len = if self.clear.len() > 4096 {
            buffer.len()
        } else {
            len
        };
        let rest = plan.after_read.map_or(u64::MAX, |at| at - self.read);
        let len = len.min(usize::try_from(rest).unwrap_or(usize::MAX));
        let Ok((count, _)) = recv(socket, &mut buffer[..len], RecvFlags::empty()) else {
            return false;
        };
        if count == 0 {
            // The client has left.
            self.deaf = true;
            return true;
        }
        if let Some((false, at)) = plan.corrupt
            && (self.read..self.read + count as u64).contains(&at)
        {
            buffer[(at - self.read) as usize] ^= 1 << random.below(8);
        }
        self.read += count as u64;
        self.take(&buffer[..count]);
        if plan.after_read == Some(self.read) {
            self.end(plan);
        }
        true
    }

    fn take(&mut self, input: &[u8]) {
        match &mut self.session {
            None => self.clear.extend_from_slice(input),
            Some(_) => self.decrypt(input),
        }
        let mut out = Vec::new();
        while !self.deaf {
            let (count, turn) = self.echo.take(&self.clear, &mut out);
            if count == 0 && turn == Turn::Input {
                break;
            }
            self.clear.drain(..count);
            match turn {
                Turn::Input => {}
                Turn::Close => self.deaf = true,
                Turn::StartTls => {
                    self.put(&std::mem::take(&mut out));
                    let Some(config) = &self.tls else {
                        self.deaf = true;
                        break;
                    };
                    self.session = ServerConnection::new(Arc::clone(config)).ok();
                    let rest = std::mem::take(&mut self.clear);
                    self.decrypt(&rest);
                }
            }
        }
        self.put(&out);
    }

    fn decrypt(&mut self, mut input: &[u8]) {
        let Some(session) = &mut self.session else {
            return;
        };
        while !input.is_empty() && !self.deaf {
            // The end of TLS, or bytes that are not TLS.
            if !matches!(session.read_tls(&mut input), Ok(1..)) {
                self.deaf = true;
                break;
            }
            match session.process_new_packets() {
                Ok(state) => {
                    let start = self.clear.len();
                    self.clear
                        .resize(start + state.plaintext_bytes_to_read(), 0);
                    session
                        .reader()
                        .read_exact(&mut self.clear[start..])
                        .unwrap();
                }
                Err(_) => self.deaf = true,
            }
        }
        self.flush_tls();
    }

    /// Sends bytes, under TLS once it is established.
    fn put(&mut self, bytes: &[u8]) {
        match &mut self.session {
            None => self.wire.extend_from_slice(bytes),
            Some(session) => session.writer().write_all(bytes).unwrap(),
        }
        self.flush_tls();
    }

    fn flush_tls(&mut self) {
        let Some(session) = &mut self.session else {
            return;
        };
        while session.wants_write() {
            session.write_tls(&mut self.wire).unwrap();
        }
    }

    /// Sends an unasked message, if planned.
    fn speak_out_of_turn(&mut self, plan: &Plan) -> bool {
        let rests = self.wire.is_empty() && self.clear.is_empty() && !self.ended;
        let logged_in = self.echo.is_logged_in();
        let mut out = Vec::new();
        if plan
            .farewell_after
            .is_some_and(|after| self.echo.answered() >= after)
            && rests
            && logged_in
            && !self.said_farewell
        {
            self.said_farewell = true;
            self.deaf = true;
            self.echo.farewell(&mut out);
        }
        if plan
            .stray_after
            .is_some_and(|after| self.echo.answered() >= after)
            && !self.strayed
        {
            self.strayed = true;
            self.echo.stray_answer(&mut out);
        }
        self.put(&out);
        !out.is_empty()
    }

    /// Sends a piece.
    fn write(&mut self, plan: &Plan, random: &mut Stream) -> bool {
        if self.ended {
            return false;
        }
        let Some(socket) = &self.socket else {
            return false;
        };
        if self.wire.is_empty() {
            // The client ended its session or sent nonsense.
            let ends = self.deaf || plan.after_sent == Some(self.sent);
            if ends {
                self.end(plan);
            }
            return ends;
        }
        let mut len = match random.below(3) {
            0 => 1 + random.below(self.wire.len() as u64),
            _ => self.wire.len() as u64,
        };
        if let Some(at) = plan.after_sent {
            len = len.min(at - self.sent);
        }
        let mut piece = self.wire[..len as usize].to_vec();
        if let Some((true, at)) = plan.corrupt
            && (self.sent..self.sent + len).contains(&at)
        {
            piece[(at - self.sent) as usize] ^= 1 << random.below(8);
        }
        let sent = match piece.is_empty() {
            true => 0,
            false => send(socket, &piece, SendFlags::NOSIGNAL).unwrap_or(0),
        };
        self.wire.drain(..sent);
        self.sent += sent as u64;
        let last = plan.after_sent == Some(self.sent) || (self.deaf && self.wire.is_empty());
        if last && (plan.together || sent == 0) {
            self.end(plan);
        }
        sent > 0 || last
    }

    /// Ends the connection as planned.
    fn end(&mut self, plan: &Plan) {
        self.ended = true;
        self.deaf = true;
        let Some(socket) = &self.socket else {
            return;
        };
        match plan.end.unwrap_or(End::Close) {
            End::Close => self.socket = None,
            End::Half => {
                let _ = shutdown(socket, Shutdown::Write);
            }
            End::Reset => {
                if let Some(socket) = self.socket.take() {
                    socket.reset();
                }
            }
            End::Notify => match &mut self.session {
                Some(session) if self.wire.is_empty() && !session.is_handshaking() => {
                    session.send_close_notify();
                    let mut wire = Vec::new();
                    session.write_tls(&mut wire).unwrap();
                    let _ = send(socket, &wire, SendFlags::NOSIGNAL);
                }
                // Inside a record, or before TLS, a close_notify would be invalid.
                _ => self.socket = None,
            },
        }
    }
}
