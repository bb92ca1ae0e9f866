//! MySQL and MariaDB: the client/server protocol, version 10 handshake.
//!
//! [`Mysql`] is the state machine. Sources of the formats: the "MySQL Client/Server Protocol" and
//! "MariaDB Client/Server Protocol" documentation.

mod answers;
mod auth;
mod connect;
mod errors;
mod greeting;
mod load;
mod rows;
mod rsa;
mod session;
mod statements;
mod values;
pub(crate) mod wire;

#[cfg(test)]
mod canned;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod properties;

pub use connect::MysqlOptions;
pub use rsa::check as check_public_key;
pub use session::Mysql;
