//! Connections over an unreliable network: a seed decides how bytes are cut, and where, how and
//! with what data the connection ends. The client's descriptor is edge-triggered, as in a worker.
//!
//! In every case an operation ends in its own answer or in an error, and another connection can be
//! made. Nothing depends on time: over pairs of UNIX sockets a seed always gives the same run, and
//! a deadlock is recognised immediately. `cargo campaign network` runs these tests with any
//! number of seeds: `DYNO_NETWORK_SEEDS` is the number of seeds, `DYNO_NETWORK_FIRST_SEED` the
//! first.

mod client;
mod link;
mod peer;
mod tls;

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use dyno_core::rand::Stream;

use client::{Client, Ended, Request, Worker};
use link::Link;
use peer::{End, Plan, Server};
use tls::Tls;

/// The number of answered operations that complete a seed.
const OPERATIONS: u64 = 6;

/// Maximum number of faulty connections of a seed; later ones work.
const FAULTS_MAX: u32 = 3;

/// The number of failures after which a test stops.
const FAILURES_MAX: usize = 20;

/// The server that the client expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speaks {
    Mysql,
    Postgres,
}

/// The kind of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    speaks: Speaks,
    link: Link,
    tls: bool,
}

impl Kind {
    const fn plain(speaks: Speaks) -> Self {
        let (link, tls) = (Link::Pairs, false);
        Self { speaks, link, tls }
    }

    const fn under_tls(speaks: Speaks) -> Self {
        let tls = true;
        Self {
            tls,
            ..Self::plain(speaks)
        }
    }

    const fn over_tcp(speaks: Speaks) -> Self {
        let link = Link::Tcp;
        Self {
            link,
            ..Self::plain(speaks)
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.speaks {
            Speaks::Mysql => "MySQL",
            Speaks::Postgres => "PostgreSQL",
        })?;
        f.write_str(match (self.tls, self.link) {
            (true, _) => " under TLS",
            (false, Link::Tcp) => " over TCP",
            (false, Link::Pairs) => "",
        })
    }
}

#[test]
fn mysql_survives_any_network() {
    try_seeds(Kind::plain(Speaks::Mysql), 1_500);
}

#[test]
fn postgres_survives_any_network() {
    try_seeds(Kind::plain(Speaks::Postgres), 1_500);
}

#[test]
fn mysql_under_tls_survives_any_network() {
    try_seeds(Kind::under_tls(Speaks::Mysql), 200);
}

#[test]
fn postgres_under_tls_survives_any_network() {
    try_seeds(Kind::under_tls(Speaks::Postgres), 200);
}

#[test]
fn mysql_over_tcp_survives_any_network() {
    try_seeds(Kind::over_tcp(Speaks::Mysql), 200);
}

#[test]
fn postgres_over_tcp_survives_any_network() {
    try_seeds(Kind::over_tcp(Speaks::Postgres), 200);
}

/// The plans include faults of each kind, and connections without any.
#[test]
fn the_simulation_reaches_every_outcome() {
    let (mut seen, mut worker) = (SeedOutcome::default(), Worker::new());
    for seed in 0..500 {
        for speaks in [Speaks::Mysql, Speaks::Postgres] {
            seen.add(&try_seed(Kind::plain(speaks), None, &mut worker, seed));
        }
    }
    assert!(seen.errors > 100 && seen.strays > 10, "{seen:?}");
    assert!(
        seen.farewells > 10 && seen.clean > 100 && seen.late_connects > 10,
        "{seen:?}"
    );
}

/// A failure can be repeated by its seed.
#[test]
fn a_seed_always_does_the_same() {
    let (tls, mut worker) = (Tls::new(), Worker::new());
    for seed in 0..100 {
        for speaks in [Speaks::Mysql, Speaks::Postgres] {
            for (kind, tls) in [
                (Kind::plain(speaks), None),
                (Kind::under_tls(speaks), Some(&tls)),
            ] {
                let [once, again] = [(); 2].map(|()| try_seed(kind, tls, &mut worker, seed));
                assert_eq!(once, again, "{kind}, seed {seed}");
            }
        }
    }
}

/// The result of a seed.
#[derive(Debug, Default, PartialEq, Eq)]
struct SeedOutcome {
    connections: u64,
    answers: u64,
    errors: u64,
    /// Connections without a fault, and those that never completed the login.
    clean: u64,
    late_connects: u64,
    strays: u64,
    farewells: u64,
    /// Bytes that servers sent and read.
    sent: u64,
    read: u64,
}

