//! What is told of a run while it goes on.

use dyno_core::clock::Nanos;
use dyno_core::interval::Interval;
use dyno_core::record::Fact;

/// What one of several load generators did in an interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentInterval {
    /// As the run calls it.
    pub name: String,
    /// Events that ended and count.
    pub events: u64,
    /// Errors of all kinds.
    pub errors: u64,
    /// Latencies of events: how many there are.
    pub latencies: u64,
    /// The sum of the service times.
    pub service_ns_sum: u64,
}

/// What a run's observer is told, in this order.
#[derive(Debug)]
pub enum Progress<'a> {
    /// All sessions are initialised; the clock of the run has not begun.
    Initialized,
    /// They begin.
    Started {
        /// When measuring begins, on [`dyno_core::Clock`]: after the ramp-up and the warm-up.
        measured: Nanos,
    },
    /// An interval is over. Its figures are those of all workers, unless one of them was late by
    /// more than half an interval: what that one recorded is in the next interval then, and its
    /// sessions count as working, or as lost once it has been silent for 5 seconds. The intervals
    /// and what was recorded after the deadline add up to the run's totals.
    Interval(&'a Interval),
    /// What each of several load generators did in the interval that was told before.
    Agents(&'a [AgentInterval]),
    /// What is to stand beside the run's figures, at any time.
    Facts(&'a [Fact]),
}
