//! Stalls: times in which almost nothing ended.

use serde::{Deserialize, Serialize};

/// A stall found by the check `stalls`: a silence to the millisecond, or consecutive seconds. Times
/// are seconds from the start of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stall {
    /// Start of the stall, seconds from the start of the measurement.
    pub from_s: f64,
    /// End of the stall, seconds from the start of the measurement.
    pub to_s: f64,
    /// Events per second within it.
    pub events_per_s: f64,
    /// The level before the drop: the median of the seconds with progress, in events per second.
    pub level_per_s: f64,
}

impl Stall {
    /// How long it lasted.
    pub fn length_s(&self) -> f64 {
        self.to_s - self.from_s
    }
}
