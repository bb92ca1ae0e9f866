//! Reading runs.

mod list;
mod load;
mod spans;

pub use list::{Filter, RunLine, RunStage};
pub use load::{IntervalDetail, SPANS_HELD_MAX, Scope};
