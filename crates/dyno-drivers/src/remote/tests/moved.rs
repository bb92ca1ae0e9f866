//! Tests hosts whose names move to other addresses.

use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use dyno_core::Target;
use dyno_core::db::{Connection, Connector, ErrorKind, OutcomeKind, Scratch, Submitted};

use super::super::Remote;
use super::super::host::Resolver;

/// Longer than any look-up that gets an answer.
const MINUTE: Duration = Duration::from_secs(60);

/// A resolver for one name, and a server on each of the two addresses that the name may have.
struct World {
    servers: [TcpListener; 2],
    /// The server to which the name resolves, or `None` if it resolves to neither.
    leads_to: Mutex<Option<usize>>,
    asked: AtomicU64,
    /// Each look-up but the first waits for a message from here.
    words: Mutex<Option<Receiver<()>>>,
    /// The threads on which look-ups ran.
    threads: Mutex<Vec<thread::ThreadId>>,
}

impl World {
    fn new() -> Arc<Self> {
        let first = TcpListener::bind("127.0.0.2:0").unwrap();
        let port = first.local_addr().unwrap().port();
        let second = TcpListener::bind(("127.0.0.3", port)).unwrap();
        Arc::new(Self {
            servers: [first, second],
            leads_to: Mutex::new(Some(0)),
            asked: AtomicU64::new(0),
            words: Mutex::default(),
            threads: Mutex::default(),
        })
    }

    fn look_up(&self) -> std::io::Result<Vec<SocketAddr>> {
        self.threads.lock().unwrap().push(thread::current().id());
        if self.asked.fetch_add(1, Ordering::Relaxed) > 0
            && let Some(words) = &*self.words.lock().unwrap()
        {
            let _ = words.recv();
        }
        match *self.leads_to.lock().unwrap() {
            Some(server) => Ok(vec![self.servers[server].local_addr()?]),
            None => Err(std::io::Error::other("the name server is away")),
        }
    }

    /// Makes look-ups hang until the returned sender is used or dropped.
    fn hang(&self) -> Sender<()> {
        let (sender, receiver) = channel();
        *self.words.lock().unwrap() = Some(receiver);
        sender
    }

    fn connect(self: &Arc<Self>, scheme: &str, fresh: Duration, patience: Duration) -> Remote {
        let port = self.servers[0].local_addr().unwrap().port();
        let url = format!("{scheme}://u@db.test:{port}?sslmode=disable");
        let world = Arc::clone(self);
        let resolver = Resolver {
            look_up: Arc::new(move |host, _| {
                assert_eq!(host, "db.test");
                world.look_up()
            }),
            fresh,
            patience,
        };
        Remote::by(&Target::parse(&url).unwrap(), &resolver).unwrap()
    }

    fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// Accepts a connection on one of the servers, which send no greeting.
    fn accept(&self, server: usize) -> TcpStream {
        let (mut stream, _) = self.servers[server].accept().unwrap();
        stream.set_nonblocking(true).unwrap();
        // Check that it is a connection, and not the attempt of a look-up.
        assert_ne!(stream.read(&mut [0; 64]).ok(), Some(0));
        stream
    }
}

/// Drives a connection until `over` returns true.
fn drive(connection: &mut dyn Connection, mut over: impl FnMut(&dyn Connection) -> bool) {
    let mut scratch = Scratch::default();
    while !over(connection) {
        let submitted = connection.advance(&mut scratch);
        if submitted == Submitted::Ready {
            return;
        }
        let mut poll = libc::pollfd {
            fd: connection.fd().unwrap(),
            events: libc::POLLIN,
            revents: 0,
        };
        if connection.wants_write() {
            poll.events |= libc::POLLOUT;
        }
        // SAFETY: one valid pollfd.
        assert!(unsafe { libc::poll(&raw mut poll, 1, 60_000) } > 0);
    }
}

/// Connects to a server, which then closes the connection.
fn lose(world: &World, remote: &Remote, server: usize) {
    let mut connection = remote.connect(0).unwrap();
    drive(connection.as_mut(), |connection| connection.wants_write());
    drop(world.accept(server));
    drive(connection.as_mut(), |_| false);
    let error = connection.outcome().error.as_ref().unwrap();
    assert_eq!(error.kind, ErrorKind::Lost);
}

