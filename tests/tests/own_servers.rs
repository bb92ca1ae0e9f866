//! Commands that start their own servers and agents.
#![cfg(feature = "servers")]
#![allow(clippy::unwrap_used, clippy::panic)]

mod fleet_cli;
mod guide_cli;
mod lab_cli;
mod server_cli;
