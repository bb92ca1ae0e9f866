//! Sums between two reports.

use dyno_core::interval::{Counters, Interval, Latencies};

/// Sums over some intervals.
#[derive(Default)]
pub(super) struct Window {
    /// Their total length in seconds.
    pub length_s: f64,
    /// Counts of events and errors.
    pub counters: Counters,
    /// How often each operation was done.
    pub operations: Vec<u64>,
    /// Latencies of events.
    pub latencies: Latencies,
}

impl Window {
    /// An interval's sums, without its length.
    pub(super) fn of(interval: &Interval) -> Self {
        Self {
            length_s: 0.0,
            counters: interval.counters,
            operations: done(interval).collect(),
            latencies: interval.latencies.clone(),
        }
    }

    /// Adds an interval.
    pub(super) fn add(&mut self, interval: &Interval) {
        self.length_s += (interval.end - interval.start) as f64 / 1e9;
        self.counters.merge(&interval.counters);
        self.add_operations(done(interval));
        self.latencies.merge(&interval.latencies);
    }

    /// Resets all sums.
    pub(super) fn clear(&mut self) {
        self.length_s = 0.0;
        self.counters = Counters::default();
        self.operations.clear();
        self.latencies.clear();
    }

    /// Adds another window's counts and latencies.
    pub(super) fn merge(&mut self, other: &Window) {
        self.counters.merge(&other.counters);
        self.add_operations(other.operations.iter().copied());
        self.latencies.merge(&other.latencies);
    }

    /// How often this operation was done.
    pub(super) fn done(&self, operation: usize) -> u64 {
        self.operations.get(operation).copied().unwrap_or(0)
    }

    fn add_operations(&mut self, more: impl Iterator<Item = u64>) {
        for (number, count) in more.enumerate() {
            match self.operations.get_mut(number) {
                Some(sum) => *sum += count,
                None => self.operations.push(count),
            }
        }
    }

    /// Subtracts another window, which is part of this one.
    pub(super) fn subtract(&mut self, part: &Window) {
        if part.counters.events == 0 {
            return;
        }
        for (all, part) in self.operations.iter_mut().zip(&part.operations) {
            *all = all.saturating_sub(*part);
        }
        self.counters = self.counters.without(&part.counters);
        let (all, part) = (&mut self.latencies, &part.latencies);
        // It was added before, so this cannot fail.
        let _ = all.service.subtract(&part.service);
        let _ = all.response.subtract(&part.response);
        all.service_ns_sum = all.service_ns_sum.saturating_sub(part.service_ns_sum);
        all.response_ns_sum = all.response_ns_sum.saturating_sub(part.response_ns_sum);
        (all.service_ns_min, all.service_ns_max) = (all.service.min(), all.service.max());
        (all.response_ns_min, all.response_ns_max) = (all.response.min(), all.response.max());
    }
}

fn done(interval: &Interval) -> impl Iterator<Item = u64> {
    let operations = interval.operations.iter();
    operations.map(|operation| operation.counters.done)
}
