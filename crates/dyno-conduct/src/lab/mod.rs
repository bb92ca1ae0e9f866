//! Experiments: their trials, the checks before these, their command lines and servers, and what
//! they measured.

pub mod beside;
pub mod checks;
mod definition;
pub mod figures;
pub mod host;
pub mod line;
pub mod server;
pub mod there;

pub use definition::Lab;

use anyhow::Result;

use crate::Command;

/// Plans a command line of [`line`], whose words only the command line knows; runs nothing.
pub type Planner<'a> = &'a dyn Fn(Vec<String>) -> Result<Command>;
