//! Bad runs made on purpose: each fault is found by the check that is there for it, and by no
//! check that is not; and good runs, in which nothing is found.
#![cfg(feature = "servers")]
// What an excused finding was is told on standard error.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

mod caches;
mod causes;
mod common;
mod durability;
mod generator;
mod good;
mod host;
mod matrix;
mod open_loop;
mod records;
mod relay;
mod replicas;
mod server;
mod shapes;
