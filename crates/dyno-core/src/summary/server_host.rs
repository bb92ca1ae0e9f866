//! The host of a server that is observed from there.

use serde::{Deserialize, Serialize};

/// The server's host, as an observer there saw it, over the measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerHost {
    /// Who observed: `ssh:db1`, `local`.
    pub observer: String,
    /// CPUs that it has.
    pub cpus: Option<f64>,
    /// Mean CPU time that was used, in percent of all CPUs.
    pub busy_percent: Option<f64>,
    /// Mean CPU time of the server's processes, in percent of all CPUs.
    pub server_percent: Option<f64>,
}
