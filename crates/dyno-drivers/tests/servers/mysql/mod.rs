//! The MySQL driver against real servers.

mod auth;
mod load;
mod results;
mod tls;
mod values;

use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, PoisonError, RwLock};

use crate::common::{Blocking, TextRow, needed};
use dyno_core::db::{DbError, OutcomeKind, Param, ParamKind};
use dyno_core::target::TlsMode;
use dyno_drivers::Disclosure;
use dyno_drivers::channel::Channel;
use dyno_drivers::mysql::{Mysql, MysqlOptions};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Server {
    MariaDb,
    MySql,
}

/// The servers under test: `DYNO_TEST_KINDS` names `mysql` unless it is left out.
fn servers() -> Vec<Server> {
    let kinds = std::env::var("DYNO_TEST_KINDS");
    match kinds.is_ok_and(|kinds| !kinds.split(',').any(|kind| kind == "mysql")) {
        true => vec![Server::MariaDb],
        false => vec![Server::MariaDb, Server::MySql],
    }
}

impl Server {
    fn socket(self) -> String {
        needed(match self {
            Self::MariaDb => "DYNO_TEST_MARIADB_SOCKET",
            Self::MySql => "DYNO_TEST_MYSQL_SOCKET",
        })
    }

    fn tcp(self) -> String {
        needed(match self {
            Self::MariaDb => "DYNO_TEST_MARIADB_TCP",
            Self::MySql => "DYNO_TEST_MYSQL_TCP",
        })
    }
}

fn options(user: &str) -> MysqlOptions {
    MysqlOptions {
        user: user.to_owned(),
        tls: TlsMode::Disable,
        // The tests' servers are on this machine.
        disclosure: Disclosure {
            local: true,
            ..Disclosure::default()
        },
        ..MysqlOptions::default()
    }
}

/// New connections copy some of the server's global settings: a test that changes one holds this
/// for writing.
static GLOBALS: RwLock<()> = RwLock::new(());

fn by_socket(server: Server, options: MysqlOptions) -> Result<Blocking, DbError> {
    let _unchanged = GLOBALS.read().unwrap_or_else(PoisonError::into_inner);
    by_socket_now(server, options)
}

/// The same for a test that already holds [`GLOBALS`].
fn by_socket_now(server: Server, options: MysqlOptions) -> Result<Blocking, DbError> {
    let path = server.socket();
    let socket = UnixStream::connect(&path).unwrap();
    socket.set_nonblocking(true).unwrap();
    let options = Arc::new(MysqlOptions {
        unix_socket: true,
        ..options
    });
    Blocking::connect(Box::new(Channel::new(
        Mysql::new(&options),
        Box::new(socket),
        None,
        0,
        path,
    )))
}

fn by_tcp(server: Server, options: MysqlOptions) -> Result<Blocking, DbError> {
    let address = server.tcp();
    let socket = TcpStream::connect(&address).unwrap();
    socket.set_nonblocking(true).unwrap();
    let protocol = Mysql::new(&Arc::new(options));
    let channel = Channel::new(protocol, Box::new(socket), None, 0, address);
    Blocking::connect(Box::new(channel))
}

/// A connection as root, with a separate database for the test.
fn root(server: Server, database: &str) -> Blocking {
    let mut connection = by_socket(server, options("root")).unwrap();
    let database = format!("dyno_drivers_{database}");
    connection
        .query(format!("DROP DATABASE IF EXISTS {database}"))
        .unwrap();
    connection
        .query(format!("CREATE DATABASE {database}"))
        .unwrap();
    connection.query(format!("USE {database}")).unwrap();
    connection
}

/// A connection made while the server has this limit on packets.
fn with_packet_limit(
    server: Server,
    root: &mut Blocking,
    limit: u32,
    options: MysqlOptions,
) -> Blocking {
    let _changed = GLOBALS.write().unwrap_or_else(PoisonError::into_inner);
    let old = root.single("SELECT @@GLOBAL.max_allowed_packet");
    root.query(format!("SET GLOBAL max_allowed_packet = {limit}"))
        .unwrap();
    let limited = by_socket_now(server, options);
    root.query(format!("SET GLOBAL max_allowed_packet = {old}"))
        .unwrap();
    let mut limited = limited.unwrap();
    let known = limited.single("SELECT @@max_allowed_packet");
    assert_eq!(known, limit.to_string());
    limited
}

fn row(fields: &[Option<&str>]) -> TextRow {
    fields
        .iter()
        .map(|field| field.map(str::to_owned))
        .collect()
}

