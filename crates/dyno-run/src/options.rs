//! What is to be recorded of a run, and how it is to be judged.

use std::path::PathBuf;

use dyno_core::finding::Waiver;
use dyno_verdict::{Claim, RequestedSetting};

/// When to calibrate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calibrate {
    /// Built-in workloads, unless it was done before.
    Auto,
    /// Before this run.
    Always,
    /// Not at all; what is known from before is not used either.
    Never,
}

/// What of the workload's ledger is compared with the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// Nothing.
    Nothing,
    /// What is read quickly beside a run.
    Quick,
    /// All of it, though whole tables must be read.
    Whole,
}

/// What the options of a run say about its record and verdict.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The results file; `None` for none.
    pub file: Option<PathBuf>,
    /// Whether to observe host, processes and database.
    pub observe: bool,
    /// What of the workload's ledger to compare with the database.
    pub ledger: Compared,
    /// The user's words about the run.
    pub note: String,
    /// What is said of the caches.
    pub claim: Option<Claim>,
    /// Settings that the server must have.
    pub expected: Vec<RequestedSetting>,
    /// Findings that are not to count.
    pub waivers: Vec<Waiver>,
    /// When to calibrate.
    pub calibrate: Calibrate,
    /// Whether to run although it is known before that the run will be refused.
    pub force: bool,
    /// Whether a refusal is to show in the exit status.
    pub gate: bool,
}
