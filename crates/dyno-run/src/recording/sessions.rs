//! The events of each session over time, if sessions have roles. Each session has one series, in
//! addition to those of the observers.

use dyno_core::catalogue::names;
use dyno_core::interval::{Interval, SESSIONS_COUNTED_MAX, SessionCount};
use dyno_core::plan::Role;
use dyno_core::record::{SeriesKey, SeriesKind};

use super::Outputs;

/// The number of the series of the first session. Observers number their series from 0.
const FIRST: u32 = 1 << 31;

/// The series of all sessions, by their numbers.
#[derive(Default)]
pub(super) struct Sessions {
    count: u32,
}

impl Sessions {
    /// Creates a series for each session of the roles, but none if there are too many.
    pub(super) fn new(outputs: &Outputs, roles: &[Role]) -> Self {
        let sessions: u32 = roles.iter().map(|role| role.sessions).sum();
        if sessions > SESSIONS_COUNTED_MAX {
            return Self::default();
        }
        let all = (roles.iter()).flat_map(|role| (1..=role.sessions).map(move |n| (role, n)));
        for (session, (role, number)) in (FIRST..).zip(all) {
            let key = SeriesKey {
                name: names::CLIENT_SESSION_EVENTS.of(format_args!("{}.{number}", role.name)),
                unit: "count/s".to_owned(),
                source: "the session's own counter".to_owned(),
            };
            outputs.each(|sink| sink.series(session, &key, SeriesKind::Rate));
        }
        Self { count: sessions }
    }

    /// Records what the sessions did in an interval that ended at `at_s`.
    pub(super) fn interval(&self, outputs: &Outputs, at_s: f64, interval: &Interval) {
        let counts = interval.sessions.iter().filter(|count| count.span_ns > 0);
        let known = counts.filter(|count| count.session < self.count);
        let value = |count: &SessionCount| {
            let per_s = count.events as f64 / (count.span_ns as f64 / 1e9);
            (FIRST + count.session, per_s)
        };
        let values: Vec<(u32, f64)> = known.map(value).collect();
        if !values.is_empty() {
            outputs.each(|sink| sink.samples(at_s, &values));
        }
    }
}
