//! The place of a run in a sequence.

use serde::{Deserialize, Serialize};

use super::Preparation;

/// The place of a run in the sequence of runs that one command made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseOf {
    /// The sequence's name, unique for ever.
    pub sequence: String,
    /// The phase's name in the script.
    pub name: String,
    /// Place of the phase in the sequence, from 1.
    pub number: u32,
    /// Number of phases in the sequence.
    pub of: u32,
    /// The unit of work in an event, e.g. `rows`; `events` unless the script sets it.
    pub unit: String,
    /// Units per event.
    pub per_event: f64,
    /// The preparation right before it, outside the measurement; `None` without one.
    #[serde(default)]
    pub before: Option<Preparation>,
}
