//! The PostgreSQL driver against real servers.

mod transactions;

use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use crate::common::{Blocking, Numbered, TextRow, needed};
use dyno_core::bulk::BulkLoad;
use dyno_core::db::{DbError, ErrorKind, OutcomeKind, Param, ParamKind};
use dyno_core::target::TlsMode;
use dyno_drivers::channel::{Channel, Socket};
use dyno_drivers::postgres::{Postgres, PostgresOptions};

fn options() -> PostgresOptions {
    PostgresOptions {
        user: "postgres".to_owned(),
        database: "postgres".to_owned(),
        application_name: "dyno-drivers".to_owned(),
        ..PostgresOptions::default()
    }
}

/// The socket of these tests has no settings for the TLS that the server offers.
fn in_the_clear() -> PostgresOptions {
    PostgresOptions {
        tls: TlsMode::Disable,
        ..options()
    }
}

fn on(socket: Box<dyn Socket>, options: &PostgresOptions) -> Result<Blocking, DbError> {
    let protocol = Postgres::new(options)?;
    let channel = Channel::new(protocol, socket, None, 0, "the test server".to_owned());
    Blocking::connect(Box::new(channel))
}

/// A connection by the UNIX socket. Each test uses a separate, initially missing schema.
fn by_socket(schema: &str) -> Blocking {
    let socket = UnixStream::connect(needed("DYNO_TEST_PG_SOCKET")).unwrap();
    socket.set_nonblocking(true).unwrap();
    let options = PostgresOptions {
        unix_socket: true,
        ..options()
    };
    let mut connection = on(Box::new(socket), &options).unwrap();
    let schema = format!("dyno_drivers_{schema}");
    connection
        .query(format!(
            "SET client_min_messages = warning; DROP SCHEMA IF EXISTS {schema} CASCADE; \
             CREATE SCHEMA {schema}; SET search_path = {schema}"
        ))
        .unwrap();
    while connection.outcome().more {
        connection.next_result().unwrap();
    }
    connection
}

#[test]
fn an_error_rolls_back_and_fails_a_whole_text() {
    let mut connection = by_socket("text");
    connection
        .query("CREATE TABLE t (id INT PRIMARY KEY)")
        .unwrap();
    let error = connection
        .query("INSERT INTO t VALUES (1); SELECT 1/0; SELECT 2")
        .unwrap_err();
    assert_eq!(error.sqlstate, "22012");
    assert!(!connection.outcome().more);
    assert_eq!(connection.single("SELECT count(*) FROM t"), "0");
    // Statements of the text that were committed keep their effect although the text has failed.
    let error = connection
        .query("BEGIN; INSERT INTO t VALUES (1); COMMIT; INSERT INTO t VALUES (1)")
        .unwrap_err();
    assert_eq!(error.sqlstate, "23505");
    assert_eq!(connection.single("SELECT count(*) FROM t"), "1");
}

#[test]
fn a_connection_by_tcp_without_tls_knows_the_server() {
    let socket = TcpStream::connect(needed("DYNO_TEST_PG_TCP")).unwrap();
    socket.set_nonblocking(true).unwrap();
    let mut connection = on(Box::new(socket), &in_the_clear()).unwrap();
    let server = connection.connection.server().clone();
    assert_eq!(server.product, "PostgreSQL");
    let version = connection.single("SHOW server_version");
    assert_eq!(server.version, version);
    assert_eq!(connection.single("SHOW application_name"), "dyno-drivers");
    assert_eq!(connection.single("SELECT current_user"), "postgres");
}

#[test]
fn texts_give_rows_counts_and_errors() {
    let mut connection = by_socket("texts");
    let outcome = connection
        .query("CREATE TABLE t (id int PRIMARY KEY, c text)")
        .unwrap();
    assert_eq!((outcome.kind, outcome.affected), (OutcomeKind::Done, 0));
    let outcome = connection
        .query("INSERT INTO t VALUES (1, 'a'), (2, NULL), (3, '')")
        .unwrap();
    assert_eq!((outcome.kind, outcome.affected), (OutcomeKind::Done, 3));
    let outcome = connection.query("SELECT * FROM t ORDER BY id").unwrap();
    assert_eq!(
        (outcome.kind, outcome.rows, outcome.columns),
        (OutcomeKind::Rows, 3, 2)
    );
    assert!(outcome.bytes_in > 0 && outcome.bytes_out > 0);
    let text = |text: &str| Some(text.to_owned());
    let expected = [
        vec![text("1"), text("a")],
        vec![text("2"), None],
        vec![text("3"), text("")],
    ];
    assert_eq!(connection.rows(), expected);
    let error = connection
        .query("INSERT INTO t VALUES (1, 'b')")
        .unwrap_err();
    assert_eq!((error.kind, error.code), (ErrorKind::Duplicate, 0));
    assert_eq!(error.sqlstate, "23505");
    assert!(error.message.contains("Key (id)=(1)"), "{error}");
    let outcome = connection
        .query("UPDATE t SET c = 'x' WHERE id > 1")
        .unwrap();
    assert_eq!(outcome.affected, 2);
    let outcome = connection.query("DELETE FROM t WHERE id = 9").unwrap();
    assert_eq!((outcome.kind, outcome.affected), (OutcomeKind::Done, 0));
    let outcome = connection.query("").unwrap();
    assert_eq!(outcome.kind, OutcomeKind::Done);
    let outcome = connection
        .query("DELETE FROM t WHERE id = 1 RETURNING id")
        .unwrap();
    assert_eq!(
        (outcome.kind, outcome.affected, outcome.rows),
        (OutcomeKind::Rows, 1, 1)
    );
}

