//! `dyno top`: a live view of a server, a proxy or a run.
//!
//! A [`Source`] answers questions with tables of text. A [`Profile`] lists the questions, and which
//! of their columns are counters shown as rates: all screens are data. [`Poller`] asks on its own
//! thread, [`State`] has the displayed content, [`screen`] draws it on a terminal, and [`lines`]
//! writes a line per interval without one.

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
