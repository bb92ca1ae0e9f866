//! The client's side: a connection on an edge-triggered descriptor, and operations on it.

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use dyno_core::Secret;
use dyno_core::bulk::{BulkFormat, BulkLoad, RowSource};
use dyno_core::db::{
    Connection, OutcomeKind, Param, ParamKind, Row, Scratch, StatementId, Submitted,
};
use dyno_core::rand::Stream;
use dyno_core::target::TlsMode;
use rustix::net::sockopt;
use rustls::pki_types::ServerName;

use super::link::Link;
use super::peer::{Plan, Server};
use super::tls::Tls;
use super::{Kind, Speaks};
use crate::channel::{Channel, Protocol};
use crate::mysql::{Mysql, MysqlOptions};
use crate::postgres::{Postgres, PostgresOptions};
use crate::tls::TlsSetup;

/// How long nothing may happen over TCP while an operation is pending, in milliseconds: longer than
/// any load of the machine delays it. Socket pairs need no timeout.
const PATIENCE_MS: i32 = 60_000;

/// The timeout after a corrupted byte, when both sides may wait forever.
const CORRUPTED_PATIENCE_MS: i32 = 20;

/// The size in bytes of a request that no socket takes in one write.
const LARGE: usize = 100_000;

const ROWS_OF_A_LOAD: u64 = 5;

/// A request with the number that its answer must contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    Query(u64),
    /// Two statements in one request.
    Pair(u64),
    /// A request that no socket takes in one write.
    Large(u64),
    Prepare,
    Execute(u64),
    Close,
    Load,
}

/// The error that ended a connection.
#[derive(Debug)]
pub(super) struct Ended {
    pub ends_connection: bool,
    pub code: i32,
    pub state: String,
    pub message: String,
}

/// The state shared by the connections of a thread.
pub(super) struct Worker {
    scratch: Scratch,
    epoll: OwnedFd,
}

impl Worker {
    pub(super) fn new() -> Self {
        // SAFETY: a system call without pointers; the descriptor is new and has no other owner.
        let epoll = unsafe { OwnedFd::from_raw_fd(libc::epoll_create1(libc::EPOLL_CLOEXEC)) };
        Self {
            scratch: Scratch::default(),
            epoll,
        }
    }
}

pub(super) struct Client<'a> {
    pub server: Server,
    connection: Box<dyn Connection>,
    worker: &'a mut Worker,
    /// The registered descriptor, and whether write readiness is reported.
    registered: (RawFd, bool),
    statement: Option<StatementId>,
    kind: Kind,
    random: &'a mut Stream,
}

impl<'a> Client<'a> {
    pub(super) fn new(
        kind: Kind,
        tls: Option<&Tls>,
        server: Server,
        worker: &'a mut Worker,
        random: &'a mut Stream,
    ) -> Self {
        let mode = match (tls, random.below(2)) {
            (None, _) => TlsMode::Disable,
            (Some(_), 0) => TlsMode::Require,
            (Some(_), _) => TlsMode::Prefer,
        };
        let connection: Box<dyn Connection> = match kind.speaks {
            Speaks::Mysql => {
                let options = MysqlOptions {
                    user: "u".to_owned(),
                    tls: mode,
                    ..MysqlOptions::default()
                };
                Box::new(channel(Mysql::new(&Arc::new(options)), tls, &server))
            }
            Speaks::Postgres => {
                let options = PostgresOptions {
                    user: "u".to_owned(),
                    password: Some(Secret::new("p".to_owned())),
                    tls: mode,
                    ..PostgresOptions::default()
                };
                let channel = channel(Postgres::new(&options).unwrap(), tls, &server);
                let (listener, setup) = (server.listener().clone(), setup(tls));
                Box::new(
                    channel.with_second_attempt(Box::new(move || Ok((listener.connect(), setup)))),
                )
            }
        };
        Self {
            server,
            connection,
            worker,
            registered: (-1, false),
            statement: None,
            kind,
            random,
        }
    }

    pub(super) fn connect(&mut self) -> Result<(), Ended> {
        let submitted = self.connection.advance(&mut self.worker.scratch);
        self.finish(submitted)?;
        assert_eq!(self.connection.outcome().kind, OutcomeKind::Connected);
        Ok(())
    }

