//! One connection to find out what server there is, before hundreds are made.

use std::io;

use dyno_core::Clock;
use dyno_core::db::{
    Connection, Connector, DbError, ErrorClass, OutcomeKind, Scratch, ServerInfo, Submitted,
};

/// Connects, asks who is there, and disconnects. Blocks for `timeout_ms` at most.
///
/// # Errors
/// Why there is no connection.
pub fn probe(connector: &dyn Connector, timeout_ms: u64) -> Result<ServerInfo, DbError> {
    let mut connection = connector.connect(0)?;
    let mut scratch = Scratch::default();
    let deadline = Clock.now() + timeout_ms * 1_000_000;
    while connection.advance(&mut scratch) == Submitted::Pending {
        let left_ms = deadline.saturating_sub(Clock.now()) / 1_000_000;
        if left_ms == 0 {
            let name = connector.endpoints().into_iter().next().unwrap_or_default();
            let message = format!(
                "{name} did not answer within {:.1} s: is it a database server, and is it alive?",
                timeout_ms as f64 / 1e3
            );
            return Err(DbError::new(ErrorClass::Lost, message));
        }
        wait(connection.as_ref(), left_ms).map_err(|error| {
            DbError::new(
                ErrorClass::Lost,
                format!("cannot wait for the server: {error}"),
            )
        })?;
    }
    let outcome = connection.outcome();
    if outcome.kind == OutcomeKind::Failed {
        let error = outcome.error.as_deref().cloned();
        return Err(error.unwrap_or_else(|| DbError::new(ErrorClass::Lost, "no connection")));
    }
    let server = connection.server().clone();
    connection.close();
    Ok(server)
}

fn wait(connection: &dyn Connection, timeout_ms: u64) -> io::Result<()> {
    let Some(fd) = connection.fd() else {
        return Ok(());
    };
    let writing = if connection.wants_write() {
        libc::POLLOUT
    } else {
        0
    };
    let mut poll = libc::pollfd {
        fd,
        events: libc::POLLIN | writing,
        revents: 0,
    };
    // SAFETY: `poll` is one valid pollfd.
    let ready = unsafe { libc::poll(&raw mut poll, 1, timeout_ms.min(1_000) as libc::c_int) };
    let error = io::Error::last_os_error();
    if ready < 0 && error.kind() != io::ErrorKind::Interrupted {
        return Err(error);
    }
    Ok(())
}
