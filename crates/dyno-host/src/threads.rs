//! Yielding the processor while holding a lock: the cost of the scheduler.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use dyno_core::interval::Counters;
use dyno_core::session::{Port, SessionId, Step};

use crate::options::{Kind, Values, option};
use crate::plan::Figure;
use crate::program::{After, Work, events};
use crate::{Definition, Test};

const OPTIONS: &[Definition] = &[
    option(
        "thread-yields",
        Kind::Int,
        "1000",
        "number of yields to do per request",
    ),
    option("thread-locks", Kind::Int, "8", "number of locks per thread"),
];

pub(crate) const TEST: Test = Test {
    name: "threads",
    about: "threads that yield the processor while holding one of a few locks",
    options: OPTIONS,
    operations: &[],
    commands: &[],
    draws_places: false,
    revision: 1,
};

/// The test with its options read.
#[derive(Debug)]
pub struct Threads {
    /// The number of yields per event.
    pub yields: u64,
    /// The number of locks.
    pub locks: u64,
}

/// The locks of a run.
#[derive(Debug)]
pub struct Locks {
    yields: u64,
    next: AtomicU64,
    locks: Vec<Apart>,
}

/// Maximum number of locks, which take two gigabytes.
const LOCKS_MAX: u64 = 1 << 24;

/// A lock on separate cache lines, to measure contention for the lock, not for its neighbours.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Apart(Mutex<()>);

impl Threads {
    pub(crate) fn new(values: &Values<'_>) -> Result<Self, String> {
        let locks = values.count("thread-locks", 1)?;
        if locks > LOCKS_MAX {
            return Err(format!(
                "--thread-locks: {locks} is too many; at most {LOCKS_MAX}"
            ));
        }
        Ok(Self {
            yields: values.count("thread-yields", 1)?,
            locks,
        })
    }

    pub(crate) fn locks(&self) -> Locks {
        Locks {
            yields: self.yields,
            next: AtomicU64::new(0),
            locks: (0..self.locks).map(|_| Apart::default()).collect(),
        }
    }

    pub(crate) fn about(&self) -> Vec<String> {
        vec![format!(
            "An event takes one of {} locks, yields the processor and releases the lock, {} times. \
             With few sessions the core returns immediately; with more sessions than cores and \
             locks, it measures the cost of switching and waiting.",
            self.locks, self.yields
        )]
    }

    pub(crate) fn figures(&self, counters: &Counters, seconds: f64) -> Vec<Figure> {
        vec![Figure {
            name: "yields",
            value: self.yields as f64 * counters.events as f64 / seconds,
            unit: "/s",
        }]
    }
}

pub(crate) fn work(locks: &Arc<Locks>) -> impl Work + use<> {
    Yields {
        locks: Arc::clone(locks),
    }
}

struct Yields {
    locks: Arc<Locks>,
}

impl Work for Yields {
    fn turn(&mut self, port: &mut dyn Port, session: SessionId) -> Step {
        let Locks {
            yields,
            next,
            locks,
        } = &*self.locks;
        events(port, session, |_| {
            let number = next.fetch_add(1, Ordering::Relaxed) % locks.len() as u64;
            let lock = &locks[number as usize].0;
            for _ in 0..*yields {
                // It protects nothing, so a panic while it was locked breaks nothing.
                let held = lock.lock().unwrap_or_else(PoisonError::into_inner);
                std::thread::yield_now();
                drop(held);
            }
            Ok(After::Next)
        })
    }
}
