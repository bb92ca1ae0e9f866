//! Converts latency histograms to the buckets of Prometheus and OpenTelemetry.
//!
//! The recorder's buckets have three significant digits. Each is assigned by its midpoint to one
//! target bucket. Counts and sums stay exact; a value within 0.1 % of a bucket bound may be counted
//! on the wrong side of it.

use hdrhistogram::Histogram;

/// Bounds of the classic buckets in seconds, as Prometheus writes them: 1, 2, 5 from 10 µs to 50 s.
/// OpenTelemetry's recommended bounds start at 1 ms, which is too coarse for fast statements.
pub const BOUNDS: [(f64, &str); 21] = [
    (0.000_01, "1e-05"),
    (0.000_02, "2e-05"),
    (0.000_05, "5e-05"),
    (0.000_1, "0.0001"),
    (0.000_2, "0.0002"),
    (0.000_5, "0.0005"),
    (0.001, "0.001"),
    (0.002, "0.002"),
    (0.005, "0.005"),
    (0.01, "0.01"),
    (0.02, "0.02"),
    (0.05, "0.05"),
    (0.1, "0.1"),
    (0.2, "0.2"),
    (0.5, "0.5"),
    (1.0, "1.0"),
    (2.0, "2.0"),
    (5.0, "5.0"),
    (10.0, "10.0"),
    (20.0, "20.0"),
    (50.0, "50.0"),
];

/// The schema of native histograms: buckets 2.2 % wide.
pub const NATIVE_SCHEMA: i32 = 5;

/// Maximum number of buckets in a pushed exponential histogram, which is the default of
/// OpenTelemetry's own libraries.
const PUSHED_BUCKETS_MAX: i64 = 160;

/// The coarsest scale, which fits every value: each bucket spans a factor of 2^1024.
const SCALE_MIN: i32 = -10;

/// Latencies in classic and exponential buckets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    /// Number of values.
    pub count: u64,
    /// The exact sum in nanoseconds.
    pub sum_ns: u64,
    /// The exact minimum and maximum in seconds; `None` without values.
    pub extremes_s: Option<(f64, f64)>,
    /// Counts per classic bucket: one for each of [`BOUNDS`], and one above the last.
    pub classic: [u64; BOUNDS.len() + 1],
    /// Counts in buckets of scale [`NATIVE_SCHEMA`].
    pub exponential: Exponential,
}

/// Counts in buckets whose bounds are powers of 2^(2^-scale).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exponential {
    /// The scale, which Prometheus calls the schema.
    pub scale: i32,
    /// (index, count) of each non-empty bucket, in ascending order of index. A bucket covers
    /// base^(index - 1), exclusive, to base^index, inclusive.
    pub buckets: Vec<(i32, u64)>,
}

impl Distribution {
    /// Converts a histogram of nanoseconds. Its exact sum and extremes are recorded separately.
    pub fn new(histogram: &Histogram<u64>, sum_ns: u64, extremes_ns: (u64, u64)) -> Self {
        let count = histogram.len();
        if count == 0 {
            return Self::default();
        }
        let mut classic = [0; BOUNDS.len() + 1];
        let mut buckets: Vec<(i32, u64)> = Vec::new();
        let per_octave = f64::from(NATIVE_SCHEMA).exp2();
        for step in histogram.iter_recorded() {
            let count = step.count_at_value();
            let seconds = histogram.median_equivalent(step.value_iterated_to()) as f64 / 1e9;
            classic[BOUNDS.partition_point(|(bound, _)| *bound < seconds)] += count;
            let index = (seconds.log2() * per_octave).ceil() as i32;
            match buckets.last_mut() {
                Some((last, sum)) if *last == index => *sum += count,
                _ => buckets.push((index, count)),
            }
        }
        Self {
            count,
            sum_ns,
            extremes_s: Some((extremes_ns.0 as f64 / 1e9, extremes_ns.1 as f64 / 1e9)),
            classic,
            exponential: Exponential {
                scale: NATIVE_SCHEMA,
                buckets,
            },
        }
    }

    /// The sum in seconds.
    pub fn sum_s(&self) -> f64 {
        self.sum_ns as f64 / 1e9
    }

    /// Adds the count, sum and classic buckets of another distribution.
    pub(crate) fn add_classic(&mut self, other: &Self) {
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        for (sum, count) in self.classic.iter_mut().zip(&other.classic) {
            *sum += count;
        }
    }

    /// Adds the values of another distribution. Both have exponential buckets of [`NATIVE_SCHEMA`].
    pub(crate) fn add(&mut self, other: &Self) {
        self.add_classic(other);
        self.extremes_s = match (self.extremes_s, other.extremes_s) {
            (Some(own), Some(other)) => Some((own.0.min(other.0), own.1.max(other.1))),
            (own, other) => own.or(other),
        };
        self.exponential.add(&other.exponential);
    }

