//! Latencies over time: a column for each interval, a row for each range of latencies.

use std::collections::{BTreeMap, VecDeque};

use crate::figures::number;
use crate::profile::Latencies;
use crate::source::Answer;

/// The upper bounds of the rows in seconds, about three per decade like the buckets of servers and
/// proxies; latencies above the last have an additional row.
pub(crate) const BOUNDS_S: [f64; 11] = [
    100e-6, 300e-6, 1e-3, 3e-3, 10e-3, 30e-3, 100e-3, 300e-3, 1.0, 3.0, 10.0,
];
/// Number of rows.
pub(crate) const ROWS: usize = BOUNDS_S.len() + 1;
/// Maximum number of columns kept: more than a wide terminal has.
const COLUMNS_MAX: usize = 512;

/// Number of operations per row; the fastest row first.
pub(crate) type Column = [f64; ROWS];

/// The latencies of a snapshot.
#[derive(Clone, Debug, PartialEq)]
pub enum LatencySample {
    /// None, with the reason.
    Absent(String),
    /// Counters since the server's start, by bucket bound in nanoseconds.
    Counters(BTreeMap<u64, f64>),
    /// Ended intervals, in time order.
    Columns(Vec<Column>),
}

/// The columns so far.
#[derive(Clone, Debug, Default)]
pub struct Strip {
    columns: VecDeque<Column>,
    counters: Option<BTreeMap<u64, f64>>,
    why_absent: Option<String>,
}

impl Strip {
    /// Adds the latencies of a snapshot.
    pub fn add(&mut self, sample: &LatencySample) {
        match sample {
            LatencySample::Absent(why) => self.why_absent = Some(why.clone()),
            LatencySample::Columns(columns) => {
                self.why_absent = None;
                columns.iter().for_each(|column| self.push(*column));
            }
            LatencySample::Counters(counters) => {
                self.why_absent = None;
                if let Some(before) = self.counters.replace(counters.clone()) {
                    self.push(difference(counters, &before));
                }
            }
        }
    }

    /// The columns, the latest last.
    pub fn columns(&self) -> impl DoubleEndedIterator<Item = &Column> {
        self.columns.iter()
    }

    /// Whether there are no columns yet.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Why there are no latencies, if known.
    pub fn why_absent(&self) -> Option<&str> {
        self.why_absent.as_deref()
    }

    /// The latency in seconds below which this share of the last interval's operations ended, as
    /// the upper bound of its row; `None` without operations, and above the last bound.
    pub fn last_quantile(&self, share: f64) -> Option<f64> {
        let column = self.columns.back()?;
        let total: f64 = column.iter().sum();
        let mut sum = 0.0;
        let row = column.iter().position(|count| {
            sum += count;
            total > 0.0 && sum >= share * total
        })?;
        BOUNDS_S.get(row).copied()
    }

    fn push(&mut self, column: Column) {
        if self.columns.len() == COLUMNS_MAX {
            self.columns.pop_front();
        }
        self.columns.push_back(column);
    }
}

/// The row of a bucket with this upper bound.
fn row_of(bound_s: f64) -> usize {
    // Rounded bounds still belong to their intended row.
    let fits = |row: &f64| bound_s <= row * 1.000_001;
    BOUNDS_S.iter().position(fits).unwrap_or(BOUNDS_S.len())
}

fn difference(now: &BTreeMap<u64, f64>, before: &BTreeMap<u64, f64>) -> Column {
    let mut column = Column::default();
    for (bound_ns, count) in now {
        let earlier = before.get(bound_ns).copied().unwrap_or(0.0);
        // Counters that were reset have counted from 0.
        let more = if *count >= earlier {
            count - earlier
        } else {
            *count
        };
        column[row_of(*bound_ns as f64 / 1e9)] += more;
    }
    column
}

