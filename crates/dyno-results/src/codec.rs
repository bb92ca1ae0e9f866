//! How latencies are stored: exact sums, a few quantiles, and deflated histograms in HdrHistogram's
//! V2 format.

use dyno_core::interval::{Latencies, carries};
use dyno_core::record::Span;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};

/// Significant digits of the histograms of spans. Histograms of a whole run keep three.
pub const SPAN_DIGITS: u8 = 2;

/// The bits of a latency that two significant digits keep. The number of values that HdrHistogram
/// distinguishes is the first power of two at or above 2 * 10^digits, which is 256 here.
const BITS_KEPT: u32 = 8;

/// The quantiles that have columns, in percent.
pub(crate) const PERCENTS: [f64; 4] = [50.0, 95.0, 99.0, 99.9];

/// A latency distribution with two significant digits, as (lowest latency of a bin, count) in
/// ascending order. Unlike a histogram, it takes memory only for bins that are not empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bins(Vec<(u64, u64)>);

impl Bins {
    pub(crate) fn of(histogram: &Histogram<u64>) -> Self {
        let mut bins: Vec<(u64, u64)> = Vec::new();
        if histogram.is_empty() {
            return Self(bins);
        }
        for bin in histogram.iter_recorded() {
            let lowest = histogram.lowest_equivalent(bin.value_iterated_to());
            let (value, count) = (coarse(lowest), bin.count_since_last_iteration());
            match bins.last_mut() {
                Some(last) if last.0 == value => last.1 += count,
                _ => bins.push((value, count)),
            }
        }
        Self(bins)
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        let mut merged = Vec::with_capacity(self.0.len().max(other.0.len()));
        let (mut left, mut right) = (self.0.iter().peekable(), other.0.iter().peekable());
        loop {
            let next = match (left.peek(), right.peek()) {
                (Some(a), Some(b)) if a.0 == b.0 => (a.0, a.1 + b.1),
                (Some(a), Some(b)) => **if a.0 < b.0 { a } else { b },
                (Some(one), None) | (None, Some(one)) => **one,
                (None, None) => break,
            };
            left.next_if(|bin| bin.0 == next.0);
            right.next_if(|bin| bin.0 == next.0);
            merged.push(next);
        }
        self.0 = merged;
    }

    /// The smallest histogram that fits. `None` if there are no values.
    fn histogram(&self) -> Option<Histogram<u64>> {
        let (highest, _) = self.0.last()?;
        let mut histogram = span_histogram(*highest);
        for &(value, count) in &self.0 {
            histogram.saturating_record_n(value, count);
        }
        Some(histogram)
    }
}

/// The lowest latency that is in the same bin at two significant digits.
fn coarse(ns: u64) -> u64 {
    let shift = (u64::BITS - ns.leading_zeros()).saturating_sub(BITS_KEPT);
    ns >> shift << shift
}

/// An empty histogram of two digits that covers `highest_ns` and grows if needed.
pub(crate) fn span_histogram(highest_ns: u64) -> Histogram<u64> {
    #[allow(clippy::expect_used)] // lowest value at least 1, highest at least twice that
    let mut histogram = Histogram::new_with_bounds(1, highest_ns.max(2), SPAN_DIGITS)
        .expect("the bounds are valid");
    histogram.auto(true);
    histogram
}

/// The latencies of one operation over a period, as sent to the writing thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    pub(crate) count: u64,
    pub(crate) sum_ns: u64,
    /// 0 without operations.
    pub(crate) min_ns: u64,
    pub(crate) max_ns: u64,
    pub(crate) service: Bins,
    pub(crate) response: Bins,
}

impl From<&Latencies> for Measured {
    fn from(latencies: &Latencies) -> Self {
        let count = latencies.service.len();
        Self {
            count,
            sum_ns: latencies.service_ns_sum,
            min_ns: if count == 0 {
                0
            } else {
                latencies.service_ns_min
            },
            max_ns: latencies.service_ns_max,
            service: Bins::of(&latencies.service),
            response: Bins::of(&latencies.response),
        }
    }
}

impl From<&Span> for Measured {
    fn from(span: &Span) -> Self {
        Self {
            count: span.count,
            sum_ns: span.service_ns_sum,
            min_ns: span.service_ns_min,
            max_ns: span.service_ns_max,
            service: Bins::of(&span.service),
            response: Bins::of(&span.response),
        }
    }
}

impl Measured {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.min_ns = match (self.count, other.count) {
            (_, 0) => self.min_ns,
            (0, _) => other.min_ns,
            _ => self.min_ns.min(other.min_ns),
        };
        self.max_ns = self.max_ns.max(other.max_ns);
        self.count += other.count;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.service.merge(&other.service);
        self.response.merge(&other.response);
    }

    pub(crate) fn row(&self, from_s: f64, to_s: f64) -> SpanRow {
        let quantiles_ns = |histogram: &Option<Histogram<u64>>| match histogram {
            Some(histogram) => quantiles(histogram),
            None => [None; PERCENTS.len()],
        };
        let (service, response) = (self.service.histogram(), self.response.histogram());
        SpanRow {
            from_s,
            to_s,
            count: self.count,
            sum_ns: self.sum_ns,
            min_ns: self.min_ns,
            max_ns: self.max_ns,
            // Clamp the two-digit quantiles to the exact extremes.
            service_ns: quantiles_ns(&service)
                .map(|ns| ns.map(|ns| ns.clamp(self.min_ns, self.max_ns.max(self.min_ns)))),
            response_ns: quantiles_ns(&response),
            service: service.as_ref().and_then(encoded),
            response: response.as_ref().and_then(encoded),
        }
    }
}

