//! Prepared statements.

use std::ffi::c_int;

use dyno_core::db::{Param, StatementId};
use dyno_core::session::{ConnId, Request, SessionId};

use super::sql::of_outcome;
use super::{Address, export};
use crate::context::{STATEMENTS_CROWD, code, with};

export![
    dyno_statement_new,
    dyno_statement_free,
    dyno_statement_dropped,
    dyno_statement_close_dropped,
    dyno_statements_crowd,
    dyno_statements_collected,
    dyno_statement_bind,
    dyno_execute,
    dyno_statement_close,
];

pub(super) fn exported() -> usize {
    EXPORTS.len()
}

/// A prepared statement in a script.
struct Statement {
    session: SessionId,
    connection: ConnId,
    /// The server no longer has it, or has been asked to close it.
    is_closed: bool,
    id: StatementId,
    params: Vec<*const Param>,
}

/// The statement that the connection prepared last. Freed by `dyno_statement_free`.
#[unsafe(no_mangle)]
extern "C" fn dyno_statement_new(conn: ConnId) -> *mut Statement {
    let id = of_outcome(conn, |outcome| u64::from(outcome.statement)) as StatementId;
    let session = with(0, |cx| {
        cx.common.statements.live += 1;
        cx.session.id
    });
    Box::into_raw(Box::new(Statement {
        session,
        connection: conn,
        is_closed: false,
        id,
        params: Vec::new(),
    }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dyno_statement_free(statement: *mut Statement) {
    if statement.is_null() {
        return;
    }
    // SAFETY: made by `dyno_statement_new`; the collector frees it once.
    let statement = unsafe { Box::from_raw(statement) };
    with((), |cx| {
        let statements = &mut cx.common.statements;
        statements.live = statements.live.saturating_sub(1);
        // The collector runs in the turn of whichever session allocates.
        let place = (statement.session, statement.connection);
        if !statement.is_closed && cx.port.connection(place.0, place.1).is_some() {
            statements
                .dropped
                .entry(place)
                .or_default()
                .push(statement.id);
        }
    });
}

/// The number of a collected statement that was prepared on the connection; -1 if there are no
/// more.
#[unsafe(no_mangle)]
extern "C" fn dyno_statement_dropped(conn: ConnId) -> f64 {
    with(-1.0, |cx| {
        let place = (cx.session.id, conn);
        let dropped = &mut cx.common.statements.dropped;
        let Some(ids) = dropped.get_mut(&place) else {
            return -1.0;
        };
        let id = ids.pop().map_or(-1.0, f64::from);
        if ids.is_empty() {
            dropped.remove(&place);
        }
        id
    })
}

/// Closes the statement returned by [`dyno_statement_dropped`].
#[unsafe(no_mangle)]
extern "C" fn dyno_statement_close_dropped(conn: ConnId, id: StatementId) -> c_int {
    with(code::CLOSED, |mut cx| {
        cx.submit(conn, Request::CloseStatement(id))
    })
}

/// Whether there are enough statements for the garbage collector to run: it does not know their
/// cost on the server.
#[unsafe(no_mangle)]
extern "C" fn dyno_statements_crowd() -> bool {
    with(false, |cx| {
        let statements = &cx.common.statements;
        statements.live >= statements.collect_at
    })
}

/// The collector has run.
#[unsafe(no_mangle)]
extern "C" fn dyno_statements_collected() {
    with((), |cx| {
        let statements = &mut cx.common.statements;
        statements.collect_at = (2 * statements.live).max(STATEMENTS_CROWD);
    });
}

/// Binds parameters. The prelude keeps them alive as long as the statement.
#[unsafe(no_mangle)]
unsafe extern "C" fn dyno_statement_bind(
    statement: *mut Statement,
    params: *const *const Param,
    count: usize,
) {
    // SAFETY: the prelude passes a live statement and an array of `count` live parameters.
    unsafe { (*statement).params = std::slice::from_raw_parts(params, count).to_vec() };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dyno_execute(statement: usize) -> c_int {
    let statement = statement as *const Statement;
    // SAFETY: the prelude passes a live statement, whose parameters it keeps alive; a non-null
    // `*const Param` and a `&Param` have the same representation.
    let (statement, params) = unsafe {
        let statement = &*statement;
        let params = statement.params.as_slice();
        (
            statement,
            std::slice::from_raw_parts(params.as_ptr().cast::<&Param>(), params.len()),
        )
    };
    with(code::CLOSED, |mut cx| {
        cx.submit(statement.connection, Request::Execute(statement.id, params))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dyno_statement_close(statement: *mut Statement) -> c_int {
    // SAFETY: the prelude passes a live statement.
    let (conn, id) = unsafe {
        (*statement).is_closed = true;
        ((*statement).connection, (*statement).id)
    };
    with(code::CLOSED, |mut cx| {
        cx.submit(conn, Request::CloseStatement(id))
    })
}
