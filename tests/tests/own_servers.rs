//! Commands that start servers and agents of their own.
#![cfg(feature = "servers")]
#![allow(clippy::unwrap_used, clippy::panic)]

mod fleet_cli;
mod lab_cli;
mod server_cli;
