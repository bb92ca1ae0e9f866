//! Workers with connections cut at seeded points: the real loop, drivers and sockets, with
//! simulated servers. No session is forgotten, and both sides count the same. The time limit only
//! distinguishes "ends" from "never".

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use dyno_core::Target;
use dyno_core::db::{ErrorKind, OutcomeKind, Row, Submitted};
use dyno_core::plan::Drive;
use dyno_core::rand::Stream;
use dyno_core::session::*;
use dyno_core::states::SessionState;
use dyno_core::summary::RunEnd;
use dyno_drivers::fuzzing::echo::{Echo, MysqlEcho, PostgresEcho, Turn};
use dyno_load::{Run, RunConfig, RunOutcome, StopSignal};

const SESSIONS: u32 = 16;
/// The events that each session must complete.
const EVENTS: u64 = 20;
/// The number of connections that are cut; later ones are not.
const CUTS: i64 = 48;
/// Most of these bytes are the login and the first few answers.
const CUT_WITHIN: u64 = 700;
/// How they end: by RST, one direction only, with an error message, or by a plain close.
const RESET: u64 = 0;
const HALF: u64 = 1;
const FAREWELL: u64 = 2;
const ENDS: u64 = 4;
/// How long a session waits before it reconnects.
const PAUSE_NS: u64 = 1_000_000;

#[test]
fn every_session_goes_on_and_both_sides_count_the_same() {
    for seed in 0..20 {
        for scheme in ["mysql", "postgres"] {
            let server = Server::start(scheme, seed);
            let lost = Arc::new(AtomicU64::new(0));
            let outcome = run(scheme, server.address, &lost);
            let what = format!("{scheme}, seed {seed}");
            assert_eq!(outcome.end, RunEnd::Completed, "{what}");
            assert_eq!(outcome.sessions.len(), SESSIONS as usize);
            for session in &outcome.sessions {
                let done = (session.events, session.finished.is_some());
                assert_eq!(done, (EVENTS, true), "{what}");
                assert_ne!(session.state, SessionState::Lost, "{what}");
            }
            let events = u64::from(SESSIONS) * EVENTS;
            assert_eq!(
                (outcome.totals.counters.events, outcome.unfinished),
                (events, 0)
            );
            // An answer may be in transit when its connection is cut: the session has lost it.
            let (answered, cut) = server.stop();
            let lost = lost.load(Ordering::Relaxed);
            assert!(
                (events..=events + lost).contains(&answered),
                "{answered}: {what}"
            );
            assert!(cut > 0 && lost > 0, "{cut} cut, {lost} lost: {what}");
        }
    }
}

fn run(scheme: &str, address: SocketAddr, lost: &Arc<AtomicU64>) -> RunOutcome {
    let url = format!("{scheme}://u@{address}/d?sslmode=disable");
    let config = RunConfig {
        drive: Drive {
            sessions: SESSIONS,
            workers: 2,
            time: Some(Duration::from_secs(120)),
            ..Drive::default()
        },
        connector: Some(dyno_drivers::connector(&Target::parse(&url).unwrap()).unwrap()),
        stop: StopSignal::new(),
        entry: Entry::Run,
        operations: 0,
        gate: None,
        shapes: None,
        duet: None,
    };
    let lost = Arc::clone(lost);
    let program = move |_| {
        Ok(Asking {
            sessions: HashMap::new(),
            lost: Arc::clone(&lost),
        })
    };
    Run::start(config, program, |_| {}).unwrap()
}

/// Sessions that ask for a number in each event, and reconnect until they have it.
struct Asking {
    sessions: HashMap<SessionId, Asker>,
    /// Statements whose connections were lost.
    lost: Arc<AtomicU64>,
}

struct Asker {
    entry: Entry,
    at: At,
    conn: Option<ConnId>,
    /// The last requested number.
    number: u64,
    events: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Connect,
    Connecting,
    Begin,
    Ask,
    Asked,
}

