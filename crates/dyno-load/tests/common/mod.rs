//! A database of one-byte statements behind a socket pair, and a program that uses it.
#![allow(dead_code)] // each test file uses its own part
#![allow(clippy::unwrap_used)] // a broken test may well panic

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dyno_core::Clock;
use dyno_core::bulk::BulkLoad;
use dyno_core::db::*;
use dyno_core::plan::Drive;
use dyno_core::session::*;
use dyno_load::{LoadError, Progress, Run, RunConfig, RunOutcome, StopSignal};

/// How the fake server behaves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Server {
    /// The delay of each answer.
    pub delay: Duration,
    /// It never answers statement number n (from 1) of a connection.
    pub hangs_at: Option<u64>,
    /// It never accepts connections with this number or a higher one.
    pub refuses_from: Option<u64>,
    /// It closes connections that are idle for this long.
    pub patience: Option<Duration>,
}

/// Connects to a [`Server`].
#[derive(Default)]
pub(crate) struct Connector1 {
    pub server: Server,
    pub connected: AtomicU64,
}

impl Connector1 {
    pub(crate) fn new(server: Server) -> Arc<Self> {
        Arc::new(Self {
            server,
            connected: AtomicU64::new(0),
        })
    }
}

impl Connector for Connector1 {
    fn connect(&self, sequence: u64) -> Result<Box<dyn Connection>, DbError> {
        let (near, far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        let server = self.server;
        let silent = server.refuses_from.is_some_and(|from| sequence >= from);
        std::thread::spawn(move || serve(far, server, silent));
        self.connected.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(Fake {
            stream: Some(near),
            outcome: Outcome::default(),
            info: ServerInfo::default(),
            endpoint: (sequence % 2) as usize,
        }))
    }

    fn endpoints(&self) -> Vec<String> {
        vec!["a".to_owned(), "b".to_owned()]
    }

    fn family(&self) -> Family {
        Family::Mysql
    }

    fn blocks(&self) -> bool {
        false
    }

    fn connect_timeout(&self) -> Option<Duration> {
        None
    }
}

/// Greets with `c`, then answers each byte with itself.
fn serve(mut far: UnixStream, server: Server, silent: bool) {
    let mut byte = [b'c'];
    if silent || far.write_all(&byte).is_err() {
        // Until the client leaves.
        let _ = far.read(&mut byte);
        return;
    }
    let mut served = 0;
    far.set_read_timeout(server.patience).unwrap();
    while matches!(far.read(&mut byte), Ok(1)) {
        served += 1;
        if server.hangs_at.is_some_and(|at| served >= at) {
            continue;
        }
        if !server.delay.is_zero() {
            std::thread::sleep(server.delay);
        }
        if far.write_all(&byte).is_err() {
            return;
        }
    }
}

struct Fake {
    stream: Option<UnixStream>,
    outcome: Outcome,
    info: ServerInfo,
    endpoint: usize,
}

impl Fake {
    fn end(&mut self, answer: u8) -> Submitted {
        self.outcome = Outcome {
            bytes_in: 1,
            bytes_out: u64::from(answer != b'c'),
            transactions: EndedTransactions {
                certain: u32::from(answer == b'w'),
                possible: u32::from(answer == b'e'),
            },
            ..Outcome::default()
        };
        self.outcome.kind = match answer {
            b'c' => OutcomeKind::Connected,
            b'r' => OutcomeKind::Rows,
            b'w' | b'o' => OutcomeKind::Done,
            b'p' => OutcomeKind::Prepared,
            _ => OutcomeKind::Failed,
        };
        match answer {
            b'r' => self.outcome.rows = 3,
            b'w' => self.outcome.affected = 2,
            b'e' => {
                let mut error = DbError::new(ErrorKind::Conflict, "deadlock");
                error.code = 1213;
                self.outcome.error = Some(Box::new(error));
            }
            _ => {}
        }
        Submitted::Ready
    }
}

