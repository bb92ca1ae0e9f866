//! Sparse histograms, which keep only counts that are not zero. That is enough for data that is
//! sent and added up once.
//!
//! As text: the number of empty slots before each count, and then the count. Both are in base64
//! digits of five bits each, lowest first. All digits but the last have the sixth bit set (the VLQ
//! of source maps, without a sign). Each histogram has exactly one text.

use std::fmt;

use hdrhistogram::Histogram;
use serde::de::Visitor;
use serde::{Deserializer, Serializer};

use super::{
    Distribution, Interval, Latencies, LatenciesOf, OperationInterval, OperationIntervalOf,
    SparseInterval,
};

/// Values below this have a slot each. After that, each power of two has half as many slots.
const SUB_BUCKETS: u64 = 2048;
const HALF: u64 = SUB_BUCKETS / 2;
/// The slots of a latency histogram: up to the power of two that contains the longest latency.
const SLOTS: u32 = 33 * HALF as u32;
/// A limit that keeps sums of two histograms from overflowing.
const SAMPLES_MAX: u64 = u64::MAX / 4;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BITS: u32 = 5;
const MORE: u8 = 1 << BITS;
/// Marks bytes that are not digits.
const NONE: u8 = u8::MAX;
/// The values of digits.
const VALUES: [u8; 256] = {
    let mut values = [NONE; 256];
    let mut digit = 0;
    while digit < DIGITS.len() {
        values[DIGITS[digit] as usize] = digit as u8;
        digit += 1;
    }
    values
};

/// A latency histogram as its nonzero counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SparseHistogram {
    /// The slots with counts that are not zero, sorted by slot.
    counts: Vec<(u32, u64)>,
    samples: u64,
}

impl SparseHistogram {
    /// The counts of a histogram with latency bounds.
    pub fn of(histogram: &Histogram<u64>) -> Self {
        let recorded = histogram.iter_recorded();
        let counts = recorded.map(|step| (slot(step.value_iterated_to()), step.count_at_value()));
        Self {
            counts: counts.collect(),
            samples: histogram.len(),
        }
    }

    fn text(&self) -> String {
        let mut text = String::with_capacity(self.counts.len() * 3);
        let mut next = 0;
        for (slot, _) in &self.counts {
            push(&mut text, u64::from(slot - next));
            next = slot + 1;
        }
        for (_, count) in &self.counts {
            push(&mut text, *count);
        }
        text
    }

    fn parse(text: &str) -> Result<Self, &'static str> {
        let numbers = numbers(text.as_bytes())?;
        let (gaps, counts) = numbers.split_at(numbers.len() / 2);
        if gaps.len() != counts.len() {
            return Err("its number of buckets differs from its number of counts");
        }
        let (mut next, mut samples) = (0_u64, 0_u64);
        let mut own = Vec::with_capacity(counts.len());
        for (gap, count) in gaps.iter().zip(counts) {
            let slot = next.saturating_add(*gap);
            if slot >= u64::from(SLOTS) {
                return Err("it counts latencies longer than the maximum");
            }
            if *count == 0 {
                return Err("it has a count of 0");
            }
            next = slot + 1;
            samples = samples.saturating_add(*count);
            own.push((slot as u32, *count));
        }
        match samples <= SAMPLES_MAX {
            true => Ok(Self {
                counts: own,
                samples,
            }),
            false => Err("it has too many samples"),
        }
    }
}

/// A sequence of numbers, at most one per byte.
fn numbers(text: &[u8]) -> Result<Vec<u64>, &'static str> {
    let mut numbers = Vec::with_capacity(text.len());
    let (mut number, mut shift) = (0_u64, 0);
    for byte in text {
        let digit = VALUES[usize::from(*byte)];
        if digit == NONE {
            return Err("it contains a character that is not a digit");
        }
        let bits = u64::from(digit % MORE);
        if shift > 0 && digit == 0 || shift > 60 || shift == 60 && bits > 0xf {
            return Err("it contains a number that is too long");
        }
        number |= bits << shift;
        if digit < MORE {
            numbers.push(number);
            (number, shift) = (0, 0);
        } else {
            shift += BITS;
        }
    }
    match shift {
        0 => Ok(numbers),
        _ => Err("it is truncated"),
    }
}

