//! Counts and latencies of one or more intervals.
//!
//! A recorder's histogram is iterated once, when its interval ends, because that costs more than
//! everything done later with the figures.

use dyno_core::interval::{
    Counters, ErrorsByCode, Interval, Latencies, OperationCounters, merge_errors,
};

use crate::buckets::Distribution;

/// Counts and latencies of one or more intervals.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums {
    pub counters: Counters,
    pub errors: ErrorsByCode,
    pub connect_errors: ErrorsByCode,
    pub measured_s: f64,
    /// Batches that were dropped.
    pub dropped: u64,
    pub events: Timed,
    pub operations: Vec<(OperationCounters, Timed)>,
}

/// Service and response times.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timed {
    pub service: Distribution,
    /// Empty in a closed loop.
    pub response: Distribution,
}

impl Sums {
    pub(crate) fn of(interval: &Interval) -> Self {
        let operations = interval.operations.iter();
        Self {
            counters: interval.counters,
            errors: interval.errors.clone(),
            connect_errors: interval.connect_errors.clone(),
            measured_s: interval.end.saturating_sub(interval.start) as f64 / 1e9,
            dropped: 0,
            events: Timed::of(&interval.latencies),
            operations: operations
                .map(|operation| (operation.counters, Timed::of(&operation.latencies)))
                .collect(),
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.counters.merge(&other.counters);
        merge_errors(&mut self.errors, &other.errors);
        merge_errors(&mut self.connect_errors, &other.connect_errors);
        self.measured_s += other.measured_s;
        self.dropped += other.dropped;
        self.events.add(&other.events);
        if self.operations.len() < other.operations.len() {
            let operations = other.operations.len();
            self.operations.resize_with(operations, Default::default);
        }
        for ((counters, timed), other) in self.operations.iter_mut().zip(&other.operations) {
            counters.merge(&other.0);
            timed.add(&other.1);
        }
    }
}

impl Timed {
    fn of(latencies: &Latencies) -> Self {
        Self {
            service: Distribution::new(
                &latencies.service,
                latencies.service_ns_sum,
                (latencies.service_ns_min, latencies.service_ns_max),
            ),
            response: Distribution::new(
                &latencies.response,
                latencies.response_ns_sum,
                (latencies.response_ns_min, latencies.response_ns_max),
            ),
        }
    }

    fn add(&mut self, other: &Self) {
        self.service.add(&other.service);
        self.response.add(&other.response);
    }

    /// The time that events waited after their scheduled start in an open loop, in seconds.
    pub(crate) fn waited_s(&self) -> f64 {
        self.response.sum_ns.saturating_sub(self.service.sum_ns) as f64 / 1e9
    }
}

#[cfg(test)]
mod tests {
    use dyno_core::db::ErrorKind;
    use dyno_core::interval::{ErrorCount, Interval, OperationInterval};
    use proptest::prelude::*;

    use super::Sums;

    fn interval(latencies_ns: &[u64]) -> Interval {
        let mut interval = Interval {
            end: 1_000_000_000,
            ..Interval::default()
        };
        let mut operation = OperationInterval::default();
        for ns in latencies_ns {
            interval.counters.events += 1;
            interval.latencies.record_service(*ns);
            operation.latencies.record_service(ns / 2 + 1);
            operation.counters.done += 1;
        }
        interval.operations.push(operation);
        let error = ErrorCount {
            count: 1,
            kind: ErrorKind::Other,
            sample: String::new(),
        };
        interval.errors.insert("1213".to_owned(), error);
        interval
    }

    proptest! {
        /// The sum over intervals equals the sums of the merged interval.
        #[test]
        fn sums_of_intervals_are_the_sums_of_their_merge(
            all in prop::collection::vec(
                prop::collection::vec(1_u64..100_000_000_000, 0..50), 1..8),
        ) {
            let mut merged = Interval::default();
            let mut sums = Sums::default();
            for latencies_ns in &all {
                let interval = interval(latencies_ns);
                merged.merge_sums(&interval);
                sums.add(&Sums::of(&interval));
            }
            let whole = Sums::of(&merged);
            prop_assert_eq!(sums.counters, whole.counters);
            prop_assert_eq!(sums.errors["1213"].count, all.len() as u64);
            prop_assert_eq!(sums.measured_s, all.len() as f64);
            prop_assert_eq!(&sums.events.service, &whole.events.service);
            prop_assert_eq!(sums.operations[0].0, whole.operations[0].0);
            prop_assert_eq!(&sums.operations[0].1.service, &whole.operations[0].1.service);
        }
    }
}
