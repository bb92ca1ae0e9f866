//! Observers on real servers: what they see, what they report as not observed, and servers that
//! hang, die and return.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod control;
mod hurt;
mod observed;
mod server;
mod tables;
mod whole;
