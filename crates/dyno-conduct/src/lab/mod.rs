//! Experiments: the checks before their trials, the command lines and servers of these, and what
//! they measured.

pub mod beside;
pub mod checks;
pub mod figures;
pub mod host;
pub mod line;
pub mod server;
