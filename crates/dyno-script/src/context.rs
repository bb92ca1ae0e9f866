//! Whose turn it is: what the C functions that scripts call act upon.

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
    /// LuaJIT's own; absent from mlua's bindings for Lua 5.1.
    fn lua_isyieldable(state: *mut lua_State) -> libc::c_int;
}

/// What a script's call answers, shared with the prelude.
pub(crate) mod code {
    /// The answer is still to come: yield.
    pub(crate) const PENDING: i32 = 0;
    pub(crate) const ROWS: i32 = 1;
    pub(crate) const DONE: i32 = 2;
    pub(crate) const FAILED: i32 = 3;
    pub(crate) const PREPARED: i32 = 4;
    pub(crate) const CLOSED: i32 = 5;
    pub(crate) const CONNECTED: i32 = 6;
}

/// What belongs to one session on the host's side.
pub(crate) struct SessionState {
    pub(crate) id: SessionId,
    /// The coroutine of the entry under way.
    pub(crate) thread: *mut lua_State,
    /// The connection whose outcome the coroutine waits for.
    pub(crate) waiting: Option<ConnId>,
    pub(crate) stream: Stream,
    /// The connection made last.
    pub(crate) connection: ConnId,
    pub(crate) failure: Option<Box<Failure>>,
    pub(crate) bulk: Option<Box<BulkInsert>>,
    pub(crate) load: Option<Box<BulkLoad>>,
    /// Rows that it made and that wait to be loaded.
    pub(crate) rows: Rows,
    /// What it entered into the ledger.
    pub(crate) entries: Entries,
}

/// The last error, kept where C strings can be read from.
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

/// What belongs to all sessions of a host.
pub(crate) struct Common {
    /// The run's seed.
    pub(crate) seed: u64,
    pub(crate) distributions: Distributions,
    pub(crate) rand_kind: dyno_core::plan::RandKind,
    pub(crate) unique: Unique,
    /// How many unique numbers the run has drawn.
    pub(crate) unique_count: Arc<AtomicU64>,
    /// What it counts by.
    pub(crate) unique_step: u64,
    pub(crate) texts: TextMaker,
    /// The row fetched last, and a buffer for strings.
    pub(crate) row: Row,
    pub(crate) text: Vec<u8>,
    pub(crate) statements: Statements,
}

/// After so many prepared statements the collector looks for the first time which are still held.
pub(crate) const STATEMENTS_CROWD: usize = 256;

/// What scripts made of prepared statements.
pub(crate) struct Statements {
    /// Held, or not collected yet.
    pub(crate) live: usize,
    /// With so many it is time to collect.
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

/// The current turn.
#[derive(Clone, Copy)]
pub(crate) struct Turn {
    pub(crate) port: *mut dyn Port,
    pub(crate) session: *mut SessionState,
    pub(crate) common: *mut Common,
}

thread_local! {
    static TURN: Cell<Option<Turn>> = const { Cell::new(None) };
}

/// Makes `turn` current until the answer is dropped, which brings the former one back.
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

/// What a C function acts upon.
pub(crate) struct Context<'a> {
    pub(crate) port: &'a mut dyn Port,
    pub(crate) session: &'a mut SessionState,
    pub(crate) common: &'a mut Common,
}

/// Runs `act` on the current turn; `otherwise` where no session has its turn (a script's C call
/// from a foreign thread).
#[inline]
pub(crate) fn with<R>(otherwise: R, act: impl FnOnce(Context<'_>) -> R) -> R {
    let Some(turn) = TURN.get() else {
        return otherwise;
    };
    // SAFETY: the guard that set the turn outlives the call that leads here; the three pointers
    // name distinct objects, which only the current C function touches while it runs.
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
    /// Starts an operation and answers its outcome, or [`code::PENDING`].
    #[inline]
    pub(crate) fn submit(&mut self, conn: ConnId, request: Request<'_>) -> i32 {
        match self.port.submit(self.session.id, conn, request) {
            Some(Submitted::Pending) => self.pend(conn),
            Some(Submitted::Ready) => outcome_at_once(self.port, self.session, conn),
            None => self.misuse("the connection is closed"),
        }
    }

    /// Answers [`code::PENDING`] if the script can yield here, else waits for the outcome.
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
        // SAFETY: the coroutine is the one that runs, so it is alive.
        unsafe { lua_isyieldable(self.session.thread) != 0 }
    }

    /// An error of the script itself.
    pub(crate) fn misuse(&mut self, message: &str) -> i32 {
        self.session.fail(&DbError::new(ErrorKind::Misuse, message));
        code::FAILED
    }
}

/// The outcome of the connection's last operation as a number.
// Once per operation; its failure is out of the way.
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

/// The same where an operation has ended within the call that began it, as few do.
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
