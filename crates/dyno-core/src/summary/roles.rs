//! Results per role.

use serde::{Deserialize, Serialize};

/// The sessions of a role over the measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoleSummary {
    /// The script's name for it, e.g. `inserter`.
    pub name: String,
    /// Number of sessions.
    pub sessions: u32,
    /// The role's events are not among the run's.
    pub background: bool,
    /// The unit of work in an event, e.g. `rows`.
    pub unit: String,
    /// Units per event.
    pub per_event: f64,
    /// Requested events per second over all its sessions; `None` if it has no pace.
    pub asked_per_s: Option<f64>,
    /// Events of the role, including the grace period.
    pub events: u64,
    /// Events of the role per second of the measurement, without the grace period.
    pub events_per_s: f64,
    /// Events that ended without their work; not in `events`.
    #[serde(default)]
    pub not_done: u64,
    /// Events dropped because they could not start in time.
    pub skipped: u64,
    /// The fewest events of a session.
    pub events_min: u64,
    /// The most.
    pub events_max: u64,
    /// When its first session finished its work, in seconds from the start of the measurement;
    /// `None` if the end of the run stopped any of its sessions.
    pub finished_first_s: Option<f64>,
    /// When its last session finished.
    pub finished_last_s: Option<f64>,
}

impl RoleSummary {
    /// Achieved over requested rate; `None` without a request.
    pub fn achieved_share(&self) -> Option<f64> {
        self.asked_per_s.map(|asked| self.events_per_s / asked)
    }
}
