//! Bulk loads, and the refusal of files.

use std::sync::{Mutex, MutexGuard, PoisonError};

use dyno_core::bulk::{BulkFormat, BulkLoad, RowSource};
use dyno_core::db::{ErrorKind, OutcomeKind};

use super::{Blocking, MysqlOptions, Server, by_socket, options, root, servers, with_packet_limit};
use crate::common::Numbered;

/// LOAD DATA LOCAL is allowed for the whole server, so one test runs at a time.
static SETTING: Mutex<()> = Mutex::new(());

pub(super) fn with_local_infile(connection: &mut Blocking, on: bool) -> MutexGuard<'static, ()> {
    let guard = SETTING.lock().unwrap_or_else(PoisonError::into_inner);
    let on = u8::from(on);
    connection
        .query(format!("SET GLOBAL local_infile = {on}"))
        .unwrap();
    guard
}

pub(super) fn load(first: u64, end: u64) -> BulkLoad {
    BulkLoad {
        table: "`t`".to_owned(),
        columns: vec!["id".to_owned(), "`text`".to_owned()],
        rows: Box::new(Numbered::new(first, end)),
    }
}

fn prepared(server: Server, database: &str) -> Blocking {
    let mut connection = root(server, database);
    let sql = "CREATE TABLE t (text VARCHAR(50) CHARACTER SET utf8mb4, id BIGINT PRIMARY KEY)";
    connection.query(sql).unwrap();
    connection
}

pub(super) fn check(connection: &mut Blocking, first: u64, end: u64) {
    let rows = connection.select("SELECT id, text FROM t ORDER BY id");
    assert_eq!(rows.len() as u64, end - first);
    for (row, number) in rows.iter().zip(first..) {
        assert_eq!(row[0], Some(number.to_string()));
        assert_eq!(row[1], Numbered::text(number));
    }
    connection.query("TRUNCATE t").unwrap();
}

fn status(connection: &mut Blocking, name: &str) -> u64 {
    let rows = connection.select(&format!("SHOW SESSION STATUS LIKE '{name}'"));
    rows[0][1].as_ref().unwrap().parse().unwrap()
}

#[test]
fn rows_are_loaded_by_load_data() {
    for server in servers() {
        let mut connection = prepared(server, "load_infile");
        let _setting = with_local_infile(&mut connection, true);
        for end in [0, 1, 1_000, 20_000] {
            let outcome = connection.bulk_load(load(0, end)).unwrap();
            assert_eq!((outcome.kind, outcome.affected), (OutcomeKind::Done, end));
            check(&mut connection, 0, end);
        }
        assert!(status(&mut connection, "Com_load") >= 4);
        assert_eq!(status(&mut connection, "Com_insert"), 0);
    }
}

/// More rows than one LOAD DATA takes.
#[test]
fn long_loads_are_several_statements() {
    for server in servers() {
        let mut connection = prepared(server, "load_long");
        let _setting = with_local_infile(&mut connection, true);
        let end = 1_000_000;
        let outcome = connection.bulk_load(load(0, end)).unwrap();
        assert_eq!(outcome.affected, end);
        assert!(outcome.bytes_out > 18_000_000);
        assert_eq!(connection.single("SELECT COUNT(*) FROM t"), end.to_string());
        assert_eq!(
            connection.single("SELECT SUM(id) FROM t"),
            (end * (end - 1) / 2).to_string()
        );
        assert!(status(&mut connection, "Com_load") >= 2);
    }
}

#[test]
fn rows_are_inserted_where_local_files_are_refused() {
    for server in servers() {
        for allowed in [false, true] {
            let mut connection = prepared(server, "load_refused");
            let _setting = with_local_infile(&mut connection, allowed);
            let mut connection = by_socket(
                server,
                MysqlOptions {
                    database: "dyno_drivers_load_refused".to_owned(),
                    // Refused by the server, or never offered.
                    local_infile: !allowed,
                    ..options("root")
                },
            )
            .unwrap();
            for end in [0, 1, 30_000] {
                let outcome = connection.bulk_load(load(0, end)).unwrap();
                assert_eq!((outcome.kind, outcome.affected), (OutcomeKind::Done, end));
                check(&mut connection, 0, end);
            }
            assert!(status(&mut connection, "Com_insert") >= 3);
            // It was tried at most once: a refused request is not repeated.
            assert!(status(&mut connection, "Com_load") <= 1);
            let mut first = root(server, "load_refused_reset");
            first.query("SET GLOBAL local_infile = 1").unwrap();
        }
    }
}