/// The latencies of an answer, by its layout.
pub(crate) fn sample(latencies: &Latencies, answer: &Answer) -> LatencySample {
    match latencies {
        Latencies::Absent(why) => LatencySample::Absent((*why).to_owned()),
        Latencies::Buckets {
            bound,
            count,
            scale,
            ..
        } => buckets(answer, bound, count, *scale),
        Latencies::Columns { of, .. } => {
            let mut counters = BTreeMap::new();
            for (name, bound_s) in *of {
                let Some(column) = answer.column(name) else {
                    continue;
                };
                let fields = (0..answer.rows.len()).filter_map(|row| answer.field(row, column));
                *counters.entry(ns(*bound_s)).or_insert(0.0) +=
                    fields.filter_map(number).sum::<f64>();
            }
            LatencySample::Counters(counters)
        }
        Latencies::Intervals(_) => intervals(answer),
    }
}

fn buckets(answer: &Answer, bound: &str, count: &str, scale: f64) -> LatencySample {
    let (Some(bound), Some(count)) = (answer.column(bound), answer.column(count)) else {
        return LatencySample::Absent("the server's histogram has unknown columns".to_owned());
    };
    let mut counters = BTreeMap::new();
    for row in 0..answer.rows.len() {
        let field = |column| answer.field(row, column);
        let Some(count) = field(count).and_then(number) else {
            continue;
        };
        // A bucket without a numeric bound is the last, such as TOO LONG.
        let bound_s = field(bound)
            .and_then(number)
            .map_or(f64::MAX, |b| b * scale);
        *counters.entry(ns(bound_s)).or_insert(0.0) += count;
    }
    LatencySample::Counters(counters)
}

fn intervals(answer: &Answer) -> LatencySample {
    let place = |name| answer.column(name).unwrap_or(usize::MAX);
    let (at, bound, count) = (place("at"), place("bound"), place("count"));
    let mut columns: Vec<(&str, Column)> = Vec::new();
    for row in 0..answer.rows.len() {
        let Some(at) = answer.field(row, at) else {
            continue;
        };
        if columns.last().is_none_or(|(last, _)| *last != at) {
            columns.push((at, Column::default()));
        }
        let bound = answer.field(row, bound).and_then(number);
        let count = answer.field(row, count).and_then(number);
        if let (Some(bound), Some(count), Some((_, column))) = (bound, count, columns.last_mut()) {
            column[row_of(bound)] += count;
        }
    }
    LatencySample::Columns(columns.into_iter().map(|(_, column)| column).collect())
}

fn ns(seconds: f64) -> u64 {
    // A cast of a value that is too large gives the largest.
    (seconds * 1e9).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(counts: &[(f64, f64)]) -> LatencySample {
        LatencySample::Counters(counts.iter().map(|(s, count)| (ns(*s), *count)).collect())
    }

    #[test]
    fn counters_become_columns_by_their_differences() {
        let mut strip = Strip::default();
        strip.add(&counters(&[(1e-3, 10.0), (20.0, 1.0)]));
        assert!(strip.is_empty());
        strip.add(&counters(&[(1e-3, 110.0), (20.0, 2.0)]));
        let column = strip.columns().next_back().unwrap();
        assert_eq!((column[2], column[ROWS - 1]), (100.0, 1.0));
        assert_eq!(strip.last_quantile(0.5), Some(1e-3));
        assert_eq!(strip.last_quantile(1.0), None);
        // A reset, and an interval in which nothing ended.
        strip.add(&counters(&[(1e-3, 5.0), (20.0, 0.0)]));
        assert_eq!(strip.columns().next_back().unwrap()[2], 5.0);
        strip.add(&counters(&[(1e-3, 5.0), (20.0, 0.0)]));
        assert_eq!(strip.last_quantile(0.5), None);
    }

    #[test]
    fn bounds_belong_to_the_row_that_holds_them() {
        for (bound, row) in [(1e-9, 0), (1e-4, 0), (5e-4, 2), (0.000_300_000_1, 1)] {
            assert_eq!(row_of(bound), row, "{bound}");
        }
        assert_eq!(row_of(f64::MAX), ROWS - 1);
        assert_eq!(ns(f64::MAX), u64::MAX);
    }

    #[test]
    fn old_columns_go() {
        let mut strip = Strip::default();
        strip.add(&LatencySample::Columns(vec![
            Column::default();
            COLUMNS_MAX + 9
        ]));
        assert_eq!(strip.columns().count(), COLUMNS_MAX);
    }
}
