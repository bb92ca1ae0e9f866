//! A TCP relay between Dyno and a server, which injects faults drawn from a seed.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};
use dyno_core::Clock;
use dyno_tests::socket;

pub mod fault;

use fault::{Direction, Fault, Plan};

/// How often a listener checks its flags.
const POLL: Duration = Duration::from_millis(5);
/// A small stack is enough, because a relay thread only copies.
const STACK_BYTES: usize = 128 * 1024;

/// The faults that a relay injects.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Together with the number of a connection, determines the fault of that connection.
    pub seed: u64,
    /// The faults to draw from. If empty, the relay only forwards.
    pub faults: Vec<Fault>,
    /// The percentage of connections with a fault.
    pub percent: u64,
}

/// What happens to new connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// They are relayed.
    Open,
    /// The port is closed.
    Closed,
    /// They are accepted and immediately reset.
    Reset,
}

/// A running relay on 127.0.0.1. Dropping it closes its port and all connections.
pub struct Relay {
    port: u16,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

struct Shared {
    upstream: SocketAddr,
    script: Script,
    /// Whether faults are enabled.
    open: AtomicBool,
    /// A [`Door`] as a number.
    door: AtomicU8,
    /// How many connections were reset on arrival.
    turned_away: AtomicU64,
    over: AtomicBool,
    happened: AtomicU64,
    log: Mutex<String>,
    links: Mutex<Vec<Arc<Link>>>,
    began_ns: u64,
}

/// One connection through the relay.
struct Link {
    number: u64,
    client: TcpStream,
    server: TcpStream,
    plan: Option<Plan>,
    /// When the last bytes went to the client.
    answered_ns: AtomicU64,
    /// Whether the peers may now wait for each other forever.
    hung: AtomicBool,
    ended: AtomicBool,
}

impl Relay {
    /// Starts a relay to a server's port on 127.0.0.1.
    ///
    /// # Errors
    /// No port is free.
    pub fn start(to_port: u16, script: Script) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port is free")?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            upstream: SocketAddr::from((Ipv4Addr::LOCALHOST, to_port)),
            script,
            open: AtomicBool::new(false),
            door: AtomicU8::new(Door::Open as u8),
            turned_away: AtomicU64::new(0),
            over: AtomicBool::new(false),
            happened: AtomicU64::new(0),
            log: Mutex::default(),
            links: Mutex::default(),
            began_ns: Clock.now(),
        });
        let accepting = Some(thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(listener, port, &shared)
        }));
        Ok(Self {
            port,
            shared,
            accepting,
        })
    }

    /// The port of the relay.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Enables or disables faults. Faults that last go on.
    pub fn open(&self, open: bool) {
        let what = if open { "faults begin" } else { "faults end" };
        self.shared.say(what);
        self.shared.open.store(open, Ordering::Relaxed);
    }

    /// Resets all connections.
    pub fn reset_all(&self) {
        self.shared.say("all connections are reset");
        for link in self.shared.links().iter() {
            link.reset();
        }
        self.shared.happened.fetch_add(1, Ordering::Relaxed);
    }

    /// Sets what happens to new connections.
    pub fn door(&self, door: Door) {
        self.shared.say(&format!("new connections: {door:?}"));
        self.shared.door.store(door as u8, Ordering::Relaxed);
    }

    /// How many connections were reset on arrival.
    pub fn turned_away(&self) -> u64 {
        self.shared.turned_away.load(Ordering::Relaxed)
    }

    /// How many faults have occurred.
    pub fn happened(&self) -> u64 {
        self.shared.happened.load(Ordering::Relaxed)
    }

    /// How many connections got an answer within the last `time`.
    pub fn answered(&self, time: Duration) -> usize {
        let since_ns = Clock.now().saturating_sub(time.as_nanos() as u64);
        let links = self.shared.links();
        let lively = |link: &&Arc<Link>| {
            !link.ended.load(Ordering::Relaxed)
                && link.answered_ns.load(Ordering::Relaxed) >= since_ns
        };
        links.iter().filter(lively).count()
    }

    /// How many connections seem to hang forever: their fault may make both peers wait for each
    /// other, and nothing was answered within the last `time`.
    pub fn hung(&self, time: Duration) -> usize {
        let since_ns = Clock.now().saturating_sub(time.as_nanos() as u64);
        let links = self.shared.links();
        let hung = |link: &&Arc<Link>| {
            link.hung.load(Ordering::Relaxed)
                && !link.ended.load(Ordering::Relaxed)
                && link.answered_ns.load(Ordering::Relaxed) < since_ns
        };
        links.iter().filter(hung).count()
    }

    /// The faults, one per line, with the time since the relay started.
    pub fn log(&self) -> String {
        self.shared.log_text().clone()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        for link in self.shared.links().iter() {
            link.end();
        }
        if let Some(accepting) = self.accepting.take() {
            // The thread cannot panic, and a panic could not be reported here.
            let _ = accepting.join();
        }
    }
}

