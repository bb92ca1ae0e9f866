//! Rates of counters that their source refreshes every few seconds only, as HAProxy does with the
//! bytes of sessions that go on. Over a shorter interval they stand still, and then leap.

use std::collections::HashMap;

use dyno_core::clock::Nanos;

use crate::figures::{Cell, Fields as _, RowOf};
use crate::profile::{Table, Take};
use crate::rates::key;
use crate::source::Answer;

/// How often such counters are refreshed.
const REFRESH_NS: Nanos = 5_000_000_000;
/// A counter that stands still for longer counts nothing.
const STILL_NS: Nanos = 2 * REFRESH_NS;

/// What the counters of a table were when they changed last, by row and column.
#[derive(Clone, Debug, Default)]
pub struct Slow(HashMap<(Vec<String>, usize), Held>);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Held {
    value: f64,
    /// When it became so.
    at: Nanos,
    /// Whether that is when it changed, rather than when it was seen first.
    changed: bool,
    rate: Option<f64>,
}

impl Slow {
    /// Puts the rates since the changes before into the rows that were made of an answer.
    pub fn hold(&mut self, table: &Table, answer: &Answer, at: Nanos, rows: &mut [Vec<Cell>]) {
        let columns = table.columns.iter().enumerate();
        for (index, column) in columns.filter(|(_, column)| column.take == Take::SlowRate) {
            for (row, cells) in rows.iter_mut().enumerate() {
                let fields = RowOf { answer, row };
                let (Some(value), Some(cell)) = (fields.sum(column.from), cells.get_mut(index))
                else {
                    continue;
                };
                let held = self.0.entry((key(table, fields), index));
                let held = held
                    .and_modify(|held| held.go_on(value, at))
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
            rate: None,
        }
    }

    fn go_on(&mut self, value: f64, at: Nanos) {
        let passed = at.saturating_sub(self.at);
        if value < self.value {
            *self = Self::first(value, at);
        } else if value > self.value {
            // How long the counter had stood still when it was seen first is not known.
            let is_known = self.changed || passed >= REFRESH_NS;
            let rate = (value - self.value) / (passed.max(1) as f64 / 1e9);
            *self = Self {
                value,
                at,
                changed: true,
                rate: is_known.then_some(rate),
            };
        } else if passed >= STILL_NS {
            self.rate = Some(0.0);
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
            // It counts 100 a second until the thirtieth, and is refreshed every five.
            let value = (at.min(30) / 5 * 5 * 100) as f64;
            held.go_on(value, at * second);
            rates.push(held.rate);
        }
        assert!(rates[..6].iter().all(Option::is_none), "{rates:?}");
        assert!(
            rates[6..35].iter().all(|rate| *rate == Some(100.0)),
            "{rates:?}"
        );
        held.go_on(3000.0, 41 * second);
        assert_eq!(held.rate, Some(0.0));
        held.go_on(10.0, 42 * second);
        assert_eq!(held.rate, None);
    }
}
