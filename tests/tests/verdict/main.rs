//! Bad runs made on purpose: each fault is found by the check that is there for it, and by no
//! check that is not; and good runs, in which nothing is found.
#![cfg(feature = "servers")]
#![allow(clippy::unwrap_used, clippy::panic)]

mod caches;
mod common;
mod generator;
mod good;
mod host;
mod open_loop;
mod records;
mod server;
mod shapes;
