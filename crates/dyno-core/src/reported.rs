//! Facts and figures that a script reports about its run.

use serde::{Deserialize, Serialize};

use crate::catalogue::names;
use crate::record::Fact;

/// The prefix of a script's facts among the facts of a run.
pub const WORKLOAD: &str = names::WORKLOAD_EACH.before;

/// The prefix of facts that vary with every run and are not compared.
pub const WORKLOAD_VARIES: &str = names::RUN_WORKLOAD_EACH.before;

/// The script's own name for its fact; `None` for other facts.
pub fn own_name(fact: &Fact) -> Option<&str> {
    let name = &fact.name;
    let varies = name.strip_prefix(WORKLOAD_VARIES);
    varies.or_else(|| name.strip_prefix(WORKLOAD))
}

/// Which direction is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better: rates.
    Higher,
    /// Less is better: latencies, costs, errors.
    Lower,
}

/// A figure that a script computes from the measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What it measures, e.g. `new orders committed`.
    pub name: String,
    /// The value, in `unit`; finite.
    pub value: f64,
    /// The unit, e.g. `per minute`; may be empty.
    pub unit: String,
    /// Which direction is good; `None` if neither, in which case it is not compared.
    pub better: Option<Better>,
}
