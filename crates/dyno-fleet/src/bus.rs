//! Transport of messages between agents and their coordinator.

pub mod local;
#[cfg(feature = "nats")]
pub mod nats;
pub mod simulated;

use dyno_core::clock::Nanos;

use crate::agent::StoredMessage;
use crate::names::Subject;

/// Maximum number of received messages waiting to be read. Beyond it, transient messages are
/// dropped, and stored ones are not confirmed.
pub const WAITING_MAX: usize = 8192;

/// An event from a bus.
#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    /// A message. It may arrive twice, and in any order.
    Message {
        /// The subject it was published on.
        subject: Subject,
        /// The encoded message.
        bytes: Vec<u8>,
    },
    /// The bus has stored the message with this number.
    Confirmed {
        /// The number.
        id: String,
    },
    /// The bus is unreachable.
    Down,
    /// The bus is back.
    Up,
}

/// Why a bus failed permanently.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    /// It refused a request.
    #[error("the bus {at} refused {what}: {why}")]
    Refused {
        /// Its address.
        at: String,
        /// The request.
        what: String,
        /// The bus's own message.
        why: String,
    },
    /// It is on another host, and the connection would not be encrypted.
    #[error(
        "{at} is on another host, so the connection must be encrypted: use tls://{at} and name the \
         CA of the server's certificate with --ca FILE (`dyno run`: --bus-ca FILE)"
    )]
    Unencrypted {
        /// Its address.
        at: String,
    },
    /// Connecting timed out.
    #[error("cannot reach the bus {at}: {why}")]
    Unreachable {
        /// Its address.
        at: String,
        /// The system's message.
        why: String,
    },
    /// Its thread has ended.
    #[error("the bus has stopped: {0}")]
    Ended(String),
}

/// An agent's or the coordinator's connection to a bus. Only [`Bus::receive`] blocks.
pub trait Bus {
    /// Sends a message that may be lost.
    ///
    /// # Errors
    /// The bus failed permanently.
    fn send(&mut self, subject: &Subject, bytes: &[u8]) -> Result<(), BusError>;

    /// Sends a message that the bus stores until it is read, and confirms when it is stored. A
    /// number that is already stored is confirmed but not stored again.
    ///
    /// # Errors
    /// The bus failed permanently.
    fn keep(&mut self, kept: &StoredMessage) -> Result<(), BusError>;

    /// The next event, until the time `until` on our own monotonic clock; `None` on timeout.
    ///
    /// # Errors
    /// The bus failed permanently.
    fn receive(&mut self, until: Nanos) -> Result<Option<Incoming>, BusError>;
}