    /// MySQL does not answer when a statement is closed.
    pub(super) fn counts_close(&self) -> bool {
        self.kind.speaks == Speaks::Postgres
    }

    pub(super) fn is_closed(&self) -> bool {
        self.connection.fd().is_none()
    }

    /// Chooses the next request.
    pub(super) fn choose(&mut self, number: u64) -> Request {
        match (self.random.below(16), self.statement) {
            (0, _) => Request::Large(number),
            (1..4, _) => Request::Pair(number),
            (4 | 5, _) => Request::Load,
            (6..10, None) => Request::Prepare,
            (6, Some(_)) => Request::Close,
            (7..10, Some(_)) => Request::Execute(number),
            _ => Request::Query(number),
        }
    }

    /// Performs an operation and checks its answer.
    pub(super) fn operate(&mut self, operation: Request) -> Result<(), Ended> {
        let (connection, scratch) = (&mut self.connection, &mut self.worker.scratch);
        let submitted = match operation {
            Request::Query(n) => connection.query(scratch, format!("SELECT {n}").as_bytes()),
            Request::Pair(n) => {
                let text = format!("SELECT {n}; SELECT {}", n + 1);
                connection.query(scratch, text.as_bytes())
            }
            Request::Large(n) => {
                let text = format!("SELECT {n} /*{}*/", "x".repeat(LARGE));
                connection.query(scratch, text.as_bytes())
            }
            Request::Prepare => connection.prepare(scratch, b"SELECT ?", &[ParamKind::Int]),
            Request::Execute(n) => {
                let param = Param::int(n as i64);
                connection.execute(scratch, self.statement.unwrap(), &[&param])
            }
            Request::Close => {
                let statement = self.statement.take().unwrap();
                connection.close_statement(scratch, statement)
            }
            Request::Load => connection.bulk_load(scratch, load()),
        };
        self.finish(submitted)?;
        match operation {
            Request::Query(n) | Request::Large(n) | Request::Execute(n) => self.expect(n),
            Request::Pair(n) => {
                self.expect(n);
                assert!(self.connection.outcome().more || self.server.corrupts());
                let submitted = self.connection.next_result(&mut self.worker.scratch);
                self.finish(submitted)?;
                self.expect(n + 1);
            }
            Request::Prepare => self.statement = Some(self.connection.outcome().statement),
            Request::Close => {}
            Request::Load => {
                let affected = self.connection.outcome().affected;
                assert!(affected == ROWS_OF_A_LOAD || self.server.corrupts());
            }
        }
        Ok(())
    }

    /// Expects exactly this number as the answer.
    fn expect(&mut self, number: u64) {
        if self.server.corrupts() {
            return;
        }
        let mut row = Row::default();
        let outcome = self.connection.outcome();
        assert_eq!((outcome.kind, outcome.rows), (OutcomeKind::Rows, 1));
        assert!(self.connection.next_row(&mut row));
        assert_eq!(row.field(0), Some(number.to_string().as_bytes()));
    }

    /// Idles; the server may continue, and edges may come.
    pub(super) fn rest(&mut self, plan: &Plan) {
        let rounds = self.random.below(3);
        for _ in 0..rounds {
            self.server.step();
            self.poll(0);
        }
        // A stray answer that arrives after the next request can only be taken for that request's.
        if plan.stray_after.is_some() {
            while self.server.step() || !self.server.is_quiet() || !self.server.is_delivered() {
                self.acknowledge();
            }
            self.poll(0);
        }
    }

    /// Makes the kernel acknowledge now what it has received over TCP.
    fn acknowledge(&self) {
        let fd = self.connection.fd().filter(|_| self.kind.link == Link::Tcp);
        if let Some(fd) = fd {
            // SAFETY: the descriptor is the connection's, and open.
            let socket = unsafe { BorrowedFd::borrow_raw(fd) };
            sockopt::set_tcp_quickack(socket, true).unwrap();
        }
    }

