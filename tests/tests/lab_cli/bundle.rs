//! `dyno lab bundle`: the archive can repeat an experiment, and contains no other runs and no
//! password.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use dyno_tests::command::{Output, run};
use dyno_tests::{Database, Kind};
use rusqlite::Connection;

use super::common::{Lab, has, write};

const LIMIT: Duration = Duration::from_secs(180);

const SECRET: &str = "c4naryWord";

/// An experiment whose script loads a module.
const FILE: &str = "# before: mysql://bench:c4naryWord@db1/bench
experiment = 1
question = 'How do sessions scale?'
[server]
url = 'sqlite:small.db'
[data]
workload = 'oltp_point_select'
options = { tables = 1, table_size = 100 }
[load]
workload = 'scripts/load.lua'
warmup = '0s'
time = '0.3s'
[[factor]]
name = 'sessions'
applies = 'client'
levels = [1, 2]
[design]
repeats = 1
";

const SCRIPT: &str = "local steps = require('scripts.steps')
local con
function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query(steps.read) end
";

const MODULE: &str = "return { read = 'SELECT c FROM sbtest1 WHERE id = 1' }\n";

/// Unpacks an archive to a new folder and returns the names of its files.
fn unpacked(lab: &Lab, archive: &str, into: &Path) -> Vec<String> {
    fs::create_dir(into).unwrap();
    let tar = |action: &str| {
        let mut tar = Command::new("tar");
        tar.arg(action).arg(lab.path(archive)).arg("-C").arg(into);
        run(&mut tar, LIMIT).success()
    };
    tar("-xzf");
    tar("-tzf").stdout.lines().map(str::to_owned).collect()
}

/// Runs `dyno` in a folder.
fn dyno_in(lab: &Lab, folder: &Path, line: &str) -> Output {
    run(lab.command(line).current_dir(folder), LIMIT)
}

fn contains(file: &Path, text: &str) -> bool {
    let bytes = fs::read(file).unwrap();
    bytes
        .windows(text.len())
        .any(|part| part == text.as_bytes())
}

/// A folder in which the experiment and one more run were recorded.
fn recorded() -> Lab {
    let lab = Lab::new();
    fs::create_dir(lab.path("scripts")).unwrap();
    write(&lab, "scaling.toml", FILE);
    write(&lab, "scripts/load.lua", SCRIPT);
    write(&lab, "scripts/steps.lua", MODULE);
    let tables = "oltp_point_select --tables=1 --table-size=100 -T sqlite:other.db";
    lab.dyno(&format!("prepare {tables}")).success();
    lab.dyno(&format!(
        "run {tables} -t 0.2s --warmup 0s --quiet --note foreign-note"
    ))
    .success();
    lab.dyno("lab run scaling.toml").success();
    lab
}

