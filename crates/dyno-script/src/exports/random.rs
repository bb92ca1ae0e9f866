//! Random numbers and histograms.

use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::Ordering;

use dyno_core::plan::RandKind;

use super::{Address, TEXT_BYTES_MAX, export};
use crate::context::{Common, with};
use crate::distributions;
use crate::histogram::Histogram;

export![
    dyno_random_below,
    sb_rand_uniform_uint64,
    sb_rand_uniform_double,
    sb_rand_default,
    sb_rand_uniform,
    sb_rand_gaussian,
    sb_rand_special,
    sb_rand_pareto,
    sb_rand_zipfian,
    sb_rand_unique,
    dyno_rand_wide,
    dyno_rand_unique_within,
    sb_rand_str,
    sb_rand_varstr,
    sb_histogram_new,
    sb_histogram_update,
    sb_histogram_print,
    sb_histogram_delete,
];

pub(super) fn exported() -> usize {
    EXPORTS.len()
}

/// Uniform in [0, n); the whole 32-bit range for n = 0.
#[unsafe(no_mangle)]
extern "C" fn dyno_random_below(n: u32) -> u32 {
    let n = if n == 0 { 1 << 32 } else { u64::from(n) };
    with(0, |cx| cx.session.stream.below(n) as u32)
}

#[unsafe(no_mangle)]
extern "C" fn sb_rand_uniform_uint64() -> u64 {
    with(0, |cx| cx.session.stream.next_u64())
}

#[unsafe(no_mangle)]
extern "C" fn sb_rand_uniform_double() -> f64 {
    with(0.0, |cx| cx.session.stream.next_f64())
}

#[inline]
fn draw(kind: RandKind, a: u32, b: u32) -> u32 {
    with(a, |cx| {
        cx.common
            .distributions
            .draw(kind, &mut cx.session.stream, a, b)
    })
}

#[unsafe(no_mangle)]
extern "C" fn sb_rand_default(a: u32, b: u32) -> u32 {
    with(a, |cx| {
        cx.common
            .distributions
            .draw(cx.common.rand_kind, &mut cx.session.stream, a, b)
    })
}

#[unsafe(no_mangle)]
extern "C" fn sb_rand_uniform(a: u32, b: u32) -> u32 {
    draw(RandKind::Uniform, a, b)
}

#[unsafe(no_mangle)]
extern "C" fn sb_rand_gaussian(a: u32, b: u32) -> u32 {
    draw(RandKind::Gaussian, a, b)
}

#[unsafe(no_mangle)]
extern "C" fn sb_rand_special(a: u32, b: u32) -> u32 {
    draw(RandKind::Special, a, b)
}

#[unsafe(no_mangle)]
extern "C" fn sb_rand_pareto(a: u32, b: u32) -> u32 {
    draw(RandKind::Pareto, a, b)
}

#[unsafe(no_mangle)]
extern "C" fn sb_rand_zipfian(a: u32, b: u32) -> u32 {
    draw(RandKind::Zipfian, a, b)
}

/// Draws between bounds of up to 2^53, from the distribution with this number; 0 is the run's.
#[unsafe(no_mangle)]
extern "C" fn dyno_rand_wide(kind: u32, a: f64, b: f64) -> f64 {
    with(a, |cx| {
        let kind = match kind {
            1 => RandKind::Uniform,
            2 => RandKind::Gaussian,
            3 => RandKind::Special,
            4 => RandKind::Pareto,
            5 => RandKind::Zipfian,
            _ => cx.common.rand_kind,
        };
        let (distributions, stream) = (&cx.common.distributions, &mut cx.session.stream);
        distributions.draw_u64(kind, stream, a as u64, b as u64) as f64
    })
}

/// The position of the next number that does not repeat.
fn next_unique(common: &Common) -> u64 {
    let step = common.unique_step;
    common.unique_count.fetch_add(step, Ordering::Relaxed)
}

#[unsafe(no_mangle)]
extern "C" fn sb_rand_unique() -> u32 {
    with(0, |cx| {
        let place = next_unique(cx.common);
        cx.common.unique.at(place)
    })
}

/// A number from `a` to `b` that does not repeat until all have been drawn.
#[unsafe(no_mangle)]
extern "C" fn dyno_rand_unique_within(a: u32, b: u32) -> u32 {
    with(a, |cx| {
        let place = next_unique(cx.common);
        cx.common.unique.within(place, a, b)
    })
}

/// Fills `buffer` according to `format`, which is NUL-terminated; `buffer` must be as long.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_rand_str(format: *const c_char, buffer: *mut c_char) {
    // SAFETY: LuaJIT passes a NUL-terminated string and a buffer of the same size.
    let format = unsafe { CStr::from_ptr(format) }.to_bytes();
    with((), |cx| {
        let text = &mut cx.common.text;
        text.clear();
        cx.common.texts.string(format, &mut cx.session.stream, text);
        // SAFETY: as above; the text is as long as the format.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr().cast(), buffer, text.len());
            *buffer.add(text.len()) = 0;
        }
    });
}

/// Fills `buffer` with `min` to `max` characters and returns their number, 0 if `min` is more than
/// `max`, or `max` than [`TEXT_BYTES_MAX`].
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_rand_varstr(buffer: *mut c_char, min: u32, max: u32) -> u32 {
    if min > max || max as usize > TEXT_BYTES_MAX {
        return 0;
    }
    with(0, |cx| {
        let text = &mut cx.common.text;
        text.clear();
        distributions::varstring(&mut cx.session.stream, min, max, text);
        // SAFETY: the script passes a buffer of at least `max` bytes, as sysbench requires.
        unsafe { std::ptr::copy_nonoverlapping(text.as_ptr().cast(), buffer, text.len()) };
        text.len() as u32
    })
}

/// A histogram, or null for invalid bounds.
#[unsafe(no_mangle)]
extern "C" fn sb_histogram_new(size: usize, min: f64, max: f64) -> *mut Histogram {
    match Histogram::new(size, min, max) {
        Some(histogram) => Box::into_raw(Box::new(histogram)),
        None => std::ptr::null_mut(),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sb_histogram_update(histogram: *mut Histogram, value: f64) {
    if !histogram.is_null() {
        // SAFETY: not null, so made by `sb_histogram_new` and not yet deleted.
        unsafe { (*histogram).update(value) };
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sb_histogram_print(histogram: *mut Histogram) {
    if histogram.is_null() {
        return;
    }
    // SAFETY: not null, so made by `sb_histogram_new` and not yet deleted.
    let text = unsafe { (*histogram).text() };
    // Through C's stream, so that it keeps its order relative to the script's own output.
    if let Ok(text) = std::ffi::CString::new(text) {
        // SAFETY: both are NUL-terminated strings.
        let _: c_int = unsafe { libc::printf(c"%s".as_ptr(), text.as_ptr()) };
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sb_histogram_delete(histogram: *mut Histogram) {
    if !histogram.is_null() {
        // SAFETY: made by `sb_histogram_new`; the collector frees it once.
        drop(unsafe { Box::from_raw(histogram) });
    }
}
