//! What sessions of one role did.

use serde::{Deserialize, Serialize};

/// The sessions of a role over the measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoleSummary {
    /// As the script names it, e.g. `inserter`.
    pub name: String,
    /// How many sessions played it.
    pub sessions: u32,
    /// Its events are not among the run's.
    pub background: bool,
    /// What an event of it is made of, e.g. `rows`.
    pub unit: String,
    /// How many of them an event is.
    pub per_event: f64,
    /// Events per second asked for, of all its sessions; `None` where it has no pace of its own.
    pub asked_per_s: Option<f64>,
    /// Its events, the grace included.
    pub events: u64,
    /// Its events per second of the measurement, without the grace.
    pub events_per_s: f64,
    /// Its events that ended without their work being done: not in `events`.
    #[serde(default)]
    pub not_done: u64,
    /// Events that could not be begun in time and were left out.
    pub skipped: u64,
    /// The fewest events of a session.
    pub events_min: u64,
    /// The most.
    pub events_max: u64,
    /// When the first of its sessions was through with its work, in seconds from the start of the
    /// measurement; `None` where the run's end ended one of them.
    pub finished_first_s: Option<f64>,
    /// When the last one was.
    pub finished_last_s: Option<f64>,
}

impl RoleSummary {
    /// Achieved over asked; `None` where nothing was asked.
    pub fn achieved_share(&self) -> Option<f64> {
        self.asked_per_s.map(|asked| self.events_per_s / asked)
    }
}
