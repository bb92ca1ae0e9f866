//! Sizes of a server's files by purpose, derived only from their names, so that they can be read
//! once a second while the server runs.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::kinds::Product;
use crate::server::Server;

/// Bytes of allocated blocks, by class. Ignores files that vanish in the process, and open files
/// without a name, as many temporary ones are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// Tables and indexes with their descriptions. Includes InnoDB's system tablespace, where
    /// MariaDB keeps its undo logs by default.
    pub data: u64,
    /// The log for crash recovery: InnoDB's redo log, the WAL of PostgreSQL and RocksDB, Aria's
    /// log.
    pub redo: u64,
    /// Undo tablespaces of InnoDB.
    pub undo: u64,
    /// Binary logs and relay logs, with their indexes.
    pub binlog: u64,
    /// Temporary tables and sort files.
    pub temporary: u64,
    /// The rest: doublewrite files, commit status, keys, lists.
    pub other: u64,
}

/// The purpose of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Data,
    Redo,
    Undo,
    Binlog,
    Temporary,
    Other,
}

impl Sizes {
    fn add(&mut self, class: Class, bytes: u64) {
        let sum = match class {
            Class::Data => &mut self.data,
            Class::Redo => &mut self.redo,
            Class::Undo => &mut self.undo,
            Class::Binlog => &mut self.binlog,
            Class::Temporary => &mut self.temporary,
            Class::Other => &mut self.other,
        };
        *sum += bytes;
    }
}

impl Server {
    /// The sizes of its files, running or not; `None` if its kind is not built in.
    pub fn sizes(&self) -> Option<Sizes> {
        let product = self.kind().installation()?.product;
        let mut sizes = Sizes::default();
        let class = match product {
            Product::Postgres => postgres,
            Product::Mariadb | Product::Mysql => mysql,
        };
        walk(&self.folder().data(), &mut Vec::new(), &class, &mut sizes);
        // The servers' `tmpdir`.
        let temporary = |_: &[String], _: &str| Class::Temporary;
        walk(
            &self.folder().join("tmp"),
            &mut Vec::new(),
            &temporary,
            &mut sizes,
        );
        Some(sizes)
    }
}

/// Adds up a folder. `class` gets the folders below the first one, and the file's name.
fn walk(
    folder: &Path,
    inner: &mut Vec<String>,
    class: &impl Fn(&[String], &str) -> Class,
    sizes: &mut Sizes,
) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(data) = entry.metadata() else { continue };
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if data.is_dir() {
            inner.push(name.into_owned());
            walk(&entry.path(), inner, class, sizes);
            inner.pop();
        } else if data.is_file() {
            sizes.add(class(inner, &name), data.blocks() * 512);
        }
    }
}

fn mysql(folders: &[String], name: &str) -> Class {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_numbered = ending.len() >= 6 && ending.bytes().all(|byte| byte.is_ascii_digit());
    match folders.first().map(String::as_str) {
        Some("#innodb_redo") => Class::Redo,
        Some("#innodb_temp") => Class::Temporary,
        Some("#rocksdb" | ".rocksdb") => match ending {
            "sst" | "blob" => Class::Data,
            "log" => Class::Redo,
            _ => Class::Other,
        },
        // A table being rebuilt.
        Some(_) if name.starts_with("#sql") => Class::Temporary,
        Some(_) => Class::Data,
        None if name.starts_with("ib_logfile") || name.starts_with("aria_log.") => Class::Redo,
        None if name.starts_with("undo") || ending == "ibu" => Class::Undo,
        None if name.starts_with("ibtmp") || name.starts_with("#sql") => Class::Temporary,
        None if name.starts_with("ibdata") || ["ibd", "frm"].contains(&ending) => Class::Data,
        None if is_numbered || name.contains("-bin.") || name.starts_with("binlog.") => {
            Class::Binlog
        }
        None => Class::Other,
    }
}

