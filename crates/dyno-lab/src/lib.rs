//! Experiments: what a file says is to be varied, which trials that makes and in which order, what
//! they cost, and what each of them is. Nothing here starts a server or looks at a clock.

mod error;
pub mod file;
mod levels;

pub use error::{Error, Problem};
pub use file::Experiment;
pub use levels::{Cell, Effective};