fn count(file: &Path, table: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM {table}");
    let file = Connection::open(file).unwrap();
    file.query_row(&sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn an_archive_repeats_its_experiment_elsewhere() {
    let lab = recorded();
    let output = lab.dyno("lab bundle scaling.toml").success();
    has(
        &output,
        &["scaling.tar.gz: ", "2 scripts, dyno.db with 2 runs"],
    );
    has(
        &lab.dyno("lab bundle").failure(1),
        &["scaling.tar.gz already exists"],
    );
    lab.dyno("lab bundle --force").success();

    let there = lab.path("there");
    let names = unpacked(&lab, "scaling.tar.gz", &there);
    let own = [
        "README.md",
        "dyno.db",
        "experiment.toml",
        "report.html",
        "scripts/load.lua",
        "scripts/steps.lua",
    ];
    assert_eq!(names, own.map(|name| format!("scaling/{name}")));
    for name in &names {
        for text in [SECRET, "foreign-note", "other.db"] {
            assert!(!contains(&there.join(name), text), "{name}: {text}");
        }
    }
    // The user's results file contains what the archive must not.
    assert!(contains(&lab.path("dyno.db"), "foreign-note"));

    let folder = there.join("scaling");
    assert_eq!(
        fs::read_to_string(folder.join("scripts/load.lua")).unwrap(),
        SCRIPT
    );
    let definition = fs::read_to_string(folder.join("experiment.toml")).unwrap();
    assert_eq!(definition, FILE.replace(SECRET, "***"));
    let readme = fs::read_to_string(folder.join("README.md")).unwrap();
    let repeat = "dyno lab run experiment.toml --name scaling --results repeat.db";
    let report = "dyno lab report experiment.toml --name scaling --results dyno.db";
    for part in [
        "# How do sessions scale?",
        "2 of 2 trials done",
        "SQLite",
        repeat,
        report,
        "replaces a password",
    ] {
        assert!(readme.contains(part), "{part}: {readme}");
    }
    for (table, rows) in [("run", 2), ("experiment", 1), ("trial", 2)] {
        assert_eq!(count(&folder.join("dyno.db"), table), rows, "{table}");
    }

    let words = |line: &str| line.strip_prefix("dyno ").unwrap().to_owned();
    let output = dyno_in(&lab, &folder, &words(report)).success();
    has(&output, &["How do sessions scale?", "2 of 2 trials done"]);
    assert!(!output.stderr.contains("as it was"), "{}", output.stderr);
    assert!(folder.join("scaling.html").exists());
    let output = dyno_in(&lab, &folder, &words(repeat)).success();
    has(&output, &["all 2 trials done"]);
}

#[test]
fn a_script_changed_since_the_trials_is_refused() {
    let lab = recorded();
    let refused = |why: &[&str]| {
        has(&lab.dyno("lab bundle scaling.toml").failure(1), why);
        assert!(!lab.path("scaling.tar.gz").exists(), "{why:?}");
    };
    write(&lab, "scripts/steps.lua", "return { read = 'SELECT 2' }\n");
    refused(&["./scripts/steps.lua has changed since the trials"]);
    fs::remove_file(lab.path("scripts/steps.lua")).unwrap();
    refused(&["the script ./scripts/steps.lua is missing"]);
    write(&lab, "scripts/steps.lua", MODULE);
    fs::remove_file(lab.path("scripts/load.lua")).unwrap();
    refused(&["the script ./scripts/load.lua is missing"]);
    write(&lab, "scripts/load.lua", SCRIPT);
    lab.dyno("lab bundle scaling.toml").success();
}

#[test]
fn the_password_of_a_server_is_not_in_an_archive() {
    let database = Database::new(Kind::Mariadb);
    let (name, port) = (&database.name, database.server.port);
    database.execute(&format!(
        "CREATE USER {name}@'127.0.0.1' IDENTIFIED BY '{SECRET}'"
    ));
    database.execute(&format!("GRANT ALL ON {name}.* TO {name}@'127.0.0.1'"));
    let lab = Lab::new();
    let url = format!("mysql://{name}:{SECRET}@127.0.0.1:{port}/{name}");
    lab.dyno(&format!(
        "lab --vary sessions=1,2 oltp_point_select -T {url} --tables=1 --table-size=100 -t 0.2s \
         --warmup 0s --repeats 1 --name guarded"
    ))
    .success();
    let output = lab.dyno("lab bundle -o guarded.tgz").success();
    has(
        &output,
        &["guarded.tgz: ", "0 scripts, dyno.db with 2 runs"],
    );
    let there: PathBuf = lab.path("there");
    let names = unpacked(&lab, "guarded.tgz", &there);
    assert_eq!(names.len(), 4, "{names:?}");
    for name in &names {
        assert!(!contains(&there.join(name), SECRET), "{name}");
    }
    let folder = there.join("guarded");
    let readme = fs::read_to_string(folder.join("README.md")).unwrap();
    assert!(
        readme.contains("replaces a password") && readme.contains("MariaDB"),
        "{readme}"
    );
    let line = "lab report experiment.toml --name guarded --results dyno.db";
    has(
        &dyno_in(&lab, &folder, line).success(),
        &["2 of 2 trials done"],
    );
    let server = &database.server;
    server.execute(None, &format!("DROP USER {name}@'127.0.0.1'"));
}
