//! Progress reports of a run.

use dyno_core::clock::Nanos;
use dyno_core::interval::Interval;
use dyno_core::record::Fact;

/// One agent's work in an interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentInterval {
    /// The agent's name in the run.
    pub name: String,
    /// Events that ended and count.
    pub events: u64,
    /// Errors of all kinds.
    pub errors: u64,
    /// Number of latencies.
    pub latencies: u64,
    /// The sum of the service times.
    pub service_ns_sum: u64,
}

/// Messages to a run's observer, in this order.
#[derive(Debug)]
pub enum Progress<'a> {
    /// All sessions are initialised; the clock of the run has not begun.
    Initialized,
    /// The sessions begin.
    Started {
        /// Start of measuring, on [`dyno_core::Clock`]: after the ramp-up and the warm-up.
        measured: Nanos,
    },
    /// An interval is over. Its figures cover all workers, unless one was late by more than half an
    /// interval: its records are then in the next interval, and its sessions count as working, or
    /// as lost after 5 seconds of silence. The intervals and the records after the deadline add up
    /// to the run's totals.
    Interval(&'a Interval),
    /// Each agent's work in the interval reported before.
    Agents(&'a [AgentInterval]),
    /// Facts to record with the run, at any time.
    Facts(&'a [Fact]),
}
