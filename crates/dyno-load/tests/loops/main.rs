//! Runs of the load generator in real time.

#![allow(clippy::unwrap_used)] // a broken test may well panic

mod closed_loop;
#[path = "../common/mod.rs"]
mod common;
mod cut_connections;
mod detached;
mod endings;
mod idle_connections;
mod not_done;
mod open_loop;
mod roles;
