//! Reading runs.

mod list;
mod load;
mod spans;

pub use list::{Filter, RunLine, Stage};
pub use load::{IntervalDetail, SPANS_HELD_MAX, Scope};
