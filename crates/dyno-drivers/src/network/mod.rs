//! Connections over a network that misbehaves: a seed decides how bytes are cut, where the
//! connection ends, how, and together with what. The client's side is watched by the edges of its
//! descriptor, as a worker of a load does it.
//!
//! Whatever happens, an operation ends in its own answer or in an error, and another connection can
//! be made. `DYNO_NETWORK_SEEDS` says how many seeds are tried, `DYNO_NETWORK_FIRST_SEED` where
//! they begin.

mod client;
mod peer;

use std::sync::Arc;

use dyno_core::rand::Stream;
use rustls::{ClientConfig, ServerConfig};

use client::{Client, Ended, Operation};
use peer::{End, Plan, Server};

/// Operations that must have been answered for a seed to be over.
const OPERATIONS: u64 = 6;

/// Connections that misbehave, at most; those behind them do not.
const FAULTS_MAX: u32 = 3;

/// Whom the client takes the server for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speaks {
    Mysql,
    Postgres,
}

/// Both sides' settings of TLS.
struct Tls {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl Tls {
    fn new() -> Self {
        let (client, server) = crate::tls::tests::both_sides();
        Self { client, server }
    }
}

#[test]
fn mysql_survives_any_network() {
    try_seeds(Speaks::Mysql, None, 1_500);
}

#[test]
fn postgres_survives_any_network() {
    try_seeds(Speaks::Postgres, None, 1_500);
}

#[test]
fn mysql_under_tls_survives_any_network() {
    try_seeds(Speaks::Mysql, Some(Tls::new()), 200);
}

#[test]
fn postgres_under_tls_survives_any_network() {
    try_seeds(Speaks::Postgres, Some(Tls::new()), 200);
}

/// The stray answer of a server that is out of step must not become another operation's.
#[test]
fn the_simulation_sees_what_it_should() {
    let mut seen = Seen::default();
    for seed in 0..500 {
        for speaks in [Speaks::Mysql, Speaks::Postgres] {
            seen.add(&try_seed(speaks, None, seed));
        }
    }
    // Faults of each kind were there, and connections without any.
    assert!(seen.errors > 100 && seen.strays > 10, "{seen:?}");
    assert!(
        seen.farewells > 10 && seen.clean > 100 && seen.late_connects > 10,
        "{seen:?}"
    );
}

/// What came of a seed.
#[derive(Debug, Default)]
struct Seen {
    connections: u64,
    answers: u64,
    errors: u64,
    /// Connections without a fault, and those that never got through the log-in.
    clean: u64,
    late_connects: u64,
    strays: u64,
    farewells: u64,
}

impl Seen {
    fn add(&mut self, other: &Self) {
        self.connections += other.connections;
        self.answers += other.answers;
        self.errors += other.errors;
        self.clean += other.clean;
        self.late_connects += other.late_connects;
        self.strays += other.strays;
        self.farewells += other.farewells;
    }
}

fn try_seeds(speaks: Speaks, tls: Option<Tls>, usual: u64) {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse().unwrap());
    let first: u64 = number("DYNO_NETWORK_FIRST_SEED").unwrap_or(0);
    let count = number("DYNO_NETWORK_SEEDS").unwrap_or(usual);
    let mut seen = Seen::default();
    for seed in first..first + count {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            try_seed(speaks, tls.as_ref(), seed)
        }));
        let Ok(outcome) = outcome else {
            panic!(
                "{speaks:?} failed with seed {seed}; DYNO_NETWORK_FIRST_SEED={seed} \
                 DYNO_NETWORK_SEEDS=1 repeats it"
            );
        };
        seen.add(&outcome);
    }
    println!("{speaks:?}, {count} seeds: {seen:?}");
}

/// Runs operations until enough are answered.
fn try_seed(speaks: Speaks, tls: Option<&Tls>, seed: u64) -> Seen {
    let mut random = Stream::new(seed, 0);
    let mut seen = Seen::default();
    let mut next = 1;
    while seen.answers < OPERATIONS {
        let faulty = seen.connections < u64::from(FAULTS_MAX) && random.below(4) > 0;
        let plan = match faulty {
            true => Plan::random(&mut random, tls.is_some()),
            false => Plan::default(),
        };
        let server = Server::new(speaks, tls, plan.clone(), seed ^ seen.connections << 32);
        let mut client = Client::new(speaks, tls, server, &mut random);
        seen.connections += 1;
        live(&mut client, &plan, &mut next, &mut seen);
    }
    seen
}

/// A connection's life: ends with the first error, or when there are enough answers.
fn live(client: &mut Client<'_>, plan: &Plan, next: &mut u64, seen: &mut Seen) {
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
            counted += u64::from(operation != Operation::Close || client.counts_close());
        }
    }
    // Both sides count the same: what the client saw answered the server has answered, and of
    // the rest at most the one that failed.
    let answered = client.server.answered();
    let failed = u64::from(end.is_err());
    if plan.corrupt.is_none() {
        assert!(
            (counted..=counted + failed).contains(&answered),
            "{counted} answers, {failed} errors, but the server gave {answered}"
        );
    }
    seen.errors += failed;
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
        assert_ne!(
            error.class,
            Some(dyno_core::db::ErrorClass::Server),
            "{error:?}"
        );
    }
    // What a server says before it closes in good order is what the user reads.
    if client.server.said_farewell() && plan.end == Some(End::Close) && plan.corrupt.is_none() {
        let begun = error.message.contains("began to send");
        assert!(is_farewell(error) || begun, "{error:?}");
    }
}

fn is_farewell(error: &Ended) -> bool {
    error.code == 4031 || error.state == "57P01"
}
