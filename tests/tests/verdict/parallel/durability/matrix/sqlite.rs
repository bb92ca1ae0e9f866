//! The journal modes of SQLite, which runs inside the client: the test kills the client.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use dyno_core::finding::DurabilityClass::{self, Damaged, Durable, LastCommits};
use rusqlite::Connection;

use super::ledger::Acknowledged;
use super::{Case, Left, Row, SCRIPT, row};
use crate::common::judged;

const LOAD: Duration = Duration::from_millis(500);

const MODES: [(&str, &str, DurabilityClass); 9] = [
    ("wal", "full", Durable),
    ("wal", "normal", LastCommits),
    ("wal", "off", Damaged),
    ("truncate", "full", Durable),
    ("persist", "full", Durable),
    ("delete", "extra", Durable),
    ("delete", "full", LastCommits),
    ("memory", "full", Damaged),
    ("off", "full", Damaged),
];

pub(super) fn modes() -> Vec<Row> {
    let version = format!("SQLite {}", rusqlite::version());
    MODES
        .iter()
        .map(|(journal, synchronous, class)| prove(&version, journal, synchronous, *class))
        .collect()
}

fn prove(version: &str, journal: &str, synchronous: &str, class: DurabilityClass) -> Row {
    let left = match class {
        Damaged if journal != "wal" => Left::Either,
        _ => Left::Everything,
    };
    let setting = format!("`journal_mode = {journal}`, `synchronous = {synchronous}`");
    let case = Case::new(&setting, class, left);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.db");
    let open = || Connection::open(&file).unwrap();
    open().execute_batch(&case.table).unwrap();
    let url = format!(
        "sqlite:{}?journal_mode={journal}&synchronous={synchronous}",
        file.display()
    );
    let run = judged(&format!("{SCRIPT} --target {url} -c 1 -t 1s --warmup 0"));
    let mut client = Command::new(env!("CARGO_BIN_EXE_sqlite-ledger"))
        .arg(&file)
        .args([journal, synchronous])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = client.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let lines = BufReader::new(output).lines();
        let keys = lines
            .map_while(Result::ok)
            .filter_map(|key| key.parse().ok());
        keys.collect::<Vec<i64>>()
    });
    std::thread::sleep(LOAD);
    client.kill().unwrap();
    client.wait().unwrap();
    let acknowledged = Acknowledged {
        inserted: reader.join().unwrap(),
        updated: Vec::new(),
    };
    let there = "SELECT count(*) FROM ledger WHERE id > 0 AND id <= ?1";
    let last = acknowledged.inserted.last().copied().unwrap_or(0);
    let count = open().query_row(there, [last], |row| row.get::<_, i64>(0));
    let lost = count
        .ok()
        .map(|count| acknowledged.count() - count as usize);
    row(version, &case, &run, &acknowledged, lost)
}