impl Program for Asking {
    fn enter(&mut self, session: SessionId, tid: u32, entry: &Entry) -> Result<(), String> {
        let asker = self.sessions.entry(session).or_insert(Asker {
            entry: Entry::Init,
            at: At::Connect,
            conn: None,
            number: u64::from(tid) * 1_000_000,
            events: 0,
        });
        asker.entry = entry.clone();
        Ok(())
    }

    fn resume(&mut self, port: &mut dyn Port, session: SessionId) -> Step {
        let asker = self.sessions.get_mut(&session).unwrap();
        match asker.entry {
            Entry::Done => Step::Finished,
            _ => asker.go_on(port, session, &self.lost),
        }
    }
}

impl Asker {
    fn go_on(&mut self, port: &mut dyn Port, s: SessionId, lost: &AtomicU64) -> Step {
        loop {
            match self.at {
                At::Connect => {
                    self.at = At::Connecting;
                    match port.connect(s) {
                        Ok((conn, submitted)) => {
                            self.conn = Some(conn);
                            if submitted == Submitted::Pending {
                                return Step::Waiting;
                            }
                        }
                        Err(_) => return self.pause(port, s),
                    }
                }
                At::Connecting => {
                    let connection = port.connection(s, self.conn.unwrap()).unwrap();
                    if connection.outcome().kind != OutcomeKind::Connected {
                        return self.pause(port, s);
                    }
                    self.at = match self.entry {
                        Entry::Init => At::Begin,
                        _ => At::Ask,
                    };
                    if self.entry == Entry::Init {
                        return Step::Finished;
                    }
                }
                At::Begin => match port.next_event(s) {
                    Next::Stop => return Step::Finished,
                    Next::Wait => return Step::Yielded,
                    Next::Go => {
                        port.event_start(s);
                        self.at = At::Ask;
                    }
                },
                At::Ask => {
                    self.at = At::Asked;
                    self.number += 1;
                    let sql = format!("SELECT {}", self.number);
                    let ask = Request::Query(sql.as_bytes());
                    if port.submit(s, self.conn.unwrap(), ask).unwrap() == Submitted::Pending {
                        return Step::Waiting;
                    }
                }
                At::Asked if self.has_answer(port, s) => {
                    port.event_stop(s);
                    self.events += 1;
                    self.at = At::Begin;
                    if self.events == EVENTS {
                        return Step::Finished;
                    }
                }
                At::Asked => {
                    lost.fetch_add(1, Ordering::Relaxed);
                    port.disconnect(s, self.conn.unwrap());
                    self.at = At::Connect;
                }
            }
        }
    }

    /// Whether the answer is the session's; if not, its connection is lost.
    fn has_answer(&self, port: &mut dyn Port, s: SessionId) -> bool {
        let connection = port.connection(s, self.conn.unwrap()).unwrap();
        let outcome = connection.outcome();
        if outcome.kind == OutcomeKind::Failed {
            let error = outcome.error.as_ref().unwrap();
            assert_eq!(error.kind, ErrorKind::Lost, "{error}");
            assert!(connection.fd().is_none());
            return false;
        }
        assert_eq!((outcome.kind, outcome.rows), (OutcomeKind::Rows, 1));
        let mut row = Row::default();
        assert!(connection.next_row(&mut row));
        assert_eq!(row.field(0), Some(self.number.to_string().as_bytes()));
        true
    }

    fn pause(&mut self, port: &mut dyn Port, s: SessionId) -> Step {
        self.at = At::Connect;
        port.sleep(s, PAUSE_NS);
        Step::Waiting
    }
}

/// A server that cuts connections.
struct Server {
    address: SocketAddr,
    counts: Arc<Counts>,
    thread: JoinHandle<()>,
}

struct Counts {
    /// Completely sent answers.
    answered: AtomicU64,
    /// Connections still to be cut.
    cuts: AtomicI64,
    /// Connections already cut.
    cut: AtomicU64,
    over: AtomicBool,
}

