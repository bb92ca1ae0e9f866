//! Bad input, failures, and bad servers. Dyno prints a clear message or counts an error, reports
//! the figures up to that point, exits with a meaningful status, and never panics or hangs.
#![cfg(feature = "servers")]
#![allow(clippy::unwrap_used, clippy::panic)]

mod accounts;
mod common;
mod cuts;
mod endless;
mod hostile;
mod hurt;
mod interrupts;
mod memory;
mod passwords;
mod process;
mod refusals;
mod results;
mod secrets;
