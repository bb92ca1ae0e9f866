//! What a run of the verdict's campaign is: how it is made bad, and what must be found.

use std::time::Duration;

use crate::servers::Kind;

/// A run with a known fault, or with none.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// What is wrong, in a line.
    pub what: &'static str,
    /// Where it runs.
    pub on: On,
    /// More arguments of the server.
    pub server: &'static [&'static str],
    /// What is prepared before, as after `dyno prepare`; nothing if empty.
    pub prepare: &'static str,
    /// It is then dumped and restored into an empty database, and the server is restarted.
    pub restored: bool,
    /// Statements of the administrator after that.
    pub before: &'static [&'static str],
    /// The run, as after `dyno run`. `SHAPES` and `TOUCHES` are scripts. `{N}` is N times the
    /// capacity in events per second that a short run finds.
    pub run: &'static str,
    /// What happens while it runs.
    pub act: Act,
    /// What must be found.
    pub finds: Expect,
    /// Checks that may speak against it too, as the fault is one in their eyes as well.
    pub also: &'static [&'static str],
}

/// Where a run runs.
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
    /// A file of SQLite's in the case's folder.
    Sqlite,
    /// A file of SQLite's in memory (`/dev/shm`).
    SqliteInMemory,
}

/// What must be found.
#[derive(Clone, Copy, Debug)]
pub enum Expect {
    /// Nothing.
    Nothing,
    /// A check with this outcome, whose evidence holds these words.
    Check(&'static str, &'static str, &'static str),
    /// A refusal before the load, with these words.
    Before(&'static str),
    /// The run fails, with these words.
    Failure(&'static str),
}

/// What happens while a run measures.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// Nothing.
    None,
    /// The server stands still, several times.
    ServerStops(Stops),
    /// The load generator does.
    DynoStops(Stops),
    /// The server is killed after so many seconds, and started again.
    Crash(f64),
    /// It is stopped as an administrator does, and started again.
    Restart(f64),
    /// An administrator's connection asks these statements after so many seconds, holds what they
    /// lock for so many seconds, and ends.
    Holds(f64, f64, &'static [&'static str]),
    /// An administrator's connection asks the first after so many seconds, and the second so many
    /// seconds later.
    Between(f64, f64, [&'static str; 2]),
    /// The administrator ends all sessions of the run's user every so many seconds, so many times.
    KillsSessions(f64, u32),
    /// The administrator ends the sessions that ask other statements than the script's.
    KillsObserver(f64),
    /// So many processes use CPU from this second on: a multiple of the CPUs.
    Burners(f64, usize),
    /// The whole run has one CPU, which it shares with so many processes.
    Pinned(usize),
    /// Another process writes to the server's disk from this second on, past the cache.
    Writes(f64),
    /// Another process does so from before the run on.
    WritesThroughout,
    /// The administrator makes a backup at this second, as the server's own tool does.
    Backup(f64),
    /// Another load runs on the same database, begun before: as after `dyno run`.
    OtherLoad(&'static str),
}

/// Times at which something stands still.
#[derive(Clone, Copy, Debug)]
pub struct Stops {
    /// How often.
    pub times: u32,
    /// For how long each time, in milliseconds.
    pub for_ms: u64,
    /// How long it goes on between, in milliseconds.
    pub between_ms: u64,
}

impl Stops {
    /// How long it stands still each time.
    pub fn length(&self) -> Duration {
        Duration::from_millis(self.for_ms)
    }

    /// How long it goes on between.
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

    /// With this prepared before.
    pub const fn prepared(mut self, line: &'static str) -> Self {
        self.prepare = line;
        self
    }

    /// With data that was restored.
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

    /// While this happens.
    pub const fn while_(mut self, act: Act) -> Self {
        self.act = act;
        self
    }

    /// Of which this must be found.
    pub const fn finds(mut self, finds: Expect) -> Self {
        self.finds = finds;
        self
    }

    /// Of which these checks may speak, too.
    pub const fn also(mut self, checks: &'static [&'static str]) -> Self {
        self.also = checks;
        self
    }

    /// The same on another place.
    pub const fn on(mut self, on: On) -> Self {
        self.on = on;
        self
    }

    /// Which servers it can share with others: those with the same arguments.
    pub fn bed(&self) -> (On, &'static [&'static str]) {
        (self.on, self.server)
    }

    /// Whether it has a fault.
    pub fn is_bad(&self) -> bool {
        !matches!(self.finds, Expect::Nothing)
    }
}
