//! Reads runs.

mod history;
mod list;
mod load;
mod profiles;
mod progress;
mod spans;

pub use history::PlanAndCosts;
pub use list::{Filter, RunLine, RunStage};
pub use load::{IntervalDetail, SPANS_HELD_MAX, Scope};
pub use progress::{Progress, ReadPosition, RunHeadline, SampleOf};