#[test]
fn prepared_statements_take_and_give_values() {
    let mut connection = by_socket("prepared");
    connection
        .query("CREATE TABLE t (id int, d float8, c varchar(20))")
        .unwrap();
    let kinds = [ParamKind::Int, ParamKind::Double, ParamKind::Bytes];
    let insert = connection
        .prepare("INSERT INTO t VALUES (?, ?, ?)", &kinds)
        .unwrap();
    let (id, d, c) = (
        Param::int(i64::from(i32::MIN)),
        Param::double(0.1),
        Param::bytes("ü?'".as_bytes()),
    );
    let outcome = connection.execute(insert, &[&id, &d, &c]).unwrap();
    assert_eq!((outcome.kind, outcome.affected), (OutcomeKind::Done, 1));
    let nulls: Vec<Param> = kinds.iter().map(|kind| Param::new(*kind, 0)).collect();
    let nulls: Vec<&Param> = nulls.iter().collect();
    connection.execute(insert, &nulls).unwrap();
    // Kinds that differ from the prepared ones are converted by the server.
    let (id, d, c) = (Param::bytes(b"7"), Param::int(5), Param::double(2.5));
    connection.execute(insert, &[&id, &d, &c]).unwrap();

    let select = connection
        .prepare("SELECT id, d, c, '?' FROM t WHERE id = ? OR d = ?", &[])
        .unwrap();
    assert_eq!(connection.outcome().columns, 4);
    let outcome = connection
        .execute(select, &[&Param::int(7), &Param::double(0.1)])
        .unwrap();
    assert_eq!((outcome.kind, outcome.rows), (OutcomeKind::Rows, 2));
    let text = |text: &str| Some(text.to_owned());
    let expected = [
        vec![text("-2147483648"), text("0.1"), text("ü?'"), text("?")],
        vec![text("7"), text("5"), text("2.5"), text("?")],
    ];
    assert_eq!(connection.rows(), expected);
    let outcome = connection
        .execute(select, &[&Param::int(8), &Param::double(9.0)])
        .unwrap();
    assert_eq!((outcome.kind, outcome.rows), (OutcomeKind::Rows, 0));
    assert_eq!(connection.rows(), [] as [TextRow; 0]);

    connection.close_statement(select).unwrap();
    let error = connection.execute(select, &[]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Misuse);
    let names = "SELECT string_agg(name, ',') FROM pg_prepared_statements";
    assert_eq!(connection.single(names), "d1");
    let error = connection.execute(insert, &[&Param::int(1)]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Misuse);
    let begin = connection.prepare("BEGIN", &[]).unwrap();
    assert_eq!(
        begin, select,
        "the number of a closed statement is used again"
    );
    connection.execute(begin, &[]).unwrap();
    assert_eq!(connection.outcome().kind, OutcomeKind::Done);
}

#[test]
fn rows_are_loaded_by_copy() {
    let mut connection = by_socket("loaded");
    connection
        .query("CREATE TABLE t (id bigint PRIMARY KEY, c text)")
        .unwrap();
    let load = |table: &str, first, end| BulkLoad {
        table: table.to_owned(),
        columns: vec!["id".to_owned(), "c".to_owned()],
        rows: Box::new(Numbered::new(first, end)),
    };
    let outcome = connection.bulk_load(load("t", 1, 50_001)).unwrap();
    assert_eq!(
        (outcome.kind, outcome.affected),
        (OutcomeKind::Done, 50_000)
    );
    let rows = connection.select("SELECT c FROM t WHERE id IN (3, 4) ORDER BY id");
    assert_eq!(rows, [vec![Numbered::text(3)], vec![Numbered::text(4)]]);
    let outcome = connection.bulk_load(load("t", 0, 0)).unwrap();
    assert_eq!((outcome.kind, outcome.affected), (OutcomeKind::Done, 0));
}

