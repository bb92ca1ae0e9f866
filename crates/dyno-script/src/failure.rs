//! Log messages for a statement that failed for good.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use dyno_core::db::ErrorKind;
use dyno_core::redact;

/// Maximum number of characters shown of a statement.
const SHOWN: usize = 512;
/// libpq's status of a failed command (`PGRES_FATAL_ERROR`), which sysbench prints as a number.
const PG_FATAL: u32 = 7;

/// A failed statement; a failed connection has no `query`.
pub(crate) struct Failure {
    /// The statement as passed to error hooks.
    pub(crate) query: Option<String>,
    /// The text of a prepared statement.
    pub(crate) statement: Option<String>,
    pub(crate) errno: i64,
    pub(crate) state: String,
    pub(crate) message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (errno, state, message) = (self.errno, &self.state, &self.message);
        write!(f, "error {errno} (SQLSTATE {state}): {message}")?;
        match self.text() {
            Some(query) => write!(f, " for query '{query}'"),
            None => Ok(()),
        }
    }
}

impl Failure {
    /// The lines that programs look for in the output of sysbench, whose drivers name the functions
    /// of the client libraries.
    pub(crate) fn as_sysbench(&self, driver: &str) -> Vec<String> {
        let (errno, message) = (self.errno, &self.message);
        let prepared = self.statement.is_some();
        match (driver, self.text()) {
            ("mysql", None) => vec![format!("error {errno}: {message}")],
            ("mysql", Some(query)) => {
                let function = if prepared {
                    "mysql_stmt_execute()"
                } else {
                    "mysql_drv_query()"
                };
                vec![format!(
                    "{function} returned error {errno} ({message}) for query '{query}'"
                )]
            }
            ("pgsql", None) => vec![format!("Connection to database failed: {message}")],
            ("pgsql", Some(_)) if prepared => {
                vec![format!("PQexecPrepared() failed: {PG_FATAL} {message}")]
            }
            ("pgsql", Some(query)) => vec![
                format!("PQexec() failed: {PG_FATAL} {message}"),
                format!("failed query was: {query}"),
            ],
            _ => vec![self.to_string()],
        }
    }

    fn text(&self) -> Option<String> {
        let query = self.statement.as_ref().or(self.query.as_ref())?;
        Some(match query.char_indices().nth(SHOWN) {
            Some((end, _)) => {
                let end = redact::cut_at(query.as_bytes(), end);
                format!("{}…", &query[..end])
            }
            None => query.clone(),
        })
    }
}

/// Maximum number of different errors kept: sessions may fail one after the other.
const KEPT: usize = 64;

/// Database errors that ended sessions, to recover the kind of a failure from its message.
#[derive(Debug, Default)]
pub struct DatabaseErrors {
    seen: Mutex<Vec<(String, ErrorKind)>>,
}

impl DatabaseErrors {
    pub(crate) fn note(&self, message: &str, kind: ErrorKind) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let known = seen.iter().any(|(text, _)| text == message);
        if !message.is_empty() && !known && seen.len() < KEPT {
            seen.push((message.to_owned(), kind));
        }
    }

    /// The kind of the error in this message.
    pub fn kind_behind(&self, words: &str) -> Option<ErrorKind> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let found = seen.iter().find(|(text, _)| words.contains(text));
        found.map(|(_, kind)| *kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_is_found_by_the_words() {
        let errors = DatabaseErrors::default();
        errors.note("", ErrorKind::Lost);
        errors.note("no such table: t", ErrorKind::NoTable);
        let why = "session 3: SQL error, errno = 1, state = 'HY000': no such table: t";
        assert_eq!(errors.kind_behind(why), Some(ErrorKind::NoTable));
        assert_eq!(errors.kind_behind("session 3: t.lua:1: oh"), None);
        for i in 0..2 * KEPT {
            errors.note(&i.to_string(), ErrorKind::Other);
        }
        assert_eq!(errors.seen.lock().unwrap().len(), KEPT);
    }

    fn failure(query: Option<&str>, statement: Option<&str>) -> Failure {
        Failure {
            query: query.map(str::to_owned),
            statement: statement.map(str::to_owned),
            errno: 1146,
            state: "42S02".to_owned(),
            message: "no such table".to_owned(),
        }
    }

    #[test]
    fn programs_find_the_lines_they_look_for() {
        let text = failure(Some("SELECT 1"), None);
        assert_eq!(
            text.as_sysbench("mysql"),
            ["mysql_drv_query() returned error 1146 (no such table) for query 'SELECT 1'"]
        );
        assert_eq!(
            text.as_sysbench("pgsql"),
            [
                "PQexec() failed: 7 no such table",
                "failed query was: SELECT 1"
            ]
        );
        let prepared = failure(Some("<prepared statement>"), Some("SELECT ?"));
        assert_eq!(
            prepared.as_sysbench("mysql"),
            ["mysql_stmt_execute() returned error 1146 (no such table) for query 'SELECT ?'"]
        );
        assert_eq!(
            failure(None, None).as_sysbench("pgsql"),
            ["Connection to database failed: no such table"]
        );
    }

    #[test]
    fn long_statements_are_cut_between_characters() {
        let text = failure(Some(&"ä".repeat(600)), None).to_string();
        assert_eq!(text.matches('ä').count(), SHOWN);
        assert!(text.ends_with("…'"), "{text}");
    }
}
