//! Consumes live output on a separate thread, so that a slow reader or a slow report function of a
//! script does not block the measurement.

use std::sync::mpsc::{
    Receiver, RecvTimeoutError, SyncSender, TrySendError, channel, sync_channel,
};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

/// Queue capacity; items beyond it are dropped.
const WAITING_MAX: usize = 16;

/// A thread that takes items one by one.
pub(crate) struct Background<T> {
    items: SyncSender<Option<T>>,
    ended: Receiver<()>,
    left_out: u64,
}

/// How a background thread ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Whether it took every item. If not, it is still working on one.
    pub all_taken: bool,
    /// Number of items dropped because the queue was full.
    pub left_out: u64,
}

impl<T: Send + 'static> Background<T> {
    /// Starts a thread. `make` runs on it and returns the function that takes the items, and `None`
    /// at the end.
    ///
    /// # Errors
    /// The thread cannot be started, or `make` failed.
    pub(crate) fn start<W, F>(make: F) -> Result<Self>
    where
        W: FnMut(Option<T>),
        F: FnOnce() -> Result<W> + Send + 'static,
    {
        let (items, waiting) = sync_channel(WAITING_MAX);
        let (end, ended) = channel();
        let (begin, begun) = channel();
        let body = move || {
            let mut work = match make() {
                Ok(work) => work,
                Err(error) => {
                    let _ = begin.send(Err(error));
                    return;
                }
            };
            let _ = begin.send(Ok(()));
            while let Ok(Some(item)) = waiting.recv() {
                work(Some(item));
            }
            work(None);
            drop(end);
        };
        std::thread::Builder::new()
            .name("screen".to_owned())
            .spawn(body)
            .context("cannot start the display thread")?;
        match begun.recv() {
            Ok(made) => made?,
            Err(_) => bail!("the display thread failed"),
        }
        Ok(Self {
            items,
            ended,
            left_out: 0,
        })
    }

    /// Queues an item, or drops it if the queue is full. Never blocks.
    pub(crate) fn give(&mut self, item: T) {
        if let Err(TrySendError::Full(_)) = self.items.try_send(Some(item)) {
            self.left_out += 1;
        }
    }

    /// Ends the thread. Waits for it at most `patience`, again each time that `go_on` returns true.
    pub(crate) fn finish(self, patience: Duration, go_on: impl Fn() -> bool) -> Ended {
        let Self {
            items,
            ended,
            left_out,
        } = self;
        drop(items);
        let all_taken = loop {
            match ended.recv_timeout(patience) {
                Err(RecvTimeoutError::Timeout) if go_on() => {}
                Err(RecvTimeoutError::Timeout) => break false,
                _ => break true,
            }
        };
        Ended {
            all_taken,
            left_out,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn items_are_taken_in_order_and_then_the_end() {
        let taken = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&taken);
        let mut background =
            Background::start(move || Ok(move |item| kept.lock().unwrap().push(item))).unwrap();
        background.give(1);
        background.give(2);
        let ended = background.finish(Duration::from_secs(60), || false);
        assert!(ended.all_taken && ended.left_out == 0, "{ended:?}");
        assert_eq!(*taken.lock().unwrap(), [Some(1), Some(2), None]);
    }

    #[test]
    fn a_stuck_thread_does_not_block_others() {
        let (release, held) = channel::<()>();
        let work = move || {
            Ok(move |_| {
                let _ = held.recv();
            })
        };
        let mut background = Background::start(work).unwrap();
        for item in 0..WAITING_MAX as u64 + 5 {
            background.give(item);
        }
        let ended = background.finish(Duration::from_millis(1), || false);
        // The thread may take one before the others arrive.
        assert!(
            !ended.all_taken && (4..=5).contains(&ended.left_out),
            "{ended:?}"
        );
        drop(release);
    }

    #[test]
    fn reports_a_failed_start() {
        let made = Background::<u8>::start(|| {
            let refused: Result<fn(Option<u8>)> = Err(anyhow::anyhow!("no such function"));
            refused
        });
        assert_eq!(made.err().unwrap().to_string(), "no such function");
    }
}