    /// Runs both sides until the operation has ended.
    fn finish(&mut self, mut submitted: Submitted) -> Result<(), Ended> {
        while submitted == Submitted::Pending {
            self.register();
            let polls_first = self.random.below(2) == 0;
            let mut worked = !polls_first && self.server.step();
            if let Some(ended) = self.poll(0) {
                submitted = ended;
                worked = true;
            }
            if polls_first || !worked {
                worked |= self.server.step();
            }
            if worked || submitted == Submitted::Ready {
                continue;
            }
            match self.wait() {
                Some(ended) => submitted = ended,
                None if self.server.step() => {}
                // After a corrupted length both sides wait for bytes that never come.
                None if self.server.corrupted() && self.server.give_up() => {}
                None => panic!("no edge comes, and the server rests: {:?}", self.server),
            }
        }
        self.register();
        let outcome = self.connection.outcome();
        assert_eq!(outcome.kind == OutcomeKind::Failed, outcome.error.is_some());
        let Some(error) = &outcome.error else {
            return Ok(());
        };
        Err(Ended {
            ends_connection: error.ends_connection,
            code: error.code,
            state: error.sqlstate.clone(),
            message: error.message.clone(),
        })
    }

    /// Neither side has anything to do. Over TCP, bytes may be under way; and the end of a pair
    /// arrives late if another process that inspects this one's descriptors keeps a closed one
    /// open.
    fn wait(&mut self) -> Option<Submitted> {
        let turns = match self.kind.link {
            Link::Pairs if self.server.corrupted() => 0,
            Link::Tcp if self.server.corrupted() => CORRUPTED_PATIENCE_MS,
            Link::Pairs | Link::Tcp => PATIENCE_MS,
        };
        for _ in 0..turns {
            let ended = self.poll(1);
            if ended.is_some() || self.server.step() {
                return ended.or(Some(Submitted::Pending));
            }
        }
        None
    }

    /// Handles an edge, if any, as a worker does, and returns the result.
    fn poll(&mut self, timeout_ms: i32) -> Option<Submitted> {
        self.register();
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        let epoll = self.worker.epoll.as_raw_fd();
        // SAFETY: room for one event.
        let count = unsafe { libc::epoll_wait(epoll, &raw mut event, 1, timeout_ms) };
        if count < 1 {
            return None;
        }
        let ends = (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32;
        if { event.events } & ends != 0 {
            self.connection.peer_closed();
        }
        Some(self.connection.advance(&mut self.worker.scratch))
    }

    fn register(&mut self) {
        let Some(fd) = self.connection.fd() else {
            return;
        };
        let writes = self.connection.wants_write();
        if self.registered == (fd, writes) {
            return;
        }
        let mut event = libc::epoll_event {
            events: (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLET) as u32,
            u64: 0,
        };
        if writes {
            event.events |= libc::EPOLLOUT as u32;
        }
        self.registered = (fd, writes);
        let epoll = self.worker.epoll.as_raw_fd();
        // The kernel removes a closed descriptor; its number may be reused.
        for what in [libc::EPOLL_CTL_MOD, libc::EPOLL_CTL_ADD] {
            // SAFETY: the event is valid for the call.
            let done = unsafe { libc::epoll_ctl(epoll, what, fd, &raw mut event) };
            if done == 0 {
                return;
            }
        }
        panic!("cannot watch descriptor {fd}");
    }
}

fn setup(tls: Option<&Tls>) -> Option<Box<TlsSetup>> {
    tls.map(|tls| {
        Box::new(TlsSetup {
            config: Arc::clone(&tls.client),
            server_name: ServerName::try_from("localhost").unwrap(),
        })
    })
}

fn channel<P: Protocol>(protocol: P, tls: Option<&Tls>, server: &Server) -> Channel<P> {
    let socket = server.listener().connect();
    let what = "the server".to_owned();
    Channel::new(protocol, socket, setup(tls), 0, what)
}

fn load() -> BulkLoad {
    BulkLoad {
        table: "t".to_owned(),
        columns: Vec::new(),
        rows: Box::new(Few(0)),
    }
}

struct Few(u64);

impl RowSource for Few {
    fn fill(&mut self, out: &mut Vec<u8>, _: BulkFormat, _: usize) -> u64 {
        if self.0 == ROWS_OF_A_LOAD {
            return 0;
        }
        self.0 += 1;
        out.extend_from_slice(b"1\n");
        1
    }

    fn rewind(&mut self) {
        self.0 = 0;
    }
}
