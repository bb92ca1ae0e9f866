//! What is to be observed.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dyno_core::Target;
use dyno_core::db::Connector;

/// What is to be observed, and how often.
#[derive(Clone)]
pub struct Config {
    /// The server under test; `None` when there is no database.
    pub target: Option<Target>,
    /// How to reach it; without one the database itself is not asked.
    pub connector: Option<Arc<dyn Connector>>,
    /// From one sample to the next.
    pub period: Duration,
    /// Where the results file lies; its file system is watched where the server's cannot be seen.
    pub results_directory: Option<PathBuf>,
    /// How long the server may take to answer one question before its connection is given up.
    pub answer_timeout: Duration,
    /// How long a connection attempt may take.
    pub connect_timeout: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            target: None,
            connector: None,
            period: Duration::from_secs(1),
            results_directory: None,
            answer_timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(3),
        }
    }
}
