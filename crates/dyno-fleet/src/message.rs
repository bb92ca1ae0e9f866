//! Messages between agents and their coordinator: JSON that starts with the protocol version;
//! stored records are deflated. The size of everything from the bus is limited before it is
//! decoded.

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

/// The protocol version. Both sides must use the same.
pub const PROTOCOL: u32 = 3;

/// Maximum size of a message, in bytes: NATS's default.
pub const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// Maximum length of a text in a message that is shown to a user, in bytes.
pub const TEXT_BYTES_MAX: usize = 1024;

/// A message with its sender or receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// The protocol version.
    pub v: u32,
    /// The run.
    pub run: RunId,
    /// The agent that sends or receives it.
    pub agent: AgentName,
    /// The process of that name: a random number that each agent draws when it starts.
    pub instance: u64,
    /// The content.
    pub body: Body,
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// An agent introduces itself.
    Hello(Box<Hello>),
    /// An agent's heartbeat.
    Pulse(Pulse),
    /// An agent's answer to a probe.
    Echo(Echo),
    /// An agent's measurements.
    Record(Box<Record>),
    /// A piece of its load's outcome.
    Outcome(Piece),
    /// An order to the agent.
    Order(Box<Order>),
    /// A probe of the agent's clock.
    Probe(Probe),
}

impl Body {
    /// The channel it is sent on.
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

/// The identity of a program. A run's load generators must have the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// Dyno's version.
    pub version: String,
    /// The commit it was built from.
    pub commit: String,
    /// SHA-256 of the executable, hexadecimal.
    pub binary_sha256: String,
    /// SHA-256 of the script and its modules, hexadecimal; empty if an agent receives them with the
    /// plan.
    pub script_sha256: String,
}

/// An agent's introduction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// Its program.
    pub build: Build,
    /// The protocol versions it supports.
    pub protocols: Vec<u32>,
    /// The host's name.
    pub host: String,
    /// Identifies the kernel and its process id namespace.
    pub machine: String,
    /// Its process id there.
    pub process: u32,
    /// Number of cores it may use.
    pub cores: u32,
    /// The kernel's release.
    pub kernel: String,
    /// The kernel's clock source, e.g. `tsc`.
    pub clock_source: String,
    /// Free memory, in bytes.
    pub memory_bytes: u64,
}

/// The ceiling of an agent, as measured by its calibration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ceiling {
    /// Events per second, with a core for each worker; `None` if the calibration failed.
    pub per_s: Option<f64>,
    /// Why it is missing.
    pub why: String,
    /// CPU time per event, in microseconds.
    pub cpu_us_per_event: f64,
    /// 99.9th percentile of the service times without a server, in milliseconds.
    pub p999_ms: f64,
    /// The longest time that a worker was delayed in serving its sockets, in milliseconds.
    pub stall_ms_max: f64,
    /// Number of its sessions during calibration.
    pub sessions: u32,
    /// Number of its workers during calibration.
    pub workers: u32,
    /// When it was measured, in seconds since 1970.
    pub made_unix_s: f64,
}

/// The stage of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Waiting for its part of the plan.
    #[default]
    Waiting,
    /// Calibrating.
    Calibrating,
    /// Calibration finished.
    Calibrated,
    /// Its sessions connect and prepare.
    Preparing,
    /// All sessions are ready.
    Ready,
    /// It will begin at a given time.
    Armed,
    /// It generates load.
    Running,
    /// Its load has ended.
    Ended,
    /// Preparation or the load failed.
    Failed,
}

/// An agent's heartbeat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pulse {
    /// The latest order that it followed.
    pub serial: u64,
    /// Its stage.
    pub stage: Stage,
    /// The attempted start for which it is armed, or since which it runs; 0 without one.
    pub attempt: u32,
    /// Number of records produced.
    pub made: u64,
    /// Number of records that the bus has not confirmed.
    pub unconfirmed: u64,
    /// How late the load began, in nanoseconds; `None` before it has.
    pub late_ns: Option<i64>,
    /// The host's civil time, in nanoseconds since 1970.
    pub unix_ns: u64,
    /// Why it failed or ended, if it did.
    pub why: String,
    /// Its ceiling, once it has calibrated.
    #[serde(default)]
    pub ceiling: Option<Ceiling>,
}

/// A probe of an agent's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// The number of its burst.
    pub burst: u32,
    /// The coordinator's clock when it was sent.
    pub sent: Nanos,
}

/// The answer to a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Echo {
    /// The probe.
    pub probe: Probe,
    /// The agent's clock when the probe arrived.
    pub received: Nanos,
    /// The agent's clock when this was sent.
    pub sent: Nanos,
    /// The host's civil time then, in nanoseconds since 1970.
    pub unix_ns: u64,
}

