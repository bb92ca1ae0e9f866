//! The results of observers.

use dyno_core::clock::Nanos;
use dyno_core::record::{EventDetail, EventKind, Fact, NotObserved, SeriesKey, SeriesKind};
use serde::{Deserialize, Serialize};

/// The number of observations that may wait for their consumer. A sample is one; the facts,
/// settings and series of a start or an end are about two thousand with the server that reports
/// most. If the queue is full, observations are dropped and counted in [`Cost::missed`].
pub const OBSERVATIONS_MAX: usize = 8_192;

/// One observation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observation {
    /// Announces a series, before its first value.
    Series {
        /// The number that samples refer to.
        id: u32,
        /// The series.
        key: SeriesKey,
        /// The kind of its values.
        kind: SeriesKind,
    },
    /// Values of several series at one time.
    Sample {
        /// The time.
        at: Nanos,
        /// Series and value. A rate covers the time since the series' previous value.
        values: Vec<(u32, f64)>,
    },
    /// Times at which a series was 0, sent before its first other value. A series that stays 0 from
    /// start to end is never sent, but named in the fact `observer.always_zero`.
    Zeros {
        /// The series.
        id: u32,
        /// The times, in order.
        at: Vec<Nanos>,
    },
    /// Something that does not change during a run.
    Fact(Fact),
    /// A setting of the server.
    Setting {
        /// The server's name for it.
        name: String,
        /// The setting's value; `(hidden)` if it may contain a secret.
        value: String,
        /// False at the start, true at the end of the observation.
        at_end: bool,
    },
    /// Something that cannot be observed.
    NotObserved(NotObserved),
    /// An event.
    Event {
        /// When it began.
        at: Nanos,
        /// When it ended; `None` for a moment, or if it has not ended yet.
        until: Option<Nanos>,
        /// The event's kind.
        kind: EventKind,
        /// A description.
        text: String,
        /// The details as values.
        #[serde(default)]
        detail: Box<EventDetail>,
    },
}

impl Observation {
    /// Creates an event with details.
    pub(crate) fn detailed(at: Nanos, kind: EventKind, detail: EventDetail) -> Self {
        Self::Event {
            at,
            until: None,
            kind,
            text: detail.words().unwrap_or_default(),
            detail: Box::new(detail),
        }
    }
}

/// The cost of observing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// CPU time of the observers' threads, in seconds.
    pub cpu_s: f64,
    /// Samples taken of the host.
    pub samples: u64,
    /// The largest delay of a sample against its schedule, in milliseconds.
    pub late_ms_max: f64,
    /// Samples skipped because the previous one took too long, and observations dropped because the
    /// consumer was too slow.
    pub missed: u64,
}