#[test]
fn a_lost_connection_is_reopened_at_the_hosts_new_address() {
    for scheme in ["mysql", "postgres"] {
        let world = World::new();
        let remote = world.connect(scheme, Duration::ZERO, MINUTE);
        // Nothing is looked up before a connection is lost.
        drop((remote.connect(0).unwrap(), world.accept(0)));
        assert_eq!(world.asked(), 1);
        *world.leads_to.lock().unwrap() = Some(1);
        // The old server is still running, and would accept another connection.
        lose(&world, &remote, 0);
        let mut connection = remote.connect(1).unwrap();
        assert!(connection.fd().is_some() && connection.outcome().kind == OutcomeKind::None);
        world.servers[1].set_nonblocking(true).unwrap();
        let mut accepted = None;
        drive(connection.as_mut(), |_| {
            accepted = accepted.take().or_else(|| world.servers[1].accept().ok());
            accepted.is_some()
        });
        assert_eq!(world.asked(), 2);
        let threads = world.threads.lock().unwrap();
        assert!(threads[0] == thread::current().id() && threads[1] != threads[0]);
    }
}

#[test]
fn attempts_share_a_look_up_and_cache_its_result() {
    let world = World::new();
    let remote = world.connect("mysql", Duration::ZERO, MINUTE);
    lose(&world, &remote, 0);
    let go_on = world.hang();
    let mut waiting = [0; 3].map(|sequence| remote.connect(sequence).unwrap());
    let mut scratch = Scratch::default();
    for connection in &mut waiting {
        assert_eq!(connection.advance(&mut scratch), Submitted::Pending);
        assert!(!connection.wants_write());
    }
    go_on.send(()).unwrap();
    for connection in &mut waiting {
        drive(connection.as_mut(), |connection| connection.wants_write());
        world.accept(0);
    }
    assert_eq!(world.asked(), 2);
    // A fresh result is used even if connections are lost.
    let world = World::new();
    let remote = world.connect("mysql", MINUTE, MINUTE);
    lose(&world, &remote, 0);
    lose(&world, &remote, 0);
    assert_eq!(world.asked(), 1);
}

#[test]
fn a_resolver_that_hangs_or_fails_does_not_block_for_ever() {
    let world = World::new();
    let remote = world.connect("mysql", Duration::ZERO, Duration::from_millis(50));
    lose(&world, &remote, 0);
    let go_on = world.hang();
    for _ in 0..2 {
        // The first attempt waits as long as it may, and the second does not wait.
        let mut connection = remote.connect(0).unwrap();
        drive(connection.as_mut(), |connection| connection.wants_write());
        world.accept(0);
    }
    assert_eq!(world.asked(), 2);
    *world.leads_to.lock().unwrap() = None;
    go_on.send(()).unwrap();
    // The look-up has failed and is repeated. Its last result is used until then, and afterwards.
    while world.asked() == 2 {
        lose(&world, &remote, 0);
    }
    go_on.send(()).unwrap();
    lose(&world, &remote, 0);
}

#[test]
fn an_attempt_that_waits_for_a_look_up_can_be_given_up() {
    let world = World::new();
    let remote = world.connect("mysql", Duration::ZERO, MINUTE);
    lose(&world, &remote, 0);
    let go_on = world.hang();
    let mut connection = remote.connect(0).unwrap();
    connection.abort("no answer within 1s");
    assert!(connection.fd().is_none());
    let error = connection.outcome().error.as_ref().unwrap();
    assert_eq!(error.kind, ErrorKind::Lost);
    assert!(error.message.contains("db.test") && error.message.contains("within 1s"));
    let again = connection.query(&mut Scratch::default(), b"SELECT 1");
    assert_eq!(again, Submitted::Ready);
    go_on.send(()).unwrap();
}

#[test]
fn an_address_is_not_looked_up_again() {
    let world = World::new();
    let address = world.servers[0].local_addr().unwrap();
    let target = Target::parse(&format!("mysql://u@{address}")).unwrap();
    let theirs = Arc::clone(&world);
    let resolver = Resolver {
        look_up: Arc::new(move |_, _| theirs.look_up()),
        fresh: Duration::ZERO,
        patience: MINUTE,
    };
    let remote = Remote::by(&target, &resolver).unwrap();
    for _ in 0..3 {
        lose(&world, &remote, 0);
    }
    assert_eq!(world.asked(), 1);
}
