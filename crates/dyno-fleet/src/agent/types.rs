//! What an agent is, and what it wants done.

use dyno_core::clock::Nanos;
use sha2::{Digest as _, Sha256};

#[cfg(doc)]
use super::Agent;
use super::Kept;
use crate::message::{Assignment, Hello, Message};
use crate::names::{AgentName, RunId};

/// What an agent is.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// The run.
    pub run: RunId,
    /// Its name.
    pub name: AgentName,
    /// Drawn at random: tells this process from another one of the same name.
    pub instance: u64,
    /// What it says of itself.
    pub hello: Hello,
    /// It waits so long for the first word of a coordinator.
    pub join_ns: Nanos,
    /// Once its load has ended, it tries for so long to have all of its records kept by a bus that
    /// is away.
    pub linger_ns: Nanos,
}

/// What an agent wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A message that may be lost.
    Send(Message),
    /// A message that the bus is to keep, and to confirm by [`Agent::confirmed`].
    Keep(Kept),
    /// A command to the load, or to the process.
    Do(Command),
}

/// What the load is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Find out how much of this part of the plan could be done at most; answer with
    /// [`Agent::calibrated`].
    Calibrate(Assignment),
    /// Prepare this part of the plan; answer with [`Agent::prepared`] or [`Agent::failed`].
    Prepare(Assignment),
    /// Begin at this instant; answer with [`Agent::began`].
    Start {
        /// The instant.
        at: Nanos,
    },
    /// Forget the start, stay prepared.
    CallOff,
    /// End the load; answer with [`Agent::ended`].
    Stop {
        /// Why.
        why: String,
    },
    /// The agent has nothing to do any more. A load that still runs ends at once.
    Exit(Exit),
}

/// How an agent's part in a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The coordinator has all that there is.
    Done,
    /// The coordinator did not want it.
    Refused {
        /// Why.
        why: String,
    },
    /// Nothing is heard of the coordinator.
    Orphaned {
        /// How many messages with records the bus has not confirmed.
        unconfirmed: usize,
    },
    /// No coordinator answered.
    NotJoined,
}

/// SHA-256 of a text, hexadecimal.
pub(crate) fn sha256(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
