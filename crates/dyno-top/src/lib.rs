//! `dyno top`: a live view of a server, a proxy or a run.
//!
//! A [`Source`] answers questions with tables of text. A [`Profile`] lists the questions and says
//! which of their columns are counters, to be shown as differences per second: all screens are
//! data. [`Poller`] asks on its own thread, [`State`] keeps what is shown, [`screen`] draws it on a
//! terminal, and [`lines`] writes one line per interval without a terminal.
//!
//! # Where to change what
//!
//! - Questions and screens: `src/sources`, one file or folder per source. Drawing: `src/draw`.
//!   Keys: `src/keys.rs`.
//! - Recorded answers for the tests: `examples/record.rs`.

mod app;
mod draw;
mod figures;
mod format;
mod heat;
mod history;
mod keys;
mod line;
mod mask;
mod poll;
mod profile;
mod rates;
mod slow;
mod source;
pub mod sources;
mod state;
#[cfg(test)]
mod tests;

pub use app::{Screen as TerminalScreen, TopError, screen};
pub use line::{Lines, lines};
pub use poll::{Poller, Snapshot, Update};
pub use profile::Profile;
pub use source::{Answer, Source, Trouble};
pub use state::State;
