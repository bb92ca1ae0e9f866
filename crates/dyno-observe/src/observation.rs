//! What observers hand over.

use dyno_core::clock::Nanos;
use dyno_core::record::{EventDetail, EventKind, Fact, NotObserved, SeriesKey, SeriesKind};
use serde::{Deserialize, Serialize};

/// How many observations may wait for their consumer. A sample is one; the facts, settings and
/// series of a start or an end are about two thousand with the chattiest server. What finds the
/// queue full is dropped and counted in [`Cost::missed`].
pub const OBSERVATIONS_MAX: usize = 8_192;

/// One thing that was observed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observation {
    /// A series begins; it comes before the first of its values.
    Series {
        /// What samples call it.
        id: u32,
        /// What it is.
        key: SeriesKey,
        /// How to read it.
        kind: SeriesKind,
    },
    /// Values of one moment, each with its series.
    Sample {
        /// When.
        at: Nanos,
        /// Series and value. A rate covers the time since the series' previous value.
        values: Vec<(u32, f64)>,
    },
    /// A series was 0 at all these moments, which is told when it is that no longer: a series that
    /// stays 0 from start to end is never sent, but named in the fact `observer.always_zero`.
    Zeros {
        /// Which series.
        id: u32,
        /// When, in order.
        at: Vec<Nanos>,
    },
    /// Something that does not change during a run.
    Fact(Fact),
    /// A setting of the server.
    Setting {
        /// As the server names it.
        name: String,
        /// Its value; `(hidden)` where it may hold a secret.
        value: String,
        /// False for the start, true for the end of the observation.
        at_end: bool,
    },
    /// Something that cannot be observed.
    NotObserved(NotObserved),
    /// Something that happened.
    Event {
        /// When it began.
        at: Nanos,
        /// When it ended; `None` for a moment, and for what had not ended yet.
        until: Option<Nanos>,
        /// Of what kind.
        kind: EventKind,
        /// In words.
        text: String,
        /// As values.
        #[serde(default)]
        detail: Box<EventDetail>,
    },
}

impl Observation {
    /// An event with its values.
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

/// What observing cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// CPU time of the observers' threads, in seconds.
    pub cpu_s: f64,
    /// Samples taken of the host.
    pub samples: u64,
    /// The largest lateness of one of them against its schedule, in milliseconds.
    pub late_ms_max: f64,
    /// Samples that were left out because the one before took too long, and observations dropped
    /// because the consumer was too slow.
    pub missed: u64,
}