/// An agent's measurements of one interval, or its totals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The number of the interval; in the totals, the number of intervals.
    pub seq: u64,
    /// The number of this part, from 0.
    pub part: u32,
    /// Number of its parts, each with the next operations.
    pub parts: u32,
    /// In the totals: how the load ended.
    pub end: Option<End>,
    /// In the totals: number of pieces of the load's outcome.
    #[serde(default)]
    pub pieces: u32,
    /// The attempted start after which it was measured.
    pub attempt: u32,
    /// In the totals: how late the load began by the agent's clock, in nanoseconds.
    pub late_ns: Option<i64>,
    /// The figures. Times are nanoseconds since the common start.
    pub interval: SparseInterval,
}

/// How an agent's load ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// As planned.
    Completed,
    /// The coordinator ordered it to stop.
    Stopped,
    /// It stopped by itself after losing contact with the coordinator.
    Orphaned,
    /// Its queue was full of records that the bus did not accept.
    QueueFull,
    /// Its load failed.
    Failed,
}

impl End {
    /// Why the load ended early; `None` if it did not.
    pub fn early(self) -> Option<&'static str> {
        match self {
            Self::Completed => None,
            Self::Stopped => Some("it received the order to stop"),
            Self::Orphaned => Some("it lost contact with the coordinator"),
            Self::QueueFull => Some("the bus stopped accepting its records"),
            Self::Failed => Some("it failed"),
        }
    }
}

/// An order to an agent. Each is valid until the next. An agent ignores orders older than the
/// latest, so orders may be lost, repeated or reordered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// Increases with each new order to this agent; a repeated order keeps it.
    pub serial: u64,
    /// The task.
    pub task: Task,
}

/// The task of an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Wait for other agents.
    Wait,
    /// Measure the maximum throughput of this part of the plan.
    Calibrate(Assignment),
    /// Prepare this part of the plan.
    Prepare(Assignment),
    /// Begin at a time on the agent's own clock.
    Arm {
        /// The number of the start, from 1.
        attempt: u32,
        /// The time.
        start: Nanos,
    },
    /// Cancel the start and stay ready.
    Hold,
    /// Continue.
    Run,
    /// End the load, and report the measurements.
    Stop {
        /// The reason.
        why: String,
    },
    /// The run is over, and the coordinator has received all records.
    Leave,
    /// This agent takes no part: end the load, and report nothing.
    Refuse {
        /// The reason.
        why: String,
    },
}

/// An agent's part of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assignment {
    /// The plan as JSON, without any secret.
    pub plan: String,
    /// SHA-256 of the plan's text, hexadecimal.
    pub plan_sha256: String,
    /// The agent's share of it.
    pub share: Shard,
    /// It stops its load after this long without contact to the coordinator.
    pub orphan_ns: Nanos,
}

/// Why a message was rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// It would take too much memory, or exceeds a limit.
    #[error("a message on {subject} has {size} {what}, more than {limit}")]
    TooLarge {
        /// Its subject.
        subject: String,
        /// What exceeds the limit.
        what: &'static str,
        /// The size.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// The other side uses another protocol version.
    #[error(
        "a message on {subject} uses version {theirs} of the protocol, but this Dyno uses \
         {PROTOCOL}: run the same Dyno everywhere"
    )]
    Protocol {
        /// Its subject.
        subject: String,
        /// The version in the message.
        theirs: u32,
    },
    /// An acknowledgement by the bus, which the sender of a record redirected here.
    #[error(
        "another client redirected an acknowledgement of the bus to {subject}, so the agent of \
         that name cannot be trusted"
    )]
    Acknowledgement {
        /// Its subject.
        subject: String,
    },
    /// It violates the protocol.
    #[error("a message on {subject} is malformed: {why}")]
    Malformed {
        /// Its subject.
        subject: String,
        /// The violation.
        why: String,
    },
}

impl Message {
    /// Encodes the message.
    ///
    /// # Errors
    /// It is larger than the bus accepts.
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

    /// Encodes it as JSON, which is a valid message too.
    ///
    /// # Errors
    /// It is larger than the bus accepts.
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

    /// Decodes a message on a subject. Checks its size first, then its version.
    ///
    /// # Errors
    /// It is too large, of another protocol version, malformed, or from a sender without the right
    /// to write there.
    pub fn decode(subject: &Subject, bytes: &[u8]) -> Result<Self, MessageError> {
        let malformed = |why: String| MessageError::Malformed {
            subject: subject.to_string(),
            why,
        };
        let json = wire::inflated(subject, bytes)?;
        let message: Self = match serde_json::from_slice(&json) {
            Ok(message) => message,
            // In a message of another version, only the version can be read.
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

    /// The JSON of a message that may be deflated, as one line.
    ///
    /// # Errors
    /// It is too large, or neither JSON nor deflated JSON.
    pub fn plain<'a>(subject: &Subject, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>, MessageError> {
        wire::inflated(subject, bytes)
    }

    /// Its subject.
    pub fn subject(&self) -> Subject {
        Subject {
            run: self.run.clone(),
            channel: self.body.channel(),
            agent: self.agent.clone(),
        }
    }
}

/// A text for a user, shortened if it is too long.
pub fn short(text: &str) -> String {
    text[..text.floor_char_boundary(TEXT_BYTES_MAX)].to_owned()
}

#[cfg(test)]
pub(crate) mod tests;
