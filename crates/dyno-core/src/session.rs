//! The contract between a worker, which drives sessions, and the program that sessions run.
//!
//! [`Port::next_event`] decides when an event may start, so the worker owns limits and pacing;
//! [`Port::event_start`] and [`Port::event_stop`] bound what is measured. Code that cannot yield
//! uses [`Port::wait`] and [`Port::wait_event`], and its worker stands still with it.

use std::io;
use std::os::fd::RawFd;

use crate::bulk::BulkLoad;
use crate::clock::Nanos;
use crate::db::{Connection, DbError, Param, ParamKind, StatementId, Submitted, TransactionStep};

/// A session's number on its worker, from 0.
pub type SessionId = usize;
/// A connection's number in its session, from 0; never reused within the session.
pub type ConnId = u32;

/// What a session is told when it asks for its next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Next {
    /// The run is over for this session.
    Stop = 0,
    /// Go on.
    Go = 1,
    /// Yield first, then ask again: the event is not due, or others want their turn.
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
    /// How many there are.
    pub const COUNT: usize = 8;

    /// The counter of this number, if there is one.
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

/// The number of a named class of work, in the order that the script declares them, from 0.
pub type OperationId = u16;

/// How an attempt to do a named piece of work ended for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum OperationEnd {
    /// As the script wanted.
    Done = 0,
    /// Taken back because the workload says so, e.g. an order with an unknown item: no error.
    RolledBack = 1,
    /// Every try that is allowed ended with an error that may be retried, or one with an error that
    /// may not.
    GivenUp = 2,
    /// The connection was lost while the server was to make it last: nobody knows.
    Unknown = 3,
    /// A key was there already, and the script passes over these.
    Duplicate = 4,
}

impl OperationEnd {
    /// The end of this number, if there is one.
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

    /// Whether the event that it is part of counts: it was done, or taken back by design.
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
    /// Takes back the transaction that an error may have left: a request of the host's own, which
    /// is not counted among the script's.
    Recover,
    /// Prepare a statement.
    Prepare(&'a [u8], &'a [ParamKind]),
    /// Execute a prepared statement.
    Execute(StatementId, &'a [&'a Param]),
    /// Forget a prepared statement.
    CloseStatement(StatementId),
    /// Load rows.
    BulkLoad(BulkLoad),
    /// Step to the next result.
    NextResult,
    /// Send what waits in the connection's pipeline.
    EndPipeline,
}

/// An event that goes on without its session, as its worker left it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Detached {
    /// When it began.
    pub started: Nanos,
    /// When it was due; only in an open loop.
    pub scheduled: Nanos,
    /// It counts.
    pub measured: bool,
    /// The named piece of work under way, and when that began.
    pub work: Option<(OperationId, Nanos)>,
}

/// What a worker offers to the program of a session. Every method names the session.
pub trait Port {
    /// Begins a connection to the target; pending until the worker resumes the session.
    ///
    /// # Errors
    /// What fails before the first byte is sent.
    fn connect(&mut self, session: SessionId) -> Result<(ConnId, Submitted), DbError>;

    /// Starts an operation. When it is pending the session must yield; it is resumed when the
    /// operation has ended. The worker counts what came of it. `None`: no such connection.
    fn submit(
        &mut self,
        session: SessionId,
        conn: ConnId,
        operation: Request<'_>,
    ) -> Option<Submitted>;

    /// From now on statements wait on the connection until [`Request::EndPipeline`]. `None`: no
    /// such connection.
    ///
    /// # Errors
    /// The database has no pipelines, or one has begun.
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

    /// Waits until `next_event` would not answer [`Next::Wait`], for code that cannot yield.
    fn wait_event(&mut self, session: SessionId) -> Next;

    /// The event begins.
    fn event_start(&mut self, session: SessionId);

    /// The event has ended, and counts unless work in it did not come to a good end: given up,
    /// passed over, unknown.
    fn event_stop(&mut self, session: SessionId);

    /// The event, which has begun, goes on without the session, which may begin another one. It
    /// counts once it was attached again and stopped; one that never is has not ended.
    fn event_detach(&mut self, session: SessionId) -> Detached;

    /// The session, which is in no event, takes a detached one up again.
    fn event_attach(&mut self, session: SessionId, event: Detached);

    /// From now on the session is resumed, too, when this descriptor becomes readable while the
    /// session waits for time. Only once for each session.
    ///
    /// # Errors
    /// A descriptor that cannot be waited for.
    fn watch(&mut self, session: SessionId, fd: RawFd) -> io::Result<()>;

    /// A named piece of work begins within the event.
    fn operation_start(&mut self, session: SessionId, operation: OperationId);

    /// It failed with an error that may be retried, and is tried again.
    fn operation_retry(&mut self, session: SessionId);

    /// It has ended.
    fn operation_stop(&mut self, session: SessionId, end: OperationEnd);

    /// The event is put off: it begins again when the session is resumed at `now + duration`, for
    /// which it must yield. What has passed of it does not count.
    fn think(&mut self, session: SessionId, duration_ns: Nanos);

    /// The time to think is over. False when the run is, too: the event does not begin any more.
    fn thought(&mut self, session: SessionId) -> bool;

    /// Puts the session to sleep: it must yield, and is resumed at `now + duration`.
    fn sleep(&mut self, session: SessionId, duration_ns: Nanos);

    /// Waits for the end of a `sleep` or a `think` where the session cannot yield. False when the
    /// run is over before.
    fn wait_sleep(&mut self, session: SessionId) -> bool;

    /// Adds to a counter.
    fn count(&mut self, session: SessionId, counter: Counter, amount: u64);

    /// The session's own total of a counter.
    fn counted(&self, session: SessionId, counter: Counter) -> u64;

    /// The error that was counted last as one that the script ignores ended the session.
    fn error_not_ignored(&mut self, session: SessionId);

    /// An event is repeated after an error that scripts may ignore: work in it that was given up
    /// does not speak against it.
    fn count_retry(&mut self, session: SessionId);
}

/// What a session is to do.
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
    /// A function that the script may define, e.g. `init`; nothing if it does not.
    Call(String),
    /// A function of the script's table of hooks, with the argument that the host holds ready.
    Hook(String),
}

/// How a session's turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// It waits for a connection or for time.
    Waiting,
    /// It gave way and can go on at once.
    Yielded,
    /// The entry has returned.
    Finished,
    /// The entry failed, with a message for the user.
    Failed(String),
}

/// What a worker drives: the scripts of its sessions.
pub trait Program {
    /// Prepares the session to run `entry`; the first `resume` starts it.
    ///
    /// # Errors
    /// A message for the user.
    fn enter(&mut self, session: SessionId, tid: u32, entry: &Entry) -> Result<(), String>;

    /// Gives the session its turn, until it waits, yields or ends.
    fn resume(&mut self, port: &mut dyn Port, session: SessionId) -> Step;
}
