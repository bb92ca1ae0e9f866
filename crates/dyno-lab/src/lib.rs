//! Experiments: their files, and the trials that follow from a file, with their order, cost and
//! identity. Nothing here starts a server or reads a clock.
//!
//! # Where to change what
//!
//! - The format of an experiment's file, and its errors: `src/file`. `docs/schema/experiment.json`
//!   is generated from it.
//! - How levels become a configuration: `src/levels.rs`. Order and cost of trials: `src/design.rs`.
//!   The identity of a trial: `src/identity.rs`.
//! - The next trial, and the change required before it: `src/schedule.rs`; making that change:
//!   `crates/dyno-conduct/src/lab/conduct.rs`, `crates/dyno-conduct/src/lab/site.rs`.
//! - Ratios, effects, claims, scaling: `src/analysis`; figures by name:
//!   `crates/dyno-conduct/src/lab/figures.rs`; tables and plots:
//!   `crates/dyno-cli/src/commands/lab`; the page: `crates/dyno-report/src/html/experiment.rs`.
//! - The stored data: `crates/dyno-results/src/experiments`.

mod analysis;
mod design;
mod duet;
mod error;
pub mod file;
mod identity;
mod levels;
mod schedule;

pub use analysis::{
    Answer, Effect, Figure, Figures, Judgement, Law, Measured, OfDuet, Ratio, Side, Source,
    between, effects, interactions, law, not_judged,
};
pub use design::{Change, Cost, Role, Trial, Trials};
pub use error::{Error, Problem};
pub use file::Experiment;
pub use identity::{Changes, Hashes, Identity, Planned, identify};
pub use levels::{Cell, Effective};
pub use schedule::{Next, Outcome, Progress, Schedule};