#[test]
fn rows_that_the_server_skips_are_an_error() {
    for server in servers() {
        let mut connection = prepared(server, "load_skip");
        let _setting = with_local_infile(&mut connection, true);
        connection
            .query("INSERT INTO t VALUES ('there', 17)")
            .unwrap();
        let error = connection.bulk_load(load(10, 20)).unwrap_err();
        assert_eq!((error.code, error.kind), (1062, ErrorKind::Duplicate));
        assert!(error.message.contains("'17'"), "{error}");
        assert!(
            error.message.contains("1 rows skipped, 9 loaded"),
            "{error}"
        );
        let error = connection
            .bulk_load(BulkLoad {
                table: "none".to_owned(),
                ..load(0, 1)
            })
            .unwrap_err();
        assert_eq!(error.code, 1146);
        assert_eq!(connection.single("SELECT COUNT(*) FROM t"), "10");
    }
}

/// LOAD DATA LOCAL truncates values that do not fit, whatever the SQL mode; an INSERT does not.
#[test]
fn values_that_do_not_fit_are_an_error_if_the_mode_is_strict() {
    for server in servers() {
        for local_infile in [true, false] {
            let mut connection = prepared(server, "load_strict");
            let _setting = with_local_infile(&mut connection, true);
            let options = MysqlOptions {
                database: "dyno_drivers_load_strict".to_owned(),
                local_infile,
                ..options("root")
            };
            let mut connection = by_socket(server, options).unwrap();
            connection
                .query("ALTER TABLE t MODIFY text VARCHAR(5)")
                .unwrap();
            let error = connection.bulk_load(load(10, 20)).unwrap_err();
            assert!(matches!(error.code, 1265 | 1406), "{error}");
            connection.query("TRUNCATE t").unwrap();
            connection.query("SET sql_mode = ''").unwrap();
            assert_eq!(connection.bulk_load(load(10, 20)).unwrap().affected, 10);
            let texts = connection.select("SELECT DISTINCT text FROM t WHERE text IS NOT NULL");
            assert_eq!(texts[0][0].as_deref(), Some("it's\t"));
        }
    }
}

/// One row of bytes that are not text, after some that are.
struct Raw(u8);

impl RowSource for Raw {
    fn fill(&mut self, out: &mut Vec<u8>, format: BulkFormat, _max_bytes: usize) -> u64 {
        let value: &[u8] = match self.0 {
            0 => b"text",
            1 => b"\xFF\xFEabc\x80",
            _ => return 0,
        };
        let (before, after): (&[u8], &[u8]) = match format {
            BulkFormat::TabText => (b"", b"\n"),
            BulkFormat::SqlTuples => (b"('", b"')"),
        };
        out.extend([before, value, after].concat());
        self.0 += 1;
        1
    }

    fn rewind(&mut self) {
        self.0 = 0;
    }
}

#[test]
fn binary_columns_take_any_bytes() {
    for server in servers() {
        let mut connection = prepared(server, "load_raw");
        let _setting = with_local_infile(&mut connection, true);
        connection.query("CREATE TABLE raw (b BLOB)").unwrap();
        let outcome = connection
            .bulk_load(BulkLoad {
                table: "raw".to_owned(),
                columns: Vec::new(),
                rows: Box::new(Raw(0)),
            })
            .unwrap();
        assert_eq!(outcome.affected, 2);
        let rows = connection.select("SELECT HEX(b) FROM raw ORDER BY LENGTH(b)");
        assert_eq!(rows[0][0].as_deref(), Some("74657874"));
        assert_eq!(rows[1][0].as_deref(), Some("FFFE61626380"));
        // The next load uses LOAD DATA again.
        let loads = status(&mut connection, "Com_load");
        connection.bulk_load(load(0, 10)).unwrap();
        assert!(status(&mut connection, "Com_load") > loads);
    }
}

#[test]
fn no_file_is_ever_read() {
    for server in servers() {
        let mut connection = prepared(server, "load_file");
        let _setting = with_local_infile(&mut connection, true);
        let sql = "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t; SELECT 5";
        let error = connection.query(sql).unwrap_err();
        assert_eq!(
            (error.code, error.kind),
            (2068, ErrorKind::Unsupported),
            "{error}"
        );
        assert!(error.message.contains("/etc/passwd"));
        assert!(connection.outcome().more);
        connection.next_result().unwrap();
        assert_eq!(connection.rows()[0][0].as_deref(), Some("5"));
        assert_eq!(connection.single("SELECT COUNT(*) FROM t"), "0");
        connection.bulk_load(load(0, 10)).unwrap();
        check(&mut connection, 0, 10);
    }
}

#[test]
fn packets_keep_to_the_servers_limit() {
    for server in servers() {
        let mut connection = prepared(server, "load_limit");
        for local_infile in [true, false] {
            let _setting = with_local_infile(&mut connection, true);
            let options = MysqlOptions {
                database: "dyno_drivers_load_limit".to_owned(),
                local_infile,
                ..options("root")
            };
            let mut limited = with_packet_limit(server, &mut connection, 4096, options);
            limited.bulk_load(load(0, 5_000)).unwrap();
            check(&mut connection, 0, 5_000);
        }
    }
}
