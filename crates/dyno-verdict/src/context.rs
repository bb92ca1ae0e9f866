//! Facts that a record lacks and a check may need.

pub use dyno_core::plan::{Claim, RequestedSetting};

/// Additional facts about a run. All are optional; checks that need a missing one report that they
/// did not run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// The load generator's own ceiling for this script on this host, without a server.
    pub calibration: Option<Calibration>,
    /// The user's claim about the caches.
    pub claim: Option<Claim>,
    /// The expected row counts of the workload's tables, after loading.
    pub row_counts: Vec<RowCount>,
    /// Settings that the user requested of the server.
    pub requested_settings: Vec<RequestedSetting>,
    /// The result of searching the run's texts for the target's password; `None` if there was
    /// no search.
    pub secret_scan: Option<SecretScan>,
    /// Whether the record was saved; `None` if it was not to be saved.
    pub keeping: Option<Keeping>,
}

/// Whether a record was saved in a results file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keeping {
    /// All of it was saved.
    Whole,
    /// In part: the missing part and the reason, as the beginning of a sentence.
    Lost(String),
}

/// The result of running the same script on the same host against a null server.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// Events per second that this many workers can offer with a core each, at most.
    pub ceiling_per_s: f64,
    /// CPU time of the workers per event, microseconds.
    pub cpu_us_per_event: f64,
    /// The 99.9th percentile of the service time, milliseconds, spent in the client and the kernel.
    pub p999_ms: f64,
    /// The longest time that a worker was away from its sockets, milliseconds.
    pub stall_ms_max: f64,
    /// Number of sessions.
    pub sessions: u32,
    /// Number of workers.
    pub workers: u32,
    /// When it was measured, seconds since the Unix epoch.
    pub when_unix_s: f64,
}

/// Rows of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowCount {
    /// The table.
    pub table: String,
    /// Expected rows.
    pub expected: u64,
    /// Rows in the table; `None` if it could not be read.
    pub found: Option<u64>,
    /// Not counted, but checked by the ids of some rows.
    pub probed: bool,
}

/// The result of searching for the target's password.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretScan {
    /// The places that were searched, e.g. `arguments`, `facts`, `settings`.
    pub places: Vec<String>,
    /// The places where it was found. Never the secret itself.
    pub found: Vec<String>,
    /// The places where the password was masked before anything was saved.
    pub hidden: Vec<String>,
}
