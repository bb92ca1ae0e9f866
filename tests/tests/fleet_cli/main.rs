//! Runs whose load several processes make: that they are what one would make, and what becomes of
//! them when one of them, or what carries their messages, is stopped, killed or cut off.
#![cfg(feature = "servers")]
#![allow(clippy::unwrap_used, clippy::panic)]

mod collects;
mod common;
mod joins;
mod losses;
mod mistakes;
mod network;
mod searches;
mod ssh;
mod whole;
