//! Databases of every family, and commands that use them.

use std::process::Command;
use std::time::Duration;

use dyno_core::Clock;
use dyno_tests::command::{Running, dyno_path, run};
use dyno_tests::{Database, Kind, Output, kinds};
use serde_json::Value;
use tempfile::TempDir;

/// How long a command may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(180);

/// A database that a test may change in any way.
pub(crate) enum TestDatabase {
    Server(Database),
    Sqlite(TempDir),
}

/// One database of each family, and of both MariaDB and MySQL.
pub(crate) fn everywhere() -> Vec<TestDatabase> {
    let servers = kinds().into_iter().map(on);
    servers.chain([sqlite()]).collect()
}

pub(crate) fn sqlite() -> TestDatabase {
    TestDatabase::Sqlite(tempfile::tempdir().unwrap())
}

/// A new database on a server.
pub(crate) fn on(kind: Kind) -> TestDatabase {
    TestDatabase::Server(Database::new(kind))
}

impl TestDatabase {
    /// The administrator's URL of the database.
    pub(crate) fn url(&self) -> String {
        match self {
            Self::Server(database) => database.url(),
            Self::Sqlite(folder) => {
                format!("sqlite:{}", folder.path().join("data.db").display())
            }
        }
    }

    /// Runs a statement with another client than Dyno.
    pub(crate) fn execute(&self, sql: &str) {
        match self {
            Self::Server(database) => database.execute(sql),
            Self::Sqlite(folder) => {
                let file = rusqlite::Connection::open(folder.path().join("data.db")).unwrap();
                file.busy_timeout(Duration::from_secs(20)).unwrap();
                file.execute_batch(sql).unwrap();
            }
        }
    }

    /// An SQL condition that selects the sessions on this database; `None` for SQLite.
    pub(crate) fn sessions(&self) -> Option<String> {
        let Self::Server(database) = self else {
            return None;
        };
        let name = &database.name;
        Some(match database.server.kind {
            Kind::Postgres => format!("FROM pg_stat_activity WHERE datname = '{name}'"),
            Kind::Mariadb | Kind::Mysql => {
                format!("FROM information_schema.processlist WHERE db = '{name}'")
            }
        })
    }

    /// Waits until the sessions of a killed client have ended.
    pub(crate) fn alone_again(&self) {
        if let (Self::Server(database), Some(sessions)) = (self, self.sessions()) {
            let count = format!("SELECT COUNT(*) {sessions}");
            eventually("the killed client's sessions end", || {
                database.server.query_one(None, &count) == "0"
            });
        }
    }

    /// The first field of the first row of a query, as text, read with another client than Dyno.
    pub(crate) fn query_one(&self, sql: &str) -> String {
        match self {
            Self::Server(database) => database.query_one(sql),
            Self::Sqlite(folder) => {
                let file = rusqlite::Connection::open(folder.path().join("data.db")).unwrap();
                file.busy_timeout(Duration::from_secs(20)).unwrap();
                let value: rusqlite::types::Value =
                    file.query_row(sql, [], |row| row.get(0)).unwrap();
                match value {
                    rusqlite::types::Value::Integer(number) => number.to_string(),
                    rusqlite::types::Value::Real(number) => number.to_string(),
                    rusqlite::types::Value::Text(text) => text,
                    other => format!("{other:?}"),
                }
            }
        }
    }

    /// The dialect: `mysql`, `postgres` or `sqlite`.
    pub(crate) fn family(&self) -> &'static str {
        match self {
            Self::Server(database) => database.server.kind.scheme(),
            Self::Sqlite(_) => "sqlite",
        }
    }

    /// The name that messages use.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Server(database) => database.server.kind.to_string(),
            Self::Sqlite(_) => "SQLite".to_owned(),
        }
    }

    /// `dyno COMMAND WORKLOAD --target …` with more arguments.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(dyno_path());
        command.args(line.split_whitespace());
        command.args(["--target", &self.url()]);
        command.env_remove("DYNO_TARGET");
        command
    }

    /// Runs the same until it exits.
    pub(crate) fn dyno(&self, line: &str) -> Output {
        run(&mut self.command(line), LIMIT)
    }

    /// Starts the same.
    pub(crate) fn start(&self, line: &str) -> Running {
        Running::start(&mut self.command(line))
    }

    /// Makes a run that must succeed, and returns its result.
    pub(crate) fn result(&self, line: &str) -> Value {
        let output = self.dyno(&format!("run {line} {QUIET} --json"));
        let output = output.success();
        serde_json::from_str(&output.stdout).unwrap()
    }
}