fn postgres(folders: &[String], name: &str) -> Class {
    let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
    match folders[..] {
        ["pg_wal" | "pg_xlog", ..] => Class::Redo,
        [.., "pgsql_tmp"] | ["base", "pgsql_tmp", ..] => Class::Temporary,
        ["base" | "pg_tblspc", ..] if is_temporary_table(name) => Class::Temporary,
        ["base" | "global" | "pg_tblspc", ..] => Class::Data,
        _ => Class::Other,
    }
}

/// `t3_16384`: of the third session.
fn is_temporary_table(name: &str) -> bool {
    let rest = name.strip_prefix('t').and_then(|rest| rest.split_once('_'));
    rest.is_some_and(|(session, _)| {
        !session.is_empty() && session.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::Clock;

    fn of(class: fn(&[String], &str) -> Class, path: &str) -> Class {
        let mut parts: Vec<String> = path.split('/').map(str::to_owned).collect();
        let name = parts.pop().expect("a name");
        class(&parts, &name)
    }

    #[test]
    fn files_of_mysql_have_classes() {
        for (path, class) in [
            ("ibdata1", Class::Data),
            ("mysql.ibd", Class::Data),
            ("sbtest/sbtest1.ibd", Class::Data),
            ("mysql/db.MAD", Class::Data),
            ("#rocksdb/000012.sst", Class::Data),
            ("#rocksdb/000013.log", Class::Redo),
            ("#rocksdb/MANIFEST-000004", Class::Other),
            ("ib_logfile0", Class::Redo),
            ("#innodb_redo/#ib_redo10", Class::Redo),
            ("aria_log.00000001", Class::Redo),
            ("undo_001", Class::Undo),
            ("undo001", Class::Undo),
            ("binlog.000001", Class::Binlog),
            ("binlog.index", Class::Binlog),
            ("mysqld-bin.000003", Class::Binlog),
            ("host-relay-bin.index", Class::Binlog),
            ("ibtmp1", Class::Temporary),
            ("#innodb_temp/temp_1.ibt", Class::Temporary),
            ("sbtest/#sql-alter-1-2.ibd", Class::Temporary),
            ("#ib_16384_0.dblwr", Class::Other),
            ("ib_buffer_pool", Class::Other),
            ("aria_log_control", Class::Other),
            ("multi-master.info", Class::Other),
        ] {
            assert_eq!(of(mysql, path), class, "{path}");
        }
    }

    #[test]
    fn files_of_postgresql_have_classes() {
        for (path, class) in [
            ("base/5/16384_fsm", Class::Data),
            ("global/pg_control", Class::Data),
            ("pg_tblspc/16390/PG_15/5/16391", Class::Data),
            ("pg_wal/000000010000000000000001", Class::Redo),
            ("pg_xlog/archive_status/x.done", Class::Redo),
            ("base/pgsql_tmp/pgsql_tmp17.0", Class::Temporary),
            (
                "base/pgsql_tmp/pgsql_tmp17.0.sharedfileset/0.0",
                Class::Temporary,
            ),
            ("base/5/t3_16384", Class::Temporary),
            ("pg_xact/0000", Class::Other),
            ("PG_VERSION", Class::Other),
        ] {
            assert_eq!(of(postgres, path), class, "{path}");
        }
    }

    #[test]
    fn a_thousand_files_take_milliseconds() {
        let outer = tempfile::tempdir().expect("a folder");
        fs::create_dir(outer.path().join("sbtest")).expect("a folder");
        for number in 0..1_000 {
            let path = outer.path().join(format!("sbtest/sbtest{number}.ibd"));
            fs::write(path, [1; 100]).expect("a file");
        }
        let mut sizes = Sizes::default();
        let begun = Clock.now();
        walk(outer.path(), &mut Vec::new(), &mysql, &mut sizes);
        let taken_us = Clock.now().saturating_sub(begun) / 1_000;
        eprintln!("1,000 files: {taken_us} us");
        let data = sizes.data;
        assert_eq!(
            sizes,
            Sizes {
                data,
                ..Sizes::default()
            }
        );
        assert!(sizes.data >= 1_000 * 512, "{sizes:?}");
        // About 2 ms without optimisation; a busy machine may take longer.
        assert!(taken_us < 1_000_000, "{taken_us} us");
    }
}
