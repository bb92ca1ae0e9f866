//! The contract between a worker, which drives sessions, and the program that sessions run.
//!
//! [`Port::next_event`] decides when an event may start, so the worker owns limits and pacing;
//! [`Port::event_start`] and [`Port::event_stop`] bound what is measured. Code that cannot yield
//! uses [`Port::wait`] and [`Port::wait_event`], which block its worker.

use std::io;
use std::os::fd::RawFd;

use crate::bulk::BulkLoad;
use crate::clock::Nanos;
use crate::db::{Connection, DbError, Param, ParamKind, StatementId, Submitted, TransactionStep};

/// A session's number on its worker, from 0.
pub type SessionId = usize;
/// A connection's number in its session, from 0; never reused within the session.
pub type ConnId = u32;

/// The answer when a session asks for its next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Next {
    /// The run is over for this session.
    Stop = 0,
    /// The next event may begin.
    Go = 1,
    /// Yield first, then ask again: the event is not due, or other sessions want their turn.
    Wait = 2,
}

/// sysbench's counters, in its order: scripts name them by these numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Counter {
    /// Statements that neither read nor changed rows.
    Other = 0,
    /// Statements with a result set.
    Read = 1,
    /// Statements that changed rows.
    Write = 2,
    /// Events.
    Event = 3,
    /// Ignored errors.
    Error = 4,
    /// Reconnects.
    Reconnect = 5,
    /// Bytes received.
    BytesRead = 6,
    /// Bytes sent.
    BytesWritten = 7,
}

impl Counter {
    /// Number of counters.
    pub const COUNT: usize = 8;

    /// The counter with this number.
    pub fn from_index(index: i32) -> Option<Self> {
        use Counter::*;
        [
            Other,
            Read,
            Write,
            Event,
            Error,
            Reconnect,
            BytesRead,
            BytesWritten,
        ]
        .get(usize::try_from(index).ok()?)
        .copied()
    }
}

/// The number of a named operation, from 0, in the order of declaration.
pub type OperationId = u16;

/// How a named operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum OperationEnd {
    /// The work was done as the script intended.
    Done = 0,
    /// Rolled back by design of the workload, e.g. an order with an unknown item; not an error.
    RolledBack = 1,
    /// All allowed tries failed, or an error cannot be retried.
    GivenUp = 2,
    /// The connection was lost during the commit, so the result is unknown.
    Unknown = 3,
    /// A duplicate key that the script skips.
    Duplicate = 4,
}

impl OperationEnd {
    /// The end with this number.
    pub fn from_index(index: i32) -> Option<Self> {
        [
            Self::Done,
            Self::RolledBack,
            Self::GivenUp,
            Self::Unknown,
            Self::Duplicate,
        ]
        .get(usize::try_from(index).ok()?)
        .copied()
    }

    /// Whether its event counts: done, or rolled back by design.
    pub fn counts(self) -> bool {
        matches!(self, Self::Done | Self::RolledBack)
    }
}

/// An operation on a connection.
pub enum Request<'a> {
    /// A text statement.
    Query(&'a [u8]),
    /// A step of a transaction.
    Transaction(TransactionStep),
    /// Rolls back a transaction that an error may have left open. Sent by Dyno, so not counted
    /// among the script's statements.
    Recover,
    /// Prepare a statement.
    Prepare(&'a [u8], &'a [ParamKind]),
    /// Execute a prepared statement.
    Execute(StatementId, &'a [&'a Param]),
    /// Close a prepared statement.
    CloseStatement(StatementId),
    /// Load rows.
    BulkLoad(BulkLoad),
    /// Step to the next result.
    NextResult,
    /// Send the statements queued in the connection's pipeline.
    EndPipeline,
}

/// An event that was detached from its session, with its state.
#[derive(Clone, Copy, Debug, Default)]
pub struct Detached {
    /// When it began.
    pub started: Nanos,
    /// When it was due; open loop only.
    pub scheduled: Nanos,
    /// Whether it counts.
    pub measured: bool,
    /// The operation in progress, with its start.
    pub work: Option<(OperationId, Nanos)>,
}

/// What a worker provides to the program of a session. Every method takes the session.
pub trait Port {
    /// Starts a connection to the target; pending until the worker resumes the session.
    ///
    /// # Errors
    /// Failures before the first byte is sent.
    fn connect(&mut self, session: SessionId) -> Result<(ConnId, Submitted), DbError>;

    /// Starts an operation. If it is pending, the session must yield; it is resumed when the
    /// operation has ended. The worker counts the result. `None`: no such connection.
    fn submit(
        &mut self,
        session: SessionId,
        conn: ConnId,
        operation: Request<'_>,
    ) -> Option<Submitted>;

