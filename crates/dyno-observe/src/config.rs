//! The configuration of the observers.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use dyno_core::Target;
use dyno_core::db::Connector;

/// What to observe, and how often.
#[derive(Clone)]
pub struct Config {
    /// The server under test; `None` without a database.
    pub target: Option<Target>,
    /// How to connect to it; without a connector the database is not queried.
    pub connector: Option<Arc<dyn Connector>>,
    /// The time between samples.
    pub period: Duration,
    /// The directory of the results file; its file system is observed if the server's is not
    /// visible.
    pub results_directory: Option<PathBuf>,
    /// The timeout for the server's answer to one query; after that its connection is closed.
    pub answer_timeout: Duration,
    /// When the measurement begins, on the monotonic clock; 0 as long as that is unknown. The
    /// settings are then read again.
    pub begins: Arc<AtomicU64>,
    /// The timeout for connecting.
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
            begins: Arc::default(),
            connect_timeout: Duration::from_secs(3),
        }
    }
}
