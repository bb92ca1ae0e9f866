//! What a server, a proxy or a run does, live: `dyno top`.
//!
//! A [`Source`] answers questions with tables of text. A [`Profile`] says which questions there
//! are, and which of their columns are counters whose difference is shown per second: all screens
//! are data. [`Poller`] asks on a thread of its own, [`State`] keeps what is shown, [`screen`]
//! draws it on a terminal, and [`lines`] writes a line for each interval where there is none.

mod app;
mod draw;
mod figures;
mod format;
mod heat;
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
pub use poll::{Poller, Snapshot, Told};
pub use profile::Profile;
pub use source::{Answer, Source, Trouble};
pub use state::State;
