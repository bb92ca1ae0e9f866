//! What agents and their coordinator say to each other: JSON with the version of the protocol
//! first; records, which the bus keeps, are deflated. Whatever comes from the bus is bounded before
//! it is decoded.

mod bounds;
mod outcome;
mod parts;
mod wire;

use std::borrow::Cow;

use dyno_core::clock::Nanos;
use dyno_core::interval::SparseInterval;
use serde::{Deserialize, Serialize};

use crate::division::Shard;
use crate::names::{AgentName, Channel, RunId, Subject};

pub use outcome::{OutcomeError, PIECES_MAX, Piece, pack, unpack};
pub use parts::{Joiner, OPERATIONS_PER_PART_MAX, PART_BYTES_MAX, PARTS_MAX, split};

/// The version of the protocol. Both sides must speak the same.
pub const PROTOCOL: u32 = 3;

/// The largest message, in bytes: what NATS takes by default.
pub const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// The longest text within a message that is told to a user, in bytes.
pub const TEXT_BYTES_MAX: usize = 1024;

/// A message with who it is from or for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// The version of the protocol.
    pub v: u32,
    /// The run.
    pub run: RunId,
    /// The agent that wrote it, or that it is for.
    pub agent: AgentName,
    /// Which process of that name: drawn by each agent when it starts.
    pub instance: u64,
    /// What it says.
    pub body: Body,
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// An agent presents itself.
    Hello(Box<Hello>),
    /// An agent lives.
    Pulse(Pulse),
    /// An agent's clock answers.
    Echo(Echo),
    /// What an agent measured.
    Record(Box<Record>),
    /// A piece of what its load came to.
    Outcome(Piece),
    /// What the agent is to do.
    Order(Box<Order>),
    /// A question to the agent's clock.
    Probe(Probe),
}

impl Body {
    /// Where it is written.
    pub fn channel(&self) -> Channel {
        match self {
            Self::Hello(_) => Channel::Hello,
            Self::Pulse(_) => Channel::Pulse,
            Self::Echo(_) => Channel::Echo,
            Self::Record(record) => match record.end {
                None => Channel::Intervals,
                Some(_) => Channel::End,
            },
            Self::Outcome(_) => Channel::End,
            Self::Order(_) => Channel::Control,
            Self::Probe(_) => Channel::Clock,
        }
    }
}

/// What a program is made of. Load generators that differ in it are not one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// Dyno's version.
    pub version: String,
    /// The commit that it was built from.
    pub commit: String,
    /// SHA-256 of the executable, hexadecimal.
    pub binary_sha256: String,
    /// SHA-256 of the script and its modules, hexadecimal; empty where an agent gets them with the
    /// plan.
    pub script_sha256: String,
}

/// An agent presents itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// Its program.
    pub build: Build,
    /// The versions of the protocol that it speaks.
    pub protocols: Vec<u32>,
    /// The host's name.
    pub host: String,
    /// What tells whether two processes run under the same kernel and see each other's numbers.
    pub machine: String,
    /// Its process number there.
    pub process: u32,
    /// Cores that it may use.
    pub cores: u32,
    /// The kernel's release.
    pub kernel: String,
    /// The kernel's clock source, e.g. `tsc`.
    pub clock_source: String,
    /// Memory that is free, in bytes.
    pub memory_bytes: u64,
}

/// What an agent can offer at most, as its calibration found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ceiling {
    /// Events per second, with a core for each worker; `None` where there is no calibration.
    pub per_s: Option<f64>,
    /// Why there is none.
    pub why: String,
    /// CPU time of an event, in microseconds.
    pub cpu_us_per_event: f64,
    /// 99.9th percentile of the service times without a server, in milliseconds.
    pub p999_ms: f64,
    /// The longest time that a worker was kept from its sockets, in milliseconds.
    pub stall_ms_max: f64,
    /// Its sessions then.
    pub sessions: u32,
    /// And its workers.
    pub workers: u32,
    /// When it was made, in seconds since 1970.
    pub made_unix_s: f64,
}

