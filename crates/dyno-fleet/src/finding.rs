//! What is wrong, or odd, about a run of several load generators, each by its name.

use std::fmt;

use dyno_core::finding::Outcome;
use serde::{Deserialize, Serialize};

use crate::names::AgentName;

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// An agent did not come.
    AgentMissing,
    /// An agent could not prepare, or its load failed.
    AgentFailed,
    /// Nothing was heard of an agent for too long.
    AgentLost,
    /// An agent came back after it was lost, and was refused.
    AgentReturned,
    /// A second process came under the name of an agent.
    AgentTwice,
    /// An agent ended before the others did.
    AgentEndedEarly,
    /// Programs or scripts are not the same everywhere.
    VersionSkew,
    /// An agent speaks another version of the protocol.
    ProtocolSkew,
    /// A start was called off since not all had confirmed it.
    StartCalledOff,
    /// An agent began at a start that had been called off.
    StartMistaken,
    /// An agent began late.
    StartLate,
    /// Intervals of an agent never came.
    IntervalsMissing,
    /// An agent's totals are not the sum of its intervals.
    TotalsDiffer,
    /// Messages that make no sense.
    Malformed,
    /// It is not known well enough how clocks are related.
    Clocks,
    /// Civil clocks differ.
    CivilClocks,
    /// Agents do not do alike.
    UnequalAgents,
    /// The bus was away for a time.
    BusLost,
    /// Arrivals at a constant rate are not evenly spaced over all agents.
    UnevenArrivals,
    /// A phase took longer than it may.
    TimedOut,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// A finding with its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What it is.
    pub kind: Kind,
    /// What it means for the figures.
    pub outcome: Outcome,
    /// The agent that it is about; `None` where it is about several.
    pub agent: Option<AgentName>,
    /// What was seen, with its numbers: one whole sentence.
    pub evidence: String,
}

impl Finding {
    /// Of this kind, about one agent.
    pub fn of(kind: Kind, outcome: Outcome, agent: &AgentName, evidence: String) -> Self {
        Self {
            kind,
            outcome,
            agent: Some(agent.clone()),
            evidence,
        }
    }

    /// Of this kind, about the run.
    pub fn of_run(kind: Kind, outcome: Outcome, evidence: String) -> Self {
        Self {
            kind,
            outcome,
            agent: None,
            evidence,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.evidence)
    }
}
