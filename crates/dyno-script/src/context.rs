//! The current session: the state that C functions called by scripts act on.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use dyno_core::bulk::BulkLoad;
use dyno_core::db::{DbError, ErrorKind, Outcome, OutcomeKind, Row, StatementId, Submitted};
use dyno_core::rand::Stream;
use dyno_core::session::{ConnId, Port, Request, SessionId};
use mlua::ffi::lua_State;

use crate::distributions::{Distributions, TextMaker, Unique};
use crate::ledger::Entries;
use crate::rows::Rows;

unsafe extern "C" {
    /// A function of LuaJIT that mlua's bindings for Lua 5.1 lack.
    fn lua_isyieldable(state: *mut lua_State) -> libc::c_int;
}

/// The results of a script's call, shared with the prelude.
pub(crate) mod code {
    /// The answer has not arrived: yield.
    pub(crate) const PENDING: i32 = 0;
    pub(crate) const ROWS: i32 = 1;
    pub(crate) const DONE: i32 = 2;
    pub(crate) const FAILED: i32 = 3;
    pub(crate) const PREPARED: i32 = 4;
    pub(crate) const CLOSED: i32 = 5;
    pub(crate) const CONNECTED: i32 = 6;
}

/// A session's state in the host.
pub(crate) struct SessionState {
    pub(crate) id: SessionId,
    /// The coroutine of the running entry.
    pub(crate) thread: *mut lua_State,
    /// The connection that the coroutine waits for.
    pub(crate) waiting: Option<ConnId>,
    pub(crate) stream: Stream,
    /// The last connection made.
    pub(crate) connection: ConnId,
    pub(crate) failure: Option<Box<Failure>>,
    pub(crate) bulk: Option<Box<BulkInsert>>,
    pub(crate) load: Option<Box<BulkLoad>>,
    /// Rows that it created, waiting to be loaded.
    pub(crate) rows: Rows,
    /// Its ledger entries.
    pub(crate) entries: Entries,
}

/// The last error, stored where C strings can be read from it.
pub(crate) struct Failure {
    pub(crate) code: i32,
    pub(crate) kind: ErrorKind,
    /// The connection is lost; see [`DbError::lost_connection`].
    pub(crate) lost: bool,
    pub(crate) state: CString,
    pub(crate) message: String,
}

/// A multi-row INSERT under construction.
pub(crate) struct BulkInsert {
    pub(crate) prefix: Vec<u8>,
    pub(crate) statement: Vec<u8>,
}

impl SessionState {
    pub(crate) fn new(id: SessionId, stream: Stream) -> Self {
        Self {
            id,
            thread: std::ptr::null_mut(),
            waiting: None,
            stream,
            connection: 0,
            failure: None,
            bulk: None,
            load: None,
            rows: Rows::default(),
            entries: Entries::default(),
        }
    }

    pub(crate) fn fail(&mut self, error: &DbError) {
        let state = CString::new(error.sqlstate.replace('\0', "")).unwrap_or_default();
        let message = error.message.clone();
        self.failure = Some(Box::new(Failure {
            code: error.code,
            kind: error.kind,
            lost: error.lost_connection(),
            state,
            message,
        }));
    }
}

/// State shared by all sessions of a host.
pub(crate) struct Common {
    /// The run's seed.
    pub(crate) seed: u64,
    pub(crate) distributions: Distributions,
    pub(crate) rand_kind: dyno_core::plan::RandKind,
    pub(crate) unique: Unique,
    /// The number of unique numbers drawn in the run.
    pub(crate) unique_count: Arc<AtomicU64>,
    /// The step of that counter.
    pub(crate) unique_step: u64,
    pub(crate) texts: TextMaker,
    /// The last row fetched, and a buffer for strings.
    pub(crate) row: Row,
    pub(crate) text: Vec<u8>,
    pub(crate) statements: Statements,
}

/// The number of prepared statements at which the garbage collector first looks for unused ones.
pub(crate) const STATEMENTS_CROWD: usize = 256;

/// The prepared statements of scripts.
pub(crate) struct Statements {
    /// In use, or not collected yet.
    pub(crate) live: usize,
    /// The number at which to collect.
    pub(crate) collect_at: usize,
    /// Collected without having been closed, by session and connection.
    pub(crate) dropped: HashMap<(SessionId, ConnId), Vec<StatementId>>,
}

