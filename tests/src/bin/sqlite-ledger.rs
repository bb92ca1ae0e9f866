//! Inserts rows into an SQLite file until it is killed, and prints each key once it is committed:
//!
//!     sqlite-ledger FILE JOURNAL_MODE SYNCHRONOUS
#![allow(clippy::expect_used)]

use std::io::Write;

use rusqlite::Connection;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().expect("FILE JOURNAL_MODE SYNCHRONOUS");
    let connection = Connection::open(next()).expect("a database");
    for name in ["journal_mode", "synchronous"] {
        let pragma = format!("PRAGMA {name} = {}", next());
        connection.execute_batch(&pragma).expect("a setting");
    }
    let mut insert = connection
        .prepare("INSERT INTO ledger (id, v) VALUES (?1, 0)")
        .expect("a statement");
    let mut output = std::io::stdout();
    for key in 1_i64.. {
        insert.execute([key]).expect("a row");
        writeln!(output, "{key}").expect("a reader");
    }
}
