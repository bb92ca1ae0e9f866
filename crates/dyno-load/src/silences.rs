//! Silences: times in which no session's statement ended although some were in progress, to the
//! millisecond. One-second intervals cannot show silences that are shorter or cross a boundary.
//!
//! Each worker records its own, except for embedded databases, whose statements block it. Silences
//! common to all workers are the target's. Those in which a thread that only sleeps was woken late
//! are the generator's: the process was stopped, or the machine was frozen.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use dyno_core::clock::Nanos;
use serde::{Deserialize, Serialize};

use crate::state::now;

/// Shorter ones are dropped: a busy host's scheduler causes them.
pub(crate) const SILENCE_NS: Nanos = 50_000_000;

/// Shorter freezes are dropped, unless they recur.
const FROZEN_NS: Nanos = 100_000_000;

/// Recurring freezes: each at least this long, while the thread did not wait for a CPU, and in sum
/// at least one part in `BRIEF_PARTS` of the measurement.
const BRIEF_NS: Nanos = 15_000_000;
const BRIEF_PARTS: Nanos = 20;

/// If a loop did not serve its sockets for longer, the loop itself was busy.
pub(crate) const OWN_NS: Nanos = 10_000_000;

/// The shortest gap between visits to the sockets that is added up: many ready sessions take less.
pub(crate) const AWAY_NS: Nanos = 1_000_000;

/// Maximum number of silences that a worker keeps: the longest.
const KEPT: usize = 2048;

/// How long the thread that detects a frozen process sleeps.
const BEAT: Duration = Duration::from_millis(10);

/// After this many beats, the thread's waits for a CPU are read: small ones add up.
const WAITED_BEATS: u64 = 20;

/// A range of time, on [`dyno_core::Clock`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeRange {
    /// Start of the range.
    pub from: Nanos,
    /// End of the range.
    pub to: Nanos,
}

impl TimeRange {
    /// How long it is.
    pub fn length_ns(&self) -> Nanos {
        self.to.saturating_sub(self.from)
    }

    fn shared(&self, other: &Self) -> Self {
        Self {
            from: self.from.max(other.from),
            to: self.to.min(other.to),
        }
    }
}

/// Pauses of a measurement, in time order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Pauses {
    /// Nothing ended while work was in progress and the generator was running.
    pub silences: Vec<TimeRange>,
    /// The generator itself was frozen.
    pub frozen: Vec<TimeRange>,
    /// When it waited for a CPU rather than being stopped; `None` if the kernel does not count the
    /// waits.
    #[serde(default)]
    pub starved: Option<Vec<TimeRange>>,
}

#[derive(Debug, Default)]
pub(crate) struct Frozen {
    pub(crate) all: Vec<TimeRange>,
    /// Times in which the thread waited for a CPU; `None` if unknown.
    pub(crate) starved: Option<Vec<TimeRange>>,
}

/// The silences of a worker.
#[derive(Debug, Default)]
pub(crate) struct Silences(Vec<TimeRange>);

impl Silences {
    #[inline]
    pub(crate) fn push(&mut self, from: Nanos, to: Nanos) {
        if to.saturating_sub(from) >= SILENCE_NS {
            self.keep(from, to);
        }
    }

    #[cold]
    fn keep(&mut self, from: Nanos, to: Nanos) {
        self.0.push(TimeRange { from, to });
        if self.0.len() == 2 * KEPT {
            self.0.sort_by_key(|own| std::cmp::Reverse(own.length_ns()));
            self.0.truncate(KEPT);
            self.0.sort_by_key(|own| own.from);
        }
    }

    /// All silences. The worker ends now, so it does not interrupt later silences of the others.
    pub(crate) fn take(&mut self, end: Nanos) -> Vec<TimeRange> {
        let mut all = std::mem::take(&mut self.0);
        all.push(TimeRange {
            from: end,
            to: Nanos::MAX,
        });
        all
    }
}

/// The pauses within the measurement, from the workers' silences and the times in which the process
/// was frozen.
pub(crate) fn pauses(
    workers: impl IntoIterator<Item = Vec<TimeRange>>,
    frozen: Frozen,
    measured: TimeRange,
) -> Pauses {
    let long = |all: Vec<TimeRange>, shortest: Nanos| -> Vec<TimeRange> {
        let all = all.into_iter().map(|one| one.shared(&measured));
        all.filter(|one| one.length_ns() >= shortest).collect()
    };
    let shared = workers.into_iter().reduce(|all, own| both(&all, &own));
    let starved = frozen.starved.map(|starved| long(starved, BRIEF_NS));
    let frozen = long(frozen.all, BRIEF_NS);
    let shared = shared.unwrap_or_default().into_iter();
    let silences = long(
        shared
            .flat_map(|silence| without(silence, &frozen))
            .collect(),
        SILENCE_NS,
    );
    let all_ns: Nanos = frozen.iter().map(TimeRange::length_ns).sum();
    let shortest = match all_ns * BRIEF_PARTS >= measured.length_ns() {
        true => BRIEF_NS,
        false => FROZEN_NS,
    };
    let frozen = (frozen.into_iter()).filter(|one| one.length_ns() >= shortest);
    Pauses {
        silences,
        frozen: frozen.collect(),
        starved,
    }
}

/// A range without others, which are in time order.
fn without(range: TimeRange, others: &[TimeRange]) -> Vec<TimeRange> {
    let mut left = Vec::new();
    let mut from = range.from;
    for other in others {
        if other.to <= from || other.from >= range.to {
            continue;
        }
        left.push(TimeRange {
            from,
            to: other.from.max(from),
        });
        from = other.to;
    }
    left.push(TimeRange { from, to: range.to });
    left
}

