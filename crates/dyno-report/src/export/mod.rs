//! Exports of a recorded run for other programs.

pub mod csv;
pub mod folded;
pub mod hlog;
pub mod json;
