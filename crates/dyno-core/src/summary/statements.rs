//! Results per statement shape.

use serde::{Deserialize, Serialize};

use super::LatencySummary;

/// Statements of one shape over the measurement.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StatementSummary {
    /// The statement with `?` for values and `N` for numbers at the end of names.
    pub shape: String,
    /// Successful executions per second.
    pub per_s: f64,
    /// Mean rows returned or changed per execution.
    pub rows_mean: f64,
    /// Failed executions.
    pub errors: u64,
    /// Total time as a share of the service time of all events, 0 to 1.
    pub time_share: f64,
    /// From sending a statement to receiving its answer.
    pub latency: LatencySummary,
}