impl Connection for Fake {
    fn advance(&mut self, _: &mut Scratch) -> Submitted {
        let mut byte = [0];
        let read = self.stream.as_mut().unwrap().read(&mut byte);
        match read {
            Ok(1) => self.end(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Submitted::Pending,
            _ => self.end(b'x'),
        }
    }

    fn query(&mut self, _: &mut Scratch, sql: &[u8]) -> Submitted {
        match self.stream.as_mut().unwrap().write_all(&sql[..1]) {
            Ok(()) => Submitted::Pending,
            Err(_) => self.end(b'x'),
        }
    }

    fn transaction(&mut self, scratch: &mut Scratch, _: TransactionStep) -> Submitted {
        self.query(scratch, b"o")
    }
    fn prepare(&mut self, _: &mut Scratch, _: &[u8], _: &[ParamKind]) -> Submitted {
        self.end(b'p')
    }

    fn execute(&mut self, _: &mut Scratch, _: StatementId, _: &[&Param]) -> Submitted {
        self.end(b'r')
    }

    fn close_statement(&mut self, _: &mut Scratch, _: StatementId) -> Submitted {
        self.end(b'o')
    }

    fn bulk_load(&mut self, _: &mut Scratch, _: BulkLoad) -> Submitted {
        self.end(b'w')
    }

    fn has_ended(&mut self, _scratch: &mut Scratch) -> bool {
        false
    }

    fn abort(&mut self, _: &str) {
        let _ = self.end(b'x');
    }

    fn next_result(&mut self, _: &mut Scratch) -> Submitted {
        self.end(b'r')
    }

    fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    fn next_row(&mut self, _: &mut Row) -> bool {
        false
    }

    fn free_result(&mut self) {}

    fn fd(&self) -> Option<RawFd> {
        self.stream.as_ref().map(AsRawFd::as_raw_fd)
    }

    fn wants_write(&self) -> bool {
        false
    }

    fn close(&mut self) {
        self.stream = None;
    }

    fn server(&self) -> &ServerInfo {
        &self.info
    }

    fn endpoint(&self) -> usize {
        self.endpoint
    }
}

/// The behaviour of a [`Program1`]'s sessions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Behaviour {
    /// The statements of an event; no connection is made if it is empty.
    pub statements: &'static [u8],
    /// Wait for statements without yielding.
    pub blocks: bool,
    /// CPU time that an event burns.
    pub burns: Duration,
    /// How long an event sleeps, yielding.
    pub sleeps: Duration,
    /// After this many events a session's `event()` returns true.
    pub returns_true_after: Option<u64>,
    /// Session 0 fails in its n-th event.
    pub fails_at: Option<u64>,
    /// Session 0 blocks its thread for this long in its first event.
    pub hangs: Duration,
    /// Session 0 fails to initialise.
    pub fails_init: bool,
}

impl Behaviour {
    /// Events of these statements.
    pub(crate) fn of(statements: &'static [u8]) -> Self {
        Self {
            statements,
            ..Self::default()
        }
    }

    /// Events that burn CPU time.
    pub(crate) fn burning(burns: Duration) -> Self {
        Self {
            burns,
            ..Self::default()
        }
    }
}

/// Sessions that loop over events.
pub(crate) struct Program1 {
    behaviour: Behaviour,
    sessions: HashMap<SessionId, Script>,
}

struct Script {
    tid: u32,
    entry: Entry,
    at: At,
    conn: Option<ConnId>,
    events: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Begin,
    Statement(usize),
    Burn,
    End,
}

impl Program1 {
    pub(crate) fn new(behaviour: &Behaviour) -> Self {
        Self {
            behaviour: behaviour.clone(),
            sessions: HashMap::new(),
        }
    }
}

impl Program for Program1 {
    fn enter(&mut self, session: SessionId, tid: u32, entry: &Entry) -> Result<(), String> {
        let script = self.sessions.entry(session).or_insert(Script {
            tid,
            entry: Entry::Init,
            at: At::Begin,
            conn: None,
            events: 0,
        });
        script.entry = entry.clone();
        script.at = At::Begin;
        Ok(())
    }

    fn resume(&mut self, port: &mut dyn Port, session: SessionId) -> Step {
        let script = self.sessions.get_mut(&session).unwrap();
        let behaviour = &self.behaviour;
        match &script.entry {
            Entry::Init if behaviour.fails_init && script.tid == 0 => {
                Step::Failed("no such table".to_owned())
            }
            Entry::Init => script.initialise(port, session, behaviour),
            Entry::Run => script.run(port, session, behaviour),
            Entry::Done => Step::Finished,
            Entry::Command(_) | Entry::Call(_) | Entry::Hook(_) => script.command(port, session),
        }
    }
}

