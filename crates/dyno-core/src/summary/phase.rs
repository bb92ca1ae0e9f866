//! Where a run stands in a sequence.

use serde::{Deserialize, Serialize};

use super::Preparation;

/// A run's place in the sequence of runs that one command made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseOf {
    /// The sequence's name, unique for ever.
    pub sequence: String,
    /// The phase, as the script names it.
    pub name: String,
    /// Its place in the sequence, from 1.
    pub number: u32,
    /// How many phases the sequence is to have.
    pub of: u32,
    /// What an event is made of, e.g. `rows`; `events` unless the script tells.
    pub unit: String,
    /// How many of them an event is.
    pub per_event: f64,
    /// What was done right before it, outside the measurement; `None` where nothing was.
    #[serde(default)]
    pub before: Option<Preparation>,
}
