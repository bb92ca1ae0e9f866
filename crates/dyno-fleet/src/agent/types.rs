//! The configuration of an agent, and its actions.

use dyno_core::clock::Nanos;
use dyno_core::text::hex;
use sha2::{Digest as _, Sha256};

#[cfg(doc)]
use super::Agent;
use super::StoredMessage;
use crate::message::{Assignment, Hello, Message};
use crate::names::{AgentName, RunId};

/// The configuration of an agent.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// The run.
    pub run: RunId,
    /// Its name.
    pub name: AgentName,
    /// A random number that distinguishes this process from others with the same name.
    pub instance: u64,
    /// Its hello message.
    pub hello: Hello,
    /// How long it waits for the coordinator's first message.
    pub join_ns: Nanos,
    /// After its load has ended, how long it waits for an unreachable bus to store its records.
    pub linger_ns: Nanos,
}

/// An action that the agent requests.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Send a message that may be lost.
    Send(Message),
    /// Send a message that the bus stores and confirms through [`Agent::confirmed`].
    Keep(StoredMessage),
    /// Give a command to the load or the process.
    Do(Command),
}

/// A command to the load.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Measure the maximum throughput of this part of the plan; answer with [`Agent::calibrated`].
    Calibrate(Assignment),
    /// Prepare this part of the plan; answer with [`Agent::prepared`] or [`Agent::failed`].
    Prepare(Assignment),
    /// Begin at this time; answer with [`Agent::began`].
    Start {
        /// The time.
        at: Nanos,
    },
    /// Cancel the start, stay prepared.
    CallOff,
    /// End the load; answer with [`Agent::ended`].
    Stop {
        /// The reason.
        why: String,
    },
    /// The agent is done. A load that is still running ends at once.
    Exit(Exit),
}

/// How an agent's part in a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The coordinator has all records.
    Done,
    /// The coordinator refused it.
    Refused {
        /// The reason.
        why: String,
    },
    /// It lost contact with the coordinator.
    Orphaned {
        /// Number of record messages that the bus has not confirmed.
        unconfirmed: usize,
    },
    /// No coordinator answered.
    NotJoined,
}

/// The SHA-256 of a text, hexadecimal.
pub(crate) fn sha256(text: &str) -> String {
    hex(Sha256::digest(text))
}
