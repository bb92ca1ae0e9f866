//! The configuration of a host.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dyno_core::plan::{OptionValue, RandPlan};

use crate::failure::DatabaseErrors;
use crate::ledger::Ledger;
use crate::reported::Reported;
use crate::source::{Builtins, Source};

/// The destination of `print` in scripts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prints {
    /// To standard output.
    #[default]
    Output,
    /// To standard error, so that standard output can be parsed.
    Errors,
}

/// The configuration shared by the Lua states of a run.
pub struct HostConfig {
    /// The script.
    pub source: Source,
    /// Scripts that `require` finds in the binary.
    pub builtins: Builtins,
    /// The values of `sysbench.opt`; may be set later.
    pub options: Vec<(String, OptionValue)>,
    /// The command line, program name first.
    pub argv: Vec<String>,
    /// The command word, if any.
    pub command: Option<String>,
    /// The seed of all streams.
    pub seed: u64,
    /// Added to a session's number to select its stream; separates the main state from session 0.
    pub stream_base: u64,
    /// The parameters of the distributions.
    pub rand: RandPlan,
    /// The driver's name in scripts (`mysql`, `pgsql`, `sqlite`); `None` without a target.
    pub driver_name: Option<&'static str>,
    /// The percentile for report functions, in percent.
    pub percentile: f64,
    /// Errors after which the event is repeated: kinds, errnos and SQLSTATEs; `all` for any.
    pub ignored_errors: Vec<String>,
    /// Whether a session with a lost connection reconnects and continues.
    pub reconnect_lost: bool,
    /// Insert parameters into the text on the client instead of preparing statements.
    pub emulate_prepared: bool,
    /// Arguments for LuaJIT's `-j`, e.g. `off`.
    pub luajit_cmd: Option<String>,
    /// The destination of `print` in scripts.
    pub prints: Prints,
    /// The script is sysbench's: failed statements are reported in the words of its drivers, and an
    /// error in `thread_done()` has no other effect.
    pub sysbench: bool,
    /// Where sessions of a parallel command wait for each other.
    pub barrier: Arc<Barrier>,
    /// The progress of a load.
    pub progress: Arc<LoadProgress>,
    /// The names that the script declares; `None` while they are being collected.
    pub declared: Option<Declared>,
    /// Sessions play the roles returned by the script's `roles()`.
    pub plays_roles: bool,
    /// There is no server: every request has the same immediate answer.
    pub canned: bool,
    /// The numbers shared by all sessions of the run.
    pub shared: Arc<SharedNumbers>,
    /// Collects the sessions' sums.
    pub ledger: Arc<Ledger>,
    /// Facts, figures and warnings from the script.
    pub reported: Arc<Reported>,
    /// The counter behind `sysbench.rand.unique`, shared by the whole run.
    pub unique: Arc<AtomicU64>,
    /// The step of that counter: the number of load generators, which take turns.
    pub unique_step: u64,
    /// Set once a script has asked for a database driver.
    pub driver_used: Arc<AtomicBool>,
    /// Set once a function has failed whose error has no other effect.
    pub script_failed: Arc<AtomicBool>,
    /// Database errors that ended sessions.
    pub database_errors: Arc<DatabaseErrors>,
    /// Receives messages of the script layer: level (`FATAL`, `ALERT`) and text.
    pub log: fn(level: &str, text: &str),
}

/// The names that a script declares, in order of declaration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// Its operations.
    pub operations: Vec<String>,
    /// The sums of its ledger.
    pub sums: Vec<String>,
}

/// Maximum count of numbers that the sessions of a run can share: 128 MiB of them.
pub(crate) const SHARED_NUMBERS_MAX: usize = 16 << 20;

/// Numbers shared by all sessions of a run, by name.
#[derive(Debug, Default)]
pub struct SharedNumbers {
    by_name: Mutex<HashMap<String, Numbers>>,
    /// Other load generators also have sessions of this run.
    apart: AtomicBool,
}

#[derive(Debug)]
struct Numbers {
    values: Arc<[AtomicI64]>,
    across: Across,
}

/// How numbers are shared across several load generators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Across {
    /// Not at all: an error.
    #[default]
    Refused,
    /// Each generator has a separate copy.
    Each,
    /// Each generator has a separate copy, and they are added up at the end.
    Sum,
}

impl Across {
    /// Parses the word used in scripts.
    pub(crate) fn of(word: &str) -> Self {
        match word {
            "each" => Self::Each,
            "sum" => Self::Sum,
            _ => Self::Refused,
        }
    }
}

