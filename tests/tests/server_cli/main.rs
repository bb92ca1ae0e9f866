//! `dyno server`: servers are created, started, changed, copied, restored and removed, and the
//! effects of failures.
#![cfg(feature = "servers")]
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;
mod executables;
mod kinds;
mod mistakes;
mod paths;
mod places;
mod unattended;
