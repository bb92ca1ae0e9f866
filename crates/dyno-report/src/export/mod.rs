//! A recorded run in the formats that other programs read.

pub mod csv;
pub mod folded;
pub mod hlog;
pub mod json;
#[cfg(test)]
pub(crate) mod samples;
