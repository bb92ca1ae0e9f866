//! A test with its options read: the work of its sessions and the description for the user.

use std::sync::Arc;

use dyno_core::interval::Counters;
use dyno_core::plan::{OptionValue, RandPlan};

use crate::options::{Edition, Values};
use crate::program::Work;
use crate::{Test, cpu, fileio, memory, mutex, threads};

/// The settings of a test other than its options.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The command line in use.
    pub edition: Edition,
    /// The number of sessions.
    pub sessions: u32,
    /// The seed of all random streams.
    pub seed: u64,
    /// The distribution of random places.
    pub rand: RandPlan,
}

/// Why a run cannot begin.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{why}")]
pub struct NotReady {
    /// The reason.
    pub why: String,
    /// Whether the test's command `prepare` creates what is missing.
    pub needs_prepare: bool,
}

impl NotReady {
    /// A reason that `prepare` cannot remove.
    pub(crate) fn for_good(why: String) -> Self {
        Self {
            why,
            needs_prepare: false,
        }
    }
}

/// A result of a test other than its events and latencies.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The quantity, e.g. `written`.
    pub name: &'static str,
    /// The value.
    pub value: f64,
    /// The unit, e.g. `MiB/s`.
    pub unit: &'static str,
}

/// A test with its options read.
#[derive(Debug)]
pub enum Plan {
    /// Divisions.
    Cpu(cpu::Cpu),
    /// Loads and stores.
    Memory(memory::Memory),
    /// Yielding the processor.
    Threads(threads::Threads),
    /// Locks.
    Mutex(mutex::Mutex),
    /// Reads, writes and flushes.
    FileIo(Box<fileio::FileIo>),
}

/// State shared by the sessions of a run.
#[derive(Debug)]
pub enum Shared {
    /// Nothing.
    Nothing,
    /// The block used by all sessions.
    Block(Arc<memory::Block>),
    /// Locks held while yielding the processor.
    Threads(Arc<threads::Locks>),
    /// Locks taken at random.
    Mutex(Arc<mutex::Locks>),
    /// The positions of sequential requests.
    Files(fileio::Shared),
}

impl Plan {
    /// Reads the options of a test, defaults included.
    ///
    /// # Errors
    /// Invalid values, named by their option.
    pub fn new(
        test: &Test,
        options: &[(String, OptionValue)],
        setting: &Setting,
    ) -> Result<Self, String> {
        let values = Values(options);
        match test.name {
            "cpu" => cpu::Cpu::new(&values).map(Self::Cpu),
            "memory" => memory::Memory::new(&values, setting).map(Self::Memory),
            "threads" => threads::Threads::new(&values).map(Self::Threads),
            "mutex" => mutex::Mutex::new(&values, setting).map(Self::Mutex),
            "fileio" => fileio::FileIo::new(&values, setting).map(|io| Self::FileIo(Box::new(io))),
            other => Err(format!("there is no test '{other}'")),
        }
    }

    /// Checks that everything a run needs is present.
    ///
    /// # Errors
    /// What is missing, and how to get it.
    pub fn ready(&self) -> Result<(), NotReady> {
        match self {
            Self::FileIo(io) => io.ready(),
            _ => Ok(()),
        }
    }

    /// Runs one of the test's commands on the calling thread.
    ///
    /// # Errors
    /// An unknown command; a file that cannot be created or removed.
    pub fn command(
        &self,
        name: &str,
        report: &mut dyn FnMut(fileio::Progress),
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), String> {
        match (self, name) {
            (Self::FileIo(io), "prepare") => io.prepare(report, stopped),
            (Self::FileIo(io), "cleanup") => io.cleanup(report),
            _ => Err(format!("this test does not implement the '{name}' command")),
        }
    }

    /// Runs the steps after a run that are not measured.
    ///
    /// # Errors
    /// Files that cannot be flushed.
    pub fn finish(&self) -> Result<(), String> {
        match self {
            Self::FileIo(io) => io.finish(),
            _ => Ok(()),
        }
    }

    /// Maximum number of events that a session has in flight at a time.
    pub fn depth(&self) -> u32 {
        match self {
            Self::FileIo(io) => io.depth_used(),
            _ => 1,
        }
    }

    /// The number of files that a session keeps open.
    pub fn descriptors(&self) -> u64 {
        match self {
            // A queue uses two more.
            Self::FileIo(io) => u64::from(io.files) + 2,
            _ => 0,
        }
    }

    /// Creates the state that the sessions of one run share.
    ///
    /// # Errors
    /// Memory that cannot be allocated.
    pub fn share(&self, sessions: u32) -> Result<Shared, String> {
        match self {
            Self::Cpu(_) => Ok(Shared::Nothing),
            Self::Memory(memory) => memory.share(),
            Self::Threads(threads) => Ok(Shared::Threads(Arc::new(threads.locks()))),
            Self::Mutex(mutex) => Ok(Shared::Mutex(Arc::new(mutex.locks()))),
            Self::FileIo(io) => Ok(Shared::Files(io.share(sessions))),
        }
    }

    pub(crate) fn work(&self, shared: &Shared, tid: u32) -> Result<Box<dyn Work>, String> {
        match (self, shared) {
            (Self::Cpu(cpu), _) => Ok(Box::new(cpu.work())),
            (Self::Memory(memory), shared) => Ok(Box::new(memory.work(shared, tid)?)),
            (Self::Threads(_), Shared::Threads(locks)) => Ok(Box::new(threads::work(locks))),
            (Self::Mutex(mutex), Shared::Mutex(locks)) => Ok(Box::new(mutex.work(locks, tid))),
            (Self::FileIo(io), Shared::Files(shared)) => io.work(shared, tid),
            _ => Err("the sessions of a test share another test's state".to_owned()),
        }
    }

    /// The number of events over all sessions after which nothing is left to do.
    pub fn events(&self) -> Option<u64> {
        match self {
            Self::Memory(memory) => memory.events(),
            _ => None,
        }
    }

    /// Whether each session ends after one event, so that a warm-up would leave nothing to measure.
    pub fn ends_itself(&self) -> bool {
        matches!(self, Self::Mutex(mutex) if mutex.once)
    }

    /// What an event does and what its speed measures, in whole sentences.
    pub fn about(&self) -> Vec<String> {
        match self {
            Self::Cpu(cpu) => cpu.about(),
            Self::Memory(memory) => memory.about(),
            Self::Threads(threads) => threads.about(),
            Self::Mutex(mutex) => mutex.about(),
            Self::FileIo(io) => io.about(),
        }
    }

    /// The results other than events, from the events that ended within `seconds`.
    pub fn figures(&self, counters: &Counters, seconds: f64) -> Vec<Figure> {
        if seconds <= 0.0 {
            return Vec::new();
        }
        match self {
            Self::Cpu(cpu) => cpu.figures(counters, seconds),
            Self::Memory(memory) => memory.figures(counters, seconds),
            Self::Threads(threads) => threads.figures(counters, seconds),
            Self::Mutex(mutex) => mutex.figures(counters, seconds),
            Self::FileIo(io) => io.figures(counters, seconds),
        }
    }
}
