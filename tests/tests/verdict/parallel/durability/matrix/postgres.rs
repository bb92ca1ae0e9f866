//! PostgreSQL, in the version of this machine and in the newest.

use std::path::Path;

use dyno_core::finding::DurabilityClass::{Damaged, Durable, Emptied, Process};
use dyno_tests::private::start_private_server_of;
use dyno_tests::server::variable;
use dyno_tests::{Kind, PrivateServer, start_private_server};
use xtask::servers::programs::{give_to_servers, library};

use super::{Case, Left, Row, prove};
use crate::common::with_database;

/// Tests the cases one after another on one server.
fn all(mut private: PrivateServer, name: &str, cases: &[Case]) -> Vec<Row> {
    with_database(&private);
    let version = private.server().query_one(None, "SHOW server_version");
    let number = version.split(' ').next().unwrap_or_default();
    let version = format!("PostgreSQL {number}{name}");
    let rows = cases.iter();
    rows.map(|case| prove(&mut private, &version, case))
        .collect()
}

/// What every version must lose.
fn usual() -> Vec<Case> {
    let session = "sessions with `synchronous_commit = off`";
    let mut unlogged = Case::new("UNLOGGED", Emptied, Left::Nothing);
    unlogged.table = unlogged.table.replace("TABLE", "UNLOGGED TABLE");
    vec![
        Case::new("default", Durable, Left::Everything),
        Case::new(session, Process, Left::NotAll).session("SET synchronous_commit = off"),
        unlogged,
    ]
}

pub(super) fn installed() -> Vec<Row> {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    give_to_servers(folder.path()).unwrap();
    let make = format!(
        "CREATE TABLESPACE fleeting LOCATION '{}'",
        folder.path().display()
    );
    let mut cases = usual();
    // Only the statement reveals it: there are too few commits, or their syncs are not counted.
    let rare = "sessions with `set_config('synchronous_commit', 'off', …)`, 100 commits per second";
    cases.push(
        Case::new(rare, Process, Left::NotAll)
            .session("SELECT set_config('synchronous_commit', 'off', false)")
            .options("--rate 100"),
    );
    cases.push(
        Case::new("tablespace on tmpfs", Damaged, Left::Everything)
            .first(&make)
            .table("TABLESPACE fleeting"),
    );
    cases.push(
        Case::new("`fsync = off`", Damaged, Left::Everything)
            .set("ALTER SYSTEM SET fsync = off")
            .set("SELECT pg_reload_conf()"),
    );
    all(start_private_server(Kind::Postgres), "", &cases)
}

/// With a preloaded library that makes each sync do nothing.
pub(super) fn preloaded() -> Vec<Row> {
    let library = library("libeatmydata.so").unwrap();
    let environment = [("LD_PRELOAD", library.to_str().unwrap())];
    let private = start_private_server_of(Kind::Postgres, None, &environment);
    let case = Case::new("default", Damaged, Left::Everything);
    all(private, " under libeatmydata", &[case])
}

pub(super) fn newest() -> Vec<Row> {
    let programs = variable("DYNO_TEST_PG_NEWEST_BIN");
    of(Path::new(&programs).parent().unwrap())
}

/// Tests the server that is unpacked in this folder.
pub(super) fn of(base: &Path) -> Vec<Row> {
    let private = start_private_server_of(Kind::Postgres, Some(base), &[]);
    all(private, "", &usual())
}