fn push(text: &mut String, mut number: u64) {
    loop {
        let bits = (number % u64::from(MORE)) as u8;
        number >>= BITS;
        let more = if number > 0 { MORE } else { 0 };
        text.push(char::from(DIGITS[usize::from(bits | more)]));
        if number == 0 {
            return;
        }
    }
}

/// The slot of a value, by HdrHistogram's rules for three digits from 1 on.
fn slot(value: u64) -> u32 {
    let power = (u64::BITS - (value | (SUB_BUCKETS - 1)).leading_zeros()) - SUB_BUCKETS.ilog2();
    power * HALF as u32 + (value >> power) as u32
}

/// The smallest value of a slot.
fn value(slot: u32) -> u64 {
    let slot = u64::from(slot);
    match slot < SUB_BUCKETS {
        true => slot,
        false => (slot % HALF + HALF) << (slot / HALF - 1),
    }
}

impl Distribution for SparseHistogram {
    fn empty() -> Self {
        Self::default()
    }

    fn unused() -> Self {
        Self::default()
    }

    fn samples(&self) -> u64 {
        self.samples
    }

    fn add_to(&self, sum: &mut Histogram<u64>) {
        for (slot, count) in &self.counts {
            // All slots are within the bounds.
            let _ = sum.record_n(value(*slot), *count);
        }
    }

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = SparseHistogram;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the counts of a histogram")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<SparseHistogram, E> {
                SparseHistogram::parse(text).map_err(|why| E::custom(format!("a histogram: {why}")))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

impl From<&Latencies> for LatenciesOf<SparseHistogram> {
    fn from(dense: &Latencies) -> Self {
        Self {
            service: SparseHistogram::of(&dense.service),
            response: SparseHistogram::of(&dense.response),
            service_ns_sum: dense.service_ns_sum,
            response_ns_sum: dense.response_ns_sum,
            service_ns_min: dense.service_ns_min,
            service_ns_max: dense.service_ns_max,
            response_ns_min: dense.response_ns_min,
            response_ns_max: dense.response_ns_max,
            clipped: dense.clipped,
        }
    }
}

impl From<&OperationInterval> for OperationIntervalOf<SparseHistogram> {
    fn from(dense: &OperationInterval) -> Self {
        let first_tries = dense.first_tries.as_deref();
        Self {
            counters: dense.counters,
            latencies: (&dense.latencies).into(),
            first_tries: first_tries.map(|dense| Box::new(dense.into())),
        }
    }
}

impl From<&Interval> for SparseInterval {
    fn from(dense: &Interval) -> Self {
        Self {
            index: dense.index,
            start: dense.start,
            start_unix_ns: dense.start_unix_ns,
            end: dense.end,
            counters: dense.counters,
            latencies: (&dense.latencies).into(),
            errors: dense.errors.clone(),
            connect_errors: dense.connect_errors.clone(),
            endpoints: dense.endpoints.clone(),
            operations: dense.operations.iter().map(Into::into).collect(),
            roles: dense.roles.clone(),
            sessions: dense.sessions.clone(),
            states: dense.states,
            backlog: dense.backlog,
            concurrency: dense.concurrency,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::interval::{LATENCY_NS_MAX, latency_histogram};

    /// Values of all sizes, and counts of all sizes.
    fn samples() -> impl Strategy<Value = Vec<(u64, u64)>> {
        let value = (0_u32..43, any::<u64>()).prop_map(|(bits, any)| {
            let value = any >> (63 - bits.min(62));
            value.min(LATENCY_NS_MAX)
        });
        let count = (0_u32..50, any::<u64>()).prop_map(|(bits, any)| 1 + (any >> (63 - bits)));
        prop::collection::vec((value, count), 0..200)
    }

    fn recorded(samples: &[(u64, u64)]) -> Histogram<u64> {
        let mut histogram = latency_histogram();
        for (value, count) in samples {
            histogram.record_n(*value, *count).unwrap();
        }
        histogram
    }

    fn read(text: &str) -> Result<SparseHistogram, serde_json::Error> {
        let json = serde_json::to_string(text).unwrap();
        SparseHistogram::read(&mut serde_json::Deserializer::from_str(&json))
    }

    proptest! {
        #[test]
        fn sparse_parts_add_up_to_the_whole_histogram(
            parts in prop::collection::vec(samples(), 0..4),
        ) {
            let whole = recorded(&parts.concat());
            let mut sum = latency_histogram();
            for part in &parts {
                let dense = recorded(part);
                let sparse = SparseHistogram::of(&dense);
                prop_assert_eq!(sparse.samples(), dense.len());
                let again = read(&sparse.text()).unwrap();
                prop_assert_eq!(&again, &sparse);
                let mut alone = latency_histogram();
                again.add_to(&mut alone);
                prop_assert_eq!(&alone, &dense);
                again.add_to(&mut sum);
            }
            prop_assert_eq!(&sum, &whole);
            prop_assert_eq!(sum.len(), whole.len());
            prop_assert_eq!((sum.min(), sum.max()), (whole.min(), whole.max()));
        }

        #[test]
        fn a_text_is_refused_or_the_only_one_of_its_histogram(text in "[A-Da-h0-9+/?]{0,40}") {
            if let Ok(histogram) = read(&text) {
                prop_assert_eq!(histogram.text(), text);
                let mut dense = latency_histogram();
                histogram.add_to(&mut dense);
                prop_assert_eq!(SparseHistogram::of(&dense), histogram);
            }
        }

        #[test]
        fn a_value_is_counted_where_it_was_recorded(value in 0..=LATENCY_NS_MAX) {
            let histogram = recorded(&[(value, 1)]);
            let slot = slot(value);
            prop_assert!(slot < SLOTS);
            prop_assert_eq!(super::value(slot), histogram.lowest_equivalent(value));
            prop_assert_eq!(super::slot(histogram.highest_equivalent(value)), slot);
        }
    }

    #[test]
    fn it_has_the_slots_of_a_histogram_of_latencies() {
        let mut histogram = latency_histogram();
        assert_eq!(histogram.distinct_values(), SLOTS as usize);
        for (slot, step) in (0..).zip(latency_histogram().iter_all()) {
            assert_eq!(super::slot(step.value_iterated_to()), slot);
            assert_eq!(histogram.lowest_equivalent(value(slot)), value(slot));
            histogram.record(value(slot)).unwrap();
        }
        assert_eq!(
            SparseHistogram::of(&histogram).text().len(),
            2 * SLOTS as usize
        );
    }

    #[test]
    fn refuses_slots_and_counts_out_of_range() {
        let number = |number: u64| {
            let mut text = String::new();
            push(&mut text, number);
            text
        };
        assert_eq!(read("").unwrap(), SparseHistogram::empty());
        assert_eq!(read(&(number(7) + "B")).unwrap().samples(), 1);
        let last = number(u64::from(SLOTS) - 1);
        assert_eq!(read(&(last + "B")).unwrap().samples(), 1);
        let beyond = number(u64::from(SLOTS));
        let many = number(SAMPLES_MAX);
        for (text, why) in [
            ("A".to_owned(), "number of buckets differs"),
            ("AA".to_owned(), "a count of 0"),
            ("A?".to_owned(), "not a digit"),
            ("A\u{e4}".to_owned(), "not a digit"),
            ("Ag".to_owned(), "truncated"),
            ("AhA".to_owned(), "too long"),
            ("A".to_owned() + &"g".repeat(13) + "B", "too long"),
            ("A".to_owned() + &"/".repeat(12) + "f", "too long"),
            (beyond + "B", "latencies longer than"),
            (number(u64::MAX) + "B", "latencies longer than"),
            ("A".to_owned() + &number(u64::MAX), "too many samples"),
            ("AA".to_owned() + &many + "B", "too many samples"),
        ] {
            let error = read(&text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
