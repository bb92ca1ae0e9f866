//! What the bus has not confirmed yet.

use std::collections::VecDeque;
use std::sync::Arc;

use dyno_core::clock::Nanos;

use crate::names::Subject;

/// So many messages are kept: five minutes of one a second.
pub const QUEUE_RECORDS_MAX: usize = 300;
/// And so many bytes.
pub const QUEUE_BYTES_MAX: usize = 64 << 20;

/// So many messages are under way to the bus at a time.
const WINDOW: usize = 32;
/// One that was not confirmed for so long is sent again; the bus passes over what it has.
const AGAIN_NS: Nanos = 2_000_000_000;

/// A message that the bus is to keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// Its number: the bus keeps one of each.
    pub id: Arc<str>,
    /// Where it is written.
    pub subject: Subject,
    /// What it is.
    pub bytes: Arc<[u8]>,
}

#[derive(Debug)]
struct Entry {
    kept: Kept,
    /// When it is to be sent, or sent again.
    due: Nanos,
}

/// Messages in their order, until they are confirmed.
#[derive(Debug, Default)]
pub(super) struct Queue {
    entries: VecDeque<Entry>,
    bytes: usize,
}

impl Queue {
    pub(super) fn push(&mut self, id: String, subject: Subject, bytes: Vec<u8>, now: Nanos) {
        self.bytes += bytes.len();
        let kept = Kept {
            id: id.into(),
            subject,
            bytes: bytes.into(),
        };
        self.entries.push_back(Entry { kept, due: now });
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// How much there is, where that is as much as there may be.
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

    /// The next message that is to be sent.
    pub(super) fn offer(&mut self, now: Nanos) -> Option<Kept> {
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