impl SharedNumbers {
    /// The numbers with this name, created with `count` entries if missing; `None` if the total
    /// would exceed [`SHARED_NUMBERS_MAX`].
    pub(crate) fn named(
        &self,
        name: &str,
        count: usize,
        across: Across,
    ) -> Option<Arc<[AtomicI64]>> {
        let mut all = self.lock();
        if let Some(numbers) = all.get(name) {
            return Some(Arc::clone(&numbers.values));
        }
        let others: usize = all.values().map(|numbers| numbers.values.len()).sum();
        if count > SHARED_NUMBERS_MAX - others {
            return None;
        }
        let values: Arc<[AtomicI64]> = (0..count).map(|_| AtomicI64::new(0)).collect();
        let own = Arc::clone(&values);
        all.insert(name.to_owned(), Numbers { values, across });
        Some(own)
    }

    /// Other load generators also have sessions of this run: from now on, numbers that they would
    /// have to share are refused.
    pub fn part(&self) {
        self.apart.store(true, Ordering::Relaxed);
    }

    pub(crate) fn are_apart(&self) -> bool {
        self.apart.load(Ordering::Relaxed)
    }

    /// The numbers that are added up over all load generators, by name.
    pub fn sums(&self) -> BTreeMap<String, Vec<i64>> {
        let all = self.lock();
        let summed = all.iter().filter(|(_, own)| own.across == Across::Sum);
        let values = |own: &Numbers| -> Vec<i64> {
            let values = own.values.iter();
            values.map(|one| one.load(Ordering::Relaxed)).collect()
        };
        summed
            .map(|(name, own)| (name.clone(), values(own)))
            .collect()
    }

    /// Adds those of another load generator.
    pub fn add(&self, sums: &BTreeMap<String, Vec<i64>>) {
        for (name, others) in sums {
            let Some(own) = self.named(name, others.len(), Across::Sum) else {
                continue;
            };
            for (own, other) in own.iter().zip(others) {
                own.fetch_add(*other, Ordering::Relaxed);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Numbers>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where the sessions of a parallel command wait for each other.
#[derive(Debug, Default)]
pub struct Barrier {
    state: Mutex<BarrierState>,
}

#[derive(Debug, Default)]
struct BarrierState {
    sessions: u32,
    arrived: u32,
    /// Sessions whose command has ended, which are not waited for.
    left: u32,
    round: u64,
    broken: bool,
}

impl Barrier {
    /// Creates a barrier for this number of sessions.
    pub fn new(sessions: u32) -> Self {
        Self {
            state: Mutex::new(BarrierState {
                sessions,
                ..BarrierState::default()
            }),
        }
    }

    /// A session has failed: releases the waiting ones.
    pub fn break_down(&self) {
        self.lock().broken = true;
    }

    /// A session arrives. Returns the round that it waits for.
    pub(crate) fn arrive(&self) -> u64 {
        let mut state = self.lock();
        let round = state.round;
        state.arrived += 1;
        state.open_if_complete();
        round
    }

    /// A session's command has ended. After the last one, the barrier is reset.
    pub(crate) fn leave(&self) {
        let mut state = self.lock();
        state.left += 1;
        state.open_if_complete();
        if state.left >= state.sessions {
            state.left = 0;
        }
    }

    pub(crate) fn poll(&self, round: u64) -> &'static str {
        let state = self.lock();
        match () {
            () if state.broken => "broken",
            () if state.round > round => "open",
            () => "closed",
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BarrierState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BarrierState {
    fn open_if_complete(&mut self) {
        if self.arrived > 0 && self.arrived + self.left >= self.sessions {
            self.arrived = 0;
            self.round += 1;
        }
    }
}

/// The progress of a load, in rows.
#[derive(Debug, Default)]
pub struct LoadProgress {
    total: AtomicU64,
    done: AtomicU64,
}

impl LoadProgress {
    /// The total number of rows, and the number loaded so far.
    pub fn read(&self) -> (u64, u64) {
        (
            self.total.load(Ordering::Relaxed),
            self.done.load(Ordering::Relaxed),
        )
    }

    pub(crate) fn set_total(&self, rows: u64) {
        self.total.store(rows, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, rows: u64) {
        self.done.fetch_add(rows, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_opens_when_the_last_arrives_or_leaves() {
        let barrier = Barrier::new(3);
        let round = barrier.arrive();
        barrier.arrive();
        assert_eq!(barrier.poll(round), "closed");
        barrier.arrive();
        assert_eq!(barrier.poll(round), "open");
        let round = barrier.arrive();
        barrier.leave();
        assert_eq!(barrier.poll(round), "closed");
        barrier.leave();
        assert_eq!(barrier.poll(round), "open");
        barrier.leave();
        // The next command has all three again.
        let round = barrier.arrive();
        barrier.arrive();
        assert_eq!(barrier.poll(round), "closed");
        barrier.break_down();
        assert_eq!(barrier.poll(round), "broken");
    }
}
