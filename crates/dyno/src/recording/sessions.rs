//! Each session's events in time, where sessions have roles: a series for each, beside those of the
//! observers.

use dyno_core::interval::{Interval, SESSIONS_COUNTED_MAX};
use dyno_core::plan::Role;
use dyno_core::record::{SeriesKey, SeriesKind};

use super::keeper::{Handle, Keeper};

/// The series of all sessions, by their numbers.
#[derive(Default)]
pub struct Sessions(Vec<Handle>);

impl Sessions {
    /// A series for each session of the roles; none where there are too many.
    pub fn new(keeper: &Keeper, roles: &[Role]) -> Self {
        let sessions: u32 = roles.iter().map(|role| role.sessions).sum();
        if sessions > SESSIONS_COUNTED_MAX {
            return Self::default();
        }
        let all = (roles.iter()).flat_map(|role| (1..=role.sessions).map(move |n| (role, n)));
        let series = |(role, number): (&Role, u32)| {
            let key = SeriesKey {
                name: format!("client.session[{}.{number}].events", role.name),
                unit: "count/s".to_owned(),
                source: "the session's own counter".to_owned(),
            };
            keeper.series(key, SeriesKind::Rate)
        };
        Self(all.map(series).collect())
    }

    /// What they did in an interval that ended at `at_s`.
    pub fn interval(&self, keeper: &Keeper, at_s: f64, interval: &Interval) {
        let counts = interval.sessions.iter().filter(|count| count.span_ns > 0);
        let values: Vec<(Handle, f64)> = counts
            .filter_map(|count| {
                let handle = self.0.get(count.session as usize)?;
                Some((*handle, count.events as f64 / (count.span_ns as f64 / 1e9)))
            })
            .collect();
        if !values.is_empty() {
            keeper.samples(at_s, &values);
        }
    }
}
