//! `dyno lab`: experiments are planned, run, killed, resumed, reported and packed.
#![cfg(feature = "servers")]
#![allow(clippy::unwrap_used, clippy::panic)]

mod bundle;
mod common;
mod killed;
mod levels;
mod mistakes;
mod there;
mod whole;
