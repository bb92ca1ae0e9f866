//! The definition of a run in the verdict's campaign: its fault, and the expected findings.

use std::time::Duration;

use xtask::servers::Kind;

/// A run with a known fault, or without one.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The fault, in one line.
    pub what: &'static str,
    /// The place of the run.
    pub on: On,
    /// Further arguments of the server.
    pub server: &'static [&'static str],
    /// The arguments of `dyno prepare`; empty for none.
    pub prepare: &'static str,
    /// Whether to dump the data, restore them into an empty database, and restart the server.
    pub restored: bool,
    /// Statements of the administrator after that.
    pub before: &'static [&'static str],
    /// The arguments of `dyno run`. `SHAPES` and `TOUCHES` are scripts. `{N}` is N times the
    /// capacity in events per second, measured by a short run.
    pub run: &'static str,
    /// The disturbance during the run.
    pub act: Act,
    /// The expected finding.
    pub finds: Expect,
    /// Checks that may also doubt or refuse the run, since the fault concerns them as well.
    pub also: &'static [&'static str],
}

/// The place of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// A server.
    Server(Kind),
    /// Two servers with the same data, each an endpoint.
    Two(Kind),
    /// A server with two endpoints: the second is a slow link to it.
    Throttled(Kind),
    /// MariaDB with Galera: two nodes; the load goes to the first.
    Galera,
    /// An SQLite file in the case's folder.
    Sqlite,
    /// An SQLite file in memory (`/dev/shm`).
    SqliteInMemory,
}

/// The expected finding.
#[derive(Clone, Copy, Debug)]
pub enum Expect {
    /// No finding.
    Nothing,
    /// A check with this outcome, and evidence with these words.
    Check(&'static str, &'static str, &'static str),
    /// A refusal before the load, with these words.
    Before(&'static str),
    /// The run fails, with these words.
    Failure(&'static str),
}

/// A disturbance during the measurement.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// No disturbance.
    None,
    /// The server is stopped several times.
    ServerStops(Stops),
    /// The load generator is stopped several times.
    DynoStops(Stops),
    /// The server is killed after this many seconds, and restarted.
    Crash(f64),
    /// The server is shut down after this many seconds, and restarted.
    Restart(f64),
    /// An administrator's connection runs these statements after this many seconds, holds their
    /// locks for this many seconds, and ends.
    Holds(f64, f64, &'static [&'static str]),
    /// An administrator's connection runs the first statement after this many seconds, and the
    /// second this many seconds later.
    Between(f64, f64, [&'static str; 2]),
    /// The administrator ends all sessions of the run's user at this interval in seconds, this many
    /// times.
    KillsSessions(f64, u32),
    /// The administrator ends the sessions with statements other than the script's.
    KillsObserver(f64),
    /// Processes use CPU from this second on; their number is a multiple of the CPUs.
    Burners(f64, usize),
    /// The whole run has one CPU, which it shares with this many processes.
    Pinned(usize),
    /// Another process writes to the server's disk from this second on, bypassing the cache.
    Writes(f64),
    /// The same, starting before the run.
    WritesThroughout,
    /// The administrator makes a backup at this second, with the server's own tool.
    Backup(f64),
    /// Another load runs on the same database and starts earlier: the arguments of `dyno run`.
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

/// A run of the script of shapes; a check must doubt it, with these words.
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
    /// A run without a fault so far.
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

    /// With these tables prepared before.
    pub const fn prepared(mut self, line: &'static str) -> Self {
        self.prepare = line;
        self
    }

    /// With restored data.
    pub const fn restored(mut self) -> Self {
        self.restored = true;
        self
    }

    /// With these statements of the administrator before.
    pub const fn before(mut self, all: &'static [&'static str]) -> Self {
        self.before = all;
        self
    }

    /// On a server with these arguments.
    pub const fn server(mut self, arguments: &'static [&'static str]) -> Self {
        self.server = arguments;
        self
    }

    /// With this disturbance.
    pub const fn while_(mut self, act: Act) -> Self {
        self.act = act;
        self
    }

    /// With this expected finding.
    pub const fn finds(mut self, finds: Expect) -> Self {
        self.finds = finds;
        self
    }

    /// With these further checks that may report it.
    pub const fn also(mut self, checks: &'static [&'static str]) -> Self {
        self.also = checks;
        self
    }

    /// The same in a different place.
    pub const fn on(mut self, on: On) -> Self {
        self.on = on;
        self
    }

    /// The servers it can share with other cases: those with the same arguments.
    pub fn bed(&self) -> (On, &'static [&'static str]) {
        (self.on, self.server)
    }

    /// Whether it has a fault.
    pub fn is_bad(&self) -> bool {
        !matches!(self.finds, Expect::Nothing)
    }
}