/// Waits until the condition holds.
pub(crate) fn eventually(what: &str, so: impl Fn() -> bool) {
    let since = Clock.now();
    while !so() {
        assert!(Clock.now() - since < 60_000_000_000, "never: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The first table of the Insert Benchmark, before a step inserts into it.
pub(crate) struct Inserting<'a> {
    place: &'a TestDatabase,
    highest: String,
}

impl<'a> Inserting<'a> {
    const HIGHEST: &'static str = "SELECT MAX(transactionid) FROM pi1";

    /// Remembers its current state.
    pub(crate) fn since(place: &'a TestDatabase) -> Self {
        let highest = place.query_one(Self::HIGHEST);
        Self { place, highest }
    }

    /// Waits until it has new rows.
    pub(crate) fn wait(self) {
        eventually("rows come", || {
            self.place.query_one(Self::HIGHEST) != self.highest
        });
    }
}

/// Keeps a run short and silent.
pub(crate) const QUIET: &str = "-q --calibrate never --observe off --results none --warmup 0";

/// The same with interval lines, from which the test sees that the run works.
pub(crate) const LOUD: &str = "--calibrate never --observe off --results none --warmup 0";

/// A command that takes no target.
pub(crate) fn alone(line: &str) -> Output {
    let mut command = Command::new(dyno_path());
    run(command.args(line.split_whitespace()), LIMIT)
}

/// How often a run executed an operation.
pub(crate) fn done(result: &Value, operation: &str) -> u64 {
    totals(result, operation)["done"].as_u64().unwrap()
}

/// How often an operation ended in each way.
pub(crate) fn totals<'a>(result: &'a Value, operation: &str) -> &'a Value {
    let operations = result["operations"].as_array().unwrap();
    let found = operations.iter().find(|known| known["name"] == operation);
    &found.unwrap()["totals"]
}

/// The outcome of a check in a result.
pub(crate) fn outcome<'a>(result: &'a Value, check: &str) -> &'a str {
    let findings = result["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["check"] == check);
    found.unwrap()["outcome"].as_str().unwrap()
}

/// A fact that the workload added to a result.
pub(crate) fn fact<'a>(result: &'a Value, name: &str) -> Option<&'a str> {
    let facts = result["facts"].as_array().unwrap();
    let found = facts.iter().find(|fact| fact["name"] == name);
    found.map(|fact| fact["value"].as_str().unwrap())
}

/// Fails unless the command is refused for this reason.
pub(crate) fn refused(place: &TestDatabase, line: &str, why: &str) {
    let output = place.dyno(line);
    let name = place.name();
    assert!(
        matches!(output.status.code(), Some(1 | 2)),
        "{name} {line}: {output:?}"
    );
    assert!(output.stderr.contains(why), "{name} {line}: {output:?}");
    assert!(
        !output.stderr.contains("panicked"),
        "{name} {line}: {output:?}"
    );
}

/// Fails unless the workload's check finds exactly these conditions violated.
pub(crate) fn fails(place: &TestDatabase, workload: &str, conditions: &[&str]) {
    let output = place.dyno(&format!("check {workload}"));
    assert_eq!(
        output.status.code(),
        Some(1),
        "{}: {output:?}",
        place.name()
    );
    let failed: Vec<&str> = output
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("FAILED  "))
        .collect();
    assert_eq!(
        failed.len(),
        conditions.len(),
        "{}: {output:?}",
        place.name()
    );
    for (line, condition) in failed.iter().zip(conditions) {
        assert!(line.starts_with(condition), "{condition}: {output:?}");
    }
}
