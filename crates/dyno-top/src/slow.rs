//! Rates of counters that their source refreshes only every few seconds, as HAProxy does with the
//! bytes of open sessions. Over a shorter interval they stay constant and then jump. Without
//! HAProxy's `option contstats` they do not change until a session ends, and no rate is known.

use std::collections::HashMap;

use dyno_core::clock::Nanos;

use crate::figures::{Cell, Fields as _, RowOf};
use crate::profile::{Table, Take};
use crate::rates::key;
use crate::source::Answer;

/// The refresh interval of such counters.
const REFRESH_NS: Nanos = 5_000_000_000;
/// A counter that is constant for longer counts nothing.
const STILL_NS: Nanos = 2 * REFRESH_NS;

/// The last change of each counter of a table, by row and column.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slow(HashMap<(Vec<String>, usize), Held>);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Held {
    value: f64,
    /// When it got its value.
    at: Nanos,
    /// Whether `at` is the time of a change, rather than of the first look.
    changed: bool,
    /// Whether it was constant for long with open sessions.
    hides: bool,
    rate: Option<f64>,
}

impl Slow {
    /// Writes the rates since the previous changes into the rows of an answer.
    pub(crate) fn hold(
        &mut self,
        table: &Table,
        answer: &Answer,
        at: Nanos,
        rows: &mut [Vec<Cell>],
    ) {
        let columns = table.columns.iter().enumerate();
        for (index, column) in columns {
            let Take::SlowRate(open) = column.take else {
                continue;
            };
            for (row, cells) in rows.iter_mut().enumerate() {
                let fields = RowOf { answer, row };
                let (Some(value), Some(cell)) = (fields.sum(column.from), cells.get_mut(index))
                else {
                    continue;
                };
                let is_open = fields.sum(open).is_none_or(|open| open > 0.0);
                let held = self.0.entry((key(table, fields), index));
                let held = held
                    .and_modify(|held| held.go_on(value, at, is_open))
                    .or_insert_with(|| Held::first(value, at));
                *cell = held
                    .rate
                    .map_or(Cell::Absent, |rate| Cell::Number(rate * column.scale));
            }
        }
    }
}

impl Held {
    fn first(value: f64, at: Nanos) -> Self {
        Self {
            value,
            at,
            changed: false,
            hides: false,
            rate: None,
        }
    }

    /// Bytes of open sessions may be counted only when the sessions end.
    fn go_on(&mut self, value: f64, at: Nanos, is_open: bool) {
        let passed = at.saturating_sub(self.at);
        if value < self.value {
            *self = Self::first(value, at);
        } else if value > self.value {
            // At the first look it is unknown how long the counter has been constant, and since
            // when uncounted bytes moved.
            let is_known = (self.changed || passed >= REFRESH_NS) && !self.hides;
            let rate = (value - self.value) / (passed.max(1) as f64 / 1e9);
            *self = Self {
                value,
                at,
                changed: true,
                hides: false,
                rate: is_known.then_some(rate),
            };
        } else if passed >= STILL_NS {
            self.hides |= is_open;
            self.rate = (!self.hides).then_some(0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_leaps_every_five_seconds_has_a_steady_rate() {
        let second = 1_000_000_000;
        let mut held = Held::first(0.0, 3 * second);
        let mut rates = Vec::new();
        for at in 4..40 {
            // It counts 100 a second until second 30, and is refreshed every 5 seconds.
            let value = (at.min(30) / 5 * 5 * 100) as f64;
            held.go_on(value, at * second, at < 30);
            rates.push(held.rate);
        }
        assert!(rates[..6].iter().all(Option::is_none), "{rates:?}");
        assert!(
            rates[6..35].iter().all(|rate| *rate == Some(100.0)),
            "{rates:?}"
        );
        held.go_on(3000.0, 41 * second, false);
        assert_eq!(held.rate, Some(0.0));
        held.go_on(10.0, 42 * second, true);
        assert_eq!(held.rate, None);
    }

    #[test]
    fn bytes_that_are_counted_when_a_session_ends_have_no_rate() {
        let second = 1_000_000_000;
        let mut held = Held::first(0.0, 0);
        for at in 1..60 {
            held.go_on(0.0, at * second, true);
            assert_eq!(held.rate, None, "{at}");
        }
        // The session ends with all its bytes.
        held.go_on(6e9, 60 * second, false);
        assert_eq!(held.rate, None);
        for at in 61..80 {
            held.go_on(6e9, at * second, false);
        }
        assert_eq!(held.rate, Some(0.0));
    }
}
