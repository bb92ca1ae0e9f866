//! SQLite, embedded: every operation ends inside the call that starts it.
//!
//! Databases are opened with a write-ahead log and `synchronous=NORMAL`, so that a commit does not
//! wait for the disk, and a statement waits up to 5 s for another session's lock; the URL
//! parameters `journal_mode`, `synchronous` and `busy_timeout` change that. Foreign keys are
//! enforced, as in other databases.
//!
//! A plain `BEGIN` takes no lock. If such a transaction reads and then writes after another session
//! has written, SQLite refuses immediately (`SQLITE_BUSY_SNAPSHOT`), because waiting cannot help.
//! Workloads that write use `BEGIN IMMEDIATE` here.

use std::path::{Path, PathBuf};
use std::time::Duration;

use dyno_core::Target;
use dyno_core::db::{Connection, Connector, DbError, ErrorKind, Family};
use dyno_core::target::SqliteOptions;

use self::raw::Database;
use self::session::Session;

mod cache;
mod errors;
mod load;
mod raw;
mod rows;
mod session;
mod split;
#[cfg(test)]
mod tests;

/// Opens sessions on one database file.
pub(crate) struct SqliteConnector {
    file: PathBuf,
    options: SqliteOptions,
    answer_max: u64,
}

impl SqliteConnector {
    /// Opens the database once, creating it if it does not exist, and sets the journal mode, which
    /// sessions that open at the same time could not.
    pub(crate) fn new(target: &Target) -> Result<Self, DbError> {
        if target.file == Path::new(":memory:") || target.file.as_os_str().is_empty() {
            return Err(DbError::new(
                ErrorKind::Unsupported,
                "an in-memory SQLite database belongs to a single session; name a file, for \
                 example sqlite:/dev/shm/test.db",
            ));
        }
        let connector = Self {
            file: target.file.clone(),
            options: target.sqlite.clone(),
            answer_max: target.max_answer_bytes,
        };
        Database::open(&connector.file, &connector.options)?;
        Ok(connector)
    }
}

impl Connector for SqliteConnector {
    fn connect(&self, _sequence: u64) -> Result<Box<dyn Connection>, DbError> {
        let database = Database::open(&self.file, &self.options)?;
        Ok(Box::new(Session::new(database, self.answer_max)))
    }

    fn endpoints(&self) -> Vec<String> {
        vec![self.file.display().to_string()]
    }

    fn family(&self) -> Family {
        Family::Sqlite
    }

    fn blocks(&self) -> bool {
        true
    }

    fn connect_timeout(&self) -> Option<Duration> {
        None
    }
}
