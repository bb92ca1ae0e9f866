//! Rows created by a script for a bulk load.

use std::ffi::c_char;

use dyno_core::rand::Stream;

use super::{Address, TEXT_BYTES_MAX, export};
use crate::context::with;
use crate::distributions;

export![
    dyno_rows_int,
    dyno_rows_cents,
    dyno_rows_text,
    dyno_rows_random,
    dyno_rows_null,
    dyno_rows_end,
];

pub(super) fn exported() -> usize {
    EXPORTS.len()
}

/// The row's next value: a whole number.
#[unsafe(no_mangle)]
extern "C" fn dyno_rows_int(value: f64) {
    with((), |cx| cx.session.rows.int(value as i64));
}

/// An amount of money in cents.
#[unsafe(no_mangle)]
extern "C" fn dyno_rows_cents(value: f64) {
    with((), |cx| cx.session.rows.cents(value as i64));
}

/// A text.
#[unsafe(no_mangle)]
unsafe extern "C" fn dyno_rows_text(text: *const c_char, len: usize) {
    // SAFETY: LuaJIT passes a string with its length.
    let text = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), len) };
    with((), |cx| {
        cx.session.rows.text(len, |out| out.copy_from_slice(text));
    });
}

/// A random text, see `dyno_stream_text`; a null stream means the session's. Lengths are limited to
/// [`TEXT_BYTES_MAX`].
#[unsafe(no_mangle)]
unsafe extern "C" fn dyno_rows_random(
    stream: *mut Stream,
    shortest: u32,
    longest: u32,
    compressible: f64,
) {
    with((), |cx| {
        let (rows, own) = (&mut cx.session.rows, &mut cx.session.stream);
        // SAFETY: not null, so made by `dyno_stream_new`; the script keeps it alive meanwhile.
        let stream = match stream.is_null() {
            true => own,
            false => unsafe { &mut *stream },
        };
        let more = stream.below(u64::from(longest.saturating_sub(shortest)) + 1);
        let len = (shortest as usize + more as usize).min(TEXT_BYTES_MAX);
        rows.text(len, |out| distributions::letters(stream, compressible, out));
    });
}

/// NULL.
#[unsafe(no_mangle)]
extern "C" fn dyno_rows_null() {
    with((), |cx| cx.session.rows.null());
}

/// Completes the row and returns the number of bytes waiting.
#[unsafe(no_mangle)]
extern "C" fn dyno_rows_end() -> f64 {
    with(0.0, |cx| cx.session.rows.end() as f64)
}
