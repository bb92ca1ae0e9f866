//! Addresses of the servers, and clients for them that share no code with Dyno.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use mysql::prelude::Queryable;
use xtask::servers::Kind;

/// The time limit of an answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// MySQL's deadlock error, and how often in a row a test's statement may get it.
const DEADLOCK: u16 = 1213;
const DEADLOCKS_MAX: u32 = 50;

/// A server that accepts its administrator (root, postgres) without a password.
#[derive(Clone, Debug)]
pub struct Server {
    /// Its kind.
    pub kind: Kind,
    /// Its UNIX socket; for PostgreSQL the full path of the socket file.
    pub socket: PathBuf,
    /// Its TCP port on 127.0.0.1.
    pub port: u16,
}

impl Server {
    /// The server of this kind in the environment.
    ///
    /// # Panics
    /// The environment has none: a test that needs a server fails without it.
    pub fn of(kind: Kind) -> Self {
        let tag = kind.tag().to_uppercase();
        let socket = PathBuf::from(variable(&format!("DYNO_TEST_{tag}_SOCKET")));
        let tcp = variable(&format!("DYNO_TEST_{tag}_TCP"));
        let port = tcp
            .strip_prefix("127.0.0.1:")
            .and_then(|port| port.parse().ok());
        let port = port.unwrap_or_else(|| panic!("DYNO_TEST_{tag}_TCP={tcp}: no 127.0.0.1:PORT"));
        Self { kind, socket, port }
    }

    /// The administrator's name.
    pub fn user(&self) -> &'static str {
        match self.kind {
            Kind::Mariadb | Kind::Mysql => "root",
            Kind::Postgres => "postgres",
        }
    }

    /// sysbench's options for a database on it, over TCP.
    pub fn sysbench_options(&self, user: &str, database: &str) -> Vec<String> {
        let prefix = match self.kind {
            Kind::Mariadb | Kind::Mysql => "mysql",
            Kind::Postgres => "pgsql",
        };
        vec![
            format!("--db-driver={prefix}"),
            format!("--{prefix}-host=127.0.0.1"),
            format!("--{prefix}-port={}", self.port),
            format!("--{prefix}-user={user}"),
            format!("--{prefix}-db={database}"),
        ]
    }

    /// A client of MariaDB or MySQL, over the socket.
    ///
    /// # Panics
    /// The server refuses the connection.
    pub fn mysql(&self, database: Option<&str>) -> mysql::Conn {
        let options = mysql::OptsBuilder::new()
            .socket(Some(self.socket.to_string_lossy()))
            .user(Some(self.user()))
            .db_name(database)
            .read_timeout(Some(ANSWER_LIMIT));
        mysql::Conn::new(options)
            .unwrap_or_else(|error| panic!("{} at {:?}: {error}", self.kind, self.socket))
    }

    /// A client of PostgreSQL, over the socket.
    ///
    /// # Panics
    /// The server refuses the connection.
    pub fn postgres(&self, database: &str) -> postgres::Client {
        let folder = self.socket.parent().expect("a socket lies in a folder");
        postgres::Config::new()
            .host_path(folder)
            .port(self.port)
            .user(self.user())
            .dbname(database)
            .connect_timeout(ANSWER_LIMIT)
            .connect(postgres::NoTls)
            .unwrap_or_else(|error| panic!("{} at {:?}: {error}", self.kind, self.socket))
    }

    /// Runs a statement without a result set as the administrator. Repeats it after a deadlock in
    /// MySQL or MariaDB.
    ///
    /// # Panics
    /// The server refuses it.
    pub fn execute(&self, database: Option<&str>, sql: &str) {
        match self.kind {
            Kind::Mariadb | Kind::Mysql => {
                let mut connection = self.mysql(database);
                for left in (0..DEADLOCKS_MAX).rev() {
                    match connection.query_drop(sql) {
                        Ok(()) => return,
                        Err(mysql::Error::MySqlError(error))
                            if error.code == DEADLOCK && left > 0 => {}
                        Err(error) => panic!("{sql}: {error}"),
                    }
                }
            }
            Kind::Postgres => {
                let done = self
                    .postgres(database.unwrap_or("postgres"))
                    .batch_execute(sql);
                done.unwrap_or_else(|error| panic!("{sql}: {error}"));
            }
        }
    }

    /// Runs a query as the administrator: every field as text, NULL as `NULL`.
    ///
    /// # Panics
    /// The server refuses it.
    pub fn query(&self, database: Option<&str>, sql: &str) -> Vec<Vec<String>> {
        match self.kind {
            Kind::Mariadb | Kind::Mysql => {
                let rows: Vec<mysql::Row> = self
                    .mysql(database)
                    .query(sql)
                    .unwrap_or_else(|error| panic!("{sql}: {error}"));
                rows.into_iter().map(mysql_fields).collect()
            }
            Kind::Postgres => {
                let messages = self
                    .postgres(database.unwrap_or("postgres"))
                    .simple_query(sql)
                    .unwrap_or_else(|error| panic!("{sql}: {error}"));
                messages.iter().filter_map(postgres_fields).collect()
            }
        }
    }

    /// The first field of a query's first row.
    ///
    /// # Panics
    /// The server refuses it, or returns no row.
    pub fn query_one(&self, database: Option<&str>, sql: &str) -> String {
        let rows = self.query(database, sql);
        let field = rows
            .into_iter()
            .next()
            .and_then(|row| row.into_iter().next());
        field.unwrap_or_else(|| panic!("{sql}: no row"))
    }
}

/// An environment variable that `cargo xtask test` sets.
///
/// # Panics
/// It is not set.
pub fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| {
        panic!(
            "{name} is not set: run `cargo xtask test`, or `cargo xtask servers up` and \
             `eval \"$(cargo xtask servers env)\"`"
        )
    })
}

/// The authority that signed the servers' certificates, a PEM file. The certificates are issued to
/// `localhost` and `127.0.0.1`.
///
/// # Panics
/// The environment has none.
pub fn tls_authority() -> PathBuf {
    PathBuf::from(variable("DYNO_TEST_TLS_CA"))
}

fn mysql_fields(row: mysql::Row) -> Vec<String> {
    let field = |value: mysql::Value| match value {
        mysql::Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        mysql::Value::NULL => "NULL".to_owned(),
        other => other.as_sql(true),
    };
    row.unwrap().into_iter().map(field).collect()
}

fn postgres_fields(message: &postgres::SimpleQueryMessage) -> Option<Vec<String>> {
    let postgres::SimpleQueryMessage::Row(row) = message else {
        return None;
    };
    let fields = (0..row.len()).map(|index| row.get(index).unwrap_or("NULL").to_owned());
    Some(fields.collect())
}
