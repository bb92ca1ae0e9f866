//! What the end-to-end tests share: where the servers are, fresh databases, programs that are run
//! with a time limit, clients that are not Dyno's own, and throw-away servers that may be hurt.
//!
//! Everything here is for tests: what goes wrong panics with a message that says what to do.
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