    /// Counts at or below each of [`BOUNDS`], then the total.
    pub fn cumulative(&self) -> impl Iterator<Item = u64> + '_ {
        self.classic.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        })
    }
}

impl Default for Exponential {
    fn default() -> Self {
        Self {
            scale: NATIVE_SCHEMA,
            buckets: Vec::new(),
        }
    }
}

impl Exponential {
    /// Adds the counts of another histogram of the same scale.
    fn add(&mut self, other: &Self) {
        for (index, count) in &other.buckets {
            match self.buckets.binary_search_by_key(index, |(own, _)| *own) {
                Ok(at) => self.buckets[at].1 += count,
                Err(at) => self.buckets.insert(at, (*index, *count)),
            }
        }
    }

    /// Merges buckets until at most 160, the default of OpenTelemetry, span all values.
    #[must_use]
    pub fn spanning_few(mut self) -> Self {
        while self.scale > SCALE_MIN && self.span() > PUSHED_BUCKETS_MAX {
            self.scale -= 1;
            let mut halved: Vec<(i32, u64)> = Vec::with_capacity(self.buckets.len());
            for (index, count) in self.buckets {
                // Merge each pair of neighbours with an even upper index.
                let index = index.div_euclid(2) + index.rem_euclid(2);
                match halved.last_mut() {
                    Some((last, sum)) if *last == index => *sum += count,
                    _ => halved.push((index, count)),
                }
            }
            self.buckets = halved;
        }
        self
    }

    /// Number of buckets from the first to the last, inclusive.
    fn span(&self) -> i64 {
        match (self.buckets.first(), self.buckets.last()) {
            (Some((first, _)), Some((last, _))) => i64::from(*last) - i64::from(*first) + 1,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use dyno_core::interval::Latencies;
    use proptest::prelude::*;

    use super::{BOUNDS, Distribution, NATIVE_SCHEMA};

    fn distribution(values_ns: &[u64]) -> Distribution {
        let mut latencies = Latencies::default();
        for ns in values_ns {
            latencies.record_service(*ns);
        }
        Distribution::new(
            &latencies.service,
            latencies.service_ns_sum,
            (latencies.service_ns_min, latencies.service_ns_max),
        )
    }

    #[test]
    fn bounds_match_their_text() {
        for (bound, text) in BOUNDS {
            assert_eq!(text.parse(), Ok(bound));
        }
        assert!(BOUNDS.is_sorted());
    }

    #[test]
    fn a_value_is_within_the_bounds_of_its_bucket() {
        let result = distribution(&[1, 9_000, 15_000, 1_500_000, 60_000_000_000]);
        assert_eq!(result.count, 5);
        assert_eq!(result.sum_s(), 60.001_524_001);
        assert_eq!(result.extremes_s, Some((1e-9, 60.0)));
        assert_eq!(result.classic[0], 2);
        assert_eq!(result.classic[1], 1);
        assert_eq!(result.classic[7], 1);
        assert_eq!(result.classic[21], 1);
        assert_eq!(result.cumulative().last(), Some(5));
        assert_eq!(distribution(&[]), Distribution::default());
    }

    proptest! {
        #[test]
        fn every_value_is_in_one_bucket(
            values in prop::collection::vec(1_u64..3_000_000_000_000, 1..200),
        ) {
            let result = distribution(&values);
            let all = values.len() as u64;
            prop_assert_eq!(result.classic.iter().sum::<u64>(), all);
            let exponential = result.exponential;
            prop_assert_eq!(exponential.buckets.iter().map(|(_, count)| count).sum::<u64>(), all);
            prop_assert!(exponential.buckets.is_sorted_by(|a, b| a.0 < b.0));
            // Each value is in its bucket, or outside it by no more than the recorder's rounding.
            let base = f64::from(exponential.scale).exp2().recip().exp2();
            for value in &values {
                let seconds = *value as f64 / 1e9;
                let near = exponential.buckets.iter().any(|(index, _)| {
                    let upper = base.powi(*index);
                    seconds <= upper * 1.001 && seconds > upper / base * 0.999
                });
                prop_assert!(near, "{} s is in none of the buckets", seconds);
            }
            let few = exponential.clone().spanning_few();
            prop_assert!(few.span() <= super::PUSHED_BUCKETS_MAX);
            prop_assert_eq!(few.buckets.iter().map(|(_, count)| count).sum::<u64>(), all);
            // The same as if the values had been added at this scale from the start.
            let factor = 1_i32 << (NATIVE_SCHEMA - few.scale);
            for (index, count) in &few.buckets {
                let within = exponential.buckets.iter().filter(|(fine, _)| {
                    *fine > (index - 1) * factor && *fine <= index * factor
                });
                prop_assert_eq!(within.map(|(_, count)| count).sum::<u64>(), *count);
            }
        }
    }
}
