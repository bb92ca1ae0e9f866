//! What keeps a run from a result.

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
    /// What was asked for makes no sense: nothing was begun.
    #[error("{0}")]
    Usage(String),
    /// The run would be refused: what speaks against it, known before the load.
    #[error("this run would be refused: {0}. Nothing ran; use --force to run it anyway")]
    Refused(String),
    /// What a script raised, or another reason in words.
    #[error("{0}")]
    Failed(String),
    /// A test of the host lacks something that it needs.
    #[error(transparent)]
    NotReady(#[from] dyno_host::NotReady),
    /// The load could not start.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The process may not have as many descriptors as the sessions need.
    #[error(transparent)]
    Descriptors(#[from] DescriptorError),
    /// The results file could not be written.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The target could not be used.
    #[error(transparent)]
    Database(#[from] DbError),
    /// The target's URL is none.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The observers could not start.
    #[error(transparent)]
    Observe(#[from] ObserveError),
    /// A waiver names no check.
    #[error(transparent)]
    Waiver(#[from] UnknownCheck),
    /// The system refused a file, a folder or a thread.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// What was being done when it failed.
    #[error("{doing}")]
    While {
        /// In words, without a full stop.
        doing: String,
        /// What failed.
        #[source]
        error: Box<RunError>,
    },
}

impl RunError {
    /// Whether what was asked for made no sense.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Usage(_) => true,
            Self::While { error, .. } => error.is_usage(),
            _ => false,
        }
    }

    /// Whether the run was not begun because it would be refused.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Refused(_) => true,
            Self::While { error, .. } => error.is_refusal(),
            _ => false,
        }
    }

    /// Whether the user ended the run before there was anything to measure.
    pub fn is_interruption(&self) -> bool {
        match self {
            Self::Load(LoadError::Interrupted) => true,
            Self::While { error, .. } => error.is_interruption(),
            _ => false,
        }
    }

    /// Whether it is of the results file, not of the target.
    pub fn is_of_results(&self) -> bool {
        match self {
            Self::Results(_) => true,
            Self::While { error, .. } => error.is_of_results(),
            _ => false,
        }
    }

    /// The kind of the database's error, where it is one.
    pub fn database_kind(&self) -> Option<ErrorKind> {
        match self {
            Self::Database(error) => Some(error.kind),
            Self::While { error, .. } => error.database_kind(),
            _ => None,
        }
    }

    /// Whether the command `prepare` of a test of the host creates what is missing.
    pub fn needs_prepare(&self) -> bool {
        match self {
            Self::NotReady(missing) => missing.needs_prepare,
            Self::While { error, .. } => error.needs_prepare(),
            _ => false,
        }
    }

    /// All of it on one line, what was being done first.
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

/// Adds to an error what was being done.
pub(crate) trait Context<T> {
    /// Says what was being done, in words without a full stop.
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

/// What is missing, in words.
pub(crate) trait OrFailed<T> {
    /// An error of these words where there is nothing.
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
    fn an_error_tells_what_was_being_done_and_keeps_its_kind() {
        let error: Result<()> = Err(RunError::Usage("no such phase".to_owned()));
        let error = error.context("cannot read the phases").unwrap_err();
        assert!(error.is_usage());
        assert_eq!(error.chain(), "cannot read the phases: no such phase");
        let full = Err::<(), _>(io::Error::other("no room")).context("cannot make a folder");
        let full = full.unwrap_err();
        assert!(!full.is_usage());
        assert_eq!(full.chain(), "cannot make a folder: no room");
    }
}
