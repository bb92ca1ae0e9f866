//! Safe handles for SQLite's C interface that, unlike the usual wrapper, do not allocate per
//! execution. All of the driver's `unsafe` is here, except for reading error texts.

use std::ffi::{CStr, CString, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::Once;
use std::time::Duration;

use dyno_core::Clock;
use dyno_core::clock::Nanos;
use dyno_core::db::{DbError, ParamValue, may_wait, waits_are_bounded};
use dyno_core::target::SqliteOptions;
use rusqlite::ffi;

use super::errors;

/// How often a statement is prepared again while others change the schema: SQLite itself retries
/// once, and then reports an error.
pub(super) const SCHEMA_TRIES: u32 = 50;

/// An open database.
pub(super) struct Database {
    handle: NonNull<ffi::sqlite3>,
    /// The argument of its busy handler.
    _busy: Box<Busy>,
}

// SAFETY: the library is built threadsafe; a handle opened with NOMUTEX may move between threads if
// one uses it at a time, which `&mut` and the lack of `Sync` ensure.
unsafe impl Send for Database {}

/// A prepared statement. Drop it before its database, which stays open otherwise.
pub(super) struct Statement(NonNull<ffi::sqlite3_stmt>);

// SAFETY: as for the database, to which it belongs and with which it moves.
unsafe impl Send for Statement {}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stepped {
    Row,
    Done,
    Failed,
}

/// A value of the current row. Valid until the next step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Int(i64),
    Bytes(&'a [u8]),
}

impl Database {
    /// Opens or creates the file with these settings.
    pub(super) fn open(file: &Path, options: &SqliteOptions) -> Result<Self, DbError> {
        configure();
        // A name that begins with `file:` would be taken for a URI.
        let mut path = Vec::from(file.as_os_str().as_bytes());
        if path.starts_with(b"file:") {
            path.splice(0..0, *b"./");
        }
        let path = CString::new(path)
            .map_err(|_| DbError::misuse("the path of the SQLite database contains a zero byte"))?;
        let flags = ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_CREATE | ffi::SQLITE_OPEN_NOMUTEX;
        let mut handle = ptr::null_mut();
        // SAFETY: the path is a C string; `handle` takes the result.
        let code =
            unsafe { ffi::sqlite3_open_v2(path.as_ptr(), &raw mut handle, flags, ptr::null()) };
        let mut busy = Box::new(Busy {
            patience_ns: options.busy_timeout_ms.saturating_mul(1_000_000),
            since: 0,
        });
        let waits: *mut Busy = &raw mut *busy;
        let database = NonNull::new(handle).map(|handle| Self {
            handle,
            _busy: busy,
        });
        if code != ffi::SQLITE_OK {
            return Err(errors::open(file, code, handle));
        }
        let Some(database) = database else {
            return Err(errors::open(file, code, handle));
        };
        database.set_up(options, waits).map_err(|error| {
            let what = format!("cannot set up the SQLite database {}", file.display());
            errors::lost(error.code, format!("{what}: {}", error.message))
        })?;
        Ok(database)
    }

    fn set_up(&self, options: &SqliteOptions, busy: *mut Busy) -> Result<(), DbError> {
        let timeout_ms = c_int::try_from(options.busy_timeout_ms).unwrap_or(c_int::MAX);
        // SAFETY: the handle is open. None of these can fail on an open handle. The handler's
        // argument lives as long as the database, which calls it on the thread that uses it.
        unsafe {
            ffi::sqlite3_extended_result_codes(self.handle(), 1);
            if waits_are_bounded() {
                ffi::sqlite3_busy_handler(self.handle(), Some(on_busy), busy.cast());
                let handler = Some(on_progress as unsafe extern "C" fn(*mut c_void) -> c_int);
                ffi::sqlite3_progress_handler(self.handle(), STEPS, handler, ptr::null_mut());
            } else {
                ffi::sqlite3_busy_timeout(self.handle(), timeout_ms);
            }
        }
        self.run(&format!(
            "PRAGMA synchronous={}",
            options.synchronous.name()
        ))?;
        let asked = options.journal_mode.name();
        let mode = self.run(&format!("PRAGMA journal_mode={asked}"))?;
        if mode.as_deref() != Some(asked) {
            return Err(DbError::misuse(format!(
                "journal_mode={asked} was requested, but it remains {}; another process may be \
                 using the file, or the file system may not support it",
                mode.unwrap_or_default()
            )));
        }
        Ok(())
    }

    /// Runs a statement for its side effects and returns the first field of its first row.
    pub(super) fn run(&self, sql: &str) -> Result<Option<String>, DbError> {
        let (Some(mut statement), _) = self.prepare(sql.as_bytes(), false)? else {
            return Ok(None);
        };
        let mut first = None;
        loop {
            match statement.step() {
                Stepped::Done => return Ok(first),
                Stepped::Failed => return Err(errors::last(self)),
                Stepped::Row if first.is_none() => {
                    first = Some(match statement.column(0) {
                        Value::Null => String::new(),
                        Value::Int(value) => value.to_string(),
                        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                    });
                }
                Stepped::Row => {}
            }
        }
    }

    /// Prepares the first statement of `sql`; `None` if it contains only white space and
    /// comments. Also returns the number of bytes consumed.
    pub(super) fn prepare(
        &self,
        sql: &[u8],
        keep: bool,
    ) -> Result<(Option<Statement>, usize), DbError> {
        let len = c_int::try_from(sql.len())
            .map_err(|_| DbError::misuse("the statement is longer than 2 GiB"))?;
        let flags = match keep {
            true => ffi::SQLITE_PREPARE_PERSISTENT,
            false => 0,
        };
        let mut statement = ptr::null_mut();
        let mut tail = ptr::null();
        let mut code = ffi::SQLITE_SCHEMA;
        let mut tries = 0;
        while code == ffi::SQLITE_SCHEMA && tries < SCHEMA_TRIES {
            tries += 1;
            // SAFETY: pointer and length describe `sql`; the results go to live variables.
            code = unsafe {
                ffi::sqlite3_prepare_v3(
                    self.handle(),
                    sql.as_ptr().cast(),
                    len,
                    flags,
                    &raw mut statement,
                    &raw mut tail,
                )
            };
        }
        if code != ffi::SQLITE_OK {
            return Err(errors::last(self));
        }
        // The tail points into `sql`, or to its end.
        let taken = (tail as usize).saturating_sub(sql.as_ptr() as usize);
        Ok((NonNull::new(statement).map(Statement), taken.min(sql.len())))
    }

    /// Whether the last call failed because others changed the schema.
    pub(super) fn schema_changed(&self) -> bool {
        // SAFETY: the handle is open.
        unsafe { ffi::sqlite3_errcode(self.handle()) == ffi::SQLITE_SCHEMA }
    }

    pub(super) fn handle(&self) -> *mut ffi::sqlite3 {
        self.handle.as_ptr()
    }

    /// Rows changed since it was opened, including those changed by triggers and foreign keys.
    pub(super) fn total_changes(&self) -> i64 {
        // SAFETY: the handle is open.
        unsafe { ffi::sqlite3_total_changes64(self.handle()) }
    }

    /// Rows changed by the last INSERT, UPDATE or DELETE itself.
    pub(super) fn changes(&self) -> u64 {
        // SAFETY: the handle is open.
        unsafe { ffi::sqlite3_changes64(self.handle()) }.max(0) as u64
    }

    /// Whether a transaction is open.
    pub(super) fn in_transaction(&self) -> bool {
        // SAFETY: the handle is open.
        unsafe { ffi::sqlite3_get_autocommit(self.handle()) == 0 }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // SAFETY: the handle came from open_v2 and is closed once. If a statement were still alive,
        // the call would refuse and leak, which is sound; sessions drop their statements first.
        unsafe { ffi::sqlite3_close(self.handle()) };
    }
}

impl Statement {
    fn handle(&self) -> *mut ffi::sqlite3_stmt {
        self.0.as_ptr()
    }

    pub(super) fn columns(&self) -> usize {
        // SAFETY: the statement is alive.
        unsafe { ffi::sqlite3_column_count(self.handle()) }.max(0) as usize
    }

    /// The column names.
    pub(super) fn names(&self) -> Vec<String> {
        let name = |index: usize| {
            // SAFETY: the statement is alive, the index below its number of columns; the text lives
            // until the next call for the statement.
            let text = unsafe { ffi::sqlite3_column_name(self.handle(), index as c_int) };
            match text.is_null() {
                true => String::new(),
                // SAFETY: SQLite's names end with NUL.
                false => unsafe { CStr::from_ptr(text) }
                    .to_string_lossy()
                    .into_owned(),
            }
        };
        (0..self.columns()).map(name).collect()
    }

    pub(super) fn parameters(&self) -> usize {
        // SAFETY: the statement is alive.
        unsafe { ffi::sqlite3_bind_parameter_count(self.handle()) }.max(0) as usize
    }

    #[inline]
    pub(super) fn step(&mut self) -> Stepped {
        // SAFETY: the statement is alive, and bound bytes are, see `bind`.
        match unsafe { ffi::sqlite3_step(self.handle()) } {
            ffi::SQLITE_ROW => Stepped::Row,
            ffi::SQLITE_DONE => Stepped::Done,
            _ => Stepped::Failed,
        }
    }

    /// Ends an execution and releases its locks.
    #[inline]
    pub(super) fn reset(&mut self) {
        // SAFETY: the statement is alive. The code repeats the last step's, which was handled.
        unsafe { ffi::sqlite3_reset(self.handle()) };
    }

    /// Binds a value to parameter `index` (from 0). Returns false if there is no such parameter.
    ///
    /// # Safety
    /// Bytes are not copied: they must stay alive and unchanged until [`Self::unbind`] or another
    /// value is bound, if the statement is stepped before that.
    #[inline]
    pub(super) unsafe fn bind(&mut self, index: usize, value: ParamValue<'_>) -> bool {
        let (statement, index) = (self.handle(), index as c_int + 1);
        // SAFETY: the statement is alive; SQLite checks the index; the bytes live long enough by
        // this function's contract.
        let code = unsafe {
            match value {
                ParamValue::Null => ffi::sqlite3_bind_null(statement, index),
                ParamValue::Int(value) => ffi::sqlite3_bind_int64(statement, index, value),
                ParamValue::Double(value) => ffi::sqlite3_bind_double(statement, index, value),
                ParamValue::Bytes(bytes) => {
                    // SQLite takes a null pointer, which an empty slice may have, for NULL.
                    let start = if bytes.is_empty() {
                        b"".as_ptr()
                    } else {
                        bytes.as_ptr()
                    };
                    let (start, len) = (start.cast::<std::ffi::c_char>(), bytes.len() as u64);
                    let keep = ffi::SQLITE_STATIC();
                    // Text and blobs never compare equal, so valid text is bound as text.
                    if std::str::from_utf8(bytes).is_ok() {
                        let encoding = ffi::SQLITE_UTF8 as u8;
                        ffi::sqlite3_bind_text64(statement, index, start, len, keep, encoding)
                    } else {
                        ffi::sqlite3_bind_blob64(statement, index, start.cast(), len, keep)
                    }
                }
            }
        };
        code == ffi::SQLITE_OK
    }

    /// Clears all bound values.
    pub(super) fn unbind(&mut self) {
        // SAFETY: the statement is alive.
        unsafe { ffi::sqlite3_clear_bindings(self.handle()) };
    }

    /// Column `index` of the row of the last step.
    #[inline]
    pub(super) fn column(&self, index: usize) -> Value<'_> {
        let (statement, index) = (self.handle(), index as c_int);
        // SAFETY: the statement is alive; SQLite returns NULL for a missing column. The pointer and
        // then the length of text or blob belong to one value, which lives until the next step or
        // reset; both need `&mut self`.
        unsafe {
            let start = match ffi::sqlite3_column_type(statement, index) {
                ffi::SQLITE_INTEGER => {
                    return Value::Int(ffi::sqlite3_column_int64(statement, index));
                }
                ffi::SQLITE_NULL => return Value::Null,
                ffi::SQLITE_BLOB => ffi::sqlite3_column_blob(statement, index).cast::<u8>(),
                // SQLite formats doubles.
                _ => ffi::sqlite3_column_text(statement, index),
            };
            let len = ffi::sqlite3_column_bytes(statement, index).max(0) as usize;
            match start.is_null() {
                true => Value::Bytes(&[]),
                false => Value::Bytes(std::slice::from_raw_parts(start, len)),
            }
        }
    }
}

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: the statement came from prepare and is finalised once.
        unsafe { ffi::sqlite3_finalize(self.handle()) };
    }
}

