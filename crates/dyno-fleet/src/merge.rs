//! Merges the intervals of all agents: exactly, in any order, each once.

mod sums;

use std::collections::{BTreeMap, BTreeSet};

use dyno_core::clock::Nanos;
use dyno_core::interval::{Interval, SparseInterval};

pub use sums::Sums;
pub(crate) use sums::fits;

/// An incomplete interval is reported this long after its end.
pub const PROVISIONAL_NS: Nanos = 5_000_000_000;

/// How far an interval may be ahead of the current one.
const AHEAD_MAX: u64 = 60;

/// Maximum number of missing intervals listed.
const HOLES_MAX: usize = 100;

/// An interval of all agents.
#[derive(Clone, Debug, PartialEq)]
pub struct Merged {
    /// Its number from 0: the same time on all hosts, within the precision of the clocks.
    pub index: u64,
    /// The sum.
    pub interval: Interval,
    /// The figures of each agent included, by its number from 0.
    pub agents: Vec<(usize, Sums)>,
    /// The numbers of agents that are missing: late if the interval is provisional, lost if it is
    /// complete.
    pub missing: Vec<usize>,
    /// Whether it is final.
    pub complete: bool,
}

/// Why an interval was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// It was added before.
    Twice,
    /// Its agent was lost before it arrived: it is counted separately.
    Lost,
    /// It is malformed.
    Malformed(String),
}

/// Which of an agent's intervals have arrived.
#[derive(Clone, Debug, Default)]
struct SequenceSet {
    /// All before this one.
    until: u64,
    /// And these, after the first missing one.
    beyond: BTreeSet<u64>,
}

impl SequenceSet {
    fn has(&self, seq: u64) -> bool {
        seq < self.until || self.beyond.contains(&seq)
    }

    fn add(&mut self, seq: u64) {
        self.beyond.insert(seq);
        while self.beyond.remove(&self.until) {
            self.until += 1;
        }
    }

    fn missing(&self, count: u64) -> Vec<u64> {
        let from = self.until.min(count);
        let missing = (from..count).filter(|seq| !self.beyond.contains(seq));
        missing.take(HOLES_MAX).collect()
    }
}

/// The state of one agent's intervals.
#[derive(Clone, Debug, Default)]
struct Source {
    seen: SequenceSet,
    sums: Sums,
    /// Number of its intervals, once it has reported that.
    count: Option<u64>,
    lost: bool,
    /// Sums that arrived after it was lost.
    apart: Sums,
}

impl Source {
    /// Whether this interval may still arrive.
    fn owes(&self, seq: u64) -> bool {
        !self.lost && !self.seen.has(seq) && self.count.is_none_or(|count| seq < count)
    }
}

#[derive(Debug, Default)]
struct Open {
    interval: Interval,
    agents: Vec<(usize, Sums)>,
    /// Whether it was reported while incomplete.
    reported: bool,
}

/// Adds up the agents' measurements. Keeps the sums of each incomplete interval and of the whole
/// run; each agent adds a few hundred bytes to them.
#[derive(Debug)]
pub struct Merger {
    sources: Vec<Source>,
    open: BTreeMap<u64, Open>,
    /// All intervals before this one are complete.
    complete_until: u64,
    /// The sum of the complete intervals.
    total: Interval,
    axis: Axis,
}

/// The times of intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The common start, on the coordinator's clock.
    pub start: Nanos,
    /// The common start in civil time, in nanoseconds since 1970; 0 if unknown.
    pub start_unix_ns: u64,
    /// From the start to the beginning of interval 0.
    pub warmup_ns: Nanos,
    /// The length of an interval.
    pub interval_ns: Nanos,
}

impl Axis {
    pub(crate) fn end(&self, index: u64) -> Nanos {
        let length = index.saturating_add(1).saturating_mul(self.interval_ns);
        self.start
            .saturating_add(self.warmup_ns)
            .saturating_add(length)
    }

    fn index(&self, now: Nanos) -> u64 {
        let elapsed = now
            .saturating_sub(self.start)
            .saturating_sub(self.warmup_ns);
        elapsed / self.interval_ns.max(1)
    }
}

impl Merger {
    /// Creates a merger for this number of agents.
    pub fn new(agents: usize, axis: Axis) -> Self {
        Self {
            sources: vec![Source::default(); agents],
            open: BTreeMap::new(),
            complete_until: 0,
            total: Interval::default(),
            axis,
        }
    }

    /// Adds an agent's interval, whose times are nanoseconds since the start.
    ///
    /// # Errors
    /// It was added before, arrived after its agent was lost, or is malformed.
    pub fn add(
        &mut self,
        agent: usize,
        interval: SparseInterval,
        now: Nanos,
    ) -> Result<(), Rejected> {
        let seq = interval.index;
        let present = self.axis.index(now);
        if seq > present + AHEAD_MAX {
            let why = format!("interval {seq} is ahead of the present one, {present}");
            return Err(Rejected::Malformed(why));
        }
        let Some(source) = self.sources.get_mut(agent) else {
            return Err(Rejected::Malformed(format!("there is no agent {agent}")));
        };
        if source.seen.has(seq) {
            return Err(Rejected::Twice);
        }
        let sums = Sums::of(&interval);
        if source.lost {
            source.seen.add(seq);
            source.apart.add(&sums);
            return Err(Rejected::Lost);
        }
        if source.count.is_some_and(|count| seq >= count) {
            return Err(Rejected::Malformed(format!(
                "interval {seq} is after its end"
            )));
        }
        let open = self.open.entry(seq).or_default();
        if !fits(&self.total, &interval) || !fits(&open.interval, &interval) {
            let why = format!("interval {seq} has impossible sums");
            return Err(Rejected::Malformed(why));
        }
        source.seen.add(seq);
        source.sums.add(&sums);
        let placed = self.placed(interval);
        let open = self.open.entry(seq).or_default();
        open.interval.merge(&placed);
        open.agents.push((agent, sums));
        Ok(())
    }

