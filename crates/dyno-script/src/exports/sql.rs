//! Connections, parameters, results.

use std::ffi::{c_char, c_int};

use dyno_core::db::{Connection, Param, ParamKind, TransactionStep};
use dyno_core::session::{ConnId, Request};

use super::{Address, TEXT_BYTES_MAX, export};
use crate::context::{BulkInsert, code, outcome_at_once, with};

export![
    dyno_connect,
    dyno_connection_id,
    dyno_query,
    dyno_recover,
    dyno_begin,
    dyno_commit,
    dyno_rollback,
    dyno_prepare,
    dyno_next_result,
    dyno_keep_names,
    dyno_column_name,
    dyno_start_pipeline,
    dyno_end_pipeline,
    dyno_drop_pipeline,
    dyno_disconnect,
    dyno_more_results,
    dyno_result_rows,
    dyno_result_columns,
    dyno_affected,
    dyno_next_row,
    dyno_field,
    dyno_first_row,
    dyno_free_result,
    dyno_error_number,
    dyno_error_state,
    dyno_error_message,
    dyno_error_lost,
    dyno_error_kind,
    dyno_param_new,
    dyno_param_free,
    dyno_param_set_bytes,
    dyno_param_rand_str,
    dyno_param_bytes,
    dyno_bulk_begin,
    dyno_bulk_add,
    dyno_bulk_flush,
    dyno_bulk_load,
];

pub(super) fn exported() -> usize {
    EXPORTS.len()
}

/// The size in bytes at which a multi-row INSERT is sent.
const BULK_INSERT_BYTES_MAX: usize = 512 * 1024;

/// The bytes passed by a script.
///
/// # Safety
/// `text` must point to `len` bytes that live as long as the call.
unsafe fn bytes<'a>(text: *const c_char, len: usize) -> &'a [u8] {
    if text.is_null() {
        return &[];
    }
    // SAFETY: guaranteed by the caller.
    unsafe { std::slice::from_raw_parts(text.cast(), len) }
}

