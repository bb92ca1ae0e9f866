//! SQLite's errors.

use std::ffi::CStr;
use std::path::Path;

use dyno_core::db::{DbError, ErrorKind, error_text};
use rusqlite::ffi;

use super::raw::Database;
use crate::full::says_full;

/// The last error of the database: its extended result code and message.
pub(super) fn last(database: &Database) -> DbError {
    // SAFETY: the handle is open; both functions only read it.
    let (code, text) = unsafe {
        (
            ffi::sqlite3_extended_errcode(database.handle()),
            ffi::sqlite3_errmsg(database.handle()),
        )
    };
    server(code, message(text))
}

/// An error that SQLite reported.
pub(super) fn server(code: i32, message: String) -> DbError {
    let by_words = kind_of_words(code, &message);
    DbError {
        code,
        kind_by_words: by_words.is_some(),
        ..DbError::new(by_words.unwrap_or_else(|| kind(code)), message)
    }
}

/// A missing or existing table only has the code `SQLITE_ERROR`, and a file that cannot grow only
/// its system call's code.
fn kind_of_words(code: i32, message: &str) -> Option<ErrorKind> {
    match code & 0xff {
        ffi::SQLITE_ERROR if message.contains("no such table") => Some(ErrorKind::NoTable),
        ffi::SQLITE_ERROR if message.contains("already exists") => Some(ErrorKind::TableExists),
        ffi::SQLITE_IOERR if says_full(message) => Some(ErrorKind::Full),
        _ => None,
    }
}

/// The kind of an extended result code, else of the primary code in its lowest byte.
fn kind(code: i32) -> ErrorKind {
    match code {
        ffi::SQLITE_CONSTRAINT_PRIMARYKEY
        | ffi::SQLITE_CONSTRAINT_UNIQUE
        | ffi::SQLITE_CONSTRAINT_ROWID => return ErrorKind::Duplicate,
        _ => {}
    }
    match code & 0xff {
        // `SQLITE_PROTOCOL`: the loser of a race for the locks of a write-ahead log.
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED | ffi::SQLITE_PROTOCOL => ErrorKind::Conflict,
        ffi::SQLITE_CONSTRAINT => ErrorKind::Constraint,
        ffi::SQLITE_INTERRUPT => ErrorKind::Timeout,
        ffi::SQLITE_FULL => ErrorKind::Full,
        ffi::SQLITE_PERM | ffi::SQLITE_READONLY | ffi::SQLITE_AUTH => ErrorKind::Refused,
        ffi::SQLITE_ERROR | ffi::SQLITE_TOOBIG | ffi::SQLITE_MISMATCH | ffi::SQLITE_RANGE => {
            ErrorKind::Statement
        }
        _ => ErrorKind::Other,
    }
}

/// The error of a file that could not be opened. `handle` may be null.
pub(super) fn open(file: &Path, code: i32, handle: *mut ffi::sqlite3) -> DbError {
    // SAFETY: errmsg accepts null and then returns a constant.
    let said = message(unsafe { ffi::sqlite3_errmsg(handle) });
    let advice = match file.parent() {
        _ if file.is_dir() => "; it is a directory; name a file in it".to_owned(),
        Some(parent) if !parent.as_os_str().is_empty() && !parent.is_dir() => {
            format!("; there is no directory {}", parent.display())
        }
        _ => "; check the permissions of the file and its directory".to_owned(),
    };
    lost(
        code,
        format!(
            "cannot open the SQLite database {}: {said}{advice}",
            file.display()
        ),
    )
}

/// The error of a failed connection.
pub(super) fn lost(code: i32, message: String) -> DbError {
    let kind = match kind(code) {
        // An error in opening the file is not a statement's fault.
        ErrorKind::Statement => ErrorKind::Lost,
        kind => kind,
    };
    let mut error = DbError::new(ErrorKind::Lost, message);
    (error.code, error.kind) = (code, kind);
    error.at_the_end()
}

/// The error for an answer that exceeds its limit.
pub(super) fn too_large(max: u64) -> DbError {
    let message = format!(
        "the answer is larger than {max} bytes, the limit for one operation; raise it with the \
         target's parameter max_answer"
    );
    DbError::new(ErrorKind::TooLarge, message)
}

fn message(text: *const std::ffi::c_char) -> String {
    if text.is_null() {
        return "out of memory".to_owned();
    }
    // SAFETY: SQLite's messages are C strings that live until the next call on the handle.
    error_text(unsafe { CStr::from_ptr(text) }.to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The codes and names of <https://www.sqlite.org/rescode.html>.
    #[test]
    fn each_code_has_its_kind() {
        use ErrorKind::*;
        for (kind, codes) in [
            // BUSY, its RECOVERY, SNAPSHOT and TIMEOUT; LOCKED, its SHAREDCACHE; PROTOCOL.
            (Conflict, &[5, 261, 517, 773, 6, 262, 15][..]),
            // CONSTRAINT_PRIMARYKEY, _UNIQUE, _ROWID.
            (Duplicate, &[1555, 2067, 2579]),
            // CONSTRAINT, its CHECK, FOREIGNKEY, NOTNULL, TRIGGER.
            (Constraint, &[19, 275, 787, 1299, 1811]),
            (Timeout, &[9]),
            (Full, &[13]),
            // PERM, READONLY, its RECOVERY, AUTH.
            (Refused, &[3, 8, 264, 23]),
            // ERROR, its MISSING_COLLSEQ, TOOBIG, MISMATCH, RANGE.
            (Statement, &[1, 257, 18, 20, 25]),
            // INTERNAL, NOMEM, IOERR_WRITE, CORRUPT, CANTOPEN, NOTADB.
            (Other, &[2, 7, 778, 11, 14, 26]),
        ] {
            for code in codes {
                let error = server(*code, "so it is".to_owned());
                assert_eq!(error.kind, kind, "{code}");
                assert!(!error.ends_connection, "{code}");
            }
        }
        for (kind, said) in [
            (NoTable, "no such table: sbtest1"),
            (TableExists, "table sbtest1 already exists"),
        ] {
            let error = server(1, said.to_owned());
            assert_eq!((error.kind, error.kind_by_words), (kind, true));
        }
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_a_lost_connection() {
        for (code, kind) in [
            (14, Lost),
            (26, Lost),
            (1, Lost),
            (5, Conflict),
            (8, Refused),
        ] {
            let error = lost(code, "no".to_owned());
            assert_eq!((error.kind, error.ends_connection), (kind, true), "{code}");
            assert_eq!(error.sqlstate, "08006");
        }
    }

    use ErrorKind::{Conflict, Lost, Refused};
}
