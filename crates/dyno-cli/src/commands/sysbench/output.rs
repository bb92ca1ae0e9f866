//! sysbench's log, filtered by `--verbosity`.

use std::sync::atomic::{AtomicU64, Ordering};

use dyno_core::redact;

use crate::console;

/// Fatal errors and their consequences.
const FATAL: u64 = 0;
const ALERT: u64 = 1;
const WARNING: u64 = 2;
/// Everything that sysbench prints by default.
const NOTICE: u64 = 3;
const INFO: u64 = 4;
/// The highest level.
pub(super) const DEBUG: u64 = 5;

/// `--verbosity`. A global because scripts' messages come through a plain function.
static VERBOSITY: AtomicU64 = AtomicU64::new(NOTICE);

/// Sets the level from now on.
pub(super) fn set_verbosity(level: u64) {
    VERBOSITY.store(level, Ordering::Relaxed);
}

/// Progress and reports.
pub(super) fn notice(text: &str) {
    print(NOTICE, text);
}

/// Additional information about tests.
pub(super) fn info(text: &str) {
    print(INFO, text);
}

/// Details for debugging.
pub(super) fn debug(text: &str) {
    print(DEBUG, text);
}

/// Something may be wrong.
pub(super) fn warning(message: &str) {
    print(WARNING, &format!("WARNING: {}\n", redact::text(message)));
}

/// An error that ends the work, or part of it.
pub(super) fn fatal(message: &str) {
    print(FATAL, &format!("FATAL: {}\n", redact::text(message)));
}

/// A message of the script layer.
pub(super) fn script_message(level: &str, message: &str) {
    let severity = match level {
        "FATAL" => FATAL,
        "ALERT" => ALERT,
        "WARNING" => WARNING,
        _ => NOTICE,
    };
    print(severity, &format!("{level}: {}\n", redact::text(message)));
}

fn print(level: u64, text: &str) {
    if level <= VERBOSITY.load(Ordering::Relaxed) {
        console::out(text);
    }
}
