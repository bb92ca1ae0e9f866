//! Drivers for the databases that Dyno loads. Each protocol is a sans-I/O state machine
//! ([`channel::Protocol`]): bytes in, bytes out, so that it can be tested and fuzzed without a
//! socket. [`channel::Channel`] joins one to a socket, with or without TLS.

pub mod channel;
mod connector;
pub mod control;
pub mod credentials;
mod disclosure;
mod full;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod mysql;
#[cfg(test)]
mod network;
pub mod postgres;
mod probe;
mod remote;
mod socket;
pub mod sqlite;
mod tls;

pub use connector::connector;
pub use control::Control;
pub use disclosure::Disclosure;
pub use probe::probe;
