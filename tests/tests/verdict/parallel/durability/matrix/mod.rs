//! Compares the durability class that Dyno prints with what a server really loses. The test kills
//! each server under load, restarts it, and looks for the rows that were acknowledged. It prints
//! the table of docs/durability.md:
//!
//!     cargo test -p dyno-tests --features servers --test verdict matrix -- --nocapture

mod ledger;
mod mysql;
mod postgres;
mod sqlite;
mod versions;

use std::process::Command;
use std::thread;

use dyno_core::finding::DurabilityClass;
use dyno_tests::{PrivateServer, Server};

use crate::common::{Judged, in_parallel, judge};
use ledger::Acknowledged;

/// The script that Dyno runs on the table of acknowledged rows.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/durability.lua");
/// How often to kill a server that may lose rows, until it loses some.
const ATTEMPTS: usize = 4;

/// A server's settings, and the class that Dyno must print for them.
struct Case {
    /// Its name in the table.
    setting: String,
    /// The statements of the administrator at the start.
    first: Vec<String>,
    /// The statement that creates the table `ledger`.
    table: String,
    /// The settings that the administrator changes after that.
    set: Vec<String>,
    /// The settings that each session starts with.
    session: String,
    /// More options of Dyno's run.
    options: String,
    class: DurabilityClass,
    left: Left,
}

/// What must remain of the acknowledged rows after a kill of the process alone.
#[derive(Clone, Copy, PartialEq)]
enum Left {
    /// All rows.
    Everything,
    /// Not all rows.
    NotAll,
    /// No row.
    Nothing,
    /// The server does not start again.
    NoServer,
    /// It depends on the moment of the kill.
    Either,
}

impl Case {
    fn new(setting: &str, class: DurabilityClass, left: Left) -> Self {
        Self {
            setting: setting.to_owned(),
            first: Vec::new(),
            table: "CREATE TABLE ledger (id BIGINT PRIMARY KEY, v INT)".to_owned(),
            set: Vec::new(),
            session: String::new(),
            options: String::new(),
            class,
            left,
        }
    }

    /// Adds options of the table.
    fn table(mut self, options: &str) -> Self {
        self.table = format!("{} {options}", self.table);
        self
    }

    fn first(mut self, sql: &str) -> Self {
        self.first.push(sql.to_owned());
        self
    }

    fn set(mut self, sql: &str) -> Self {
        self.set.push(sql.to_owned());
        self
    }

    fn options(mut self, options: &str) -> Self {
        options.clone_into(&mut self.options);
        self
    }

    fn session(mut self, sql: &str) -> Self {
        sql.clone_into(&mut self.session);
        self
    }
}

/// A row of the table.
struct Row {
    server: String,
    setting: String,
    class: DurabilityClass,
    acknowledged: usize,
    lost: Option<usize>,
    wrong: Option<String>,
}

#[test]
fn a_killed_server_keeps_the_promise_of_its_class() {
    let _turn = in_parallel();
    let groups: &[fn() -> Vec<Row>] = &[
        mysql::mariadb,
        mysql::rocksdb,
        mysql::mysql,
        postgres::installed,
        postgres::preloaded,
        postgres::newest,
        sqlite::modes,
    ];
    let rows: Vec<Row> = thread::scope(|scope| {
        let groups: Vec<_> = groups.iter().map(|group| scope.spawn(group)).collect();
        let rows = groups.into_iter().map(|group| group.join());
        rows.flat_map(|rows| rows.unwrap_or_else(|_| panic!("a server of the matrix failed")))
            .collect()
    });
    report(&rows);
}

/// Prints the table, and fails if a row is wrong.
fn report(rows: &[Row]) {
    eprintln!("| Server | Setting | Class | Acknowledged | Lost |");
    eprintln!("|---|---|---|---:|---:|");
    for row in rows {
        let lost = match row.lost {
            Some(lost) => lost.to_string(),
            None => "does not start".to_owned(),
        };
        eprintln!(
            "| {} | {} | {} | {} | {lost} |",
            row.server,
            row.setting,
            row.class.name(),
            row.acknowledged
        );
    }
    let wrong: Vec<&String> = rows.iter().filter_map(|row| row.wrong.as_ref()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Asks Dyno for the class, kills the server under load, and looks for the acknowledged rows.
fn prove(private: &mut PrivateServer, version: &str, case: &Case) -> Row {
    let server = private.server();
    for sql in &case.first {
        server.execute(None, sql);
    }
    make(&server, case);
    let line = format!(
        "{SCRIPT} --target {} -c 2 -t 3s --warmup 0 {}",
        server.url("verdict"),
        case.options
    );
    let session = format!("--session_sql={}", case.session);
    let begin = |command: &mut Command| {
        command.arg(session);
    };
    let run = judge(&line, None, begin, |_| {});
    let (mut acknowledged, mut lost) = kill(private, case);
    for _ in 1..ATTEMPTS {
        // A server loses nothing if the kill comes just after it has written its buffers.
        if case.left != Left::NotAll || lost != Some(0) {
            break;
        }
        make(&server, case);
        (acknowledged, lost) = kill(private, case);
    }
    row(version, case, &run, &acknowledged, lost)
}

/// Recreates the table and applies the settings, because a restart resets them.
fn make(server: &Server, case: &Case) {
    server.execute(Some("verdict"), "DROP TABLE IF EXISTS ledger");
    server.execute(Some("verdict"), &case.table);
    for sql in &case.set {
        server.execute(None, sql);
    }
}

/// Returns the rows that the server acknowledged until the kill, and how many of them are lost, or
/// `None` if the server does not start again.
fn kill(private: &mut PrivateServer, case: &Case) -> (Acknowledged, Option<usize>) {
    let server = private.server();
    let clients = ledger::connect(&server, &case.session);
    let acknowledged = ledger::until_killed(clients, || private.kill().unwrap());
    let lost = private
        .start_again()
        .ok()
        .map(|()| acknowledged.lost(&server));
    (acknowledged, lost)
}

fn row(
    version: &str,
    case: &Case,
    run: &Judged,
    acknowledged: &Acknowledged,
    lost: Option<usize>,
) -> Row {
    let finding = run.finding("durability");
    let class = finding["durability"]["class"].clone();
    let class: DurabilityClass = serde_json::from_value(class).unwrap();
    let all = acknowledged.count();
    let is_left = match case.left {
        Left::Everything => lost == Some(0),
        Left::NotAll => lost.is_some_and(|lost| lost > 0),
        Left::Nothing => lost == Some(all),
        Left::NoServer => lost.is_none(),
        Left::Either => true,
    };
    let is_right = class == case.class && is_left && all > 0;
    let wrong = (!is_right).then(|| {
        format!(
            "{version}, {}: {:?} expected, {all} acknowledged, {lost:?} lost: {finding}",
            case.setting, case.class
        )
    });
    Row {
        server: version.to_owned(),
        setting: case.setting.clone(),
        class,
        acknowledged: all,
        lost,
        wrong,
    }
}
