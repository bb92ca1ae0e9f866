//! Addresses of the servers, and statements on them.

use std::env;
use std::path::PathBuf;

use xtask::servers::{Kind, Server as Process, programs};

use crate::Client;

/// MySQL's error code for a deadlock, and how often in a row a test's statement may get it.
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
    /// The environment has no such server: a test that needs one must fail without it.
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
        self.kind.administrator()
    }

    /// The administrator's URL of a database on it, over TCP.
    pub fn url(&self, database: &str) -> String {
        let (scheme, user) = (self.kind.scheme(), self.user());
        format!("{scheme}://{user}@127.0.0.1:{}/{database}", self.port)
    }

    /// sysbench's options for a database on it, over TCP.
    pub fn sysbench_options(&self, user: &str, database: &str) -> Vec<String> {
        let prefix = self.kind.driver();
        vec![
            format!("--db-driver={prefix}"),
            format!("--{prefix}-host=127.0.0.1"),
            format!("--{prefix}-port={}", self.port),
            format!("--{prefix}-user={user}"),
            format!("--{prefix}-db={database}"),
        ]
    }

    /// Connects as the administrator.
    ///
    /// # Panics
    /// The server refuses it.
    pub fn client(&self, database: Option<&str>) -> Client {
        Client::connect(self, database).unwrap_or_else(|error| panic!("{error:#}"))
    }

    /// Connects to MariaDB or MySQL as the administrator.
    ///
    /// # Panics
    /// The server refuses the connection, or is PostgreSQL.
    pub fn mysql(&self, database: Option<&str>) -> mysql::Conn {
        match self.client(database) {
            Client::Mysql(client) => *client,
            Client::Postgres(_) => panic!("{} is not MySQL", self.kind),
        }
    }

    /// Connects to PostgreSQL as the administrator.
    ///
    /// # Panics
    /// The server refuses the connection, or is not PostgreSQL.
    pub fn postgres(&self, database: &str) -> postgres::Client {
        match self.client(Some(database)) {
            Client::Postgres(client) => *client,
            Client::Mysql(_) => panic!("{} is not PostgreSQL", self.kind),
        }
    }

    /// Runs a statement without a result set as the administrator. MySQL and MariaDB run it again
    /// after a deadlock.
    ///
    /// # Panics
    /// The server refuses it.
    pub fn execute(&self, database: Option<&str>, sql: &str) {
        let mut client = self.client(database);
        for left in (0..DEADLOCKS_MAX).rev() {
            match client.execute(sql) {
                Ok(()) => return,
                Err(error) if left > 0 && is_deadlock(&error) => {}
                Err(error) => panic!("{error:#}"),
            }
        }
    }

    /// Runs a query as the administrator and returns every field as text, NULL as `NULL`.
    ///
    /// # Panics
    /// The server refuses it.
    pub fn query(&self, database: Option<&str>, sql: &str) -> Vec<Vec<String>> {
        let rows = self.client(database).query(sql);
        rows.unwrap_or_else(|error| panic!("{error:#}"))
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

impl From<&Process> for Server {
    fn from(process: &Process) -> Self {
        Self {
            kind: process.kind(),
            socket: process.socket(),
            port: process.port(),
        }
    }
}

/// The kinds of servers under test: all, but in the quick tests without MySQL.
///
/// # Panics
/// The environment names a kind that does not exist.
pub fn kinds() -> Vec<Kind> {
    programs::kinds().unwrap_or_else(|error| panic!("{error:#}"))
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

/// The PEM file of the certificate authority that signed the servers' certificates, which are
/// issued to `localhost` and `127.0.0.1`.
///
/// # Panics
/// The environment does not have it.
pub fn tls_authority() -> PathBuf {
    PathBuf::from(variable("DYNO_TEST_TLS_CA"))
}

fn is_deadlock(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<mysql::Error>();
    matches!(error, Some(mysql::Error::MySqlError(error)) if error.code == DEADLOCK)
}
