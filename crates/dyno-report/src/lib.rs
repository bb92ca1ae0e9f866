//! Reports: pure functions from what is known of a run ([`dyno_core::summary::RunSummary`],
//! [`dyno_core::interval::Interval`]) to text. Nothing here prints, reads a clock or knows how a
//! run is driven; whether there are colours, and how wide the terminal is, is for the caller to
//! say.

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
