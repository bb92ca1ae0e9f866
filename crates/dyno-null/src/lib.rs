//! A server that answers at once with canned rows, so that the client is the bottleneck.
//!
//! The server speaks enough of the MySQL and PostgreSQL protocols for load generators: they log in
//! as any user, prepare, execute, query and load. Every `SELECT` returns one row. If the query
//! names the test table's `c` or `pad`, the row is a wide text column; otherwise it has as many
//! columns as the query lists, each with a number.

mod mysql;
mod postgres;
mod server;
mod sql;

use std::io;
use std::os::fd::OwnedFd;

pub use server::{Listeners, OPEN_FILES};

/// The server's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaks {
    /// MySQL's protocol.
    Mysql,
    /// PostgreSQL's protocol, version 3.
    Postgres,
}

/// Serves on the calling thread until `stop` becomes readable or its other end is closed, or until
/// a system call fails for a reason other than a client.
///
/// # Errors
/// The error of that system call.
pub fn serve(listeners: Listeners, speaks: Speaks, stop: Option<OwnedFd>) -> io::Result<()> {
    match speaks {
        Speaks::Mysql => {
            let replies = mysql::Replies::new();
            server::serve(listeners, &replies, mysql::Session::new, stop)
        }
        Speaks::Postgres => {
            let replies = postgres::Replies::new();
            server::serve(listeners, &replies, postgres::Session::new, stop)
        }
    }
}
