//! `dyno server`: servers that are made, started, changed, copied, put back and removed, and what
//! becomes of them when something goes wrong.
#![cfg(feature = "servers")]
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;
mod executables;
mod kinds;
mod mistakes;
mod places;
mod unattended;
