//! Fleets, simulated and local.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a broken test may well panic

mod cases;
#[path = "../common/mod.rs"]
mod common;
mod local;
mod schedules;
