//! SQLite's errors.

use std::ffi::CStr;
use std::path::Path;

use dyno_core::db::{DbError, ErrorClass, error_text};
use rusqlite::ffi;

use super::raw::Database;

/// The last error of the database: its extended result code and its own words.
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
    DbError {
        code,
        ..DbError::new(ErrorClass::Server, message)
    }
}

/// Why a file could not be opened. `handle` may be null.
pub(super) fn open(file: &Path, code: i32, handle: *mut ffi::sqlite3) -> DbError {
    // SAFETY: errmsg accepts null and answers with a constant then.
    let said = message(unsafe { ffi::sqlite3_errmsg(handle) });
    let advice = match file.parent() {
        _ if file.is_dir() => "; it is a directory, name a file in it".to_owned(),
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

/// A connection could not be made.
pub(super) fn lost(code: i32, message: String) -> DbError {
    DbError {
        code,
        ..DbError::new(ErrorClass::Lost, message)
    }
}

/// An answer has more bytes than it may have.
pub(super) fn too_large(max: u64) -> DbError {
    let message = format!(
        "the answer is larger than {max} bytes, which is the most that one operation may receive; \
         the target's parameter max_answer sets that bound"
    );
    DbError::new(ErrorClass::TooLarge, message)
}

pub(super) fn misuse(message: impl Into<String>) -> DbError {
    DbError::new(ErrorClass::Misuse, message)
}

fn message(text: *const std::ffi::c_char) -> String {
    if text.is_null() {
        return "out of memory".to_owned();
    }
    // SAFETY: SQLite's messages are C strings that live until the next call on the handle.
    error_text(unsafe { CStr::from_ptr(text) }.to_bytes())
}
