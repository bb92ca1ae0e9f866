//! MariaDB with InnoDB, Aria, MyISAM, MEMORY and MyRocks; and MySQL, also with its redo log off.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use dyno_core::finding::DurabilityClass::{
    self, Damaged, Durable, Emptied, LastSecond, Process, Statement,
};
use dyno_tests::private::start_private_server_of;
use dyno_tests::{Kind, PrivateServer, start_private_server_with};

use super::{Case, Left, Row, prove};
use crate::common::with_database;

/// Tests the cases one after another on one server.
fn all(kind: Kind, arguments: &[&str], cases: &[Case]) -> Vec<Row> {
    prove_all(start_private_server_with(kind, arguments), cases)
}

fn prove_all(mut private: PrivateServer, cases: &[Case]) -> Vec<Row> {
    let kind = private.kind();
    with_database(&private);
    let version = private.server().query_one(None, "SELECT VERSION()");
    let number = version.split('-').next().unwrap_or_default();
    let version = format!("{kind} {number}");
    let rows = cases.iter();
    rows.map(|case| prove(&mut private, &version, case))
        .collect()
}

/// A case with InnoDB tables and a value of the setting that determines the class.
fn flush(value: u32, class: DurabilityClass, left: Left) -> Case {
    let name = "innodb_flush_log_at_trx_commit";
    let set = format!("SET GLOBAL {name} = {value}");
    Case::new(&format!("`{name} = {value}`"), class, left).set(&set)
}

/// Tests the server that is unpacked in this folder.
pub(super) fn of(kind: Kind, base: &Path) -> Vec<Row> {
    let mut cases = vec![
        flush(1, Durable, Left::Everything),
        flush(2, LastSecond, Left::Everything),
        flush(0, Process, Left::NotAll),
        Case::new("MyISAM", Damaged, Left::Either).table("ENGINE=MyISAM"),
        Case::new("MEMORY", Emptied, Left::Nothing).table("ENGINE=MEMORY"),
    ];
    if kind == Kind::Mariadb {
        cases.push(aria());
    }
    prove_all(start_private_server_of(kind, Some(base), &[]), &cases)
}

fn aria() -> Case {
    Case::new("Aria", Statement, Left::Everything).table("ENGINE=Aria TRANSACTIONAL=1")
}

pub(super) fn mariadb() -> Vec<Row> {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    let elsewhere = format!("DATA DIRECTORY='{}'", folder.path().display());
    let cases = [
        flush(1, Durable, Left::Everything),
        flush(2, LastSecond, Left::Everything),
        flush(0, Process, Left::NotAll),
        Case::new("`DATA DIRECTORY` on tmpfs", Damaged, Left::Everything)
            .set("SET GLOBAL innodb_flush_log_at_trx_commit = 1")
            .table(&elsewhere),
        aria(),
        Case::new("MyISAM", Damaged, Left::Either).table("ENGINE=MyISAM"),
        Case::new("MEMORY", Emptied, Left::Nothing).table("ENGINE=MEMORY"),
    ];
    all(Kind::Mariadb, &[], &cases)
}

/// A case with MyRocks tables and a value of its setting.
fn rocks(value: u32, and: &str, class: DurabilityClass, left: Left) -> Case {
    let name = "rocksdb_flush_log_at_trx_commit";
    let set = format!("SET GLOBAL {name} = {value}");
    let setting = format!("MyRocks, `{name} = {value}`{and}");
    let case = Case::new(&setting, class, left).set(&set);
    case.table("ENGINE=RocksDB")
}

pub(super) fn rocksdb() -> Vec<Row> {
    let plugin = "--plugin-load-add=ha_rocksdb.so";
    // By default, the engine refuses a log whose last record is truncated, as a kill may leave it.
    let recover = "--rocksdb-wal-recovery-mode=2";
    let cases = [
        rocks(1, "", Durable, Left::Everything),
        rocks(2, "", Process, Left::NotAll),
        rocks(0, "", Process, Left::NotAll),
    ];
    let mut rows = all(Kind::Mariadb, &[plugin, recover], &cases);
    let written = "`rocksdb_manual_wal_flush = OFF`";
    let without = format!(", {written}, sessions with `rocksdb_write_disable_wal = 1`");
    let cases = [
        rocks(2, &format!(", {written}"), LastSecond, Left::Everything),
        rocks(2, &without, Process, Left::NotAll)
            .session("SET SESSION rocksdb_write_disable_wal = 1"),
    ];
    let arguments = [plugin, recover, "--rocksdb-manual-wal-flush=OFF"];
    rows.extend(all(Kind::Mariadb, &arguments, &cases));
    rows
}

pub(super) fn mysql() -> Vec<Row> {
    let redo = "ALTER INSTANCE DISABLE INNODB REDO_LOG";
    let cases = [
        flush(1, Durable, Left::Everything),
        flush(2, LastSecond, Left::Everything),
        flush(0, Process, Left::NotAll),
        // The last case, because the server does not start after it.
        Case::new(&format!("`{redo}`"), Damaged, Left::NoServer).set(redo),
    ];
    all(Kind::Mysql, &[], &cases)
}