/// A row of the tables `span` and `total`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SpanRow {
    pub(crate) from_s: f64,
    pub(crate) to_s: f64,
    pub(crate) count: u64,
    pub(crate) sum_ns: u64,
    pub(crate) min_ns: u64,
    pub(crate) max_ns: u64,
    pub(crate) service_ns: [Option<u64>; PERCENTS.len()],
    pub(crate) response_ns: [Option<u64>; PERCENTS.len()],
    pub(crate) service: Option<Vec<u8>>,
    pub(crate) response: Option<Vec<u8>>,
}

impl SpanRow {
    /// The row of a whole run, with histograms of full precision.
    pub(crate) fn total(span: &Span) -> Self {
        let clamped = |ns: u64| {
            ns.clamp(
                span.service_ns_min,
                span.service_ns_max.max(span.service_ns_min),
            )
        };
        Self {
            from_s: span.from_s,
            to_s: span.to_s,
            count: span.count,
            sum_ns: span.service_ns_sum,
            min_ns: span.service_ns_min,
            max_ns: span.service_ns_max,
            service_ns: quantiles(&span.service).map(|ns| ns.map(clamped)),
            response_ns: quantiles(&span.response),
            service: encoded(&span.service),
            response: encoded(&span.response),
        }
    }

    /// The same row, from a recorder's latencies.
    pub(crate) fn total_of(latencies: &Latencies, from_s: f64, to_s: f64) -> Self {
        let count = latencies.service.len();
        let (min, max) = (latencies.service_ns_min, latencies.service_ns_max);
        let clamped = |ns: u64| ns.clamp(min.min(max), max);
        let of_response = |ns: u64| {
            let (min, max) = (latencies.response_ns_min, latencies.response_ns_max);
            ns.clamp(min.min(max), max)
        };
        Self {
            from_s,
            to_s,
            count,
            sum_ns: latencies.service_ns_sum,
            min_ns: if count == 0 { 0 } else { min },
            max_ns: max,
            service_ns: quantiles(&latencies.service).map(|ns| ns.map(clamped)),
            response_ns: quantiles(&latencies.response).map(|ns| ns.map(of_response)),
            service: encoded(&latencies.service),
            response: encoded(&latencies.response),
        }
    }
}

/// The quantiles that have columns. `None` for those with too few samples.
fn quantiles(histogram: &Histogram<u64>) -> [Option<u64>; PERCENTS.len()] {
    PERCENTS.map(|percent| {
        let known = !histogram.is_empty() && carries(histogram.len(), percent);
        known.then(|| histogram.value_at_quantile(percent / 100.0))
    })
}

/// `None` for an empty histogram.
fn encoded(histogram: &Histogram<u64>) -> Option<Vec<u8>> {
    if histogram.is_empty() {
        return None;
    }
    let mut bytes = Vec::new();
    // Writing to memory fails only for histograms with counts beyond 2^63.
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .ok()
        .map(|_| bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Decoder;
    use proptest::prelude::*;

    fn recorded(values: &[u64]) -> Latencies {
        let mut latencies = Latencies::default();
        for &ns in values {
            latencies.record_service(ns);
        }
        latencies
    }

    fn bins(histogram: &Histogram<u64>) -> Vec<(u64, u64)> {
        let lowest = |value| histogram.lowest_equivalent(value);
        histogram
            .iter_recorded()
            .map(|bin| (lowest(bin.value_iterated_to()), bin.count_at_value()))
            .collect()
    }

    fn decoded(bytes: Option<&[u8]>) -> Histogram<u64> {
        Decoder::new().histogram(bytes).unwrap()
    }

    #[test]
    fn a_quantile_needs_enough_samples() {
        let known = |count: u64| {
            let values: Vec<u64> = (1..=count).map(|i| i * 1_000_000).collect();
            let row = Measured::from(&recorded(&values)).row(0.0, 1.0);
            row.service_ns.map(|ns| ns.is_some())
        };
        assert_eq!(known(0), [false; 4]);
        assert_eq!(known(9), [false; 4]);
        assert_eq!(known(100), [true, true, false, false]);
        assert_eq!(known(5000), [true; 4]);
    }

    proptest! {
        #[test]
        fn reducing_to_two_digits_equals_recording_two_digits(
            values in prop::collection::vec(0u64..4_000_000_000_000, 1..300)
        ) {
            let latencies = recorded(&values);
            let mut direct = span_histogram(dyno_core::interval::LATENCY_NS_MAX);
            for &ns in &values {
                direct.saturating_record(ns);
            }
            let measured = Measured::from(&latencies);
            let row = measured.row(0.0, 1.0);
            let read = decoded(row.service.as_deref());
            prop_assert_eq!(bins(&read), bins(&direct));
            prop_assert_eq!(row.count, values.len() as u64);
            prop_assert_eq!(row.sum_ns, values.iter().sum::<u64>());
            prop_assert_eq!(row.min_ns, *values.iter().min().unwrap());
            prop_assert_eq!(row.max_ns, *values.iter().max().unwrap());
            prop_assert!(row.response.is_none());
        }

        #[test]
        fn a_merge_is_the_whole(
            parts in prop::collection::vec(
                prop::collection::vec(0u64..5_000_000_000, 0..60), 1..6)
        ) {
            let mut merged = Measured::default();
            for part in &parts {
                merged.merge(&Measured::from(&recorded(part)));
            }
            prop_assert_eq!(merged, Measured::from(&recorded(&parts.concat())));
        }

        #[test]
        fn a_total_keeps_its_three_digits(
            values in prop::collection::vec(1u64..5_000_000_000, 1..300)
        ) {
            let latencies = recorded(&values);
            let row = SpanRow::total_of(&latencies, 0.0, 1.0);
            let read = decoded(row.service.as_deref());
            prop_assert_eq!(bins(&read), bins(&latencies.service));
        }
    }
}
