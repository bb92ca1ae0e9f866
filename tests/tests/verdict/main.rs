//! Deliberately bad runs, in each of which the right check and no other must find the fault; and
//! good runs, which must have no finding.
#![cfg(feature = "servers")]
// Findings that are excused are printed on stderr.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

mod alone;
mod common;
mod host;
mod parallel;
mod records;