    /// From now on, statements on the connection are queued until [`Request::EndPipeline`]. `None`:
    /// no such connection.
    ///
    /// # Errors
    /// The database has no pipelines, or one is already open.
    fn start_pipeline(&mut self, session: SessionId, conn: ConnId) -> Option<Result<(), DbError>> {
        Some(self.connection(session, conn)?.start_pipeline())
    }

    /// Waits for the pending operation without yielding, for code that cannot yield.
    fn wait(&mut self, session: SessionId, conn: ConnId);

    /// The connection, for its outcome and rows. `None`: no such connection.
    fn connection(&mut self, session: SessionId, conn: ConnId) -> Option<&mut dyn Connection>;

    /// Closes the connection.
    fn disconnect(&mut self, session: SessionId, conn: ConnId);

    /// Whether the session may begin another event.
    fn next_event(&mut self, session: SessionId) -> Next;

    /// Blocks until `next_event` would not answer [`Next::Wait`], for code that cannot yield.
    fn wait_event(&mut self, session: SessionId) -> Next;

    /// The event begins.
    fn event_start(&mut self, session: SessionId);

    /// The event has ended. It counts unless its work was given up, skipped or has an unknown
    /// result.
    fn event_stop(&mut self, session: SessionId);

    /// Detaches the current event, so that the session may begin another one. It counts once it was
    /// attached again and stopped; an event that is never attached has not ended.
    fn event_detach(&mut self, session: SessionId) -> Detached;

    /// Attaches a detached event to the session, which must be in no event.
    fn event_attach(&mut self, session: SessionId, event: Detached);

    /// From now on, a session that waits for time is also resumed when this descriptor becomes
    /// readable. At most once per session.
    ///
    /// # Errors
    /// The descriptor cannot be polled.
    fn watch(&mut self, session: SessionId, fd: RawFd) -> io::Result<()>;

    /// A named operation begins within the event.
    fn operation_start(&mut self, session: SessionId, operation: OperationId);

    /// It failed with a retryable error and is tried again.
    fn operation_retry(&mut self, session: SessionId);

    /// It has ended.
    fn operation_stop(&mut self, session: SessionId, end: OperationEnd);

    /// Postpones the event: it begins again when the session is resumed at `now + duration`; the
    /// session must yield until then. The time before does not count.
    fn think(&mut self, session: SessionId, duration_ns: Nanos);

    /// The think time is over. False if the run is over too, so that the event does not begin.
    fn thought(&mut self, session: SessionId) -> bool;

    /// Puts the session to sleep: it must yield, and is resumed at `now + duration`.
    fn sleep(&mut self, session: SessionId, duration_ns: Nanos);

    /// Blocks until the end of a `sleep` or a `think`, for code that cannot yield. False if the run
    /// ends first.
    fn wait_sleep(&mut self, session: SessionId) -> bool;

    /// Adds to a counter.
    fn count(&mut self, session: SessionId, counter: Counter, amount: u64);

    /// The session's total of a counter.
    fn counted(&self, session: SessionId, counter: Counter) -> u64;

    /// The last error, counted as ignored, ended the session.
    fn error_not_ignored(&mut self, session: SessionId);

    /// An event is repeated after an ignorable error: work that was given up in it does not count
    /// against it.
    fn count_retry(&mut self, session: SessionId);
}

/// The entry that a session runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Run the script's top level and `thread_init`.
    Init,
    /// `thread_run`, by default a loop over `event`.
    Run,
    /// `thread_done`.
    Done,
    /// A command of the script, e.g. `prepare`.
    Command(String),
    /// A function that the script may define, e.g. `init`; skipped if undefined.
    Call(String),
    /// A function of the script's table of hooks, with the argument that the host has prepared.
    Hook(String),
}

/// How a session's turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// It waits for a connection or for time.
    Waiting,
    /// It yielded and can continue at once.
    Yielded,
    /// The entry has returned.
    Finished,
    /// The entry failed, with a message for the user.
    Failed(String),
}

/// The scripts of the sessions that a worker drives.
pub trait Program {
    /// Prepares the session to run `entry`; the first `resume` starts it.
    ///
    /// # Errors
    /// A message for the user.
    fn enter(&mut self, session: SessionId, tid: u32, entry: &Entry) -> Result<(), String>;

    /// Runs the session until it waits, yields or ends.
    fn resume(&mut self, port: &mut dyn Port, session: SessionId) -> Step;
}
