//! Messages that the bus has not confirmed yet.

use std::collections::VecDeque;
use std::sync::Arc;

use dyno_core::clock::Nanos;

use crate::names::Subject;

/// Maximum number of messages in the queue: five minutes at one per second.
pub const QUEUE_RECORDS_MAX: usize = 300;
/// The largest size of the queue in bytes.
pub const QUEUE_BYTES_MAX: usize = 64 << 20;

/// Maximum number of messages on their way to the bus.
const WINDOW: usize = 32;
/// A message that is not confirmed is sent again after this time. The bus ignores duplicates.
const AGAIN_NS: Nanos = 2_000_000_000;

/// A message for the bus to store.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredMessage {
    /// The number of the message. The bus stores each number once.
    pub id: Arc<str>,
    /// The subject to publish it on.
    pub subject: Subject,
    /// The encoded message.
    pub bytes: Arc<[u8]>,
}

#[derive(Debug)]
struct Entry {
    kept: StoredMessage,
    /// When to send it, or send it again.
    due: Nanos,
}

/// Unconfirmed messages in order.
#[derive(Debug, Default)]
pub(super) struct Queue {
    entries: VecDeque<Entry>,
    bytes: usize,
}

impl Queue {
    pub(super) fn push(&mut self, id: String, subject: Subject, bytes: Vec<u8>, now: Nanos) {
        self.bytes += bytes.len();
        let kept = StoredMessage {
            id: id.into(),
            subject,
            bytes: bytes.into(),
        };
        self.entries.push_back(Entry { kept, due: now });
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Describes the contents of the queue if it is full.
    pub(super) fn is_full(&self) -> Option<String> {
        let (records, bytes) = (self.entries.len(), self.bytes);
        let full = records >= QUEUE_RECORDS_MAX || bytes >= QUEUE_BYTES_MAX;
        full.then(|| format!("{records} messages of {bytes} bytes"))
    }

    pub(super) fn confirmed(&mut self, id: &str) {
        let found = self.entries.iter().position(|entry| &*entry.kept.id == id);
        if let Some(entry) = found.and_then(|index| self.entries.remove(index)) {
            self.bytes -= entry.kept.bytes.len();
        }
    }

    /// The next message to send.
    pub(super) fn offer(&mut self, now: Nanos) -> Option<StoredMessage> {
        let mut window = self.entries.iter_mut().take(WINDOW);
        let entry = window.find(|entry| entry.due <= now)?;
        entry.due = now + AGAIN_NS;
        Some(entry.kept.clone())
    }

    pub(super) fn wakes_at(&self) -> Nanos {
        let window = self.entries.iter().take(WINDOW);
        window.map(|entry| entry.due).min().unwrap_or(Nanos::MAX)
    }
}
