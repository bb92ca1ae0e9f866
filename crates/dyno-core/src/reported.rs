//! What a script tells of its run besides what is measured.

use serde::{Deserialize, Serialize};

use crate::record::Fact;

/// What the names of a script's facts begin with among the facts of a run.
pub const WORKLOAD: &str = "workload.";

/// The same of facts that are another with every run, which are not compared.
pub const WORKLOAD_VARIES: &str = "run.workload.";

/// The name of a script's fact as the script has it; `None` for other facts.
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

/// A figure that a script makes of what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What it is of, e.g. `new orders committed`.
    pub name: String,
    /// How much; finite.
    pub value: f64,
    /// Of what, e.g. `per minute`; perhaps empty.
    pub unit: String,
    /// Which direction is good; `None` where neither is: then it is not compared.
    pub better: Option<Better>,
}
