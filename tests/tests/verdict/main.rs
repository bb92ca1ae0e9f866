//! Deliberately bad runs: the right check finds each fault and no other check does; and good runs
//! without findings.
#![cfg(feature = "servers")]
// Excused findings are printed on stderr.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

mod caches;
mod causes;
mod common;
mod counted;
mod durability;
mod generator;
mod good;
mod host;
mod open_loop;
mod records;
mod relay;
mod replicas;
mod server;
mod shapes;
