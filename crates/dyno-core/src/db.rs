//! The contract between a script and a database, whichever it is.
//!
//! A [`Connection`] runs one operation at a time. A call that starts one answers
//! [`Submitted::Ready`] when the operation ended inside the call (embedded databases always do),
//! or [`Submitted::Pending`]; then [`Connection::advance`] is called whenever the connection's
//! descriptor is ready, until it answers `Ready`. Either way [`Connection::outcome`] then tells
//! what came of it: an error is an outcome, not a return value.

use std::cell::RefCell;
use std::os::fd::RawFd;
use std::time::Duration;

use crate::bulk::BulkLoad;

mod error;
mod family;

pub use error::{DbError, ERROR_TEXT_BYTES_MAX, ErrorKind, error_text};
pub use family::Family;

/// Whether an operation ended inside the call that started or advanced it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Submitted {
    /// It ended; see [`Connection::outcome`].
    Ready,
    /// It goes on; wait for the descriptor.
    Pending,
}

/// Buffers that all connections of one worker share, so that 10,000 connections do not need
/// 10,000 of them. Their content is meaningless between calls.
pub struct Scratch {
    /// Where bytes are read into; never resized. 64 KiB.
    pub input: Box<[u8]>,
    /// Where requests are encoded; cleared at the start of each.
    pub output: Vec<u8>,
}

impl Default for Scratch {
    fn default() -> Self {
        Self {
            input: vec![0; 64 * 1024].into_boxed_slice(),
            output: Vec::with_capacity(64 * 1024),
        }
    }
}

/// What a bound parameter holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ParamKind {
    /// A 64-bit signed integer.
    Int = 0,
    /// A double.
    Double = 1,
    /// Text or bytes.
    Bytes = 2,
}

/// A parameter slot that is bound once and written before each execution. The layout of all
/// fields but `bytes` is shared with scripts, which write `int`, `double` and `is_null` directly.
#[derive(Debug)]
#[repr(C)]
pub struct Param {
    /// What it holds; fixed when it is bound.
    pub kind: ParamKind,
    /// 0 or 1.
    pub is_null: u32,
    /// The value of a [`ParamKind::Int`].
    pub int: i64,
    /// The value of a [`ParamKind::Double`].
    pub double: f64,
    /// How many of `bytes` count, for [`ParamKind::Bytes`].
    pub len: u32,
    /// The buffer of a [`ParamKind::Bytes`]; its length is the most the slot can hold.
    pub bytes: Box<[u8]>,
}

/// The value of a [`Param`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamValue<'a> {
    /// SQL NULL.
    Null,
    /// A 64-bit signed integer.
    Int(i64),
    /// A double.
    Double(f64),
    /// Text or bytes.
    Bytes(&'a [u8]),
}

impl Param {
    /// A NULL slot of this kind that holds at most `capacity` bytes (for [`ParamKind::Bytes`]).
    pub fn new(kind: ParamKind, capacity: usize) -> Self {
        let bytes = vec![0; capacity].into_boxed_slice();
        Self {
            kind,
            is_null: 1,
            int: 0,
            double: 0.0,
            len: 0,
            bytes,
        }
    }

    /// What it holds now.
    #[inline]
    pub fn value(&self) -> ParamValue<'_> {
        if self.is_null != 0 {
            return ParamValue::Null;
        }
        match self.kind {
            ParamKind::Int => ParamValue::Int(self.int),
            ParamKind::Double => ParamValue::Double(self.double),
            ParamKind::Bytes => {
                ParamValue::Bytes(&self.bytes[..(self.len as usize).min(self.bytes.len())])
            }
        }
    }

    /// Stores bytes, cut to what the slot can hold.
    pub fn set_bytes(&mut self, value: &[u8]) {
        let len = value.len().min(self.bytes.len());
        self.bytes[..len].copy_from_slice(&value[..len]);
        self.len = len as u32;
        self.is_null = 0;
    }
}

/// A prepared statement's number on its connection, given by [`Connection::prepare`]'s outcome.
pub type StatementId = u32;

/// A step of a transaction, which each driver takes in its database's own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStep {
    /// It begins.
    Begin {
        /// Nothing will be written in it.
        read_only: bool,
    },
    /// It is made to last.
    Commit,
    /// It is taken back; nothing happens where none has begun.
    Rollback,
}

/// What kind of end an operation came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OutcomeKind {
    /// No operation has ended yet.
    #[default]
    None,
    /// The connection is ready for use.
    Connected,
    /// A result set (perhaps with no rows): `rows` and `columns` are set.
    Rows,
    /// A statement without a result set: `affected` is set.
    Done,
    /// A statement was prepared: `statement` and `columns` are set.
    Prepared,
    /// It waits in a pipeline: nothing was sent yet.
    Piped,
    /// It failed: `error` is set.
    Failed,
}

