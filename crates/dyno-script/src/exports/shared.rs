//! Numbers shared by all sessions of a run.

use std::sync::atomic::{AtomicI64, Ordering};

use super::{Address, export};

export![dyno_shared_add, dyno_shared_set];

pub(super) fn exported() -> usize {
    EXPORTS.len()
}

/// Adds to a number and returns the new value.
///
/// # Safety
/// `number` is one of the numbers supplied by the host, which live as long as its Lua state.
#[unsafe(no_mangle)]
unsafe extern "C" fn dyno_shared_add(number: *const AtomicI64, amount: f64) -> f64 {
    let amount = amount as i64;
    // SAFETY: see above.
    let number = unsafe { &*number };
    number
        .fetch_add(amount, Ordering::AcqRel)
        .wrapping_add(amount) as f64
}

/// Replaces a number.
///
/// # Safety
/// As for [`dyno_shared_add`].
#[unsafe(no_mangle)]
unsafe extern "C" fn dyno_shared_set(number: *const AtomicI64, value: f64) {
    // SAFETY: see above.
    unsafe { &*number }.store(value as i64, Ordering::Release);
}