#[test]
fn several_results_come_in_turn_unless_one_fails() {
    let mut connection = by_socket("several");
    connection
        .query(
            "SELECT 1; CREATE TABLE t (id int); INSERT INTO t VALUES (1), (2); \
             SELECT 'x' || id FROM t",
        )
        .unwrap();
    assert_eq!(connection.rows(), [[Some("1".to_owned())]]);
    assert!(connection.outcome().more);
    assert_eq!(connection.next_result().unwrap().kind, OutcomeKind::Done);
    assert_eq!(connection.next_result().unwrap().affected, 2);
    let outcome = connection.next_result().unwrap();
    assert_eq!((outcome.rows, outcome.more), (2, false));
    assert_eq!(connection.rows().len(), 2);

    let error = connection
        .query("SELECT 1; SELECT 1/0; SELECT 2")
        .unwrap_err();
    assert_eq!(
        (error.kind, error.sqlstate.as_str()),
        (ErrorKind::Statement, "22012")
    );
    assert!(!connection.outcome().more);
    assert_eq!(connection.single("SELECT count(*) FROM t"), "2");
}

#[test]
fn errors_leave_the_connection_usable_and_report_failed_transactions() {
    let mut connection = by_socket("errors");
    let error = connection.query("SELEC 1").unwrap_err();
    assert_eq!(
        (error.kind, error.sqlstate.as_str()),
        (ErrorKind::Statement, "42601")
    );
    let error = connection
        .prepare("SELECT * FROM nowhere WHERE id = ?", &[])
        .unwrap_err();
    assert_eq!(error.sqlstate, "42P01");
    connection.query("BEGIN").unwrap();
    assert!(!connection.connection.transaction_failed());
    let divide = connection
        .prepare("SELECT 1 / ?", &[ParamKind::Int])
        .unwrap();
    let error = connection.execute(divide, &[&Param::int(0)]).unwrap_err();
    assert_eq!(error.sqlstate, "22012");
    assert!(connection.connection.transaction_failed());
    let error = connection.execute(divide, &[&Param::int(1)]).unwrap_err();
    assert_eq!(error.sqlstate, "25P02");
    let first = "; first error: 22012: division by zero";
    assert!(error.message.ends_with(first), "{error}");
    connection.query("ROLLBACK").unwrap();
    assert!(!connection.connection.transaction_failed());
    // The next transaction has a new first error.
    connection.query("BEGIN").unwrap();
    connection.query("SELECT 1 FROM nowhere").unwrap_err();
    let error = connection.query("SELECT 2").unwrap_err();
    assert!(error.message.contains("; first error: 42P01: "), "{error}");
    connection.query("ROLLBACK").unwrap();
    connection.execute(divide, &[&Param::int(1)]).unwrap();
    assert_eq!(connection.rows(), [[Some("1".to_owned())]]);
    // A deferred constraint fails at the commit, after the statement's completion.
    connection
        .query("CREATE TABLE t (id int UNIQUE DEFERRABLE INITIALLY DEFERRED)")
        .unwrap();
    let insert = connection
        .prepare("INSERT INTO t VALUES (1), (1)", &[])
        .unwrap();
    let error = connection.execute(insert, &[]).unwrap_err();
    assert_eq!(error.sqlstate, "23505");
}

#[test]
fn copies_that_statements_begin_are_ended() {
    let mut connection = by_socket("copies");
    connection.query("CREATE TABLE t (id int)").unwrap();
    let mut refused = |sql: &str| {
        let error = connection.query(sql).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unsupported, "{error}");
        let prepared = connection.prepare(sql, &[]).unwrap();
        let error = connection.execute(prepared, &[]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unsupported, "{error}");
        assert_eq!(connection.single("SELECT 'alive'"), "alive");
    };
    refused("COPY t FROM STDIN");
    refused("COPY (SELECT generate_series(1, 100000)) TO STDOUT");
    let error = connection
        .query("SELECT 1; COPY t FROM STDIN; SELECT 2")
        .unwrap_err();
    assert!(error.message.contains("bulk load"), "{error}");
    assert_eq!(connection.single("SELECT 'alive'"), "alive");
}

