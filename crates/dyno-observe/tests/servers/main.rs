//! Observers on real servers: what they see, what they say of what they cannot see, and how they
//! bear servers that hang, die and come back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod control;
mod hurt;
mod seen;
mod server;
mod tables;
mod whole;