#[unsafe(no_mangle)]
extern "C" fn dyno_connect() -> c_int {
    with(code::CLOSED, |mut cx| {
        match cx.port.connect(cx.session.id) {
            Ok((conn, submitted)) => {
                cx.session.connection = conn;
                match submitted {
                    dyno_core::db::Submitted::Pending => cx.pend(conn),
                    dyno_core::db::Submitted::Ready => outcome_at_once(cx.port, cx.session, conn),
                }
            }
            Err(error) => {
                cx.session.fail(&error);
                code::FAILED
            }
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn dyno_connection_id() -> c_int {
    with(-1, |cx| cx.session.connection as c_int)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dyno_query(conn: ConnId, sql: *const c_char, len: usize) -> c_int {
    // SAFETY: LuaJIT passes a string and its length.
    let sql = unsafe { bytes(sql, len) };
    with(code::CLOSED, |mut cx| cx.submit(conn, Request::Query(sql)))
}

#[unsafe(no_mangle)]
extern "C" fn dyno_begin(conn: ConnId, read_only: bool) -> c_int {
    take(conn, TransactionStep::Begin { read_only })
}

#[unsafe(no_mangle)]
extern "C" fn dyno_commit(conn: ConnId) -> c_int {
    take(conn, TransactionStep::Commit)
}

#[unsafe(no_mangle)]
extern "C" fn dyno_rollback(conn: ConnId) -> c_int {
    take(conn, TransactionStep::Rollback)
}

fn take(conn: ConnId, step: TransactionStep) -> c_int {
    with(code::CLOSED, |mut cx| {
        cx.submit(conn, Request::Transaction(step))
    })
}

/// Ends a transaction that an ignored error has interrupted.
#[unsafe(no_mangle)]
extern "C" fn dyno_recover(conn: ConnId) -> c_int {
    with(code::CLOSED, |mut cx| cx.submit(conn, Request::Recover))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dyno_prepare(
    conn: ConnId,
    sql: *const c_char,
    len: usize,
    kinds: *const u32,
    count: usize,
) -> c_int {
    // SAFETY: LuaJIT passes a string and its length, and an array of `count` numbers.
    let (sql, kinds) = unsafe { (bytes(sql, len), std::slice::from_raw_parts(kinds, count)) };
    let kinds: Vec<ParamKind> = kinds.iter().map(|kind| param_kind(*kind)).collect();
    with(code::CLOSED, |mut cx| {
        cx.submit(conn, Request::Prepare(sql, &kinds))
    })
}

fn param_kind(number: u32) -> ParamKind {
    match number {
        0 => ParamKind::Int,
        1 => ParamKind::Double,
        _ => ParamKind::Bytes,
    }
}

#[unsafe(no_mangle)]
extern "C" fn dyno_next_result(conn: ConnId) -> c_int {
    with(code::CLOSED, |mut cx| cx.submit(conn, Request::NextResult))
}

/// Runs an action on an open connection.
#[inline]
fn on(conn: ConnId, act: impl FnOnce(&mut dyn Connection)) {
    with((), |cx| {
        if let Some(connection) = cx.port.connection(cx.session.id, conn) {
            act(connection);
        }
    });
}

/// Keeps column names from now on.
#[unsafe(no_mangle)]
extern "C" fn dyno_keep_names(conn: ConnId) {
    on(conn, |connection| connection.keep_names());
}

/// The name of a column of a result of the last text statement, both from 0; null after the last.
/// It is valid until the next call.
#[unsafe(no_mangle)]
unsafe extern "C" fn dyno_column_name(
    conn: ConnId,
    result: u32,
    column: u32,
    len: *mut usize,
) -> *const c_char {
    with(std::ptr::null(), |cx| {
        let connection = cx.port.connection(cx.session.id, conn);
        let names = connection.as_deref().map_or(&[][..], |own| own.names());
        let name = names
            .get(result as usize)
            .and_then(|names| names.get(column as usize));
        let Some(name) = name else {
            return std::ptr::null();
        };
        let text = &mut cx.common.text;
        text.clear();
        text.extend_from_slice(name.as_bytes());
        // SAFETY: the prelude passes the address of a size_t.
        unsafe { *len = text.len() };
        text.as_ptr().cast()
    })
}

/// Queues statements from now on, until [`dyno_end_pipeline`].
#[unsafe(no_mangle)]
extern "C" fn dyno_start_pipeline(conn: ConnId) -> c_int {
    with(code::CLOSED, |mut cx| {
        match cx.port.start_pipeline(cx.session.id, conn) {
            None => cx.misuse("the connection is closed"),
            Some(Ok(())) => code::DONE,
            Some(Err(error)) => {
                cx.session.fail(&error);
                code::FAILED
            }
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn dyno_end_pipeline(conn: ConnId) -> c_int {
    with(code::CLOSED, |mut cx| cx.submit(conn, Request::EndPipeline))
}

#[unsafe(no_mangle)]
extern "C" fn dyno_drop_pipeline(conn: ConnId) {
    on(conn, |connection| connection.drop_pipeline());
}

#[unsafe(no_mangle)]
extern "C" fn dyno_disconnect(conn: ConnId) {
    with((), |cx| cx.port.disconnect(cx.session.id, conn));
}

/// A number from the connection's last outcome; 0 if it is closed.
pub(super) fn of_outcome(conn: ConnId, figure: impl FnOnce(&dyno_core::db::Outcome) -> u64) -> u64 {
    with(0, |cx| {
        cx.port
            .connection(cx.session.id, conn)
            .map_or(0, |c| figure(c.outcome()))
    })
}

#[unsafe(no_mangle)]
extern "C" fn dyno_more_results(conn: ConnId) -> c_int {
    of_outcome(conn, |outcome| u64::from(outcome.more)) as c_int
}

#[unsafe(no_mangle)]
extern "C" fn dyno_result_rows(conn: ConnId) -> f64 {
    of_outcome(conn, |outcome| outcome.rows) as f64
}

#[unsafe(no_mangle)]
extern "C" fn dyno_result_columns(conn: ConnId) -> f64 {
    of_outcome(conn, |outcome| u64::from(outcome.columns)) as f64
}

#[unsafe(no_mangle)]
extern "C" fn dyno_affected(conn: ConnId) -> f64 {
    of_outcome(conn, |outcome| outcome.affected) as f64
}

/// Steps to the next row. Returns its number of fields, -1 after the last.
#[unsafe(no_mangle)]
extern "C" fn dyno_next_row(conn: ConnId) -> c_int {
    with(-1, |cx| {
        let row = &mut cx.common.row;
        row.clear();
        let fetched = cx
            .port
            .connection(cx.session.id, conn)
            .is_some_and(|connection| connection.next_row(row));
        if fetched { row.ends.len() as c_int } else { -1 }
    })
}

/// A field of the last row fetched; null for NULL.
#[unsafe(no_mangle)]
unsafe extern "C" fn dyno_field(index: u32, len: *mut usize) -> *const c_char {
    with(std::ptr::null(), |cx| {
        match cx.common.row.field(index as usize) {
            Some(field) => {
                // SAFETY: the prelude passes the address of a size_t.
                unsafe { *len = field.len() };
                field.as_ptr().cast()
            }
            None => std::ptr::null(),
        }
    })
}

/// A field, as declared in the prelude.
#[repr(C)]
struct Cell {
    /// Null for NULL.
    text: *const c_char,
    len: u32,
}

/// Writes the first row's fields, as many as fit, and discards the rest of the result. Returns the
/// number of fields, -1 without a row. They stay valid until another row is fetched.
#[unsafe(no_mangle)]
unsafe extern "C" fn dyno_first_row(conn: ConnId, cells: *mut Cell, room: u32) -> c_int {
    with(-1, |cx| {
        let row = &mut cx.common.row;
        row.clear();
        let Some(connection) = cx.port.connection(cx.session.id, conn) else {
            return -1;
        };
        let fetched = connection.next_row(row);
        connection.free_result();
        if !fetched {
            return -1;
        }
        let mut start = 0;
        for (index, end) in row.ends.iter().take(room as usize).enumerate() {
            let field = end.and_then(|end| row.bytes.get(start..end as usize));
            start += field.map_or(0, <[u8]>::len);
            let cell = Cell {
                text: field.map_or(std::ptr::null(), |field| field.as_ptr().cast()),
                len: field.map_or(0, <[u8]>::len) as u32,
            };
            // SAFETY: the prelude passes an array of this size.
            unsafe { cells.add(index).write(cell) };
        }
        row.ends.len() as c_int
    })
}

#[unsafe(no_mangle)]
extern "C" fn dyno_free_result(conn: ConnId) {
    on(conn, |connection| connection.free_result());
}

#[unsafe(no_mangle)]
extern "C" fn dyno_error_number() -> c_int {
    with(0, |cx| {
        cx.session
            .failure
            .as_ref()
            .map_or(0, |failure| failure.code)
    })
}

#[unsafe(no_mangle)]
extern "C" fn dyno_error_state() -> *const c_char {
    with(c"".as_ptr(), |cx| match &cx.session.failure {
        Some(failure) => failure.state.as_ptr(),
        None => c"".as_ptr(),
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dyno_error_message(len: *mut usize) -> *const c_char {
    with(c"".as_ptr(), |cx| {
        let message = cx
            .session
            .failure
            .as_ref()
            .map_or("", |failure| &failure.message);
        // SAFETY: the prelude passes the address of a size_t.
        unsafe { *len = message.len() };
        message.as_ptr().cast()
    })
}

/// 1 for a lost connection, else 0.
#[unsafe(no_mangle)]
extern "C" fn dyno_error_lost() -> c_int {
    with(0, |cx| {
        let lost = cx.session.failure.as_ref().map(|failure| failure.lost);
        c_int::from(lost == Some(true))
    })
}

/// The name of the error's kind.
#[unsafe(no_mangle)]
unsafe extern "C" fn dyno_error_kind(len: *mut usize) -> *const c_char {
    let name = with("", |cx| {
        let failure = cx.session.failure.as_ref();
        failure.map_or("", |failure| failure.kind.name())
    });
    // SAFETY: the prelude passes the address of a size_t.
    unsafe { *len = name.len() };
    name.as_ptr().cast()
}

#[unsafe(no_mangle)]
extern "C" fn dyno_param_new(kind: u32, capacity: usize) -> *mut Param {
    let param = Param::new(param_kind(kind), capacity.min(TEXT_BYTES_MAX));
    Box::into_raw(Box::new(param))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dyno_param_free(param: *mut Param) {
    if !param.is_null() {
        // SAFETY: made by `dyno_param_new`; the collector frees it once.
        drop(unsafe { Box::from_raw(param) });
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dyno_param_set_bytes(param: *mut Param, text: *const c_char, len: usize) {
    // SAFETY: the prelude passes a live parameter, a string and its length.
    unsafe { (*param).set_bytes(bytes(text, len)) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dyno_param_rand_str(param: *mut Param, format: *const c_char, len: usize) {
    // SAFETY: the prelude passes a live parameter, a string and its length.
    let (param, format) = unsafe { (&mut *param, bytes(format, len)) };
    with((), |cx| {
        cx.common.text.clear();
        cx.common
            .texts
            .string(format, &mut cx.session.stream, &mut cx.common.text);
        param.set_bytes(&cx.common.text);
    });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dyno_param_bytes(param: *const Param, len: *mut usize) -> *const c_char {
    // SAFETY: the prelude passes a live parameter and the address of a size_t.
    unsafe {
        *len = (*param).len as usize;
        (*param).bytes.as_ptr().cast()
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dyno_bulk_begin(prefix: *const c_char, len: usize) -> c_int {
    // SAFETY: LuaJIT passes a string and its length.
    let prefix = unsafe { bytes(prefix, len) }.to_vec();
    with(code::CLOSED, |cx| {
        cx.session.bulk = Some(Box::new(BulkInsert {
            prefix,
            statement: Vec::new(),
        }));
        0
    })
}

/// Adds a row. 0: added; 1: it does not fit, flush first.
#[unsafe(no_mangle)]
unsafe extern "C" fn dyno_bulk_add(row: *const c_char, len: usize) -> c_int {
    // SAFETY: LuaJIT passes a string and its length.
    let row = unsafe { bytes(row, len) };
    with(1, |cx| {
        let Some(bulk) = &mut cx.session.bulk else {
            return 1;
        };
        let statement = &mut bulk.statement;
        if bulk.prefix.len().max(statement.len()) + row.len() + 2 > BULK_INSERT_BYTES_MAX {
            return 1;
        }
        if statement.is_empty() {
            statement.extend_from_slice(&bulk.prefix);
        } else {
            statement.push(b',');
        }
        statement.extend_from_slice(row);
        0
    })
}

/// Sends the added rows.
#[unsafe(no_mangle)]
extern "C" fn dyno_bulk_flush(conn: ConnId) -> c_int {
    with(code::CLOSED, |mut cx| {
        let Some(mut bulk) = cx.session.bulk.take() else {
            return code::DONE;
        };
        if bulk.statement.is_empty() {
            return code::DONE;
        }
        let answer = cx.submit(conn, Request::Query(&bulk.statement));
        bulk.statement.clear();
        cx.session.bulk = Some(bulk);
        answer
    })
}

/// Sends the load described by the prelude.
#[unsafe(no_mangle)]
extern "C" fn dyno_bulk_load(conn: ConnId) -> c_int {
    with(code::CLOSED, |mut cx| match cx.session.load.take() {
        Some(load) => cx.submit(conn, Request::BulkLoad(*load)),
        None => cx.misuse("there are no rows to load"),
    })
}
