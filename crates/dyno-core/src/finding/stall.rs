//! A time in which almost nothing ended.

use serde::{Deserialize, Serialize};

/// A stall as the check `stalls` found it: a silence to the millisecond, or seconds in a row. Times
/// are seconds from the start of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stall {
    /// Its start.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
    /// Events per second within it.
    pub events_per_s: f64,
    /// The level that it fell from: the median of the seconds that moved, in events per second.
    pub level_per_s: f64,
}

impl Stall {
    /// How long it lasted.
    pub fn length_s(&self) -> f64 {
        self.to_s - self.from_s
    }
}
