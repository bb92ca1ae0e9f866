//! System commands.

use std::ffi::{OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

use super::{Address, export};

export![dyno_system];

pub(super) fn exported() -> usize {
    EXPORTS.len()
}

/// Runs a command in a shell and returns its wait status, -1 without a shell. C's `system()` makes
/// the whole process ignore Ctrl-C meanwhile.
///
/// # Safety
/// `command` is a text of that length.
#[unsafe(no_mangle)]
unsafe extern "C" fn dyno_system(command: *const c_char, len: usize) -> c_int {
    // SAFETY: LuaJIT passes a string and its length.
    let command = unsafe { std::slice::from_raw_parts(command.cast::<u8>(), len) };
    let status = Command::new("/bin/sh")
        .arg("-c")
        .arg(OsStr::from_bytes(command))
        .status();
    status.map_or(-1, |status| status.into_raw())
}
