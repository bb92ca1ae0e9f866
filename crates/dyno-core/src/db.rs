//! The contract between a script and a database of any family.
//!
//! A [`Connection`] runs one operation at a time. The call that starts one returns
//! [`Submitted::Ready`] if the operation ended inside the call (always so for embedded databases),
//! or [`Submitted::Pending`]. In the latter case call [`Connection::advance`] whenever the
//! descriptor is ready, until it returns `Ready`. Then [`Connection::outcome`] has the result: an
//! error is an outcome, not a return value.

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
    /// It is still pending; wait for the descriptor.
    Pending,
}

/// Buffers shared by all connections of a worker, so that 10,000 connections do not need 10,000
/// buffers. Their content is meaningless between calls.
pub struct Scratch {
    /// Input buffer, 64 KiB; never resized.
    pub input: Box<[u8]>,
    /// Encoded requests; cleared at the start of each.
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

/// The type of a bound parameter.
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

/// A parameter slot: bound once, written before each execution. Scripts share the layout of all
/// fields but `bytes`, and write `int`, `double` and `is_null` directly.
#[derive(Debug)]
#[repr(C)]
pub struct Param {
    /// The type; fixed when the slot is bound.
    pub kind: ParamKind,
    /// 0 or 1.
    pub is_null: u32,
    /// The value of a [`ParamKind::Int`].
    pub int: i64,
    /// The value of a [`ParamKind::Double`].
    pub double: f64,
    /// Number of used bytes in `bytes`, for [`ParamKind::Bytes`].
    pub len: u32,
    /// The buffer of a [`ParamKind::Bytes`]; its length is the slot's capacity.
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
    /// A NULL slot of this kind; `capacity` is the most bytes a [`ParamKind::Bytes`] can hold.
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

    /// A slot with this integer.
    pub fn int(value: i64) -> Self {
        let mut param = Self::new(ParamKind::Int, 0);
        (param.int, param.is_null) = (value, 0);
        param
    }

    /// A slot with this double.
    pub fn double(value: f64) -> Self {
        let mut param = Self::new(ParamKind::Double, 0);
        (param.double, param.is_null) = (value, 0);
        param
    }

    /// A slot filled by these bytes.
    pub fn bytes(value: &[u8]) -> Self {
        let mut param = Self::new(ParamKind::Bytes, value.len());
        param.set_bytes(value);
        param
    }

    /// The current value.
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

    /// Stores bytes, truncated to the slot's capacity.
    pub fn set_bytes(&mut self, value: &[u8]) {
        let len = value.len().min(self.bytes.len());
        self.bytes[..len].copy_from_slice(&value[..len]);
        self.len = len as u32;
        self.is_null = 0;
    }
}

/// A prepared statement's number on its connection, from [`Connection::prepare`]'s outcome.
pub type StatementId = u32;

/// A step of a transaction. Each driver uses its database's own commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStep {
    /// Begin.
    Begin {
        /// The transaction will not write.
        read_only: bool,
    },
    /// Commit.
    Commit,
    /// Roll back; does nothing if no transaction has begun.
    Rollback,
}

/// How an operation ended.
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
    /// Queued in a pipeline; nothing was sent yet.
    Piped,
    /// It failed: `error` is set.
    Failed,
}

/// The result of one statement of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipedResult {
    /// It has a result set, perhaps empty.
    pub has_rows: bool,
    /// Rows in it.
    pub rows: u64,
    /// Rows changed.
    pub affected: u64,
}

/// Transactions that ended on the server during an operation, as far as its answer shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndedTransactions {
    /// Transactions that the answer proves to have ended.
    pub certain: u32,
    /// Further transactions that may have ended.
    pub possible: u32,
}

/// How an operation ended. Plain data, reused from operation to operation.
#[derive(Debug, Default)]
pub struct Outcome {
    /// How it ended.
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
    /// Transactions that it ended; only PostgreSQL reports them.
    pub transactions: EndedTransactions,
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

    /// Field `index` (from 0); `None` if it is missing or NULL.
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

/// Server information from the connection's handshake.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct ServerInfo {
    /// The product name: `MariaDB`, `MySQL`, `PostgreSQL`, `SQLite`.
    pub product: String,
    /// The version that the server reports.
    pub version: String,
    /// The TLS version, e.g. `TLSv1.3`; `None` for plaintext.
    pub tls: Option<String>,
}

/// A connection to a database. One operation at a time; not shared between threads once its worker
/// has it.
pub trait Connection: Send {
    /// Continues the pending operation. Call it when the descriptor is ready, and once right after
    /// the connection was made. Without a pending operation it records that the descriptor is
    /// ready, so that the next operation first reads what arrived; the last outcome and rows stay.
    fn advance(&mut self, scratch: &mut Scratch) -> Submitted;

    /// Reports that the peer closed its side or that the connection broke. Call it before
    /// `advance`: with edge-triggered readiness no further event will come.
    fn peer_closed(&mut self) {}