#[test]
fn a_refused_load_leaves_the_connection_usable() {
    let mut connection = by_socket("refused");
    connection
        .query("CREATE TABLE t (id bigint PRIMARY KEY, c text)")
        .unwrap();
    connection
        .query("INSERT INTO t VALUES (40000, '')")
        .unwrap();
    let load = |table: &str, column: &str| BulkLoad {
        table: table.to_owned(),
        columns: vec!["id".to_owned(), column.to_owned()],
        rows: Box::new(Numbered::new(1, 100_001)),
    };
    for (table, column, kind, state) in [
        ("nowhere", "c", ErrorKind::NoTable, "42P01"),
        ("t", "nothing", ErrorKind::Statement, "42703"),
        ("t", "c", ErrorKind::Duplicate, "23505"),
    ] {
        let error = connection.bulk_load(load(table, column)).unwrap_err();
        assert_eq!((error.kind, error.sqlstate.as_str()), (kind, state));
        assert_eq!(connection.single("SELECT count(*) FROM t"), "1");
    }
}

#[test]
fn large_and_many_rows_arrive_whole() {
    let mut connection = by_socket("large");
    let rows = connection.select("SELECT repeat('ab', 4000000), length(repeat('c', 10))");
    assert_eq!(rows[0][0].as_ref().unwrap(), &"ab".repeat(4_000_000));
    assert_eq!(rows[0][1].as_deref(), Some("10"));
    let outcome = connection
        .query("SELECT generate_series(1, 200000), NULL")
        .unwrap();
    assert_eq!(outcome.rows, 200_000);
    let rows = connection.rows();
    assert_eq!(rows.len(), 200_000);
    let right = |(index, row): (usize, &TextRow)| {
        row[0].as_deref() == Some((index + 1).to_string().as_str()) && row[1].is_none()
    };
    assert!(rows.iter().enumerate().all(right));
    let text = "x".repeat(3_000_000);
    let length = connection
        .prepare("SELECT length(?)", &[ParamKind::Bytes])
        .unwrap();
    connection
        .execute(length, &[&Param::bytes(text.as_bytes())])
        .unwrap();
    assert_eq!(connection.rows(), [[Some("3000000".to_owned())]]);
}

#[test]
fn notices_and_notifications_are_absorbed_whenever_they_come() {
    let mut connection = by_socket("notices");
    connection
        .query("SET client_min_messages = notice")
        .unwrap();
    connection.query("LISTEN dyno_drivers_notices").unwrap();
    let mut other = by_socket("notices_other");
    for round in 0..3 {
        other.query("NOTIFY dyno_drivers_notices, 'hello'").unwrap();
        connection
            .query("DO $$ BEGIN RAISE NOTICE 'a notice'; END $$")
            .unwrap();
        connection
            .query(format!("SET TimeZone = 'Etc/GMT+{round}'"))
            .unwrap();
        assert_eq!(connection.single("SELECT 1"), "1");
    }
}

#[test]
fn a_terminated_connection_is_lost_with_the_servers_words() {
    let mut killer = by_socket("killer");
    let tcp = || {
        let socket = TcpStream::connect(needed("DYNO_TEST_PG_TCP")).unwrap();
        socket.set_nonblocking(true).unwrap();
        on(Box::new(socket), &in_the_clear()).unwrap()
    };
    for mut victim in [by_socket("victim"), tcp()] {
        let id = victim.single("SELECT pg_backend_pid()");
        killer.single(&format!("SELECT pg_terminate_backend({id}, 5000)"));
        let error = victim.query("SELECT 1").unwrap_err();
        assert_eq!(error.kind, ErrorKind::Lost);
        assert_eq!(error.sqlstate, "57P01", "{error}");
        assert!(error.message.contains("terminating connection"), "{error}");
        assert_eq!(victim.connection.fd(), None);
        let error = victim.query("SELECT 1").unwrap_err();
        assert_eq!(error.kind, ErrorKind::Lost);
    }
    let mut victim = tcp();
    let error = victim
        .query("SELECT pg_terminate_backend(pg_backend_pid()), pg_sleep(60)")
        .unwrap_err();
    assert_eq!(
        (error.kind, error.sqlstate.as_str()),
        (ErrorKind::Lost, "57P01")
    );
}

#[test]
fn a_refused_login_reports_the_reason() {
    let socket = UnixStream::connect(needed("DYNO_TEST_PG_SOCKET")).unwrap();
    socket.set_nonblocking(true).unwrap();
    let options = PostgresOptions {
        database: "dyno_drivers_nowhere".to_owned(),
        unix_socket: true,
        ..options()
    };
    let error = on(Box::new(socket), &options).err().unwrap();
    assert_eq!(
        (error.kind, error.sqlstate.as_str()),
        (ErrorKind::Refused, "3D000")
    );
    assert!(
        error
            .message
            .contains("cannot log in to database \"dyno_drivers_nowhere\"")
    );
}
