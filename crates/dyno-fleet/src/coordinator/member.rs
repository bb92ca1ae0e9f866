//! The coordinator's state of one agent.

use std::collections::BTreeMap;

use dyno_core::clock::Nanos;
use dyno_core::interval::{Distribution as _, carries, latency_histogram};

use crate::clock::{Estimator, Relation};
use crate::merge::Sums;
use crate::message::{End, Hello, Joiner, Pulse, Record, Stage, Task};
use crate::names::AgentName;

/// Timeout for the remaining echoes of a burst.
const ECHO_NS: Nanos = 2_000_000_000;

#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: AgentName,
    /// Its process, once it has joined.
    pub(super) instance: Option<u64>,
    pub(super) hello: Option<Box<Hello>>,
    /// Its current order.
    pub(super) task: Task,
    pub(super) serial: u64,
    /// If its process is known to have ended: when that was reported, and how it ended.
    pub(super) gone: Option<(Nanos, String)>,
    /// When to repeat the order.
    pub(super) order_at: Nanos,
    pub(super) heard_at: Nanos,
    pub(super) pulse: Pulse,
    pub(super) clock: Estimator,
    pub(super) relation: Option<Relation>,
    /// The error bound of its clock when it was ordered to begin, in nanoseconds.
    pub(super) start_bound_ns: u64,
    pub(super) burst: Burst,
    /// Its civil time minus ours in nanoseconds, and the delay of the exchange that measured it.
    pub(super) civil: Option<(i64, u64)>,
    pub(super) joiner: Joiner,
    pub(super) end_joiner: Joiner,
    pub(super) total: Option<Total>,
    /// The pieces of its load's outcome received so far.
    pub(super) pieces: BTreeMap<u32, String>,
    /// How long after the common start its load began by its own clock, in nanoseconds.
    pub(super) late_ns: Option<i64>,
    pub(super) lost: bool,
    /// Numbers of its missing intervals.
    pub(super) holes: Vec<u64>,
    /// Number of its malformed messages.
    pub(super) strange: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Total {
    pub(crate) end: End,
    pub(crate) intervals: u64,
    /// Number of pieces of its load's outcome.
    pub(crate) pieces: u32,
    pub(crate) sums: Sums,
    /// Median and 99th percentile of service times in nanoseconds; `None` with too few samples.
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

/// A burst of probes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Burst {
    pub(super) number: u32,
    /// Number of probes still to send.
    pub(super) left: u32,
    /// Number of echoes received.
    pub(super) echoes: u32,
    /// When to send the next probe, or end the burst.
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

    /// Whether its totals and its load's outcome have arrived.
    pub(super) fn has_reported(&self) -> bool {
        let total = self.total.as_ref();
        total.is_some_and(|total| self.pieces.len() == total.pieces as usize)
    }

    /// Whether reports of it are still missing.
    pub(super) fn is_missed(&self) -> bool {
        !self.lost && !self.has_reported()
    }

    /// Whether it has followed its latest order.
    pub(super) fn confirmed(&self) -> bool {
        self.pulse.serial >= self.serial
    }

    pub(super) fn has_begun(&self) -> bool {
        self.pulse.attempt > 0 && matches!(self.pulse.stage, Stage::Running | Stage::Ended)
            || self.pulse.made > 0
            || self.total.is_some()
    }

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

    /// Whether to send a probe now. Ends the burst when all probes were sent and answered.
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

    /// The error bound of its clock's offset at a time on our clock, in nanoseconds.
    pub(super) fn bound_ns(&self, at: Nanos) -> u64 {
        self.relation
            .map_or(u64::MAX, |relation| relation.bound_at(at))
    }
}
