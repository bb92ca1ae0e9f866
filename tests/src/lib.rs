//! Shared code of the end-to-end tests: locations of servers, fresh databases, programs with a time
//! limit, clients other than Dyno, and throw-away servers.
//!
//! Everything here is for tests: it panics with a message that says what to do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod command;
pub mod database;
pub mod log;
pub mod network;
pub mod own_servers;
pub mod private;
pub mod processes;
pub mod proxysql;
pub mod server;
pub mod sshd;

pub use command::{Output, dyno, sysbench};
pub use database::Database;
pub use private::{PrivateServer, start_private_server, start_private_server_with};
pub use server::Server;
pub use xtask::servers::Kind;
