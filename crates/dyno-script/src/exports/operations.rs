//! Operations, think times, and the ledger of acknowledged work.

use std::ffi::c_int;

use dyno_core::session::OperationEnd;

use super::events::{sleep_ns, slept};
use super::{Address, export};
use crate::context::with;
use crate::ledger::Settled;

export![
    dyno_operation_start,
    dyno_operation_retry,
    dyno_operation_stop,
    dyno_event_again,
    dyno_think,
    dyno_thought,
    dyno_ledger_add,
    dyno_ledger_is_open,
];

pub(super) fn exported() -> usize {
    EXPORTS.len()
}

/// Begins an operation.
#[unsafe(no_mangle)]
extern "C" fn dyno_operation_start(operation: c_int) {
    let Ok(operation) = u16::try_from(operation) else {
        return;
    };
    with((), |cx| {
        cx.session.entries.begin();
        cx.port.operation_start(cx.session.id, operation);
    });
}

/// The operation's attempt has failed, and another begins: discards the attempt's ledger entries.
#[unsafe(no_mangle)]
extern "C" fn dyno_operation_retry() {
    with((), |cx| {
        cx.session.entries.begin();
        cx.port.operation_retry(cx.session.id);
    });
}

/// Ends the operation; `end` is an [`OperationEnd`].
#[unsafe(no_mangle)]
extern "C" fn dyno_operation_stop(end: c_int) {
    let Some(end) = OperationEnd::from_index(end) else {
        return;
    };
    with((), |cx| {
        cx.session.entries.settle(match end {
            OperationEnd::Done => Settled::Kept,
            OperationEnd::Unknown => Settled::Unknown,
            OperationEnd::RolledBack | OperationEnd::GivenUp | OperationEnd::Duplicate => {
                Settled::Dropped
            }
        });
        cx.port.operation_stop(cx.session.id, end);
    });
}

/// The script repeats its event: operations that it gave up before do not count as failures.
#[unsafe(no_mangle)]
extern "C" fn dyno_event_again() {
    with((), |cx| cx.port.count_retry(cx.session.id));
}

/// Postpones the event. 0: the session must yield now; else as for `dyno_sleep`.
#[unsafe(no_mangle)]
extern "C" fn dyno_think(seconds: f64) -> c_int {
    with(1, |cx| {
        let session = cx.session.id;
        cx.port.think(session, sleep_ns(seconds));
        match cx.can_yield() {
            true => 0,
            false => slept(cx.port.wait_sleep(session)),
        }
    })
}

/// After [`dyno_think`]: whether the event may begin; false if the run has ended.
#[unsafe(no_mangle)]
extern "C" fn dyno_thought() -> bool {
    with(false, |cx| cx.port.thought(cx.session.id))
}

/// Enters an amount under a sum's number: within an operation it counts when that is done.
#[unsafe(no_mangle)]
extern "C" fn dyno_ledger_add(sum: c_int, amount: f64) {
    let Ok(sum) = usize::try_from(sum) else {
        return;
    };
    with((), |cx| cx.session.entries.add(sum, amount as i64));
}

/// Whether the current operation has entered anything.
#[unsafe(no_mangle)]
extern "C" fn dyno_ledger_is_open() -> bool {
    with(false, |cx| cx.session.entries.are_open())
}
