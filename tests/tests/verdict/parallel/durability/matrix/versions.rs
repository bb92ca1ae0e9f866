//! The same on versions that this machine has no packages of.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use dyno_tests::Kind;
use dyno_tests::server::variable;

use super::{Row, mysql, postgres, report};
use crate::common::alone;

/// How many servers run at the same time.
const AT_ONCE: usize = 4;

#[test]
#[ignore = "needs the servers that `cargo campaign versions` fetches"]
fn other_versions_keep_the_promise_of_their_class() {
    let _turn = alone();
    let folder = variable("DYNO_TEST_VERSIONS");
    let entries = fs::read_dir(&folder).unwrap();
    let mut bases: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    bases.sort();
    let mut rows = Vec::new();
    for bases in bases.chunks(AT_ONCE) {
        rows.extend(thread::scope(|scope| {
            let servers: Vec<_> = bases
                .iter()
                .map(|base| scope.spawn(|| prove(base)))
                .collect();
            let rows = servers.into_iter().map(|server| server.join());
            rows.flat_map(|rows| rows.unwrap_or_else(|_| panic!("a server of the matrix failed")))
                .collect::<Vec<Row>>()
        }));
    }
    assert!(!rows.is_empty(), "there is no server in {folder}");
    report(&rows);
}

/// The name of the folder starts with the kind, as in `postgres-17.6.0`.
fn prove(base: &Path) -> Vec<Row> {
    let name = base.file_name().unwrap().to_str().unwrap();
    match name.split('-').next().unwrap() {
        "postgres" => postgres::of(base),
        "mariadb" => mysql::of(Kind::Mariadb, base),
        "mysql" => mysql::of(Kind::Mysql, base),
        _ => panic!("{name} does not name a kind of server"),
    }
}
