//! One interval of a run.

use serde::{Deserialize, Serialize};

use super::Percentile;
use crate::interval::Counters;
use crate::states::SessionStates;

/// One interval.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct IntervalSummary {
    /// End of the interval, seconds from the start of the measurement.
    pub at_s: f64,
    /// Length of the interval, seconds.
    pub length_s: f64,
    /// Sessions running at its end (working, waiting or connecting); `None` if an imported log does
    /// not say.
    pub sessions: Option<u32>,
    /// The session states at its end; `None` if unknown.
    #[serde(default)]
    pub states: Option<SessionStates>,
    /// Sums.
    pub counters: Counters,
    /// The rates as another tool printed them, from which the counts were derived; `None` if events
    /// were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<PrintedRates>,
    /// Errors of all codes, ignored or not.
    pub errors_seen: u64,
    /// The requested latency percentiles (response times in an open loop).
    pub percentiles: Vec<Percentile>,
    /// The longest latency; `None` if no event ended, or if unknown.
    pub max_ms: Option<f64>,
    /// Open loop: arrivals due but not started; `None` if unknown.
    pub backlog: Option<u64>,
    /// Open loop: events in progress; `None` if unknown.
    pub concurrency: Option<u32>,
}

/// Rates of an interval, per second, as another tool printed them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PrintedRates {
    /// Events.
    pub events_per_s: Option<f64>,
    /// Statements.
    pub queries_per_s: Option<f64>,
}

impl IntervalSummary {
    /// Events per second: as printed, else from the count. NaN in an interval of length 0.
    pub fn events_per_s(&self) -> f64 {
        let printed = self.printed.and_then(|printed| printed.events_per_s);
        printed.unwrap_or_else(|| self.per_s(self.counters.events))
    }

    /// Statements per second: as printed, else from the counts.
    pub fn queries_per_s(&self) -> f64 {
        let printed = self.printed.and_then(|printed| printed.queries_per_s);
        printed.unwrap_or_else(|| self.per_s(self.counters.queries()))
    }

    fn per_s(&self, count: u64) -> f64 {
        match self.length_s > 0.0 {
            true => count as f64 / self.length_s,
            false => f64::NAN,
        }
    }
}
