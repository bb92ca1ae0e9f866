//! Ending a run early: a signal with two levels that wakes everything at once.

use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dyno_core::bulk::{BulkFormat, BulkLoad, RowSource};

/// The urgency of a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopLevel {
    /// No stop was requested.
    None,
    /// No new event begins; events in flight may end within the grace period. There is a report.
    End,
    /// Everything is dropped at once.
    Abandon,
}

/// A request to end a run early. Set it from any thread (a signal's handling thread, not the signal
/// handler itself: waking takes a lock).
#[derive(Default)]
pub struct StopSignal {
    level: AtomicU8,
    next_key: AtomicU64,
    listeners: Mutex<Vec<(u64, Listener)>>,
}

type Listener = Box<dyn Fn() + Send>;

impl StopSignal {
    /// A signal that is not set.
    pub fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    /// The level reached so far.
    #[inline]
    pub fn level(&self) -> StopLevel {
        match self.level.load(Ordering::Acquire) {
            0 => StopLevel::None,
            1 => StopLevel::End,
            _ => StopLevel::Abandon,
        }
    }

    /// Raises the level by one, as a user's Ctrl-C does. Returns the level reached.
    pub fn raise(&self) -> StopLevel {
        match self.level() {
            StopLevel::None => self.set(StopLevel::End),
            _ => self.set(StopLevel::Abandon),
        }
        self.level()
    }

    /// Raises the level to at least this one.
    pub fn set(&self, level: StopLevel) {
        self.level.fetch_max(level as u8, Ordering::AcqRel);
        for (_, listener) in self.locked().iter() {
            listener();
        }
    }

    /// Calls `listener` at each later [`Self::set`], until the handle is dropped.
    pub(crate) fn listen(self: &Arc<Self>, listener: Listener) -> Listening {
        let key = self.next_key.fetch_add(1, Ordering::Relaxed);
        self.locked().push((key, listener));
        Listening {
            signal: Arc::clone(self),
            key,
        }
    }

    fn locked(&self) -> MutexGuard<'_, Vec<(u64, Listener)>> {
        // The list is valid even if a listener panicked.
        self.listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for StopSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StopSignal")
            .field("level", &self.level())
            .finish_non_exhaustive()
    }
}

/// A load that checks whether the user has stopped it.
pub(crate) fn stoppable(mut load: BulkLoad, stop: &Arc<StopSignal>, after_end: bool) -> BulkLoad {
    struct Rows {
        rows: Box<dyn RowSource>,
        stop: Arc<StopSignal>,
        bearable: StopLevel,
    }

    impl RowSource for Rows {
        fn fill(&mut self, out: &mut Vec<u8>, format: BulkFormat, max_bytes: usize) -> u64 {
            self.rows.fill(out, format, max_bytes)
        }

        fn by_inserts(&self) -> bool {
            self.rows.by_inserts()
        }

        fn stopped(&self) -> bool {
            self.stop.level() > self.bearable || self.rows.stopped()
        }

        fn rewind(&mut self) {
            self.rows.rewind();
        }
    }

    load.rows = Box::new(Rows {
        rows: load.rows,
        stop: Arc::clone(stop),
        bearable: match after_end {
            true => StopLevel::End,
            false => StopLevel::None,
        },
    });
    load
}

/// A listener's registration.
pub(crate) struct Listening {
    signal: Arc<StopSignal>,
    key: u64,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.signal.locked().retain(|(key, _)| *key != self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raising_goes_up_and_wakes_listeners_until_they_leave() {
        let signal = StopSignal::new();
        let (sender, receiver) = std::sync::mpsc::channel();
        let listening = signal.listen(Box::new(move || {
            let _ = sender.send(());
        }));
        assert_eq!(signal.level(), StopLevel::None);
        assert_eq!(signal.raise(), StopLevel::End);
        assert_eq!(receiver.try_recv(), Ok(()));
        assert_eq!(signal.raise(), StopLevel::Abandon);
        signal.set(StopLevel::End);
        assert_eq!(signal.level(), StopLevel::Abandon);
        assert_eq!(receiver.try_iter().count(), 2);
        drop(listening);
        signal.raise();
        assert!(receiver.try_recv().is_err());
    }
}
