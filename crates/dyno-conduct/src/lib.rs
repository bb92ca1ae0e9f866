//! Conducts runs for a program that reads command lines: prepares their targets, explains their
//! failures. Nothing here prints or reads options: notices go to [`dyno_run::Sinks`], and invalid
//! requests are [`dyno_run::RunError::Usage`].
//!
//! # Where to change what
//!
//! - Hints for failed runs: `src/hints.rs`.
//! - A target's password, and the server at the target: `src/target.rs`.

pub mod hints;
pub mod target;

use dyno_run::RunError;

/// The error of an invalid request: nothing was started.
pub fn usage(message: impl Into<String>) -> anyhow::Error {
    RunError::Usage(message.into()).into()
}