impl Server {
    fn start(scheme: &'static str, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let counts = Arc::new(Counts {
            answered: AtomicU64::new(0),
            cuts: AtomicI64::new(CUTS),
            cut: AtomicU64::new(0),
            over: AtomicBool::new(false),
        });
        let theirs = Arc::clone(&counts);
        let thread = thread::spawn(move || accept(&listener, scheme, seed, &theirs));
        Self {
            address,
            counts,
            thread,
        }
    }

    /// Returns the number of answers sent and of connections cut.
    fn stop(self) -> (u64, u64) {
        self.counts.over.store(true, Ordering::Relaxed);
        // It checks after accepting.
        drop(TcpStream::connect(self.address).unwrap());
        self.thread.join().unwrap();
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (of(&self.counts.answered), of(&self.counts.cut))
    }
}

/// Serves each connection on a thread, and waits for all.
fn accept(listener: &TcpListener, scheme: &str, seed: u64, counts: &Counts) {
    thread::scope(|scope| {
        for number in 0.. {
            let (stream, _) = listener.accept().unwrap();
            if counts.over.load(Ordering::Relaxed) {
                return;
            }
            let echo: Box<dyn Echo> = match scheme {
                "mysql" => Box::new(MysqlEcho::new(false)),
                _ => Box::new(PostgresEcho::new(false)),
            };
            let mut random = Stream::new(seed, number);
            let cut = match counts.cuts.fetch_sub(1, Ordering::Relaxed) > 0 {
                true => random.below(CUT_WITHIN),
                false => u64::MAX,
            };
            let end = random.below(ENDS);
            scope.spawn(move || serve(stream, echo, cut, end, counts));
        }
    });
}

/// Answers until `cut` bytes were sent, or the client has left.
fn serve(mut stream: TcpStream, mut echo: Box<dyn Echo>, cut: u64, end: u64, counts: &Counts) {
    let (mut input, mut out) = (Vec::new(), Vec::new());
    let (mut sent, mut counted) = (0, 0);
    echo.greet(&mut out);
    loop {
        let ends = out.len() as u64 >= cut - sent;
        // An error message comes only after complete answers.
        let whole = !ends || end == FAREWELL || out.len() as u64 == cut - sent;
        let piece = match whole {
            true => out.len(),
            false => usize::try_from(cut - sent).unwrap(),
        };
        // The client may have left.
        if stream.write_all(&out[..piece]).is_err() {
            return;
        }
        sent += piece as u64;
        out.clear();
        if whole {
            let answered = echo.answered();
            counts
                .answered
                .fetch_add(answered - counted, Ordering::Relaxed);
            counted = answered;
        }
        if ends {
            counts.cut.fetch_add(1, Ordering::Relaxed);
            return finish(stream, echo.as_ref(), end);
        }
        let mut buffer = [0; 4096];
        let Ok(count @ 1..) = stream.read(&mut buffer) else {
            return;
        };
        input.extend_from_slice(&buffer[..count]);
        loop {
            let (taken, turn) = echo.take(&input, &mut out);
            input.drain(..taken);
            match turn {
                Turn::Close => return,
                _ if taken == 0 => break,
                _ => {}
            }
        }
    }
}

/// Closes a connection so that the reader gets everything sent, and then the end.
fn finish(mut stream: TcpStream, echo: &dyn Echo, end: u64) {
    match end {
        RESET => {
            let linger = libc::linger {
                l_onoff: 1,
                l_linger: 0,
            };
            // SAFETY: the pointer and the length are those of `linger`.
            let done = unsafe {
                libc::setsockopt(
                    stream.as_raw_fd(),
                    libc::SOL_SOCKET,
                    libc::SO_LINGER,
                    (&raw const linger).cast(),
                    size_of::<libc::linger>() as libc::socklen_t,
                )
            };
            assert_eq!(done, 0);
        }
        HALF => {
            // The client may have left.
            let _ = stream.shutdown(Shutdown::Write);
            let _ = stream.read_to_end(&mut Vec::new());
        }
        FAREWELL if echo.is_logged_in() => {
            let mut out = Vec::new();
            echo.farewell(&mut out);
            let _ = stream.write_all(&out);
        }
        _ => {}
    }
}
