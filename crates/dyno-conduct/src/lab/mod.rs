//! Experiments: their trials, the checks before these, their command lines, servers and data, and
//! what they measured.

pub mod beside;
mod caller;
pub mod checks;
mod definition;
pub mod figures;
mod host;
mod images;
pub mod line;
mod server;
mod site;
mod slips;
pub mod there;

pub use caller::{Caller, SiteEvent};
pub use definition::{Lab, took_s};
pub use site::Site;

use anyhow::Result;

use crate::Command;

/// Plans a command line of [`line`], whose words only the command line knows; runs nothing.
pub type Planner<'a> = &'a dyn Fn(Vec<String>) -> Result<Command>;
