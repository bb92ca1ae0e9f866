//! Locks, so that only one command at a time changes a server.

use std::fs::File;

use crate::error::{OnPath, Result, failed};
use crate::server::Server;

/// A lock on a server.
#[derive(Debug)]
pub struct Held {
    _file: File,
}

impl Server {
    /// Locks the server against changes by other Dyno commands, until the returned lock is dropped.
    ///
    /// # Errors
    /// Another command holds the lock.
    pub fn hold(&self) -> Result<Held> {
        let mut path = crate::place::record_of(self.folder());
        let mut options = File::options();
        options.write(true);
        if !path.exists() {
            path = self.folder().join("busy");
            options.create(true).truncate(true);
        }
        // An open file within the server's own file system would prevent unmounting it.
        let file = options.open(&path).on("open", &path)?;
        let exclusive = rustix::fs::FlockOperation::NonBlockingLockExclusive;
        match rustix::fs::flock(&file, exclusive) {
            Ok(()) => Ok(Held { _file: file }),
            Err(_) => failed(format!(
                "another command is starting, stopping or copying server '{}'; try again when it \
                 is done",
                self.folder().name()
            )),
        }
    }
}
