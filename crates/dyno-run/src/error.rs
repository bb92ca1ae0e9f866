//! Errors of a run.

use std::io;

use dyno_core::db::{DbError, ErrorKind};
use dyno_core::target::TargetError;
use dyno_load::{DescriptorError, LoadError};
use dyno_observe::ObserveError;
use dyno_results::ResultsError;
use dyno_verdict::UnknownCheck;
use thiserror::Error;

/// Why a run, or a part of one, failed.
#[derive(Debug, Error)]
pub enum RunError {
    /// The request is invalid, and nothing was started.
    #[error("{0}")]
    Usage(String),
    /// The run would be refused, for a reason that is known before the load.
    #[error("this run would be refused: {0}. Nothing ran; use --force to run it anyway")]
    Refused(String),
    /// An error that a script raised, or another reason in words.
    #[error("{0}")]
    Failed(String),
    /// A test of the host lacks something it needs.
    #[error(transparent)]
    NotReady(#[from] dyno_host::NotReady),
    /// The load could not start.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The process may not open as many descriptors as the sessions need.
    #[error(transparent)]
    Descriptors(#[from] DescriptorError),
    /// The results file could not be written.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The target could not be used.
    #[error(transparent)]
    Database(#[from] DbError),
    /// The target's URL is invalid.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The observers could not start.
    #[error(transparent)]
    Observe(#[from] ObserveError),
    /// A waiver names a check that does not exist.
    #[error(transparent)]
    Waiver(#[from] UnknownCheck),
    /// The system refused a file, a folder or a thread.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// An error together with the action that failed.
    #[error("{doing}")]
    While {
        /// The action in words, without a full stop.
        doing: String,
        /// The error.
        #[source]
        error: Box<RunError>,
    },
}

impl RunError {
    /// Whether the request was invalid.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Usage(_) => true,
            Self::While { error, .. } => error.is_usage(),
            _ => false,
        }
    }

    /// Whether the run was not started because it would be refused.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Refused(_) => true,
            Self::While { error, .. } => error.is_refusal(),
            _ => false,
        }
    }

    /// Whether the user stopped the run before any measurement.
    pub fn is_interruption(&self) -> bool {
        match self {
            Self::Load(LoadError::Interrupted) => true,
            Self::While { error, .. } => error.is_interruption(),
            _ => false,
        }
    }

    /// Whether the error is about the results file and not the target.
    pub fn is_of_results(&self) -> bool {
        match self {
            Self::Results(_) => true,
            Self::While { error, .. } => error.is_of_results(),
            _ => false,
        }
    }

    /// The kind of a database error.
    pub fn database_kind(&self) -> Option<ErrorKind> {
        match self {
            Self::Database(error) => Some(error.kind),
            Self::While { error, .. } => error.database_kind(),
            _ => None,
        }
    }

    /// Whether the `prepare` command of a host test can fix it.
    pub fn needs_prepare(&self) -> bool {
        match self {
            Self::NotReady(missing) => missing.needs_prepare,
            Self::While { error, .. } => error.needs_prepare(),
            _ => false,
        }
    }

    /// All causes on one line, with the outermost action first.
    pub fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        text
    }
}

/// The result of a part of a run.
pub type Result<T, E = RunError> = std::result::Result<T, E>;

/// A reason in words.
pub(crate) fn failed(why: impl Into<String>) -> RunError {
    RunError::Failed(why.into())
}

/// Adds the action that failed to an error.
pub(crate) trait Context<T> {
    /// `doing` is the action in words, without a full stop.
    fn context(self, doing: impl Into<String>) -> Result<T>;
}

impl<T, E: Into<RunError>> Context<T> for Result<T, E> {
    fn context(self, doing: impl Into<String>) -> Result<T> {
        self.map_err(|error| RunError::While {
            doing: doing.into(),
            error: Box::new(error.into()),
        })
    }
}

/// Turns a missing value into an error.
pub(crate) trait OrFailed<T> {
    /// The value, or an error with this text.
    fn or_failed(self, why: &str) -> Result<T>;
}

impl<T> OrFailed<T> for Option<T> {
    fn or_failed(self, why: &str) -> Result<T> {
        self.ok_or_else(|| failed(why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_action_and_keeps_its_kind() {
        let error: Result<()> = Err(RunError::Usage("no such phase".to_owned()));
        let error = error.context("cannot read the phases").unwrap_err();
        assert!(error.is_usage());
        assert_eq!(error.chain(), "cannot read the phases: no such phase");
        let full = Err::<(), _>(io::Error::other("no room")).context("cannot create a folder");
        let full = full.unwrap_err();
        assert!(!full.is_usage());
        assert_eq!(full.chain(), "cannot create a folder: no room");
    }
}
