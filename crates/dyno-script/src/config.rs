//! What a host needs to know.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dyno_core::plan::{OptionValue, RandPlan};

use crate::failure::DatabaseErrors;
use crate::ledger::Ledger;
use crate::reported::Reported;
use crate::source::{Builtins, Source};

/// Where what scripts `print` goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prints {
    /// To standard output.
    #[default]
    Output,
    /// To standard error, so that standard output stays to be parsed.
    Errors,
}

/// What the Lua states of a run have in common.
pub struct HostConfig {
    /// The script.
    pub source: Source,
    /// Scripts that `require` finds in the binary.
    pub builtins: Builtins,
    /// What scripts see as `sysbench.opt`; may be set later.
    pub options: Vec<(String, OptionValue)>,
    /// The command line, program name first.
    pub argv: Vec<String>,
    /// The command word, if there is one.
    pub command: Option<String>,
    /// The seed of all streams.
    pub seed: u64,
    /// Added to a session's number to name its stream: keeps the main state apart from session 0.
    pub stream_base: u64,
    /// The shapes of the distributions.
    pub rand: RandPlan,
    /// The driver's name as scripts know it (`mysql`, `pgsql`, `sqlite`); `None` without a target.
    pub driver_name: Option<&'static str>,
    /// For report functions, in percent.
    pub percentile: f64,
    /// Errors after which the event is run again: kinds, errnos and SQLSTATEs; `all` for any.
    pub ignored_errors: Vec<String>,
    /// Whether a session whose connection is lost connects again and goes on.
    pub reconnect_lost: bool,
    /// Put parameters into the text on this side instead of preparing statements.
    pub emulate_prepared: bool,
    /// Arguments for LuaJIT's `-j`, e.g. `off`.
    pub luajit_cmd: Option<String>,
    /// Where what scripts `print` goes.
    pub prints: Prints,
    /// The script is sysbench's: failed statements are reported in the words of its drivers, and
    /// an error in `thread_done()` ends nothing else.
    pub sysbench: bool,
    /// Where sessions of a parallel command meet.
    pub barrier: Arc<Barrier>,
    /// How far a load has come.
    pub progress: Arc<LoadProgress>,
    /// What the script declares by name; `None` while that is being found out.
    pub declared: Option<Declared>,
    /// Sessions play the roles that the script's `roles()` tells.
    pub plays_roles: bool,
    /// The server is none: it answers everything at once, always the same.
    pub canned: bool,
    /// The numbers that all sessions of the run share.
    pub shared: Arc<SharedNumbers>,
    /// Where the sessions' sums come together.
    pub ledger: Arc<Ledger>,
    /// What scripts tell of the run.
    pub reported: Arc<Reported>,
    /// The counter behind `sysbench.rand.unique`, shared by the whole run.
    pub unique: Arc<AtomicU64>,
    /// What that counts by: the number of load generators, which take turns.
    pub unique_step: u64,
    /// Set once a script has asked for a database driver.
    pub driver_used: Arc<AtomicBool>,
    /// Set once a function has failed whose error ends nothing else.
    pub script_failed: Arc<AtomicBool>,
    /// Errors of the database that ended sessions.
    pub database_errors: Arc<DatabaseErrors>,
    /// Takes messages of the script layer: level (`FATAL`, `ALERT`) and text.
    pub log: fn(level: &str, text: &str),
}

/// What a script declares by name, in the order it does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// Its operations.
    pub operations: Vec<String>,
    /// The sums of its ledger.
    pub sums: Vec<String>,
}

/// How many numbers the sessions of a run can share in all: 128 MiB of them.
pub(crate) const SHARED_NUMBERS_MAX: usize = 16 << 20;

/// Numbers that all sessions of a run share, by name.
#[derive(Debug, Default)]
pub struct SharedNumbers {
    by_name: Mutex<HashMap<String, Numbers>>,
    /// Other load generators have sessions of this run, too.
    apart: AtomicBool,
}

#[derive(Debug)]
struct Numbers {
    values: Arc<[AtomicI64]>,
    across: Across,
}

/// What becomes of numbers where sessions of several load generators would share them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Across {
    /// They cannot.
    #[default]
    Refused,
    /// Each generator has its own.
    Each,
    /// The same, and they are added up at the end.
    Sum,
}

impl Across {
    /// As scripts call it.
    pub(crate) fn of(word: &str) -> Self {
        match word {
            "each" => Self::Each,
            "sum" => Self::Sum,
            _ => Self::Refused,
        }
    }
}

impl SharedNumbers {
    /// The numbers of this name, which are made, `count` of them, if there are none; `None` where
    /// they would be more than [`SHARED_NUMBERS_MAX`] in all.
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

    /// Other load generators have sessions of this run, too: numbers that those would have to share
    /// are refused from now on.
    pub fn part(&self) {
        self.apart.store(true, Ordering::Relaxed);
    }

    pub(crate) fn are_apart(&self) -> bool {
        self.apart.load(Ordering::Relaxed)
    }

    /// Those that are added up over all load generators, by name.
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
    /// Sessions whose command has ended: nobody waits for them.
    left: u32,
    round: u64,
    broken: bool,
}

impl Barrier {
    /// A barrier for so many sessions.
    pub fn new(sessions: u32) -> Self {
        Self {
            state: Mutex::new(BarrierState {
                sessions,
                ..BarrierState::default()
            }),
        }
    }

    /// No session waits in vain: one has failed.
    pub fn break_down(&self) {
        self.lock().broken = true;
    }

    /// A session arrives; answers the round it waits for.
    pub(crate) fn arrive(&self) -> u64 {
        let mut state = self.lock();
        let round = state.round;
        state.arrived += 1;
        state.open_if_complete();
        round
    }

    /// A session's command has ended. Once all have, the barrier is as it was.
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

/// How far a load has come, in rows.
#[derive(Debug, Default)]
pub struct LoadProgress {
    total: AtomicU64,
    done: AtomicU64,
}

impl LoadProgress {
    /// Rows to load and rows loaded.
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