impl Script {
    fn initialise(&mut self, port: &mut dyn Port, s: SessionId, how: &Behaviour) -> Step {
        if how.statements.is_empty() || self.conn.is_some() {
            return Step::Finished;
        }
        let (conn, submitted) = port.connect(s).unwrap();
        self.conn = Some(conn);
        if submitted == Submitted::Pending && how.blocks {
            port.wait(s, conn);
            return Step::Finished;
        }
        match submitted {
            Submitted::Pending => Step::Waiting,
            Submitted::Ready => Step::Finished,
        }
    }

    fn run(&mut self, port: &mut dyn Port, s: SessionId, how: &Behaviour) -> Step {
        loop {
            match self.at {
                At::Begin => {
                    let next = match how.blocks {
                        true => port.wait_event(s),
                        false => port.next_event(s),
                    };
                    match next {
                        Next::Stop => return Step::Finished,
                        Next::Wait => return Step::Yielded,
                        Next::Go => {}
                    }
                    port.event_start(s);
                    self.at = At::Statement(0);
                }
                At::Statement(n) if n < how.statements.len() => {
                    self.at = At::Statement(n + 1);
                    let (conn, sql) = (self.conn.unwrap(), &how.statements[n..]);
                    match port.submit(s, conn, Request::Query(sql)) {
                        Some(Submitted::Ready) => {}
                        Some(Submitted::Pending) if how.blocks => port.wait(s, conn),
                        Some(Submitted::Pending) => return Step::Waiting,
                        None => return Step::Failed("no connection".to_owned()),
                    }
                }
                At::Statement(_) => {
                    self.at = At::Burn;
                    if !how.sleeps.is_zero() {
                        port.sleep(s, how.sleeps.as_nanos() as u64);
                        return Step::Waiting;
                    }
                }
                At::Burn => {
                    self.at = At::End;
                    let until = Clock.now() + how.burns.as_nanos() as u64;
                    while !how.burns.is_zero() && Clock.now() < until {}
                }
                At::End => {
                    self.events += 1;
                    self.at = At::Begin;
                    if self.tid == 0 && how.fails_at == Some(self.events) {
                        return Step::Failed("division by zero".to_owned());
                    }
                    if self.tid == 0 && self.events == 1 {
                        std::thread::sleep(how.hangs);
                    }
                    if how.returns_true_after.is_some_and(|n| self.events > n) {
                        return Step::Finished;
                    }
                    port.event_stop(s);
                }
            }
        }
    }

    fn command(&mut self, port: &mut dyn Port, s: SessionId) -> Step {
        self.events += 1;
        match self.events {
            1 => {
                self.conn = port.connect(s).ok().map(|(conn, _)| conn);
                Step::Waiting
            }
            2 => {
                let conn = self.conn.unwrap();
                assert_eq!(port.next_event(s), Next::Stop);
                let submitted = port.submit(s, conn, Request::Query(b"w"));
                assert_eq!(submitted, Some(Submitted::Pending));
                Step::Waiting
            }
            _ if self.tid == 1 => Step::Failed("disk full".to_owned()),
            _ => Step::Finished,
        }
    }
}

/// A run of `behaviour` on `server`.
pub(crate) fn config(drive: Drive, server: Server) -> RunConfig {
    RunConfig {
        drive,
        connector: Some(Connector1::new(server)),
        stop: StopSignal::new(),
        entry: Entry::Run,
        operations: 0,
        gate: None,
        shapes: None,
        duet: None,
    }
}

/// Runs without looking at the intervals.
pub(crate) fn run(config: RunConfig, behaviour: Behaviour) -> Result<RunOutcome, LoadError> {
    run_observed(config, behaviour, |_| {})
}

/// Runs with an observer.
pub(crate) fn run_observed(
    config: RunConfig,
    behaviour: Behaviour,
    observer: impl FnMut(Progress<'_>),
) -> Result<RunOutcome, LoadError> {
    Run::start(config, move |_| Ok(Program1::new(&behaviour)), observer)
}

/// Milliseconds.
pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}
