//! One connection to find out what server there is, before hundreds are made.

use std::time::Duration;

use dyno_core::db::{Connector, DbError, ServerInfo};

use crate::control::Control;

/// Connects, asks who is there, and disconnects. Blocks for `timeout_ms` at most.
///
/// # Errors
/// Why there is no connection.
pub fn probe(connector: &dyn Connector, timeout_ms: u64) -> Result<ServerInfo, DbError> {
    let control = Control::connect(connector, Duration::from_millis(timeout_ms))?;
    Ok(control.server().clone())
}