/// What a statement of a pipeline came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipedResult {
    /// It has a result set, perhaps with no rows.
    pub has_rows: bool,
    /// Rows in it.
    pub rows: u64,
    /// Rows changed.
    pub affected: u64,
}

/// How an operation ended. Plain data, reused from operation to operation.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What kind of end.
    pub kind: OutcomeKind,
    /// Rows in the result set.
    pub rows: u64,
    /// Columns in the result set.
    pub columns: u32,
    /// Rows changed, as the server counts them; for a bulk load, rows loaded.
    pub affected: u64,
    /// For [`OutcomeKind::Prepared`].
    pub statement: StatementId,
    /// Bytes sent for this operation.
    pub bytes_out: u64,
    /// Bytes received for it.
    pub bytes_in: u64,
    /// Another result of the same request follows; see [`Connection::next_result`].
    pub more: bool,
    /// For [`OutcomeKind::Failed`].
    pub error: Option<Box<DbError>>,
}

/// One row, as text. Reused from row to row.
#[derive(Debug, Default)]
pub struct Row {
    /// The fields' bytes, one after another.
    pub bytes: Vec<u8>,
    /// The end of each field in `bytes`; `None` for NULL.
    pub ends: Vec<Option<u32>>,
}

impl Row {
    /// Empties it.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Appends a field.
    pub fn push(&mut self, value: Option<&[u8]>) {
        if let Some(value) = value {
            self.bytes.extend_from_slice(value);
        }
        self.ends.push(value.map(|_| self.bytes.len() as u32));
    }

    /// Field `index` (from 0): `None` if there is none or it is NULL.
    pub fn field(&self, index: usize) -> Option<&[u8]> {
        let end = (*self.ends.get(index)?)? as usize;
        let start = self.ends[..index]
            .iter()
            .rev()
            .find_map(|end| *end)
            .unwrap_or(0) as usize;
        self.bytes.get(start..end)
    }
}

/// What is known of the server after connecting.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct ServerInfo {
    /// The product by name: `MariaDB`, `MySQL`, `PostgreSQL`, `SQLite`.
    pub product: String,
    /// Its version as it says itself.
    pub version: String,
    /// How the connection is protected, e.g. `TLSv1.3`; `None` in the clear.
    pub tls: Option<String>,
}

/// A connection to a database. One operation at a time; not shared between threads once it is
/// with its worker.
pub trait Connection: Send {
    /// Drives the pending operation on: call it when the descriptor is ready, and once right after
    /// the connection was made. Without an operation it notes that the descriptor is ready, so that
    /// the next operation looks first what came; the last one's outcome and rows stay.
    fn advance(&mut self, scratch: &mut Scratch) -> Submitted;

    /// Readiness said that the peer has closed its side of the connection, or that the connection
    /// broke. Call it before `advance`: where readiness is told by its edges, this was the last.
    fn peer_closed(&mut self) {}

    /// The descriptor is ready, and no operation is pending: looks at what came. True if the peer
    /// has ended the connection. The last operation's outcome and rows stay.
    fn has_ended(&mut self, scratch: &mut Scratch) -> bool;

    /// Ends the pending operation, and the connection with it: its caller cannot or will not wait
    /// any longer. `why` becomes part of the error that [`Connection::outcome`] tells.
    fn abort(&mut self, why: &str);

    /// Sends a request in the database's own language: a text statement, which may hold several
    /// statements where the server allows it.
    fn query(&mut self, scratch: &mut Scratch, sql: &[u8]) -> Submitted;

    /// Takes a step of a transaction.
    fn transaction(&mut self, scratch: &mut Scratch, step: TransactionStep) -> Submitted;

    /// Prepares a statement with `?` placeholders on the server. The kinds of its parameters may
    /// be empty when they are not known.
    fn prepare(&mut self, scratch: &mut Scratch, sql: &[u8], kinds: &[ParamKind]) -> Submitted;

    /// Executes a prepared statement; `params` in the order of its placeholders.
    fn execute(
        &mut self,
        scratch: &mut Scratch,
        statement: StatementId,
        params: &[&Param],
    ) -> Submitted;

    /// Forgets a prepared statement.
    fn close_statement(&mut self, scratch: &mut Scratch, statement: StatementId) -> Submitted;

    /// Loads rows by the fastest way the server allows.
    fn bulk_load(&mut self, scratch: &mut Scratch, load: BulkLoad) -> Submitted;

    /// Steps to the next result of a request with several; only when `outcome().more`.
    fn next_result(&mut self, scratch: &mut Scratch) -> Submitted;

