//! The server's host, observed on that host.

use serde::{Deserialize, Serialize};

/// The server's host over the measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerHost {
    /// The observer: `ssh:db1`, `local`.
    pub observer: String,
    /// Number of CPUs.
    pub cpus: Option<f64>,
    /// Mean CPU usage, in percent of all CPUs.
    pub busy_percent: Option<f64>,
    /// Mean CPU usage of the server's processes, in percent of all CPUs.
    pub server_percent: Option<f64>,
}
