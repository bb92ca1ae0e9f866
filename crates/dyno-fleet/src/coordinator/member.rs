//! What the coordinator knows of one agent.

use std::collections::BTreeMap;

use dyno_core::clock::Nanos;
use dyno_core::interval::{Distribution as _, carries, latency_histogram};

use crate::clock::{Estimator, Relation};
use crate::merge::Sums;
use crate::message::{End, Hello, Joiner, Pulse, Record, Stage, Task};
use crate::names::AgentName;

/// The rest of a burst of questions is waited for so long.
const ECHO_NS: Nanos = 2_000_000_000;

/// One agent.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: AgentName,
    /// The process that plays it, once one has come.
    pub(super) instance: Option<u64>,
    pub(super) hello: Option<Box<Hello>>,
    /// What it is to do, since which order.
    pub(super) task: Task,
    pub(super) serial: u64,
    /// Its process is known to have ended: when that was told, and how.
    pub(super) gone: Option<(Nanos, String)>,
    /// When the order is told again.
    pub(super) order_at: Nanos,
    pub(super) heard_at: Nanos,
    pub(super) pulse: Pulse,
    pub(super) clock: Estimator,
    pub(super) relation: Option<Relation>,
    /// How well its clock was known when it was told to begin, in nanoseconds.
    pub(super) start_bound_ns: u64,
    pub(super) burst: Burst,
    /// Its civil time minus ours in nanoseconds, and the delay of the exchange that told.
    pub(super) civil: Option<(i64, u64)>,
    pub(super) joiner: Joiner,
    pub(super) end_joiner: Joiner,
    pub(super) total: Option<Total>,
    /// The pieces of what its load came to that are there.
    pub(super) pieces: BTreeMap<u32, String>,
    /// How long after the common start its load began by its own clock, in nanoseconds.
    pub(super) late_ns: Option<i64>,
    pub(super) lost: bool,
    /// Its intervals that never came.
    pub(super) holes: Vec<u64>,
    /// Messages that make no sense.
    pub(super) strange: u64,
}

/// What an agent told of all that it measured.
#[derive(Clone, Debug)]
pub(crate) struct Total {
    pub(crate) end: End,
    pub(crate) intervals: u64,
    /// How many pieces there are of what its load came to.
    pub(crate) pieces: u32,
    pub(crate) sums: Sums,
    /// Medians and 99th percentiles of service times in nanoseconds, where samples carry them.
    pub(crate) p50_ns: Option<u64>,
    pub(crate) p99_ns: Option<u64>,
}

impl Total {
    pub(crate) fn of(record: &Record, end: End) -> Self {
        let mut service = latency_histogram();
        record.interval.latencies.service.add_to(&mut service);
        let percentile = |percent: f64| {
            carries(service.len(), percent).then(|| service.value_at_percentile(percent))
        };
        Self {
            end,
            intervals: record.seq,
            pieces: record.pieces,
            sums: Sums::of(&record.interval),
            p50_ns: percentile(50.0),
            p99_ns: percentile(99.0),
        }
    }
}

/// A burst of questions to a clock.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Burst {
    pub(super) number: u32,
    /// Questions that are still to be sent.
    pub(super) left: u32,
    /// Answers that have come.
    pub(super) echoes: u32,
    /// When the next question is sent, or the burst ends.
    pub(super) next_at: Nanos,
    pub(super) is_on: bool,
}

impl Member {
    pub(super) fn new(name: AgentName, now: Nanos) -> Self {
        Self {
            name,
            instance: None,
            hello: None,
            task: Task::Wait,
            serial: 1,
            gone: None,
            order_at: 0,
            heard_at: now,
            pulse: Pulse::default(),
            clock: Estimator::default(),
            relation: None,
            start_bound_ns: 0,
            burst: Burst::default(),
            civil: None,
            joiner: Joiner::default(),
            end_joiner: Joiner::default(),
            total: None,
            pieces: BTreeMap::new(),
            late_ns: None,
            lost: false,
            holes: Vec::new(),
            strange: 0,
        }
    }

    /// Whether it has told its totals and what its load came to.
    pub(super) fn has_told(&self) -> bool {
        let total = self.total.as_ref();
        total.is_some_and(|total| self.pieces.len() == total.pieces as usize)
    }

    /// Whether there is something that it has still to tell.
    pub(super) fn is_missed(&self) -> bool {
        !self.lost && !self.has_told()
    }

    /// Whether it has followed its last order.
    pub(super) fn confirmed(&self) -> bool {
        self.pulse.serial >= self.serial
    }

    /// Whether it has made load.
    pub(super) fn has_begun(&self) -> bool {
        self.pulse.attempt > 0 && matches!(self.pulse.stage, Stage::Running | Stage::Ended)
            || self.pulse.made > 0
            || self.total.is_some()
    }

    /// Whether it will begin at this try.
    pub(super) fn is_armed(&self, attempt: u32) -> bool {
        let armed = matches!(
            self.pulse.stage,
            Stage::Armed | Stage::Running | Stage::Ended
        );
        armed && self.pulse.attempt == attempt
    }

    pub(super) fn begin_burst(&mut self, probes: u32, at: Nanos) {
        if self.instance.is_some() && !self.lost && !self.burst.is_on {
            self.burst = Burst {
                number: self.burst.number + 1,
                left: probes,
                echoes: 0,
                next_at: at,
                is_on: true,
            };
        }
    }

    /// Whether a question is to be sent now. Ends the burst when all were, and were answered.
    pub(super) fn probe_is_due(&mut self, probes: u32, gap_ns: Nanos, now: Nanos) -> bool {
        let burst = &mut self.burst;
        if !burst.is_on {
            return false;
        }
        if burst.left > 0 && now >= burst.next_at {
            burst.left -= 1;
            burst.next_at = now + if burst.left > 0 { gap_ns } else { ECHO_NS };
            return true;
        }
        if burst.left == 0 && (burst.echoes >= probes || now >= burst.next_at) {
            burst.is_on = false;
            if self.clock.end_burst() {
                self.relation = self.clock.relation();
            }
        }
        false
    }

    /// The bound of its clock's offset at an instant of ours, in nanoseconds.
    pub(super) fn bound_ns(&self, at: Nanos) -> u64 {
        self.relation
            .map_or(u64::MAX, |relation| relation.bound_at(at))
    }
}
