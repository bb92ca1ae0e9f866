//! A server that answers at once with canned rows, so that the client is the bottleneck.
//!
//! It speaks enough of the MySQL and PostgreSQL protocols for load generators: they log in as
//! anyone, prepare, execute, query and load. Every `SELECT` returns one row: a wide text column if
//! the query asks for the test table's `c` or `pad`, else as many columns as it lists, with a
//! number in each.

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

/// Serves on the calling thread until `stop` becomes readable or is closed at its other end, or a
/// system call fails for a reason that is not a client's.
///
/// # Errors
/// That system call's.
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
