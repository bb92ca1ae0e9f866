//! Findings about a run with several load generators.

use std::fmt;

use dyno_core::finding::Outcome;
use serde::{Deserialize, Serialize};

use crate::names::AgentName;

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// An agent did not join.
    AgentMissing,
    /// An agent could not prepare, or its load failed.
    AgentFailed,
    /// An agent was silent for too long.
    AgentLost,
    /// An agent came back after it was lost, and was refused.
    AgentReturned,
    /// A second process used the name of an agent.
    AgentTwice,
    /// An agent ended before the others did.
    AgentEndedEarly,
    /// Programs or scripts differ between agents.
    VersionSkew,
    /// An agent uses another version of the protocol.
    ProtocolSkew,
    /// A start was cancelled because not all agents had confirmed it.
    StartCalledOff,
    /// An agent began at a start that had been cancelled.
    StartMistaken,
    /// An agent began late.
    StartLate,
    /// Intervals of an agent are missing.
    IntervalsMissing,
    /// An agent's totals are not the sum of its intervals.
    TotalsDiffer,
    /// Malformed messages.
    Malformed,
    /// The relation of clocks is not known precisely enough.
    Clocks,
    /// Civil clocks differ.
    CivilClocks,
    /// Agents' loads or latencies differ.
    UnequalAgents,
    /// The bus was down for a time.
    BusLost,
    /// Arrivals at a constant rate are not evenly spaced over all agents.
    UnevenArrivals,
    /// A phase timed out.
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
    /// The kind.
    pub kind: Kind,
    /// What it means for the figures.
    pub outcome: Outcome,
    /// The agent concerned; `None` if several are.
    pub agent: Option<AgentName>,
    /// The observation with its numbers: a complete sentence.
    pub evidence: String,
}

impl Finding {
    /// A finding about one agent.
    pub fn of(kind: Kind, outcome: Outcome, agent: &AgentName, evidence: String) -> Self {
        Self {
            kind,
            outcome,
            agent: Some(agent.clone()),
            evidence,
        }
    }

    /// A finding about the run.
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