/// How far an agent is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// It waits for its part of the plan.
    #[default]
    Waiting,
    /// It measures what it can offer at most.
    Calibrating,
    /// It knows.
    Calibrated,
    /// Its sessions connect and prepare.
    Preparing,
    /// All of them are ready.
    Ready,
    /// It will begin at an instant.
    Armed,
    /// It makes load.
    Running,
    /// Its load has ended.
    Ended,
    /// It could not prepare.
    Failed,
}

/// An agent lives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pulse {
    /// The last order that it followed.
    pub serial: u64,
    /// How far it is.
    pub stage: Stage,
    /// The start that it was armed for, or runs since; 0 for none.
    pub attempt: u32,
    /// How many records it made.
    pub made: u64,
    /// How many of them the bus has not confirmed.
    pub unconfirmed: u64,
    /// How long after its instant the load began, in nanoseconds; `None` before it has.
    pub late_ns: Option<i64>,
    /// The host's civil time, in nanoseconds since 1970.
    pub unix_ns: u64,
    /// Why it failed or ended, if it did.
    pub why: String,
    /// What it can offer at most, once it was told to find out.
    #[serde(default)]
    pub ceiling: Option<Ceiling>,
}

/// A question to an agent's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Which burst of questions it belongs to.
    pub burst: u32,
    /// The coordinator's clock when it was sent.
    pub sent: Nanos,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Echo {
    /// The question.
    pub probe: Probe,
    /// The agent's clock when it came.
    pub received: Nanos,
    /// The agent's clock when this was sent.
    pub sent: Nanos,
    /// The host's civil time then, in nanoseconds since 1970.
    pub unix_ns: u64,
}

/// What an agent measured in one interval, or all that it measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Its number: that of the interval; of the totals, how many intervals there were.
    pub seq: u64,
    /// Which part of it this is, from 0.
    pub part: u32,
    /// How many parts it has, each with the next operations.
    pub parts: u32,
    /// How the load ended, with the totals.
    pub end: Option<End>,
    /// How many pieces there are of what the load came to, with the totals.
    #[serde(default)]
    pub pieces: u32,
    /// The start that it was measured after.
    pub attempt: u32,
    /// How long after that the load began by the agent's clock, in nanoseconds, with the totals.
    pub late_ns: Option<i64>,
    /// The figures. Instants are nanoseconds since the start that all agents have in common.
    pub interval: SparseInterval,
}

/// How an agent's load ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// As planned.
    Completed,
    /// It was told to stop.
    Stopped,
    /// It stopped by itself, since it heard no more of the coordinator.
    Orphaned,
    /// It kept as many records as it may, which the bus did not take.
    QueueFull,
    /// Its load failed.
    Failed,
}

impl End {
    /// Why the load ended before its time; `None` where it did not.
    pub fn early(self) -> Option<&'static str> {
        match self {
            Self::Completed => None,
            Self::Stopped => Some("it was told to stop"),
            Self::Orphaned => Some("it heard no more of the coordinator"),
            Self::QueueFull => Some("the bus took no more of its records"),
            Self::Failed => Some("it failed"),
        }
    }
}

/// What an agent is to do. Each order holds until the next; an agent follows none that is older
/// than the last, so that orders may be lost, repeated and come in any order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// Grows with each order to this agent; the same order repeated keeps it.
    pub serial: u64,
    /// What to do.
    pub task: Task,
}

/// What there is to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Wait: not all are there.
    Wait,
    /// Find out how much of this part of the plan could be done at most.
    Calibrate(Assignment),
    /// Prepare this part of the plan.
    Prepare(Assignment),
    /// Begin at an instant of the agent's own clock.
    Arm {
        /// Which start this is, from 1.
        attempt: u32,
        /// The instant.
        start: Nanos,
    },
    /// Forget the start, and be ready for another.
    Hold,
    /// Go on.
    Run,
    /// End the load, and tell what was measured.
    Stop {
        /// Why.
        why: String,
    },
    /// All was received, and the run is over.
    Leave,
    /// This agent takes no part: end the load, and tell nothing.
    Refuse {
        /// Why.
        why: String,
    },
}

/// An agent's part of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assignment {
    /// The plan, as JSON, without any secret.
    pub plan: String,
    /// SHA-256 of the plan's text, hexadecimal.
    pub plan_sha256: String,
    /// What of it the agent has.
    pub share: Shard,
    /// It stops its load after so long without a word of the coordinator.
    pub orphan_ns: Nanos,
}

