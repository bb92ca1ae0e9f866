//! One command at a time changes a server.

use std::fs::File;

use crate::error::{OnPath, Result, failed};
use crate::server::Server;

/// A server that other commands leave alone.
#[derive(Debug)]
pub struct Held {
    _file: File,
}

impl Server {
    /// Keeps other commands of Dyno from changing the server as long as what is returned lives.
    ///
    /// # Errors
    /// Another command is changing it.
    pub fn hold(&self) -> Result<Held> {
        let mut path = crate::place::record_of(self.folder());
        let mut options = File::options();
        options.write(true);
        if !path.exists() {
            path = self.folder().join("busy");
            options.create(true).truncate(true);
        }
        // A file within a file system of the server's own would keep that from being unmounted.
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