impl Default for Statements {
    fn default() -> Self {
        Self {
            live: 0,
            collect_at: STATEMENTS_CROWD,
            dropped: HashMap::new(),
        }
    }
}

/// The turn of the current session.
#[derive(Clone, Copy)]
pub(crate) struct Turn {
    pub(crate) port: *mut dyn Port,
    pub(crate) session: *mut SessionState,
    pub(crate) common: *mut Common,
}

thread_local! {
    static TURN: Cell<Option<Turn>> = const { Cell::new(None) };
}

/// Restores the previous turn when dropped.
pub(crate) struct TurnGuard(Option<Turn>);

impl TurnGuard {
    #[inline]
    pub(crate) fn enter(turn: Turn) -> Self {
        Self(TURN.replace(Some(turn)))
    }
}

impl Drop for TurnGuard {
    #[inline]
    fn drop(&mut self) {
        TURN.set(self.0);
    }
}

/// The state that a C function acts on.
pub(crate) struct Context<'a> {
    pub(crate) port: &'a mut dyn Port,
    pub(crate) session: &'a mut SessionState,
    pub(crate) common: &'a mut Common,
}

/// Runs `act` on the current turn; returns `otherwise` if no session has its turn (a script's C
/// call from a foreign thread).
#[inline]
pub(crate) fn with<R>(otherwise: R, act: impl FnOnce(Context<'_>) -> R) -> R {
    let Some(turn) = TURN.get() else {
        return otherwise;
    };
    // SAFETY: the guard that set the turn outlives the call that leads here; the three pointers
    // refer to distinct objects, which only the current C function uses while it runs.
    let context = unsafe {
        Context {
            port: &mut *turn.port,
            session: &mut *turn.session,
            common: &mut *turn.common,
        }
    };
    act(context)
}

impl Context<'_> {
    /// Starts an operation and returns its outcome, or [`code::PENDING`].
    #[inline]
    pub(crate) fn submit(&mut self, conn: ConnId, request: Request<'_>) -> i32 {
        match self.port.submit(self.session.id, conn, request) {
            Some(Submitted::Pending) => self.pend(conn),
            Some(Submitted::Ready) => outcome_at_once(self.port, self.session, conn),
            None => self.misuse("the connection is closed"),
        }
    }

    /// Returns [`code::PENDING`] if the script can yield here, else waits for the outcome.
    #[inline]
    pub(crate) fn pend(&mut self, conn: ConnId) -> i32 {
        if self.can_yield() {
            self.session.waiting = Some(conn);
            return code::PENDING;
        }
        self.port.wait(self.session.id, conn);
        outcome_at_once(self.port, self.session, conn)
    }

    #[inline]
    pub(crate) fn can_yield(&self) -> bool {
        // SAFETY: the coroutine is running, so it is alive.
        unsafe { lua_isyieldable(self.session.thread) != 0 }
    }

    /// An error of the script itself.
    pub(crate) fn misuse(&mut self, message: &str) -> i32 {
        self.session.fail(&DbError::new(ErrorKind::Misuse, message));
        code::FAILED
    }
}

/// The outcome of the connection's last operation as a number.
// Once per operation; failures are handled out of line.
#[inline(always)]
pub(crate) fn outcome(port: &mut dyn Port, session: &mut SessionState, conn: ConnId) -> i32 {
    let Some(connection) = port.connection(session.id, conn) else {
        return code::CLOSED;
    };
    let outcome = connection.outcome();
    match outcome.kind {
        OutcomeKind::Rows => code::ROWS,
        OutcomeKind::Done | OutcomeKind::Piped => code::DONE,
        OutcomeKind::Prepared => code::PREPARED,
        OutcomeKind::Connected => code::CONNECTED,
        OutcomeKind::None => code::CLOSED,
        OutcomeKind::Failed => failed(session, outcome),
    }
}

/// The rare case that an operation ended within the call that started it.
#[inline(never)]
pub(crate) fn outcome_at_once(
    port: &mut dyn Port,
    session: &mut SessionState,
    conn: ConnId,
) -> i32 {
    outcome(port, session, conn)
}

#[cold]
fn failed(session: &mut SessionState, outcome: &Outcome) -> i32 {
    match &outcome.error {
        Some(error) => session.fail(error),
        None => session.fail(&DbError::new(ErrorKind::Lost, "the connection failed")),
    }
    code::FAILED
}
