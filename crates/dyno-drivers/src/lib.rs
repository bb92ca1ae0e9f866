//! Drivers for the databases that Dyno loads. Each protocol is a state machine without I/O
//! ([`channel::Protocol`]): bytes in, bytes out, so that it can be tested and fuzzed without a
//! socket. [`channel::Channel`] joins one to a socket, with or without TLS.
//!
//! Requests are in the database's own language, which only the driver reads. Other operations are
//! variants of `Request` in `dyno_core::session` and methods of `Connection`, such as
//! `TransactionStep`, so that the driver supplies the text of BEGIN and ROLLBACK.
//!
//! # Where to change what
//!
//! - A protocol, authentication: `src/mysql`, `src/postgres`, `src/sqlite`.
//! - What an error code means: the driver's table, such as `src/mysql/errors.rs`. Retries, counting
//!   and advice depend on the resulting `ErrorKind` only.
//! - Where passwords come from: `src/credentials`.
//! - Hang-ups, and how large an answer may be: `src/channel`.
//!
//! # A new driver
//!
//! A driver for another database that speaks over a socket is a folder in `src` with a `Protocol`
//! and its table of error kinds, a collector in `crates/dyno-observe/src/database` with its
//! questions about tables in `crates/dyno-observe/src/database/tables`, and lines in ten files. For
//! a new variant of `Family` the compiler asks for the decisions in six of them:
//!
//! - `crates/dyno-core/src/db/family.rs`: the names (URL, driver, server programs).
//! - `crates/dyno-core/src/target/parse.rs`: the port and other defaults of a URL.
//! - `crates/dyno-core/src/target/parameters.rs`: the URL's own parameters.
//! - `src/remote/speech.rs`: what the protocol needs to know about the target.
//! - `crates/dyno-observe/src/database/watch.rs`: which collector to use, how to ask for a setting.
//! - `crates/dyno-run/src/calibration.rs`: what the null server speaks.
//!
//! The other four:
//!
//! - `src/lib.rs`: the folder.
//! - `src/remote.rs`: the connection.
//! - `crates/dyno-observe/src/database/mod.rs`: the collector's module.
//! - `crates/dyno-script/src/prelude/dialect.lua`: its words in statement templates.
//!
//! Elsewhere the new family counts as a server whose name is its scheme.
//!
//! Optional: password files (`src/credentials.rs`), the verdict's settings, data directories by
//! kind of file (`crates/dyno-observe/src/data.rs`), the protocol in the null server, and templates
//! in built-in workloads. `crates/dyno-script/src/prelude/reported.lua` words the table of a
//! dataset's facts in SQL.

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
