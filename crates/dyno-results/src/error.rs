//! Errors of results files: the action, the file, the problem, and what to try.

use std::fmt;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// An action on a results file that failed.
#[derive(Debug)]
pub struct ResultsError {
    /// The action, for example `open` or `record the run in`.
    pub doing: String,
    /// The file.
    pub path: PathBuf,
    /// The problem.
    pub problem: Problem,
}

/// A problem with a results file.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The file does not exist.
    #[error("there is no such file")]
    Missing,
    /// The folder of the path does not exist.
    #[error("there is no folder {}", .0.display())]
    NoFolder(PathBuf),
    /// The path is a directory.
    #[error("it is a directory")]
    Directory,
    /// The path is a pipe, a device or a socket.
    #[error("it is {0}, not a regular file")]
    Special(&'static str),
    /// The file exists but is empty.
    #[error("the file is empty")]
    Empty,
    /// The file does not start with the first bytes of an SQLite file.
    #[error("it is not an SQLite database")]
    NotSqlite,
    /// The file is an SQLite database of another application, with this application id.
    #[error("it is an SQLite database of another program (application id {0:#x})")]
    Foreign(i32),
    /// A newer version of this program wrote the file.
    #[error("its schema has version {version}, but this program supports versions up to {known}")]
    Newer {
        /// The file's version.
        version: i32,
        /// The newest version known here.
        known: i32,
    },
    /// An older version of this program wrote the file, and it cannot be upgraded here.
    #[error(
        "its schema has the older version {version}, and it cannot be upgraded because it is \
         read-only"
    )]
    Older {
        /// The file's version.
        version: i32,
    },
    /// A build from before the first release wrote the file.
    #[error("its schema has version {version}, of a build before the first release")]
    BeforeFirst {
        /// The file's version.
        version: i32,
    },
    /// The file or its folder cannot be written to.
    #[error("it cannot be written to ({0})")]
    ReadOnly(String),
    /// The operating system denies access.
    #[error("it cannot be opened ({0})")]
    Denied(String),
    /// The disk is full.
    #[error("there is no space left ({0})")]
    Full(String),
    /// Another process kept the file locked.
    #[error("another process kept it locked for {waited_s} s ({message})")]
    Locked {
        /// How long Dyno waited, in seconds.
        waited_s: f64,
        /// SQLite's message.
        message: String,
    },
    /// The file is truncated, or was overwritten.
    #[error("it is damaged ({0})")]
    Damaged(String),
    /// The file contains no runs.
    #[error("it contains no runs")]
    NoRuns,
    /// No run has this name or number.
    #[error("there is no run `{0}` in it")]
    NoSuchRun(String),
    /// The run is not a phase of a sequence.
    #[error("run `{0}` is not a phase of a sequence")]
    NoSequence(String),
    /// Several names begin with this.
    #[error("`{wanted}` is ambiguous: {}", .names.join(" or "))]
    Ambiguous {
        /// The name that the user gave.
        wanted: String,
        /// Some of the matching names.
        names: Vec<String>,
    },
    /// A run with this name exists already.
    #[error("it already contains a run named `{0}`")]
    NameTaken(String),
    /// A stored value cannot be read.
    #[error("{what} cannot be read ({why})")]
    Unreadable {
        /// The value.
        what: String,
        /// The reason.
        why: String,
    },
    /// The writing thread could not start, or ended early.
    #[error("the writer thread is not running ({0})")]
    NoWriter(String),
    /// Any other message, from SQLite or the operating system.
    #[error("{0}")]
    Other(String),
}

impl Problem {
    /// What to try; empty if there is no advice.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Missing => "check the path, or record a run there first",
            Self::NoFolder(_) => "create it first, or name another file",
            Self::Directory => "name a file within it",
            Self::Special(_) => "name a file; Dyno creates it if it does not exist",
            Self::Empty => "check the path; recording a run there turns it into a results file",
            Self::NotSqlite | Self::Foreign(_) => {
                "nothing was written; name another file for the results"
            }
            Self::Newer { .. } => "nothing was written; use the newer program, or another file",
            Self::BeforeFirst { .. } => {
                "read its tables with sqlite3, and name another file for new runs"
            }
            Self::Older { .. } => "copy it to a writable place and open the copy",
            Self::ReadOnly(_) | Self::Denied(_) => {
                "check the permissions of the file and of its folder, or name another file"
            }
            Self::Full(_) => "free some space, or name a file on another disk",
            Self::Locked { .. } => "end the other process, or name another file",
            Self::Damaged(_) => {
                "restore a backup, or recover its contents with sqlite3 FILE .recover"
            }
            Self::NoSuchRun(_) | Self::Ambiguous { .. } => {
                "name a run by `last`, its number, or a unique beginning of its name"
            }
            Self::NoSequence(_) => {
                "name a sequence by the beginning of its name, or by one of its runs"
            }
            Self::NameTaken(_) => "it was probably imported before",
            Self::NoRuns | Self::Unreadable { .. } | Self::NoWriter(_) | Self::Other(_) => "",
        }
    }
}

impl fmt::Display for ResultsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        write!(f, "cannot {} {path}: {}", self.doing, self.problem)?;
        match self.problem.advice() {
            "" => Ok(()),
            advice => write!(f, "; {advice}"),
        }
    }
}

impl std::error::Error for ResultsError {}

/// The context of an action, for error messages.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) doing: &'a str,
    pub(crate) path: &'a Path,
    /// How long to wait for a lock.
    pub(crate) patience_s: f64,
}

impl At<'_> {
    pub(crate) fn error(&self, problem: Problem) -> ResultsError {
        ResultsError {
            doing: self.doing.to_owned(),
            path: self.path.to_owned(),
            problem,
        }
    }

    pub(crate) fn sqlite(&self, error: rusqlite::Error) -> ResultsError {
        self.error(problem(error, self.patience_s))
    }

    pub(crate) fn io(&self, error: &std::io::Error) -> ResultsError {
        use std::io::ErrorKind as Kind;
        let message = error.to_string();
        self.error(match error.kind() {
            Kind::NotFound => Problem::Missing,
            Kind::PermissionDenied => Problem::Denied(message),
            Kind::ReadOnlyFilesystem => Problem::ReadOnly(message),
            Kind::StorageFull | Kind::QuotaExceeded => Problem::Full(message),
            _ => Problem::Other(message),
        })
    }

    pub(crate) fn unreadable(&self, what: &str, why: impl fmt::Display) -> ResultsError {
        self.error(Problem::Unreadable {
            what: what.to_owned(),
            why: why.to_string(),
        })
    }
}

fn problem(error: rusqlite::Error, waited_s: f64) -> Problem {
    let message = error.to_string();
    let Some(code) = error.sqlite_error_code() else {
        return Problem::Other(message);
    };
    match code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            Problem::Locked { waited_s, message }
        }
        ErrorCode::DiskFull => Problem::Full(message),
        ErrorCode::ReadOnly => Problem::ReadOnly(message),
        ErrorCode::CannotOpen | ErrorCode::PermissionDenied => Problem::Denied(message),
        ErrorCode::DatabaseCorrupt => Problem::Damaged(message),
        ErrorCode::NotADatabase => Problem::NotSqlite,
        _ => Problem::Other(message),
    }
}