/// The intersection of both lists, which are in time order.
pub(crate) fn both(one: &[TimeRange], other: &[TimeRange]) -> Vec<TimeRange> {
    let (mut at, mut beside) = (0, 0);
    let mut shared = Vec::new();
    while let (Some(left), Some(right)) = (one.get(at), other.get(beside)) {
        let common = left.shared(right);
        if common.length_ns() > 0 {
            shared.push(common);
        }
        match left.to < right.to {
            true => at += 1,
            false => beside += 1,
        }
    }
    shared
}

/// A thread that sleeps and checks whether it was woken in time.
pub(crate) struct Heartbeat {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Frozen>,
}

impl Heartbeat {
    /// # Errors
    /// The system has no thread for it.
    pub(crate) fn start() -> io::Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&over);
        let thread = thread::Builder::new()
            .name("heartbeat".to_owned())
            .spawn(move || beat(&seen))?;
        Ok(Self { over, thread })
    }

    /// Stops it; returns when the process was frozen.
    pub(crate) fn finish(self) -> Frozen {
        self.over.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        self.thread.join().unwrap_or_default()
    }
}

fn beat(over: &AtomicBool) -> Frozen {
    let (mut frozen, mut starved) = (Silences::default(), Silences::default());
    let mut before = now();
    let mut waited = waited_ns();
    let is_counted = waited.is_some();
    for beats in 1_u64.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        thread::park_timeout(BEAT);
        let at = now();
        let due = before + BEAT.as_nanos() as Nanos;
        let late = at.saturating_sub(due);
        if late >= BRIEF_NS {
            let known = waited_ns();
            let wait = known
                .zip(waited)
                .map_or(Nanos::MAX / 2, |(all, old)| all.saturating_sub(old));
            if late >= SILENCE_NS || wait * 2 < late {
                frozen.keep(due, at);
            }
            if late >= SILENCE_NS && wait * 2 >= late {
                starved.keep(due, at);
            }
            waited = known;
        } else if beats.is_multiple_of(WAITED_BEATS) {
            waited = waited_ns();
        }
        before = at;
    }
    Frozen {
        all: frozen.0,
        starved: is_counted.then_some(starved.0),
    }
}

/// How long this thread has waited for a CPU so far, if the kernel reports it.
fn waited_ns() -> Option<Nanos> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    fn range(from_ms: u64, to_ms: u64) -> TimeRange {
        TimeRange {
            from: from_ms * MS,
            to: to_ms * MS,
        }
    }

    #[test]
    fn a_silence_is_shared_by_all_workers() {
        let workers = [
            vec![range(100, 900), range(2_000, 3_400), range(5_000, 9_000)],
            vec![range(860, 1_200), range(2_100, 3_500), range(6_000, 6_300)],
        ];
        let found = pauses(workers, Frozen::default(), range(0, 6_200));
        // The first is too short where both are silent.
        let expected = [range(2_100, 3_400), range(6_000, 6_200)];
        assert_eq!(found.silences, expected);
    }

    #[test]
    fn a_frozen_generator_is_not_the_targets_silence() {
        let workers = [vec![range(1_000, 2_050), range(4_000, 6_000)]];
        let frozen = vec![range(1_020, 2_040), range(4_500, 5_150)];
        let starved = vec![range(1_020, 2_040), range(11_000, 12_000)];
        let seen = Frozen {
            all: frozen.clone(),
            starved: Some(starved.clone()),
        };
        let found = pauses(workers, seen, range(0, 10_000));
        assert_eq!(found.starved.as_deref(), Some(&starved[..1]));
        let expected = [range(4_000, 4_500), range(5_150, 6_000)];
        assert_eq!(found.silences, expected);
        assert_eq!(found.frozen, frozen);
    }

    #[test]
    fn brief_freezes_count_where_they_recur() {
        let frozen = |count: u64| -> Vec<TimeRange> {
            let times = (0..count).map(|at| range(100 + at * 200, 140 + at * 200));
            times.collect()
        };
        let found = |count| {
            let seen = Frozen {
                all: frozen(count),
                starved: None,
            };
            pauses([Vec::new()], seen, range(0, 10_000)).frozen
        };
        assert_eq!(found(12), []);
        assert_eq!(found(13), frozen(13));
    }

    #[test]
    fn the_longest_are_kept() {
        let mut silences = Silences::default();
        for at in 0..2 * KEPT as u64 {
            let from = at * 1_000 * MS;
            silences.push(from, from + (100 + at % 700) * MS);
            silences.push(from, from + 49 * MS);
        }
        let all = silences.take(Nanos::MAX);
        assert!((KEPT..=2 * KEPT + 1).contains(&all.len()));
        let longest = all.iter().filter(|one| one.length_ns() == 799 * MS);
        assert_eq!(longest.count(), 2 * KEPT / 700);
        assert!(all.is_sorted_by_key(|one| one.from));
    }

    #[test]
    fn silences_lie_within_the_heartbeats_life() {
        let began = now();
        let heart = Heartbeat::start().unwrap();
        thread::sleep(Duration::from_millis(300));
        let seen = heart.finish();
        let frozen = seen.all;
        // A thread that waits for a CPU is not woken in time.
        let starved = seen.starved.unwrap_or_default();
        assert!(
            starved.iter().all(|own| frozen.contains(own)),
            "{starved:?}"
        );
        let ended = now();
        // A crowded host may keep it waiting, but not for longer than it lived.
        let within = |own: &TimeRange| began <= own.from && own.from < own.to && own.to <= ended;
        assert!(frozen.iter().all(within), "{frozen:?}");
        let frozen_ns: Nanos = frozen.iter().map(TimeRange::length_ns).sum();
        assert!(frozen_ns < ended - began, "{frozen:?}");
    }
}