#[test]
fn text_statements() {
    for server in servers() {
        let mut connection = root(server, "text");
        let info = connection.connection.server().clone();
        let product = match server {
            Server::MariaDb => "MariaDB",
            Server::MySql => "MySQL",
        };
        assert_eq!(info.product, product);
        assert_eq!(info.version, connection.single("SELECT @@version"));
        assert_eq!(info.tls, None);
        let outcome = connection
            .query("CREATE TABLE t (id INT PRIMARY KEY, c VARCHAR(20))")
            .unwrap();
        assert_eq!((outcome.kind, outcome.affected), (OutcomeKind::Done, 0));
        let insert = "INSERT INTO t VALUES (1,'a'),(2,NULL),(3,'')";
        let outcome = connection.query(insert).unwrap();
        assert_eq!((outcome.kind, outcome.affected), (OutcomeKind::Done, 3));
        assert_eq!(outcome.bytes_out, 5 + insert.len() as u64);
        assert!(outcome.bytes_in > 10);
        let outcome = connection.query("SELECT id, c FROM t ORDER BY id").unwrap();
        assert_eq!(outcome.kind, OutcomeKind::Rows);
        assert_eq!((outcome.rows, outcome.columns), (3, 2));
        let expected = [
            row(&[Some("1"), Some("a")]),
            row(&[Some("2"), None]),
            row(&[Some("3"), Some("")]),
        ];
        assert_eq!(connection.rows(), expected);
        let error = connection
            .query("INSERT INTO t VALUES (1,'a')")
            .unwrap_err();
        assert_eq!((error.code, error.sqlstate.as_str()), (1062, "23000"));
        assert!(connection.rows().is_empty());
        let error = connection.query("SELECT * FROM none").unwrap_err();
        assert_eq!(error.key(), "1146");
        assert_eq!(connection.single("SELECT COUNT(*) FROM t"), "3");
    }
}

#[test]
fn prepared_statements() {
    for server in servers() {
        let mut connection = root(server, "prepared");
        connection
            .query("CREATE TABLE t (id BIGINT PRIMARY KEY, f DOUBLE, c VARCHAR(300))")
            .unwrap();
        let kinds = [ParamKind::Int, ParamKind::Double, ParamKind::Bytes];
        let insert = connection
            .prepare("INSERT INTO t VALUES (?,?,?)", &kinds)
            .unwrap();
        let long = "x".repeat(300);
        let null = || Param::new(ParamKind::Bytes, 0);
        for (id, f, c) in [
            (-1, 0.5, Param::bytes(b"a'b")),
            (i64::MAX, -1e300, null()),
            (7, 0.0, Param::bytes(long.as_bytes())),
        ] {
            let params = [&Param::int(id), &Param::double(f), &c];
            assert_eq!(connection.execute(insert, &params).unwrap().affected, 1);
        }
        let error = connection.execute(insert, &[&Param::int(7), &Param::double(0.), &null()]);
        assert_eq!(error.unwrap_err().code, 1062);
        let select = connection
            .prepare("SELECT id, f, c FROM t WHERE id = ?", &[ParamKind::Int])
            .unwrap();
        assert_eq!(connection.outcome().columns, 3);
        let outcome = connection.execute(select, &[&Param::int(7)]).unwrap();
        assert_eq!((outcome.kind, outcome.rows), (OutcomeKind::Rows, 1));
        assert_eq!(
            connection.rows(),
            [row(&[Some("7"), Some("0"), Some(&long)])]
        );
        assert_eq!(
            connection.execute(select, &[&Param::int(8)]).unwrap().rows,
            0
        );
        assert!(connection.rows().is_empty());
        connection
            .execute(select, &[&Param::int(i64::MAX)])
            .unwrap();
        let max = i64::MAX.to_string();
        assert_eq!(
            connection.rows(),
            [row(&[Some(&max), Some("-1e300"), None])]
        );
        // Another kind in the same place.
        connection.execute(select, &[&Param::bytes(b"-1")]).unwrap();
        assert_eq!(
            connection.rows(),
            [row(&[Some("-1"), Some("0.5"), Some("a'b")])]
        );
        connection.close_statement(insert).unwrap();
        assert_eq!(connection.execute(insert, &[]).unwrap_err().code, 2030);
        assert_eq!(connection.execute(select, &[]).unwrap_err().code, 2034);
        let error = connection.prepare("SELEC ?", &[]).unwrap_err();
        assert_eq!(error.code, 1064);
        // The server has dropped the closed statement too.
        let sql = "SHOW SESSION STATUS LIKE 'Com_stmt_close'";
        assert_eq!(connection.select(sql)[0][1].as_deref(), Some("1"));
    }
}
