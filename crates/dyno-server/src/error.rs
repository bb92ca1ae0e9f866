//! Errors of servers.

use std::io;
use std::path::Path;

/// Why an operation on a server failed.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// An invalid request: a name, a kind, a setting.
    #[error("{0}")]
    Usage(String),
    /// A valid request that failed.
    #[error("{0}")]
    Failed(String),
    /// A file or a system call.
    #[error("{what}: {why}")]
    Io {
        /// The operation and its object.
        what: String,
        /// The reason; not a source of the error, because its message already includes it.
        why: io::Error,
    },
}

impl ServerError {
    /// Whether the request was invalid.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Usage(_))
    }
}

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, ServerError>;

pub(crate) fn failed<T>(why: impl Into<String>) -> Result<T> {
    Err(ServerError::Failed(why.into()))
}

pub(crate) fn usage<T>(why: impl Into<String>) -> Result<T> {
    Err(ServerError::Usage(why.into()))
}

/// Adds the operation and the path to a file system error.
pub(crate) trait OnPath<T> {
    fn on(self, doing: &str, path: &Path) -> Result<T>;
}

impl<T, E: Into<io::Error>> OnPath<T> for std::result::Result<T, E> {
    fn on(self, doing: &str, path: &Path) -> Result<T> {
        self.map_err(|error| ServerError::Io {
            what: format!("cannot {doing} {}", path.display()),
            why: error.into(),
        })
    }
}