    /// From now on statements in text and executions wait ([`OutcomeKind::Piped`]) until
    /// [`Connection::end_pipeline`] sends them together.
    ///
    /// # Errors
    /// The database has no pipelines, or the connection is in one, or not idle.
    fn start_pipeline(&mut self) -> Result<(), DbError> {
        Err(DbError::no_pipelines())
    }

    /// Sends what waits, and ends when all of it is answered. Its results follow each other as
    /// those of a text with several statements do; after an error the server passes over the rest,
    /// and the outcome is the failure. Without a pipeline it fails.
    fn end_pipeline(&mut self, scratch: &mut Scratch) -> Submitted {
        // Of a request that there was not, there is no further result.
        self.next_result(scratch)
    }

    /// Forgets what waits.
    fn drop_pipeline(&mut self) {}

    /// What statement `index` of the pipeline that ended last came to; `None` behind the last that
    /// was completed.
    fn piped(&self, _index: usize) -> Option<PipedResult> {
        None
    }

    /// From now on the names of columns are kept of results of statements in text, which few need.
    fn keep_names(&mut self) {}

    /// The names of the columns of the results that the last statements in text had, in the order
    /// of the results, where they are kept. Databases that give one result after the other know
    /// the names of those that were stepped to.
    fn names(&self) -> &[Vec<String>] {
        &[]
    }

    /// How the last operation ended.
    fn outcome(&self) -> &Outcome;

    /// The next row of the current result, as text. False after the last.
    fn next_row(&mut self, row: &mut Row) -> bool;

    /// Forgets the current result's rows.
    fn free_result(&mut self);

    /// The descriptor to wait for; `None` for an embedded or closed connection.
    fn fd(&self) -> Option<RawFd>;

    /// Whether bytes wait to be written, so that readiness to write is of interest too.
    fn wants_write(&self) -> bool;

    /// Ends the connection politely, as far as that is possible without waiting.
    fn close(&mut self);

    /// The server, once connected.
    fn server(&self) -> &ServerInfo;

    /// Which of the target's endpoints it goes to.
    fn endpoint(&self) -> usize;

    /// Whether the server refuses everything until the transaction is rolled back, as PostgreSQL
    /// does after an error inside a transaction.
    fn transaction_failed(&self) -> bool {
        false
    }

    /// Whether a transaction is open, as the server said with the last statement that returned no
    /// rows.
    fn in_transaction(&self) -> bool {
        false
    }
}

/// Makes connections to one target.
pub trait Connector: Send + Sync {
    /// Begins connection number `sequence` (from 0, per run); it picks the endpoint round-robin.
    /// The result is pending: see [`Connection::advance`].
    ///
    /// # Errors
    /// What fails before the first byte is sent: no address for the host, no socket, no file.
    fn connect(&self, sequence: u64) -> Result<Box<dyn Connection>, DbError>;

    /// The endpoints by name, without secrets.
    fn endpoints(&self) -> Vec<String>;

    /// The family.
    fn family(&self) -> Family;

    /// Whether its operations block the thread (embedded databases).
    fn blocks(&self) -> bool;

    /// How long an attempt to connect may take, with TLS and the log-in; `None` for no bound.
    fn connect_timeout(&self) -> Option<Duration>;
}

thread_local! {
    /// See [`bound_waits`].
    static WAITS: RefCell<Option<Box<dyn Fn() -> bool>>> = const { RefCell::new(None) };
}

/// From now on operations that block the calling thread wait for locks, and compute, only as long
/// as `go_on` answers true: an embedded database does not know when its run is over.
pub fn bound_waits(go_on: Box<dyn Fn() -> bool>) {
    WAITS.set(Some(go_on));
}

/// Whether somebody bounds the calling thread's waits.
pub fn waits_are_bounded() -> bool {
    WAITS.with_borrow(Option::is_some)
}

/// Whether an operation that blocks the calling thread may go on.
pub fn may_wait() -> bool {
    WAITS.with_borrow(|waits| waits.as_ref().is_none_or(|go_on| go_on()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_fields_keep_nulls_and_empties_apart() {
        let mut row = Row::default();
        for value in [Some(&b"ab"[..]), None, Some(b""), Some(b"c")] {
            row.push(value);
        }
        assert_eq!(row.field(0), Some(&b"ab"[..]));
        assert_eq!(row.field(1), None);
        assert_eq!(row.field(2), Some(&b""[..]));
        assert_eq!(row.field(3), Some(&b"c"[..]));
        assert_eq!(row.field(4), None);
    }

    #[test]
    fn bytes_are_cut_to_the_slot() {
        let mut param = Param::new(ParamKind::Bytes, 3);
        assert_eq!(param.value(), ParamValue::Null);
        param.set_bytes(b"abcdef");
        assert_eq!(param.value(), ParamValue::Bytes(b"abc"));
    }
}
