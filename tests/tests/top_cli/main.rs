//! `dyno top` on real servers, on a run in progress, on HAProxy, on the stand-in for ProxySQL, and
//! in a terminal.
#![cfg(feature = "servers")]
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;
mod lines;
mod proxies;
mod terminal;
