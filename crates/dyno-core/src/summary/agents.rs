//! The load generators of a run that several made.

use serde::{Deserialize, Serialize};

use crate::finding::Outcome;

/// One of several load generators.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentSummary {
    /// As the run calls it.
    pub name: String,
    /// The name of its host; empty where it never came.
    pub host: String,
    /// Its part of the sessions, arrivals and events, 0 to 1.
    pub fraction: f64,
    /// Its sessions.
    pub sessions: u32,
    /// Its events, the grace included; of one that was lost those that it told.
    pub events: u64,
    /// The same per second of the measurement.
    pub events_per_s: f64,
    /// Its errors, ignored or not.
    pub errors: u64,
    /// The median of its service times in milliseconds, where its samples carry it.
    pub p50_ms: Option<f64>,
    /// Their 99th percentile.
    pub p99_ms: Option<f64>,
    /// CPU time of its process in cores; `None` where it did not tell.
    pub cpu_cores: Option<f64>,
    /// CPU time of its whole host that was used while it was measured, in percent of all its CPUs;
    /// `None` where the host is the coordinator's, which the run's series show, or did not tell.
    #[serde(default)]
    pub host_cpu_percent: Option<f64>,
    /// For how long of the measurement its process was not woken, in seconds.
    #[serde(default)]
    pub frozen_s: f64,
    /// How long after the common instant its load began, in milliseconds.
    pub late_ms: Option<f64>,
    /// Its monotonic clock against the coordinator's; `None` where it is not known.
    pub clock: Option<AgentClock>,
    /// It was lost while the run went on.
    pub lost: bool,
}

/// How the clock of a load generator is related to the coordinator's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentClock {
    /// How well the offset was known, in milliseconds: it is off by no more.
    pub bound_ms: f64,
    /// How much faster it runs, in parts per million; `None` where the run was too short to tell.
    pub drift_ppm: Option<f64>,
    /// How far its civil time is ahead of the coordinator's, in milliseconds.
    pub civil_ahead_ms: Option<f64>,
}

/// Something that is wrong, or odd, about several load generators.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentFinding {
    /// What it is, e.g. `agent-lost`.
    pub kind: String,
    /// What it means for the figures.
    pub outcome: Outcome,
    /// The agent; `None` where it is about several.
    pub agent: Option<String>,
    /// What was seen, with its numbers: one sentence.
    pub evidence: String,
}
