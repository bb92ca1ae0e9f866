//! Bad input, failures and bad servers: a clear message or a counted error, the figures up to that
//! point, a meaningful exit status, no panic and no hang.
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
