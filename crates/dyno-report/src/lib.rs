//! Reports: pure functions from the data of a run ([`dyno_core::summary::RunSummary`],
//! [`dyno_core::interval::Interval`]) to text. This crate does not print, read a clock or drive
//! runs; the caller decides on colours and on the terminal's width.

pub mod export;
pub mod html;
pub mod json;
mod number;
pub mod phases;
mod rebuild;
#[cfg(test)]
mod samples;
pub mod saturation;
pub mod search;
mod server_host;
pub mod sheet;
mod shell;
pub mod sysbench;
pub mod terminal;

pub use rebuild::rebuild;
pub use shell::word as shell_word;
