//! Briefly takes random locks, with some work in between.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

use dyno_core::interval::Counters;
use dyno_core::rand::Stream;
use dyno_core::session::{Port, SessionId, Step};

use crate::options::{Edition, Kind, Values, option};
use crate::plan::{Figure, Setting};
use crate::program::{After, Work, events};
use crate::{Definition, Test};

const OPTIONS: &[Definition] = &[
    option("mutex-num", Kind::Int, "4096", "total size of mutex array"),
    Definition {
        sysbench: Some("50000"),
        ..option(
            "mutex-locks",
            Kind::Int,
            "1000",
            "number of mutex locks to do per thread",
        )
    },
    option(
        "mutex-loops",
        Kind::Int,
        "10000",
        "number of empty loops to do outside mutex lock",
    ),
];

pub(crate) const TEST: Test = Test {
    name: "mutex",
    about: "many locks taken briefly at random, with empty loops in between",
    options: OPTIONS,
    operations: &[],
    commands: &[],
    draws_places: false,
    revision: 1,
};

/// The test with its options read.
#[derive(Debug)]
pub struct Mutex {
    /// The number of locks.
    pub locks: u64,
    /// The number of locks that an event takes, one after another.
    pub takes: u64,
    /// Iterations of the empty loop before each lock.
    pub loops: u64,
    /// Each session runs exactly one event.
    pub once: bool,
    seed: u64,
}

/// The locks of a run.
#[derive(Debug)]
pub struct Locks {
    locks: Vec<Apart>,
    /// Changed under every lock.
    total: AtomicU64,
}

/// Maximum number of locks, which take four gigabytes.
const LOCKS_MAX: u64 = 1 << 24;

/// A lock on separate cache lines.
#[derive(Debug, Default)]
#[repr(align(256))]
struct Apart(std::sync::Mutex<()>);

impl Mutex {
    pub(crate) fn new(values: &Values<'_>, setting: &Setting) -> Result<Self, String> {
        let locks = values.count("mutex-num", 1)?;
        if locks > LOCKS_MAX {
            return Err(format!(
                "--mutex-num: {locks} is too many; at most {LOCKS_MAX}"
            ));
        }
        Ok(Self {
            locks,
            takes: values.count("mutex-locks", 1)?,
            loops: values.count("mutex-loops", 0)?,
            once: setting.edition == Edition::Sysbench,
            seed: setting.seed,
        })
    }

    pub(crate) fn locks(&self) -> Locks {
        Locks {
            locks: (0..self.locks).map(|_| Apart::default()).collect(),
            total: AtomicU64::new(0),
        }
    }

    pub(crate) fn work(&self, locks: &Arc<Locks>, tid: u32) -> impl Work + use<> {
        Takes {
            locks: Arc::clone(locks),
            takes: self.takes,
            loops: self.loops,
            after: if self.once { After::Last } else { After::Next },
            choice: Stream::new(self.seed, u64::from(tid)),
        }
    }

    pub(crate) fn about(&self) -> Vec<String> {
        vec![format!(
            "An event takes and releases {} locks, each chosen from {} and held for one addition, \
             after {} turns of an empty loop. With many loops it mostly measures the speed of a \
             core; with few locks and no loops, the cost of contention.",
            self.takes, self.locks, self.loops
        )]
    }

    pub(crate) fn figures(&self, counters: &Counters, seconds: f64) -> Vec<Figure> {
        vec![Figure {
            name: "locks",
            value: self.takes as f64 * counters.events as f64 / seconds,
            unit: "/s",
        }]
    }
}

struct Takes {
    locks: Arc<Locks>,
    takes: u64,
    loops: u64,
    after: After,
    choice: Stream,
}

impl Work for Takes {
    fn turn(&mut self, port: &mut dyn Port, session: SessionId) -> Step {
        let Locks { locks, total } = &*self.locks;
        events(port, session, |_| {
            for _ in 0..self.takes {
                let number = self.choice.below(locks.len() as u64);
                for turn in 0..self.loops {
                    black_box(turn);
                }
                // It protects nothing, so a panic while it was locked breaks nothing.
                let lock = &locks[number as usize].0;
                let held = lock.lock().unwrap_or_else(PoisonError::into_inner);
                // Other locks do not protect it: lost additions do not matter, contention for its
                // line does.
                let sum = total.load(Ordering::Relaxed);
                total.store(sum + 1, Ordering::Relaxed);
                drop(held);
            }
            Ok(self.after)
        })
    }
}
