//! Deliberately bad runs: the right check finds each fault and no other check does; and good runs
//! without findings.
#![cfg(feature = "servers")]
// Excused findings are printed on stderr.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

mod alone;
mod common;
mod host;
mod parallel;
mod records;
