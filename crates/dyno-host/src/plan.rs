//! A test with its options read: what its sessions do and what is to be said about it.

use std::sync::Arc;

use dyno_core::interval::Counters;
use dyno_core::plan::{OptionValue, RandPlan};

use crate::options::{Edition, Values};
use crate::program::Work;
use crate::{Test, cpu, fileio, memory, mutex, threads};

/// What a test needs to know beside its options.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Whose command line asks.
    pub edition: Edition,
    /// Sessions.
    pub sessions: u32,
    /// The seed of all streams.
    pub seed: u64,
    /// Which distribution random places are drawn from.
    pub rand: RandPlan,
}

/// Why a run cannot begin.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{why}")]
pub struct NotReady {
    /// The missing things, as text.
    pub why: String,
    /// Whether the test's command `prepare` creates what is missing.
    pub needs_prepare: bool,
}

impl NotReady {
    /// A reason that `prepare` does not remove.
    pub(crate) fn for_good(why: String) -> Self {
        Self {
            why,
            needs_prepare: false,
        }
    }
}

/// A figure of a test besides its events and their latencies.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What it is of, e.g. `written`.
    pub name: &'static str,
    /// How much.
    pub value: f64,
    /// Of what, e.g. `MiB/s`.
    pub unit: &'static str,
}

/// A test with its options read.
#[derive(Debug)]
pub enum Plan {
    /// Divisions.
    Cpu(cpu::Cpu),
    /// Loads and stores.
    Memory(memory::Memory),
    /// Handing over the processor.
    Threads(threads::Threads),
    /// Locks.
    Mutex(mutex::Mutex),
    /// Reads, writes and flushes.
    FileIo(Box<fileio::FileIo>),
}

/// What the sessions of a run share.
#[derive(Debug)]
pub enum Shared {
    /// Nothing.
    Nothing,
    /// The block that all sessions use.
    Block(Arc<memory::Block>),
    /// Locks that are held while the processor is handed over.
    Threads(Arc<threads::Locks>),
    /// Locks that are taken at random.
    Mutex(Arc<mutex::Locks>),
    /// Where requests in order stand.
    Files(fileio::Shared),
}

impl Plan {
    /// Reads the options of a test, defaults included.
    ///
    /// # Errors
    /// Values that make no sense, named by their option.
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

    /// Whether a run can begin: what it needs is there.
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
    /// An unknown command; a file that cannot be made or removed.
    pub fn command(
        &self,
        name: &str,
        tell: &mut dyn FnMut(fileio::Progress),
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), String> {
        match (self, name) {
            (Self::FileIo(io), "prepare") => io.prepare(tell, stopped),
            (Self::FileIo(io), "cleanup") => io.cleanup(tell),
            _ => Err(format!("this test does not implement the '{name}' command")),
        }
    }

    /// What comes after a run, outside of its measurement.
    ///
    /// # Errors
    /// Files that cannot be flushed.
    pub fn finish(&self) -> Result<(), String> {
        match self {
            Self::FileIo(io) => io.finish(),
            _ => Ok(()),
        }
    }

    /// How many events a session has under way at a time, at most.
    pub fn depth(&self) -> u32 {
        match self {
            Self::FileIo(io) => io.depth_used(),
            _ => 1,
        }
    }

    /// How many files a session keeps open.
    pub fn descriptors(&self) -> u64 {
        match self {
            // A queue has two of its own.
            Self::FileIo(io) => u64::from(io.files) + 2,
            _ => 0,
        }
    }

    /// What sessions of a run share, made anew for each run.
    ///
    /// # Errors
    /// Memory that cannot be had.
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

    /// After how many events over all sessions there is nothing left to do.
    pub fn events(&self) -> Option<u64> {
        match self {
            Self::Memory(memory) => memory.events(),
            _ => None,
        }
    }

    /// Whether each session ends by itself after one event, so that a warm-up would leave nothing.
    pub fn ends_itself(&self) -> bool {
        matches!(self, Self::Mutex(mutex) if mutex.once)
    }

    /// What an event does and what its speed is the speed of; whole sentences.
    pub fn about(&self) -> Vec<String> {
        match self {
            Self::Cpu(cpu) => cpu.about(),
            Self::Memory(memory) => memory.about(),
            Self::Threads(threads) => threads.about(),
            Self::Mutex(mutex) => mutex.about(),
            Self::FileIo(io) => io.about(),
        }
    }

    /// What the test measured besides events, from what ended within `seconds`.
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
