//! Evaluates a log of sums (`--aggregate-interval`).

use std::collections::BTreeMap;

use dyno_core::catalogue::names;
use dyno_core::interval::Counters;
use dyno_core::record::Series;
use dyno_core::summary::{IntervalSummary, LatencySummary, RunSummary};

use super::output::Output;
use super::transactions::Sum;
use crate::runs;

const US_PER_MS: f64 = 1e3;

/// The sums of all threads over time.
pub(super) struct Sums {
    times: BTreeMap<u64, Sum>,
    /// Whether the log shows failures: a column of zeros may not have been requested.
    counts_failed: bool,
}

impl Sums {
    pub(super) fn of(sums: &[Sum]) -> Self {
        let mut times: BTreeMap<u64, Sum> = BTreeMap::new();
        for sum in sums {
            times
                .entry(sum.from_s)
                .and_modify(|all| all.add(sum))
                .or_insert(*sum);
        }
        let counts_failed = sums
            .iter()
            .any(|sum| sum.failed.is_some_and(|failed| failed > 0));
        Self {
            times,
            counts_failed,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// The interval between these times; unknown if there is only one.
    fn step(&self) -> Option<f64> {
        let starts: Vec<f64> = self.times.keys().map(|&from_s| from_s as f64).collect();
        let steps: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        dyno_stats::median(&steps)
    }

    /// When the second of these times begins, seconds since 1970: the first one's beginning is
    /// truncated to a whole second and is earlier than the run's.
    pub(super) fn start_s(&self) -> Option<f64> {
        self.times.keys().nth(1).map(|&from_s| from_s as f64)
    }

    /// Whether transactions had a schedule.
    pub(super) fn throttled(&self) -> bool {
        self.times.values().any(|sum| sum.lag_us.is_some())
    }

    /// Whether the log says how many transactions failed.
    pub(super) fn counts_failed(&self) -> bool {
        self.counts_failed
    }

    /// Transactions that were too late to begin.
    pub(super) fn skipped(&self) -> u64 {
        let skipped = self.times.values().filter_map(|sum| sum.skipped);
        skipped.fold(0, u64::saturating_add)
    }

    /// Transactions of the first and the last interval, if there are others.
    pub(super) fn left_out(&self) -> Option<u64> {
        let part = self.all(true)?.count;
        self.all(false).map(|all| all.count.saturating_sub(part))
    }

    /// The whole log as a single sum, or only the part that the intervals cover.
    fn all(&self, is_part: bool) -> Option<Sum> {
        let skipped = usize::from(is_part);
        let part = self.times.len().saturating_sub(2 * skipped);
        let mut times = self.times.values().skip(skipped).take(part);
        let mut all = *times.next()?;
        times.for_each(|sum| all.add(sum));
        (all.count > 0).then_some(all)
    }

    /// The longest transaction, if the log has exactly this many.
    pub(super) fn longest_ms(&self, processed: u64) -> Option<f64> {
        let all = self.all(false).filter(|all| all.count == processed)?;
        Some(all.max_us / US_PER_MS)
    }

    /// Intervals, without the first and the last: the run covers an unknown part of them.
    pub(super) fn intervals(&self, output: &Output) -> Vec<IntervalSummary> {
        let (Some(step), Some(start)) = (self.step(), self.start_s()) else {
            return Vec::new();
        };
        let interval = |sum: &Sum| {
            let failed = sum.failed.unwrap_or(0);
            let retries = sum.retries.unwrap_or(0);
            let counters = Counters {
                not_done: failed,
                errors: failed.saturating_add(retries),
                retries,
                ..runs::counted(sum.count)
            };
            IntervalSummary {
                at_s: sum.from_s as f64 - start + step,
                length_s: step,
                sessions: output.clients,
                counters,
                errors_seen: counters.errors,
                max_ms: (sum.count > 0).then_some(sum.max_us / US_PER_MS),
                ..IntervalSummary::default()
            }
        };
        let mut intervals: Vec<IntervalSummary> =
            self.times.values().skip(1).map(interval).collect();
        intervals.pop();
        intervals
    }

    /// Adds the latencies of the log to a summary that has none, over the same transactions as its
    /// totals, and the extremes to one that has means.
    pub(super) fn complete(&self, summary: &mut RunSummary, output: &Output) {
        let alone = output.processed.is_none() && output.points.is_empty();
        let Some(all) = self.all(alone) else {
            return;
        };
        let latency = all.latency();
        let throttled = self.throttled();
        if output.processed.is_none() {
            if !throttled {
                summary.service = latency;
                return;
            }
            let lag_ms = all.lag_us.unwrap_or(0.0) / all.count as f64 / US_PER_MS;
            if let Some(mean_ms) = latency.mean_ms {
                summary.service = runs::mean_only(all.count, (mean_ms - lag_ms).max(0.0), None);
            }
            summary.response = Some(latency);
            return;
        }
        // A file of the log may be missing.
        let to = match throttled {
            true => summary.response.as_mut(),
            false => Some(&mut summary.service),
        };
        if let Some(to) = to.filter(|_| output.processed == Some(all.count)) {
            (to.min_ms, to.max_ms) = (latency.min_ms, latency.max_ms);
        }
    }

    /// Rate, mean, deviation and extremes of the latencies over each of these times.
    pub(super) fn series(&self, origin: Option<f64>) -> Vec<Series> {
        let (Some(step), Some(origin)) = (self.step(), origin) else {
            return Vec::new();
        };
        type Pick = fn(&Sum) -> Option<f64>;
        let picks: [(&str, &str, &str, Pick); 7] = [
            (names::IMPORT_LATENCY_MEAN, "ms", "sum_latency", |sum| {
                sum.of_done(sum.latency().mean_ms?)
            }),
            (names::IMPORT_LATENCY_STDDEV, "ms", "sum_latency_2", |sum| {
                sum.of_done(sum.latency().stddev_ms?)
            }),
            (names::IMPORT_LATENCY_MIN, "ms", "min_latency", |sum| {
                sum.of_done(sum.min_us / US_PER_MS)
            }),
            (names::IMPORT_LATENCY_MAX, "ms", "max_latency", |sum| {
                sum.of_done(sum.max_us / US_PER_MS)
            }),
            (names::IMPORT_LAG_MEAN, "ms", "sum_lag", |sum| {
                sum.of_done(sum.lag_us? / sum.count as f64 / US_PER_MS)
            }),
            (names::IMPORT_SKIPPED, "count", "skipped", |sum| {
                sum.skipped.map(|count| count as f64)
            }),
            (
                names::IMPORT_FAILED,
                "count",
                "serialization_failures, deadlock_failures",
                |sum| sum.failed.map(|count| count as f64),
            ),
        ];
        let all = || {
            let times = self.times.values();
            times.map(|sum| (sum.from_s as f64 - origin + step, sum))
        };
        let is_counted = |name: &str| name != names::IMPORT_FAILED || self.counts_failed;
        let picks = picks.into_iter().filter(|(name, ..)| is_counted(name));
        let mut series: Vec<Series> = picks
            .filter_map(|(name, unit, column, pick)| {
                let points = all().map(|(at, sum)| (at, pick(sum)));
                let source = format!("pgbench --aggregate-interval, {column}");
                runs::series(name, unit, source, points)
            })
            .collect();
        let rates = all().map(|(at, sum)| (at, Some(sum.count as f64 / step)));
        let source = "pgbench --aggregate-interval, num_transactions".to_owned();
        series.extend(runs::series(
            names::IMPORT_TRANSACTIONS,
            "count/s",
            source,
            rates,
        ));
        series
    }
}

impl Sum {
    fn add(&mut self, other: &Self) {
        let more = |own: Option<u64>, other: Option<u64>| match (own, other) {
            (Some(own), Some(other)) => Some(own.saturating_add(other)),
            (own, other) => own.or(other),
        };
        // A sum without transactions has extremes of 0.
        if other.count > 0 {
            let none = self.count == 0;
            self.min_us = if none {
                other.min_us
            } else {
                self.min_us.min(other.min_us)
            };
            self.max_us = self.max_us.max(other.max_us);
        }
        self.count = self.count.saturating_add(other.count);
        self.latency_us += other.latency_us;
        self.latency_us_squared += other.latency_us_squared;
        self.lag_us = match (self.lag_us, other.lag_us) {
            (Some(own), Some(other)) => Some(own + other),
            (own, other) => own.or(other),
        };
        self.skipped = more(self.skipped, other.skipped);
        self.retries = more(self.retries, other.retries);
        self.failed = more(self.failed, other.failed);
    }

    /// A value that is valid only if a transaction succeeded.
    fn of_done(&self, value: f64) -> Option<f64> {
        (self.count > 0).then_some(value)
    }

    /// From its schedule or its start to its end.
    fn latency(&self) -> LatencySummary {
        let count = self.count as f64;
        let mean_us = self.latency_us / count;
        let variance = (self.latency_us_squared / count - mean_us * mean_us).max(0.0);
        LatencySummary {
            min_ms: Some(self.min_us / US_PER_MS),
            max_ms: Some(self.max_us / US_PER_MS),
            ..runs::mean_only(
                self.count,
                mean_us / US_PER_MS,
                Some(variance.sqrt() / US_PER_MS),
            )
        }
    }
}
