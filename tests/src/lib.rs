//! Code shared by the end-to-end tests: where the servers are, fresh databases, programs with a
//! time limit, clients other than Dyno, and throw-away servers.
//!
//! Everything here is for tests, so it panics with a message that says what to do.
//!
//! # Environment
//!
//! `cargo xtask test` sets these variables, and `cargo xtask servers env` prints them:
//!
//! - `DYNO_TEST_KINDS`: the kinds of servers under test, `mariadb,mysql,pg`; without it, all.
//! - `DYNO_TEST_MARIADB_SOCKET`, `DYNO_TEST_MARIADB_TCP`: MariaDB's socket file; `127.0.0.1:PORT`.
//!   User root, no password.
//! - `DYNO_TEST_MYSQL_SOCKET`, `DYNO_TEST_MYSQL_TCP`: the same for MySQL.
//! - `DYNO_TEST_PG_SOCKET`, `DYNO_TEST_PG_TCP`: the same for PostgreSQL. User postgres, trusted.
//! - `DYNO_TEST_MARIADBD`, `DYNO_TEST_MYSQLD`: the servers' programs. `DYNO_TEST_PG_BIN`: the
//!   folder of PostgreSQL's.
//! - `DYNO_TEST_PG_NEWEST_BIN`: the folder of the programs of Debian's newest PostgreSQL, which
//!   comes with MySQL.
//! - `DYNO_TEST_TEMPLATES`: the folder of new data directories of these servers, which private
//!   servers copy; without it, each creates its own.
//! - `DYNO_TEST_TLS_CA`: the authority that signed the servers' certificates, for `localhost` and
//!   `127.0.0.1`.
//! - `DYNO_TEST_SYSBENCH`: sysbench 1.0.
//! - `DYNO_TEST_NATS_SERVER`: the NATS server for the tests of `dyno-fleet`; without it, the one in
//!   `PATH`.
//! - `DYNO_TEST_SSHD`: OpenSSH's server for the tests of agents on other hosts; without it, the one
//!   in `PATH` or `/usr/sbin`.
//! - `DYNO_BIN`: the `dyno` under test, next to the null server of the same build.
//!   `cargo xtask test` sets `target/dist/bin/dyno`, with `--quick` `target/debug/dyno`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod client;
pub mod command;
pub mod database;
pub mod log;
pub mod network;
pub mod own_servers;
pub mod private;
pub mod processes;
pub mod program;
pub mod proxysql;
pub mod schema;
pub mod server;
pub mod socket;
pub mod sshd;

pub use client::Client;
pub use command::{Output, dyno, sysbench};
pub use database::Database;
pub use private::{PrivateServer, start_private_server, start_private_server_with};
pub use server::{Server, kinds};
pub use xtask::servers::Kind;
