//! One connection to find out what server there is, before hundreds are made.

use std::time::Duration;

use dyno_core::db::{Connector, DbError, ServerInfo};

use crate::control::Control;

/// Connects, asks who is there, and disconnects. Blocks for `timeout_ms` at most, or until it is
/// `stopped`.
///
/// # Errors
/// Why there is no connection.
pub fn probe(
    connector: &dyn Connector,
    timeout_ms: u64,
    stopped: &dyn Fn() -> bool,
) -> Result<ServerInfo, DbError> {
    let timeout = Duration::from_millis(timeout_ms);
    let control = Control::connect_unless(connector, timeout, stopped)?;
    Ok(control.server().clone())
}
