//! Random streams of scripts, and distributions that sysbench does not have.
//!
//! A null stream means the session's.

use std::ffi::c_char;

use dyno_core::rand::Stream;

use super::{Address, TEXT_BYTES_MAX, export};
use crate::context::with;
use crate::distributions::{self, Zipf, permute};

export![
    dyno_stream_new,
    dyno_stream_free,
    dyno_stream_uniform,
    dyno_stream_real,
    dyno_stream_normal,
    dyno_stream_exponential,
    dyno_stream_gaussian,
    dyno_stream_text,
    dyno_stream_pattern,
    dyno_zipf_new,
    dyno_zipf_free,
    dyno_zipf_draw,
    dyno_permute,
];

pub(super) fn exported() -> usize {
    EXPORTS.len()
}

/// A stream that depends only on the run's seed and the key.
#[unsafe(no_mangle)]
unsafe extern "C" fn dyno_stream_new(key: *const c_char, len: usize) -> *mut Stream {
    // SAFETY: LuaJIT passes a string with its length.
    let key = unsafe { std::slice::from_raw_parts(key.cast::<u8>(), len) };
    let seed = with(0, |cx| cx.common.seed);
    Box::into_raw(Box::new(distributions::keyed(seed, key)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dyno_stream_free(stream: *mut Stream) {
    if !stream.is_null() {
        // SAFETY: made by `dyno_stream_new`; the collector frees it once.
        drop(unsafe { Box::from_raw(stream) });
    }
}

/// Draws from a stream, or from the session's if it is null.
#[inline]
fn draw<R>(stream: *mut Stream, otherwise: R, act: impl FnOnce(&mut Stream) -> R) -> R {
    if stream.is_null() {
        return with(otherwise, |cx| act(&mut cx.session.stream));
    }
    // SAFETY: not null, so made by `dyno_stream_new`; the script keeps it alive while it draws.
    act(unsafe { &mut *stream })
}

/// A whole number between `low` and `high`, inclusive; both within 2^53.
#[unsafe(no_mangle)]
extern "C" fn dyno_stream_uniform(stream: *mut Stream, low: f64, high: f64) -> f64 {
    let span = (high - low).max(0.0) as u64;
    draw(stream, low, |stream| {
        low + stream.below(span.saturating_add(1)) as f64
    })
}

/// Uniform in [0, 1).
#[unsafe(no_mangle)]
extern "C" fn dyno_stream_real(stream: *mut Stream) -> f64 {
    draw(stream, 0.0, Stream::next_f64)
}

/// The standard normal distribution.
#[unsafe(no_mangle)]
extern "C" fn dyno_stream_normal(stream: *mut Stream) -> f64 {
    draw(stream, 0.0, distributions::normal)
}

/// The exponential distribution with this mean.
#[unsafe(no_mangle)]
extern "C" fn dyno_stream_exponential(stream: *mut Stream, mean: f64) -> f64 {
    draw(stream, mean, |stream| {
        -(1.0 - stream.next_f64()).ln() * mean
    })
}

/// A bell curve over [`low`, `high`] whose standard deviation is half the range over `parameter`.
#[unsafe(no_mangle)]
extern "C" fn dyno_stream_gaussian(
    stream: *mut Stream,
    low: f64,
    high: f64,
    parameter: f64,
) -> f64 {
    draw(stream, low, |stream| {
        distributions::bell(stream, low, high, parameter)
    })
}

/// Fills `buffer` with `len` characters: letters and digits, repeating the share `compressible`.
/// Writes nothing if `len` is more than [`TEXT_BYTES_MAX`].
#[unsafe(no_mangle)]
unsafe extern "C" fn dyno_stream_text(
    stream: *mut Stream,
    buffer: *mut c_char,
    len: usize,
    compressible: f64,
) {
    if len > TEXT_BYTES_MAX {
        return;
    }
    // SAFETY: the prelude passes a buffer of at least `len` bytes.
    let out = unsafe { std::slice::from_raw_parts_mut(buffer.cast::<u8>(), len) };
    draw(stream, (), |stream| {
        distributions::letters(stream, compressible, out);
    });
}

/// Fills `buffer` according to a pattern of the same length (`#` a digit, `@` a letter).
#[unsafe(no_mangle)]
unsafe extern "C" fn dyno_stream_pattern(
    stream: *mut Stream,
    pattern: *const c_char,
    buffer: *mut c_char,
    len: usize,
) {
    // SAFETY: the prelude passes a string and a buffer, both of `len` bytes.
    let (pattern, out) = unsafe {
        (
            std::slice::from_raw_parts(pattern.cast::<u8>(), len),
            std::slice::from_raw_parts_mut(buffer.cast::<u8>(), len),
        )
    };
    with((), |cx| {
        let text = &mut cx.common.text;
        text.clear();
        // SAFETY: as in `draw`.
        let stream = match stream.is_null() {
            true => &mut cx.session.stream,
            false => unsafe { &mut *stream },
        };
        cx.common.texts.string(pattern, stream, text);
        out.copy_from_slice(text);
    });
}

/// Zipf's law over the ranks 1 to `ranks` with this exponent.
#[unsafe(no_mangle)]
extern "C" fn dyno_zipf_new(ranks: f64, exponent: f64) -> *mut Zipf {
    Box::into_raw(Box::new(Zipf::new(ranks.max(1.0) as u64, exponent)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dyno_zipf_free(zipf: *mut Zipf) {
    if !zipf.is_null() {
        // SAFETY: made by `dyno_zipf_new`; the collector frees it once.
        drop(unsafe { Box::from_raw(zipf) });
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dyno_zipf_draw(zipf: *const Zipf, stream: *mut Stream) -> f64 {
    // SAFETY: made by `dyno_zipf_new`; the script keeps it alive while it draws.
    let zipf = unsafe { &*zipf };
    draw(stream, 1.0, |stream| zipf.rank(stream) as f64)
}

/// Maps `index` by a permutation of 0 to `size` - 1 that the run's seed and `key` determine.
#[unsafe(no_mangle)]
extern "C" fn dyno_permute(index: f64, size: f64, key: f64) -> f64 {
    let seed = with(0, |cx| cx.common.seed);
    permute(index as u64, size.max(1.0) as u64, seed, key as u64) as f64
}