/// Why bytes are no message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// It would take too much memory, or has too much of something.
    #[error("a message on {subject} has {size} {what}, more than {limit}")]
    TooLarge {
        /// Where it stood.
        subject: String,
        /// Of what.
        what: &'static str,
        /// How much there is.
        size: usize,
        /// How much there may be.
        limit: usize,
    },
    /// The other side speaks another protocol.
    #[error(
        "a message on {subject} is of version {theirs} of the protocol, and this Dyno speaks \
         {PROTOCOL}: run the same Dyno everywhere"
    )]
    Protocol {
        /// Where it stood.
        subject: String,
        /// The version that it names.
        theirs: u32,
    },
    /// The bus acknowledges a record, and whoever sent that had the answer sent here.
    #[error(
        "on {subject} stood an acknowledgement of the bus: another client had it sent there, \
         which is not to be believed of the agent of that name"
    )]
    Acknowledgement {
        /// Where it stood.
        subject: String,
    },
    /// It is not what the protocol says.
    #[error("a message on {subject} makes no sense: {why}")]
    Malformed {
        /// Where it stood.
        subject: String,
        /// What is wrong with it.
        why: String,
    },
}

impl Message {
    /// As bytes.
    ///
    /// # Errors
    /// It is larger than the bus takes.
    pub fn encode(&self) -> Result<Vec<u8>, MessageError> {
        let json = self.json()?;
        match self.body {
            Body::Record(_) => wire::deflate(&json).map_err(|error| MessageError::Malformed {
                subject: self.subject().to_string(),
                why: error.to_string(),
            }),
            _ => Ok(json),
        }
    }

    /// As JSON, which may be sent, too.
    ///
    /// # Errors
    /// It is larger than the bus takes.
    pub fn json(&self) -> Result<Vec<u8>, MessageError> {
        let subject = || self.subject().to_string();
        let bytes = serde_json::to_vec(self).map_err(|error| MessageError::Malformed {
            subject: subject(),
            why: error.to_string(),
        })?;
        match bytes.len() > MESSAGE_BYTES_MAX {
            true => Err(MessageError::TooLarge {
                subject: subject(),
                what: "bytes",
                size: bytes.len(),
                limit: MESSAGE_BYTES_MAX,
            }),
            false => Ok(bytes),
        }
    }

    /// What stands under a subject. Its size is looked at before anything else, and then its
    /// version.
    ///
    /// # Errors
    /// It is too large, of another protocol, malformed, or not by who may write there.
    pub fn decode(subject: &Subject, bytes: &[u8]) -> Result<Self, MessageError> {
        let malformed = |why: String| MessageError::Malformed {
            subject: subject.to_string(),
            why,
        };
        let json = wire::inflated(subject, bytes)?;
        let message: Self = match serde_json::from_slice(&json) {
            Ok(message) => message,
            // That of another version may be anything but its version.
            Err(error) => {
                bounds::check_version(subject, wire::version(&json))?;
                if wire::is_acknowledgement(&json) {
                    let subject = subject.to_string();
                    return Err(MessageError::Acknowledgement { subject });
                }
                return Err(malformed(error.to_string()));
            }
        };
        bounds::check_version(subject, Some(message.v))?;
        let Subject {
            run,
            channel,
            agent,
        } = subject;
        if (&message.run, &message.agent, message.body.channel()) != (run, agent, *channel) {
            return Err(malformed(format!("it belongs on {}", message.subject())));
        }
        bounds::check_content(subject, &message.body)?;
        Ok(message)
    }

    /// The JSON of a message that may be deflated: one line.
    ///
    /// # Errors
    /// It is too large, or neither.
    pub fn plain<'a>(subject: &Subject, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>, MessageError> {
        wire::inflated(subject, bytes)
    }

    /// Where it is written.
    pub fn subject(&self) -> Subject {
        Subject {
            run: self.run.clone(),
            channel: self.body.channel(),
            agent: self.agent.clone(),
        }
    }
}

/// A text for a user, cut where it is too long.
pub fn short(text: &str) -> String {
    let mut end = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

#[cfg(test)]
mod tests;
