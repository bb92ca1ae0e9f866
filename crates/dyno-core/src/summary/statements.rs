//! What statements did, by their shapes.

use serde::{Deserialize, Serialize};

use super::LatencySummary;

/// What statements of one shape did within the measurement.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StatementSummary {
    /// The statement with `?` for values and `N` for numbers at the end of names.
    pub shape: String,
    /// Those that succeeded, per second.
    pub per_s: f64,
    /// Rows that each of them returned or changed, on average.
    pub rows_mean: f64,
    /// Those that failed.
    pub errors: u64,
    /// The time that all took, as a share of the service time of all events, 0 to 1.
    pub time_share: f64,
    /// From sending one to having its answer.
    pub latency: LatencySummary,
}
