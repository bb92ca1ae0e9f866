//! What carries messages between agents and their coordinator.

pub mod local;
#[cfg(feature = "nats")]
pub mod nats;
pub mod simulated;

use dyno_core::clock::Nanos;

use crate::agent::Kept;
use crate::names::Subject;

/// So many messages wait for their reader at most. Beyond it those are dropped that may be lost,
/// and those that are kept are not confirmed.
pub const WAITING_MAX: usize = 8192;

/// What comes from a bus.
#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    /// Bytes under a subject. They may come twice, and in any order.
    Message {
        /// Where they stood.
        subject: Subject,
        /// What they are.
        bytes: Vec<u8>,
    },
    /// The bus keeps the message of this number.
    Confirmed {
        /// The number.
        id: String,
    },
    /// The bus is away.
    Down,
    /// It is back.
    Up,
}

/// Why a bus does not work, and will not.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    /// It refused what was asked of it.
    #[error("the bus {at} refused {what}: {why}")]
    Refused {
        /// Where it is.
        at: String,
        /// What was asked.
        what: String,
        /// In its own words.
        why: String,
    },
    /// It is on another host, and would be reached without encryption.
    #[error(
        "{at} is not on this host, and Dyno connects to other hosts only encrypted: use tls://{at} \
         with --ca FILE (of `dyno run`: --bus-ca FILE), the authority of the server's certificate"
    )]
    Unencrypted {
        /// Where it is.
        at: String,
    },
    /// It could not be reached in time.
    #[error("the bus {at} cannot be reached: {why}")]
    Unreachable {
        /// Where it is.
        at: String,
        /// In the system's words.
        why: String,
    },
    /// Its thread has ended.
    #[error("the bus has ended: {0}")]
    Ended(String),
}

/// One end of a bus: an agent's or the coordinator's. Nothing blocks but [`Bus::receive`].
pub trait Bus {
    /// Sends a message that may be lost.
    ///
    /// # Errors
    /// The bus does not work, and will not.
    fn send(&mut self, subject: &Subject, bytes: &[u8]) -> Result<(), BusError>;

    /// Sends a message that the bus is to keep until it was read, and to confirm then. One whose
    /// number it has is confirmed, and not kept again.
    ///
    /// # Errors
    /// The bus does not work, and will not.
    fn keep(&mut self, kept: &Kept) -> Result<(), BusError>;

    /// The next that comes, by `until` of the own monotonic clock; `None` if nothing does.
    ///
    /// # Errors
    /// The bus does not work, and will not.
    fn receive(&mut self, until: Nanos) -> Result<Option<Incoming>, BusError>;
}
