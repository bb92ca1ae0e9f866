//! One connection to identify the server, before hundreds are made.

use std::time::Duration;

use dyno_core::db::{Connector, DbError, ServerInfo};

use crate::control::Control;

/// Connects, identifies the server, and disconnects. Blocks for at most `timeout_ms`, or until
/// `stopped` returns true.
///
/// # Errors
/// The reason why connecting failed.
pub fn probe(
    connector: &dyn Connector,
    timeout_ms: u64,
    stopped: &dyn Fn() -> bool,
) -> Result<ServerInfo, DbError> {
    let timeout = Duration::from_millis(timeout_ms);
    let control = Control::connect_unless(connector, timeout, stopped)?;
    Ok(control.server().clone())
}