impl Shared {
    fn links(&self) -> MutexGuard<'_, Vec<Arc<Link>>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn log_text(&self) -> MutexGuard<'_, String> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say(&self, what: &str) {
        let at_s = (Clock.now() - self.began_ns) as f64 / 1e9;
        // Writing to a string does not fail.
        let _ = writeln!(self.log_text(), "{at_s:9.4} s  {what}");
    }

    fn over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed)
    }

    fn count(&self, link: &Link, what: &str) {
        self.happened.fetch_add(1, Ordering::Relaxed);
        self.say(&format!("connection {}: {what}", link.number));
    }
}

impl Link {
    fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
        // Either may already be closed.
        let _ = self.client.shutdown(Shutdown::Both);
        let _ = self.server.shutdown(Shutdown::Both);
    }

    fn reset(&self) {
        self.ended.store(true, Ordering::Relaxed);
        reset(&self.client);
        reset(&self.server);
    }
}

fn accept(listener: TcpListener, port: u16, shared: &Arc<Shared>) {
    let mut listener = Some(listener);
    let mut number = 0;
    while !shared.over() {
        let door = shared.door.load(Ordering::Relaxed);
        if door == Door::Closed as u8 {
            listener = None;
        } else if listener.is_none() {
            // The port stays free for this relay unless another process requests it by number.
            listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok();
        }
        let accepted = listener.as_ref().and_then(|listener| {
            listener.set_nonblocking(true).ok()?;
            listener.accept().ok()
        });
        let Some((client, _)) = accepted else {
            thread::sleep(POLL);
            continue;
        };
        if door == Door::Reset as u8 {
            shared.turned_away.fetch_add(1, Ordering::Relaxed);
            reset(&client);
            continue;
        }
        link(client, number, shared);
        number += 1;
    }
}

fn link(client: TcpStream, number: u64, shared: &Arc<Shared>) {
    let connected = client
        .set_nonblocking(false)
        .and_then(|()| TcpStream::connect(shared.upstream));
    let Ok(server) = connected else {
        // As the server itself would do.
        reset(&client);
        return;
    };
    // Without this option, small pieces arrive merged.
    let _ = client.set_nodelay(true);
    let _ = server.set_nodelay(true);
    let link = Arc::new(Link {
        number,
        client,
        server,
        plan: Plan::draw(&shared.script, number),
        answered_ns: AtomicU64::new(0),
        hung: AtomicBool::new(false),
        ended: AtomicBool::new(false),
    });
    let mut links = shared.links();
    links.retain(|link| !link.ended.load(Ordering::Relaxed));
    links.push(Arc::clone(&link));
    drop(links);
    for direction in [Direction::ToServer, Direction::ToClient] {
        let (link, shared) = (Arc::clone(&link), Arc::clone(shared));
        let pump = thread::Builder::new().stack_size(STACK_BYTES);
        if pump
            .spawn(move || {
                if pass(&link, direction, &shared).is_err() {
                    link.end();
                }
            })
            .is_err()
        {
            return;
        }
    }
}

/// Copies one direction until it ends, and applies the planned fault.
fn pass(link: &Link, direction: Direction, shared: &Shared) -> io::Result<()> {
    let (mut from, to) = match direction {
        Direction::ToServer => (&link.client, &link.server),
        Direction::ToClient => (&link.server, &link.client),
    };
    let mut bytes = vec![0; 16 * 1024];
    let mut left = link.plan.as_ref().map_or(0, |plan| plan.after);
    let mut done = false;
    loop {
        let length = from.read(&mut bytes)?;
        if length == 0 {
            to.shutdown(Shutdown::Write)?;
            if direction == Direction::ToClient {
                link.ended.store(true, Ordering::Relaxed);
            }
            return Ok(());
        }
        let chunk = &mut bytes[..length];
        let plan = link.plan.as_ref();
        let plan = plan.filter(|plan| plan.direction == direction && shared.is_open() && !done);
        match plan {
            Some(plan) if left < length as u64 => {
                let at = left as usize;
                done = !plan.fault.lasts();
                if !fault::act(plan, link, shared, chunk, at, to)? {
                    return Ok(());
                }
            }
            Some(_) => {
                left -= length as u64;
                put(to, chunk)?;
            }
            None => put(to, chunk)?,
        }
        if direction == Direction::ToClient {
            link.answered_ns.store(Clock.now(), Ordering::Relaxed);
        }
    }
}

/// Ignore an error: a connection that has ended needs no reset.
fn reset(stream: &TcpStream) {
    let _ = socket::reset(stream);
}

fn put(mut to: &TcpStream, bytes: &[u8]) -> io::Result<()> {
    to.write_all(bytes)
}
