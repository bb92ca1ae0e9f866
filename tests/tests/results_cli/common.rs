//! A folder for one test, in which Dyno runs and writes its results file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use dyno_tests::command::{Running, dyno_path, run};
pub(crate) use dyno_tests::command::{flat, has};
use dyno_tests::{Database, Kind, Output};
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use tempfile::TempDir;

/// How long a command may take on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// Keeps a run short. A calibration alone would take seconds.
pub(crate) const SHORT: &str = "-t 2s --warmup 0 --calibrate never";

/// The folder, with the default results file and its own cache.
pub(crate) struct Lab {
    folder: TempDir,
}

impl Lab {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file, and returns its path as text.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// A `dyno` command in this folder. Blanks separate its arguments, except those in `'…'`.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(dyno_path());
        self.prepare(&mut command);
        command.args(words(line));
        command
    }

    /// Isolates a command from everything outside this folder.
    pub(crate) fn prepare(&self, command: &mut Command) {
        command
            .current_dir(self.folder.path())
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env_remove("DYNO_TARGET")
            .env_remove("DYNO_RESULTS");
    }

    pub(crate) fn dyno(&self, line: &str) -> Output {
        sound(run(&mut self.command(line), LIMIT))
    }

    pub(crate) fn start(&self, line: &str) -> Running {
        Running::start(&mut self.command(line))
    }

    /// Runs a command and parses the JSON that it prints.
    pub(crate) fn json(&self, line: &str) -> Value {
        let output = self.dyno(line).success();
        serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}\n{output:?}"))
    }

    /// The rows of a query on the default results file, with every field as text.
    pub(crate) fn sql(&self, sql: &str) -> Vec<Vec<String>> {
        query(&self.path("dyno.db"), sql)
    }

    /// The only field that a query on the results file returns, as a number.
    pub(crate) fn number(&self, sql: &str) -> f64 {
        let rows = self.sql(sql);
        let field = rows.first().and_then(|row| row.first());
        field
            .and_then(|text| text.parse().ok())
            .unwrap_or_else(|| panic!("{sql}: {rows:?}"))
    }

    /// Creates a small SQLite database with the tables of `oltp_point_select`, and returns Dyno's
    /// options for it.
    pub(crate) fn sqlite(&self) -> String {
        let target = "--target sqlite:small.db --table-size 1000".to_owned();
        self.dyno(&format!("prepare oltp_point_select {target}"))
            .success();
        target
    }
}

/// Creates small tables of the OLTP workloads on a server; also returns Dyno's options for them.
pub(crate) fn prepared(lab: &Lab, kind: Kind) -> (Database, String) {
    let database = Database::new(kind);
    let options = format!("--target {} --table-size 1000", database.url());
    lab.dyno(&format!("prepare oltp_read_write {options}"))
        .success();
    (database, options)
}

/// The rows of a query on an SQLite file.
pub(crate) fn query(path: &Path, sql: &str) -> Vec<Vec<String>> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    connection.busy_timeout(Duration::from_secs(10)).unwrap();
    let mut statement = connection.prepare(sql).unwrap();
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        (0..columns)
            .map(|index| {
                Ok(match row.get::<_, rusqlite::types::Value>(index)? {
                    rusqlite::types::Value::Null => "NULL".to_owned(),
                    rusqlite::types::Value::Integer(number) => number.to_string(),
                    rusqlite::types::Value::Real(number) => number.to_string(),
                    rusqlite::types::Value::Text(text) => text,
                    rusqlite::types::Value::Blob(bytes) => format!("{} bytes", bytes.len()),
                })
            })
            .collect()
    });
    rows.unwrap().map(Result::unwrap).collect()
}

/// Returns the output unless something in it indicates a bug.
pub(crate) fn sound(output: Output) -> Output {
    for text in [&output.stdout, &output.stderr] {
        assert!(
            !text.contains("panicked") && !text.contains("RUST_BACKTRACE"),
            "{output:?}"
        );
    }
    // 101 is a panic, and `None` a signal.
    assert!(matches!(output.status.code(), Some(0..=4)), "{output:?}");
    output
}

/// The finding of a check in a result.
pub(crate) fn finding<'a>(result: &'a Value, check: &str) -> &'a Value {
    let findings = result["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["check"] == check);
    found.unwrap_or_else(|| panic!("no finding of {check} in {result:#}"))
}

/// The worst outcome that is not waived: the verdict must be the same.
pub(crate) fn worst(result: &Value) -> &'static str {
    let findings = result["findings"].as_array().unwrap();
    let counts = |outcome: &str| {
        let against = |f: &&Value| f["outcome"] == outcome && f["waived"].is_null();
        findings.iter().filter(against).count()
    };
    match (counts("refuse"), counts("doubt")) {
        (0, 0) => "valid",
        (0, _) => "doubtful",
        _ => "refused",
    }
}

fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        match index % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}
