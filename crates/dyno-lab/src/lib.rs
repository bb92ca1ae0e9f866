//! Experiments: which factors a file varies, the resulting trials, their order, cost and identity.
//! Nothing here starts a server or looks at a clock.

mod analysis;
mod design;
mod error;
pub mod file;
mod identity;
mod levels;
mod schedule;

pub use analysis::{
    Answer, Effect, Figure, Figures, Judgement, Measured, Ratio, Side, Source, between, block_logs,
    effects, interactions, not_judged,
};
pub use design::{Change, Cost, Role, Trial, Trials};
pub use error::{Error, Problem};
pub use file::Experiment;
pub use identity::{Changes, Hashes, Identity, Planned, identify};
pub use levels::{Cell, Effective};
pub use schedule::{Next, Outcome, Progress, Schedule};
