//! What a record does not hold and a judge may want to know.

pub use dyno_core::plan::{Claim, RequestedSetting};

/// What is known about a run beside its record. Everything may be left out; checks that need it
/// then say that they could not be made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// How fast the generator drives this script on this host with no server behind it.
    pub calibration: Option<Calibration>,
    /// What the user says of the caches.
    pub claim: Option<Claim>,
    /// What the workload's tables should hold and do, after loading.
    pub row_counts: Vec<RowCount>,
    /// Settings that the user wants the server to have.
    pub requested_settings: Vec<RequestedSetting>,
    /// What a search for the target's password in the run's texts found; `None` where none was
    /// made.
    pub secret_scan: Option<SecretScan>,
    /// What became of the record while it was written down; `None` where it was written nowhere.
    pub keeping: Option<Keeping>,
}

/// What became of a record while it was written into a results file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keeping {
    /// All of it was written.
    Whole,
    /// A part of it was not: which and why, as the beginning of a sentence.
    Lost(String),
}

/// The same script on the same host against a target that answers at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// The most that so many workers can offer with a core each, events per second.
    pub ceiling_per_s: f64,
    /// What one event cost the workers then, CPU microseconds.
    pub cpu_us_per_event: f64,
    /// The 99.9th percentile of the service time then, milliseconds: all client and kernel.
    pub p999_ms: f64,
    /// The longest time that a worker was kept from its sockets then, milliseconds.
    pub stall_ms_max: f64,
    /// With so many sessions.
    pub sessions: u32,
    /// With so many workers.
    pub workers: u32,
    /// When, seconds since the Unix epoch.
    pub when_unix_s: f64,
}

/// Rows of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowCount {
    /// The table.
    pub table: String,
    /// Rows that it should hold.
    pub expected: u64,
    /// Rows that it holds; `None` where it could not be read.
    pub found: Option<u64>,
    /// It was not counted, but told by the ids of some.
    pub probed: bool,
}

/// What a search for the target's password found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretScan {
    /// Where it looked, e.g. `arguments`, `facts`, `settings`.
    pub places: Vec<String>,
    /// In which of them it was found. Never the secret itself.
    pub found: Vec<String>,
    /// Where it came up and was hidden before anything was kept.
    pub hidden: Vec<String>,
}