    /// Converts times since the start to the coordinator's clock.
    fn placed(&self, mut interval: SparseInterval) -> SparseInterval {
        let axis = self.axis;
        interval.start_unix_ns = match axis.start_unix_ns {
            0 => 0,
            unix_ns => unix_ns.saturating_add(interval.start),
        };
        interval.start = interval.start.saturating_add(axis.start);
        interval.end = interval.end.saturating_add(axis.start);
        interval
    }

    /// Takes the number of intervals that an agent reported at its end.
    pub fn ends(&mut self, agent: usize, count: u64) {
        if let Some(source) = self.sources.get_mut(agent) {
            source.count.get_or_insert(count);
        }
    }

    /// Stops expecting intervals from an agent. Any that still arrive are counted separately.
    pub fn lose(&mut self, agent: usize) {
        if let Some(source) = self.sources.get_mut(agent) {
            source.lost = true;
        }
    }

    /// Intervals that are now complete, and incomplete ones that are overdue, in order.
    pub fn due(&mut self, now: Nanos) -> Vec<Merged> {
        let mut due = Vec::new();
        // If all agents are lost or have ended, no new interval begins.
        let newest = self.open.keys().next_back().copied();
        let Some(newest) = newest else {
            return due;
        };
        for index in self.complete_until..=newest {
            let owed = self.owed(index);
            let late_at = self.axis.end(index).saturating_add(PROVISIONAL_NS);
            match (owed.is_empty(), self.open.get_mut(&index)) {
                (true, Some(_)) => due.extend(self.complete(index)),
                (false, Some(open)) if !open.reported && now >= late_at => {
                    open.reported = true;
                    due.push(merged(
                        index,
                        open.interval.clone(),
                        &open.agents,
                        owed,
                        false,
                    ));
                }
                _ => {}
            }
        }
        while self.complete_until <= newest
            && !self.open.contains_key(&self.complete_until)
            && self.owed(self.complete_until).is_empty()
        {
            self.complete_until += 1;
        }
        due
    }

    /// The agents whose part of an interval may still arrive.
    fn owed(&self, index: u64) -> Vec<usize> {
        let sources = self.sources.iter().enumerate();
        sources
            .filter(|(_, source)| source.owes(index))
            .map(|(agent, _)| agent)
            .collect()
    }

    fn complete(&mut self, index: u64) -> Option<Merged> {
        let open = self.open.remove(&index)?;
        // Leave out sums that overflow: the comparison with the agents' totals reports them.
        if fits(&self.total, &open.interval) {
            self.total.merge_sums(&open.interval);
        }
        let had = |agent: usize| open.agents.iter().any(|(had, _)| *had == agent);
        let sources = self.sources.iter().enumerate();
        let missing = sources
            .filter(|(agent, source)| source.lost && !had(*agent))
            .map(|(agent, _)| agent);
        let missing = missing.collect();
        Some(merged(index, open.interval, &open.agents, missing, true))
    }

    /// Whether an agent's interval has arrived.
    pub fn has(&self, agent: usize, seq: u64) -> bool {
        let source = self.sources.get(agent);
        source.is_some_and(|source| source.seen.has(seq))
    }

    /// Number of an agent's consecutive intervals so far.
    pub fn come(&self, agent: usize) -> u64 {
        self.sources
            .get(agent)
            .map_or(0, |source| source.seen.until)
    }

    /// An agent's missing intervals, at most the first hundred.
    pub fn holes(&self, agent: usize) -> Vec<u64> {
        let source = self.sources.get(agent);
        source.map_or_else(Vec::new, |source| {
            source.seen.missing(source.count.unwrap_or_default())
        })
    }

    /// Whether all of an agent's intervals have arrived; false until it has reported their number.
    pub fn has_all_of(&self, agent: usize) -> bool {
        let source = self.sources.get(agent);
        source.is_some_and(|source| source.count.is_some_and(|count| source.seen.until >= count))
    }

    /// The sums of an agent's recorded intervals.
    pub fn sums(&self, agent: usize) -> Sums {
        self.sources
            .get(agent)
            .map(|source| source.sums.clone())
            .unwrap_or_default()
    }

    /// The sums that arrived after its agent was lost, which are not in the record.
    pub fn apart(&self, agent: usize) -> Sums {
        self.sources
            .get(agent)
            .map(|source| source.apart.clone())
            .unwrap_or_default()
    }

    /// The sum of all complete intervals: sums and distributions, without values that apply to an
    /// instant.
    pub fn total(&self) -> &Interval {
        &self.total
    }

    /// Number of incomplete intervals.
    pub fn waiting(&self) -> usize {
        self.open.len()
    }
}

fn merged(
    index: u64,
    interval: Interval,
    agents: &[(usize, Sums)],
    missing: Vec<usize>,
    complete: bool,
) -> Merged {
    let mut agents = agents.to_vec();
    agents.sort_by_key(|(agent, _)| *agent);
    Merged {
        index,
        interval,
        agents,
        missing,
        complete,
    }
}

#[cfg(test)]
mod tests;