    /// Reads the input that arrived without a pending operation. True if the peer has ended the
    /// connection. The last operation's outcome and rows stay.
    fn has_ended(&mut self, scratch: &mut Scratch) -> bool;

    /// Aborts the pending operation and its connection, because the caller does not wait any
    /// longer. `why` becomes part of the error in [`Connection::outcome`].
    fn abort(&mut self, why: &str);

    /// Sends a statement as text; it may contain several statements where the server allows that.
    fn query(&mut self, scratch: &mut Scratch, sql: &[u8]) -> Submitted;

    /// Runs a step of a transaction.
    fn transaction(&mut self, scratch: &mut Scratch, step: TransactionStep) -> Submitted;

    /// Prepares a statement with `?` placeholders on the server. `kinds` may be empty if the
    /// parameter types are unknown.
    fn prepare(&mut self, scratch: &mut Scratch, sql: &[u8], kinds: &[ParamKind]) -> Submitted;

    /// Executes a prepared statement; `params` in the order of its placeholders.
    fn execute(
        &mut self,
        scratch: &mut Scratch,
        statement: StatementId,
        params: &[&Param],
    ) -> Submitted;

    /// Closes a prepared statement.
    fn close_statement(&mut self, scratch: &mut Scratch, statement: StatementId) -> Submitted;

    /// Loads rows in the fastest way the server allows.
    fn bulk_load(&mut self, scratch: &mut Scratch, load: BulkLoad) -> Submitted;

    /// Steps to the next result of the request; only if `outcome().more`.
    fn next_result(&mut self, scratch: &mut Scratch) -> Submitted;

    /// From now on, text statements and executions are queued ([`OutcomeKind::Piped`]) until
    /// [`Connection::end_pipeline`] sends them together.
    ///
    /// # Errors
    /// The database has no pipelines, a pipeline is already open, or the connection is not idle.
    fn start_pipeline(&mut self) -> Result<(), DbError> {
        Err(DbError::no_pipelines())
    }

    /// Sends the queued statements; ends when all are answered. Their results follow each other
    /// like those of a text with several statements. After an error the server skips the rest, and
    /// the outcome is the failure. Fails without an open pipeline.
    fn end_pipeline(&mut self, scratch: &mut Scratch) -> Submitted {
        // There was no request, so there is no further result.
        self.next_result(scratch)
    }

    /// Discards the queued statements.
    fn drop_pipeline(&mut self) {}

    /// The result of statement `index` of the last pipeline; `None` after the last completed one.
    fn piped(&self, _index: usize) -> Option<PipedResult> {
        None
    }

    /// From now on, keep the column names of results of text statements. Few callers need them.
    fn keep_names(&mut self) {}

    /// The column names of the last text statements' results, in order, if they are kept. Databases
    /// that return one result at a time know the names only of the results already stepped to.
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

    /// Whether bytes wait to be written, so that the caller must also wait for writability.
    fn wants_write(&self) -> bool;

    /// Closes the connection cleanly as far as possible without waiting.
    fn close(&mut self);

    /// The server, once connected.
    fn server(&self) -> &ServerInfo;

    /// The index of the target's endpoint that it is connected to.
    fn endpoint(&self) -> usize;

    /// Whether the server refuses everything until a rollback, as PostgreSQL does after an error
    /// inside a transaction.
    fn transaction_failed(&self) -> bool {
        false
    }

    /// Whether a transaction is open, as the server reported with the last statement that returned
    /// no rows.
    fn in_transaction(&self) -> bool {
        false
    }
}

/// Makes connections to one target.
pub trait Connector: Send + Sync {
    /// Starts connection number `sequence` (from 0, per run); picks the endpoint round-robin. The
    /// result is pending: see [`Connection::advance`].
    ///
    /// # Errors
    /// Failures before the first byte is sent: no address for the host, no socket, no file.
    fn connect(&self, sequence: u64) -> Result<Box<dyn Connection>, DbError>;

    /// The endpoint names, without secrets.
    fn endpoints(&self) -> Vec<String>;

    /// The family.
    fn family(&self) -> Family;

    /// Whether its operations block the thread (embedded databases).
    fn blocks(&self) -> bool;

    /// The timeout of a connection attempt, including TLS and login; `None` for no limit.
    fn connect_timeout(&self) -> Option<Duration>;
}

thread_local! {
    /// See [`bound_waits`].
    static WAITS: RefCell<Option<Box<dyn Fn() -> bool>>> = const { RefCell::new(None) };
}

/// From now on, blocking operations of the calling thread wait for locks and compute only while
/// `go_on` returns true. An embedded database does not know when its run is over.
pub fn bound_waits(go_on: Box<dyn Fn() -> bool>) {
    WAITS.set(Some(go_on));
}

/// Whether [`bound_waits`] limits the calling thread.
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