/// A wait for another connection's lock.
struct Busy {
    patience_ns: Nanos,
    since: Nanos,
}

/// The longest pause between two checks of a lock, and so the latest notice of a run's end.
const BUSY_PAUSE_MS_MAX: u64 = 50;

/// Waits for a lock like SQLite's own handler, but ends with the run. 0: give up.
extern "C" fn on_busy(busy: *mut c_void, tries: c_int) -> c_int {
    // SAFETY: set_up registered a `Busy` that lives as long as the database; one call at a time.
    let busy = unsafe { &mut *busy.cast::<Busy>() };
    let now = Clock.now();
    if tries == 0 {
        busy.since = now;
    }
    let waited = now.saturating_sub(busy.since);
    if waited >= busy.patience_ns || !may_wait() {
        return 0;
    }
    let pause_ms = (1 << tries.clamp(0, 6)).min(BUSY_PAUSE_MS_MAX);
    let left = Duration::from_nanos(busy.patience_ns - waited);
    std::thread::sleep(Duration::from_millis(pause_ms).min(left));
    1
}

/// Instructions of SQLite's virtual machine between two checks whether the run has ended: a few
/// milliseconds, so that a check takes a ten thousandth of the time.
const STEPS: c_int = 100_000;

/// Interrupts a running statement when the run has ended. 0: continue.
extern "C" fn on_progress(_: *mut c_void) -> c_int {
    c_int::from(!may_wait())
}

/// Switches the library's memory statistics off: they take a lock per allocation that all sessions
/// share.
fn configure() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: MEMSTATUS takes one int. If the library is in use already it refuses, and the
        // statistics stay on, which only costs time.
        unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, 0 as c_int) };
    });
}
