//! `dyno lab`: experiments are planned, run, killed, resumed and reported.
#![cfg(feature = "servers")]
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;
mod killed;
mod levels;
mod mistakes;
mod there;
mod whole;
