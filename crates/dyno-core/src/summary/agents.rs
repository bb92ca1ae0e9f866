//! The agents of a run.

use serde::{Deserialize, Serialize};

use crate::finding::Outcome;

/// One of several agents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentSummary {
    /// The agent's name in the run.
    pub name: String,
    /// The name of its host; empty if it never joined.
    pub host: String,
    /// The agent's share of the sessions, arrivals and events, 0 to 1.
    pub fraction: f64,
    /// Sessions of the agent.
    pub sessions: u32,
    /// Events of the agent, including the grace period; for a lost agent, those it reported.
    pub events: u64,
    /// Events of the agent per second of the measurement.
    pub events_per_s: f64,
    /// Errors, ignored or not.
    pub errors: u64,
    /// The median of its service times in milliseconds, if it has enough samples.
    pub p50_ms: Option<f64>,
    /// The 99th percentile of its service times.
    pub p99_ms: Option<f64>,
    /// CPU time of its process in cores; `None` if not reported.
    pub cpu_cores: Option<f64>,
    /// CPU usage of its whole host during the measurement, in percent of all its CPUs; `None` if
    /// the host is the coordinator's, which the run's series cover, or if not reported.
    #[serde(default)]
    pub host_cpu_percent: Option<f64>,
    /// How long its process was frozen during the measurement, in seconds.
    #[serde(default)]
    pub frozen_s: f64,
    /// Delay of its load after the common start, in milliseconds.
    pub late_ms: Option<f64>,
    /// The agent's monotonic clock relative to the coordinator's; `None` if unknown.
    pub clock: Option<AgentClock>,
    /// It was lost during the run.
    pub lost: bool,
}

/// The clock of an agent relative to the coordinator's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentClock {
    /// The largest error of the offset, in milliseconds.
    pub bound_ms: f64,
    /// Drift (positive: faster), in parts per million; `None` if the run was too short.
    pub drift_ppm: Option<f64>,
    /// How far its wall clock is ahead of the coordinator's, in milliseconds.
    pub civil_ahead_ms: Option<f64>,
}

/// A problem with the agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentFinding {
    /// Kind of the problem, e.g. `agent-lost`.
    pub kind: String,
    /// Effect on the verdict.
    pub outcome: Outcome,
    /// The agent; `None` if it is about several.
    pub agent: Option<String>,
    /// The evidence with its numbers: one sentence.
    pub evidence: String,
}