impl SeedOutcome {
    fn add(&mut self, other: &Self) {
        self.connections += other.connections;
        self.answers += other.answers;
        self.errors += other.errors;
        self.clean += other.clean;
        self.late_connects += other.late_connects;
        self.strays += other.strays;
        self.farewells += other.farewells;
        self.sent += other.sent;
        self.read += other.read;
    }
}

/// Tries seeds. Prints each failure and a summary line, both read by the campaign.
fn try_seeds(kind: Kind, usual: u64) {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse().unwrap());
    let first: u64 = number("DYNO_NETWORK_FIRST_SEED").unwrap_or(0);
    let count = number("DYNO_NETWORK_SEEDS").unwrap_or(usual);
    let tls = kind.tls.then(Tls::new);
    let (mut seen, mut failures, mut tried) = (SeedOutcome::default(), Vec::new(), 0);
    let mut worker = Worker::new();
    for seed in first..first + count {
        tried += 1;
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            try_seed(kind, tls.as_ref(), &mut worker, seed)
        }));
        match outcome {
            Ok(outcome) => seen.add(&outcome),
            Err(panic) => {
                println!("network: {kind}: seed {seed} failed: {}", words(&*panic));
                failures.push(seed);
                worker = Worker::new();
            }
        }
        if failures.len() == FAILURES_MAX {
            break;
        }
    }
    let failed = failures.len();
    println!("network: {kind}: {tried} seeds, {failed} failures; {seen:?}");
    assert!(
        failures.is_empty(),
        "{kind} failed with the seeds {failures:?}; DYNO_NETWORK_FIRST_SEED={} \
         DYNO_NETWORK_SEEDS=1 repeats the first",
        failures[0]
    );
}

/// A panic's message on one line.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without words").replace('\n', " ")
}

/// Runs operations until enough are answered.
fn try_seed(kind: Kind, tls: Option<&Tls>, worker: &mut Worker, seed: u64) -> SeedOutcome {
    let mut random = Stream::new(seed, 0);
    tls::seed(seed);
    let mut seen = SeedOutcome::default();
    let mut next = 1;
    while seen.answers < OPERATIONS {
        let faulty = seen.connections < u64::from(FAULTS_MAX) && random.below(4) > 0;
        let plan = match faulty {
            true => Plan::random(&mut random, kind.tls),
            false => Plan::default(),
        };
        let server = Server::new(kind, tls, plan.clone(), seed ^ seen.connections << 32);
        let mut client = Client::new(kind, tls, server, worker, &mut random);
        seen.connections += 1;
        live(&mut client, &plan, &mut next, &mut seen);
    }
    seen
}

/// Drives a connection until its first error, or until there are enough answers.
fn live(client: &mut Client<'_>, plan: &Plan, next: &mut u64, seen: &mut SeedOutcome) {
    let before = seen.answers;
    let mut counted = 0;
    let mut end = client.connect();
    seen.late_connects += u64::from(end.is_err());
    while end.is_ok() && seen.answers < OPERATIONS {
        client.rest(plan);
        let operation = client.choose(*next);
        *next += 10;
        end = client.operate(operation);
        if end.is_ok() {
            seen.answers += 1;
            counted += u64::from(operation != Request::Close || client.counts_close());
        }
    }
    // Both sides must count the same: the server has answered every operation that the client saw
    // answered, and at most the failed one more.
    let answered = client.server.answered();
    let failed = u64::from(end.is_err());
    if plan.corrupt.is_none() {
        assert!(
            (counted..=counted + failed).contains(&answered),
            "{counted} answers, {failed} errors, but the server gave {answered}"
        );
    }
    seen.errors += failed;
    let (sent, read) = client.server.bytes();
    seen.sent += sent;
    seen.read += read;
    seen.clean += u64::from(*plan == Plan::default());
    seen.strays += u64::from(client.server.strayed());
    if let Err(error) = &end {
        check_error(client, plan, error);
        seen.farewells += u64::from(is_farewell(error));
    }
    assert!(
        *plan != Plan::default() || (end.is_ok() && seen.answers > before),
        "a connection without a fault failed: {end:?}"
    );
}

fn check_error(client: &Client<'_>, plan: &Plan, error: &Ended) {
    assert!(
        client.is_closed() || client.server.corrupts(),
        "an error left the connection open: {error:?}"
    );
    if client.server.strayed() {
        assert!(error.ends_connection, "{error:?}");
    }
    // The message of a server before an orderly close must reach the user.
    if client.server.said_farewell() && plan.end == Some(End::Close) && plan.corrupt.is_none() {
        let begun = error.message.contains("began to send");
        assert!(is_farewell(error) || begun, "{error:?}");
    }
}

fn is_farewell(error: &Ended) -> bool {
    error.code == 4031 || error.state == "57P01"
}
