//! What can go wrong with a server.

use std::io;
use std::path::Path;

/// Why something could not be done with a server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// What was asked for makes no sense: a name, a kind, a setting.
    #[error("{0}")]
    Usage(String),
    /// It makes sense and did not work.
    #[error("{0}")]
    Failed(String),
    /// A file or a system call.
    #[error("{what}: {why}")]
    Io {
        /// What was being done, on what.
        what: String,
        /// Why it did not work; no source of the error, which says it already.
        why: io::Error,
    },
}

impl ServerError {
    /// Whether the fault is what was asked for.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Usage(_))
    }
}

/// What functions of this crate answer.
pub type Result<T> = std::result::Result<T, ServerError>;

pub(crate) fn failed<T>(why: impl Into<String>) -> Result<T> {
    Err(ServerError::Failed(why.into()))
}

pub(crate) fn usage<T>(why: impl Into<String>) -> Result<T> {
    Err(ServerError::Usage(why.into()))
}

/// Says on what an operation of the file system failed.
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
