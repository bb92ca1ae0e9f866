//! Defines a run of the verdict campaign: its fault, and the findings it must have.

use std::time::Duration;

use xtask::servers::Kind;

/// A run with a known fault, or without one.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The fault, in one line.
    pub what: &'static str,
    /// Where it runs.
    pub on: On,
    /// Additional arguments of the server.
    pub server: &'static [&'static str],
    /// The arguments of `dyno prepare`; empty for none.
    pub prepare: &'static str,
    /// Whether to dump the data, restore them into an empty database, and restart the server.
    pub restored: bool,
    /// Statements that the administrator runs after that.
    pub before: &'static [&'static str],
    /// The arguments of `dyno run`. `SHAPES` and `TOUCHES` stand for scripts. `{N}` is N times the
    /// capacity in events per second, which a short run measures.
    pub run: &'static str,
    /// What disturbs the run.
    pub act: Act,
    /// The finding that it must have.
    pub finds: Expect,
    /// Other checks that may doubt or refuse the run, because the fault concerns them as well.
    pub also: &'static [&'static str],
}

/// Where a run takes place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// A server.
    Server(Kind),
    /// Two servers with the same data, one endpoint each.
    Two(Kind),
    /// One server with two endpoints, of which the second is a slow link to it.
    Throttled(Kind),
    /// MariaDB with Galera: two nodes; the load goes to the first.
    Galera,
    /// An SQLite file in the case's folder.
    Sqlite,
    /// An SQLite file in memory (`/dev/shm`).
    SqliteInMemory,
}

/// The finding that a run must have.
#[derive(Clone, Copy, Debug)]
pub enum Expect {
    /// No finding.
    Nothing,
    /// A check with this outcome, whose evidence contains these words.
    Check(&'static str, &'static str, &'static str),
    /// Dyno refuses to start the load, with these words.
    Before(&'static str),
    /// The run fails, with these words.
    Failure(&'static str),
}

/// What disturbs a run during the measurement.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// No disturbance.
    None,
    /// The server is stopped several times.
    ServerStops(Stops),
    /// The load generator is stopped several times.
    DynoStops(Stops),
    /// The server is killed and restarted after this many seconds.
    Crash(f64),
    /// The server is shut down and restarted after this many seconds.
    Restart(f64),
    /// After A seconds, an administrator's connection runs these statements. It holds their locks
    /// for B seconds, and ends.
    Holds(f64, f64, &'static [&'static str]),
    /// After A seconds, an administrator's connection runs the first statement, and B seconds later
    /// the second.
    Between(f64, f64, [&'static str; 2]),
    /// The administrator ends all sessions of the run's user, at this interval in seconds and this
    /// many times.
    KillsSessions(f64, u32),
    /// The administrator ends the sessions whose statement is not the script's.
    KillsObserver(f64),
    /// From this second on, processes use CPU. There are this many times the number of CPUs of
    /// them.
    Burners(f64, usize),
    /// The whole run is pinned to one CPU, which it shares with this many processes.
    Pinned(usize),
    /// Another process writes to the server's disk from before the start of the run, and bypasses
    /// the cache.
    WritesThroughout,
    /// The administrator takes a backup at this second, with the server's own tool.
    Backup(f64),
    /// Another load, started earlier, uses the same database. These are its arguments of `dyno
    /// run`.
    OtherLoad(&'static str),
}

/// Repeated stops.
#[derive(Clone, Copy, Debug)]
pub struct Stops {
    /// The number of stops.
    pub times: u32,
    /// The duration of each stop, in milliseconds.
    pub for_ms: u64,
    /// The time between stops, in milliseconds.
    pub between_ms: u64,
}

impl Stops {
    /// The duration of each stop.
    pub fn length(&self) -> Duration {
        Duration::from_millis(self.for_ms)
    }

    /// The time between stops.
    pub fn between(&self) -> Duration {
        Duration::from_millis(self.between_ms)
    }
}

/// A run of the script of shapes that a check must doubt, with these words.
pub const fn doubted(
    kind: Kind,
    what: &'static str,
    run: &'static str,
    check: &'static str,
    words: &'static str,
) -> Case {
    let case = Case::new(On::Server(kind), what, run);
    case.prepared("SHAPES")
        .finds(Expect::Check(check, "doubt", words))
}

impl Case {
    /// A run that has no fault yet.
    pub const fn new(on: On, what: &'static str, run: &'static str) -> Self {
        Self {
            what,
            on,
            server: &[],
            prepare: "",
            restored: false,
            before: &[],
            run,
            act: Act::None,
            finds: Expect::Nothing,
            also: &[],
        }
    }

    /// Adds tables to prepare first.
    pub const fn prepared(mut self, line: &'static str) -> Self {
        self.prepare = line;
        self
    }

    /// Restores the data from a dump.
    pub const fn restored(mut self) -> Self {
        self.restored = true;
        self
    }

    /// Adds statements that the administrator runs first.
    pub const fn before(mut self, all: &'static [&'static str]) -> Self {
        self.before = all;
        self
    }

    /// Adds arguments of the server.
    pub const fn server(mut self, arguments: &'static [&'static str]) -> Self {
        self.server = arguments;
        self
    }

    /// Adds a disturbance.
    pub const fn while_(mut self, act: Act) -> Self {
        self.act = act;
        self
    }

    /// Sets the expected finding.
    pub const fn finds(mut self, finds: Expect) -> Self {
        self.finds = finds;
        self
    }

    /// Adds checks that may report it as well.
    pub const fn also(mut self, checks: &'static [&'static str]) -> Self {
        self.also = checks;
        self
    }

    /// Moves it to another place.
    pub const fn on(mut self, on: On) -> Self {
        self.on = on;
        self
    }

    /// Cases with the same place and arguments share a server.
    pub fn bed(&self) -> (On, &'static [&'static str]) {
        (self.on, self.server)
    }

    /// Whether the case has a fault.
    pub fn is_bad(&self) -> bool {
        !matches!(self.finds, Expect::Nothing)
    }
}
