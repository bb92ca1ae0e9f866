use dyno_core::interval::Latencies;
use hdrhistogram::serialization::{
    Deserializer, Serializer as _, V2DeflateSerializer, V2Serializer,
};
use proptest::prelude::*;

use super::*;
use crate::codec::{Measured, SpanRow};

fn recorded(values: &[(u64, u64)]) -> Latencies {
    let mut latencies = Latencies::default();
    for &(ns, times) in values {
        latencies.service.saturating_record_n(ns, times);
    }
    latencies
}

/// Decodes with the library, which also encoded it.
fn oracle(bytes: &[u8]) -> Histogram<u64> {
    Deserializer::new().deserialize(&mut &bytes[..]).unwrap()
}

fn deflated(histogram: &Histogram<u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .unwrap();
    bytes
}

/// Deflates arbitrary bytes.
fn framed(plain: &[u8]) -> Vec<u8> {
    let deflated = miniz_oxide::deflate::compress_to_vec_zlib(plain, 6);
    let mut bytes = COOKIE_DEFLATED.to_be_bytes().to_vec();
    bytes.extend((deflated.len() as u32).to_be_bytes());
    bytes.extend(deflated);
    bytes
}

fn summed(bytes: &[u8]) -> Result<Histogram<u64>, Problem> {
    let mut sum = Sum::default();
    Decoder::new().add(Some(bytes), &mut sum)?;
    Ok(sum.take())
}

fn bins(histogram: &Histogram<u64>) -> Vec<(u64, u64)> {
    let lowest = |value| histogram.lowest_equivalent(value);
    histogram
        .iter_recorded()
        .map(|bin| (lowest(bin.value_iterated_to()), bin.count_at_value()))
        .collect()
}

/// Any values that fit, with the bounds of powers of two and of the whole range among them.
fn values() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let value = prop_oneof![
        0..4_000_000_000_000_u64,
        0..2_000_u64,
        (0..64_u32, 0..3_u64).prop_map(|(bit, off)| ((1 << bit) + off).saturating_sub(1)),
        any::<u64>(),
    ];
    let count = prop_oneof![1..1_000_000_u64, Just(1 << 40), Just((1 << 62) / 1_000)];
    prop::collection::vec((value, count), 1..200)
}

fn of_digits(digits: u8, values: &[(u64, u64)]) -> Histogram<u64> {
    let mut histogram = Histogram::new_with_bounds(1, u64::MAX, digits).unwrap();
    for &(value, count) in values {
        histogram.saturating_record_n(value, count);
    }
    histogram
}

#[test]
fn truncated_data_is_an_error() {
    let row = Measured::from(&recorded(&[(1_000, 1), (1_000_000, 7)])).row(0.0, 1.0);
    let bytes = row.service.unwrap();
    assert_eq!(summed(&bytes).unwrap().len(), 8);
    for end in 0..bytes.len() {
        assert!(summed(&bytes[..end]).is_err(), "{end}");
        assert!(
            Decoder::new().histogram(Some(&bytes[..end])).is_err(),
            "{end}"
        );
    }
    assert!(summed(b"not a histogram").is_err());
}

#[test]
fn any_bit_that_flips_is_noticed() {
    let row = Measured::from(&recorded(&[(1_000, 1), (2_000_000, 70), (9_000_000, 3)]));
    let bytes = row.row(0.0, 1.0).service.unwrap();
    let whole = bins(&summed(&bytes).unwrap());
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        // A few bits of the zlib frame have no meaning, so this may succeed.
        if let Ok(read) = summed(&flipped) {
            assert_eq!(bins(&read), whole, "{bit}");
        }
    }
}

/// A histogram that is encoded but not deflated.
fn plain(histogram: &Histogram<u64>) -> Vec<u8> {
    let mut plain = Vec::new();
    V2Serializer::new()
        .serialize(histogram, &mut plain)
        .unwrap();
    plain
}

#[test]
fn a_foreign_header_is_left_to_the_library() {
    let values = [(700, 1), (5_000, 3), (6_000_000, 2), (9_000_000_000, 4)];
    let coarse = |histogram: &Histogram<u64>| {
        let mut coarse = of_digits(SPAN_DIGITS, &[]);
        for bin in histogram.iter_recorded() {
            let lowest = histogram.lowest_equivalent(bin.value_iterated_to());
            coarse.record_n(lowest, bin.count_at_value()).unwrap();
        }
        bins(&coarse)
    };
    for (lowest, digits) in [(1, 0), (1, 1), (1, 2), (1, 4), (1, 5), (64, 2), (600, 3)] {
        let highest = 1 << 40;
        let mut written = Histogram::<u64>::new_with_bounds(lowest, highest, digits).unwrap();
        for (value, count) in values {
            written.record_n(value, count).unwrap();
        }
        for bytes in [
            deflated(&written),
            plain(&written),
            framed(&plain(&written)),
        ] {
            let mut read = Decoder::new().histogram(Some(&bytes)).unwrap();
            assert_eq!(read, oracle(&bytes), "{lowest} {digits}");
            assert_eq!(bins(&summed(&bytes).unwrap()), coarse(&written));
            // The histogram can grow like any other.
            read.record(u64::MAX).unwrap();
        }
    }
}

#[test]
fn a_head_that_makes_no_sense_is_an_error() {
    let histogram = of_digits(2, &[(5_000, 3)]);
    let plain = plain(&histogram);
    let mut refused = 0;
    for at in 0..HEADER_BYTES {
        let mut changed = plain.clone();
        changed[at] ^= 0x40;
        let bytes = framed(&changed);
        let (sum, read) = (summed(&bytes), Decoder::new().histogram(Some(&bytes)));
        match Deserializer::new().deserialize::<u64, _>(&mut &bytes[..]) {
            Ok(expected) => assert_eq!(read.unwrap(), expected, "{at}"),
            Err(_) => {
                assert!(sum.is_err() && read.is_err(), "{at}");
                refused += 1;
            }
        }
    }
    assert!(refused >= 24, "{refused}");
    // If a header claims more counts than there are, it must not cause a large allocation.
    let mut claims = plain.clone();
    claims[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
    for bytes in [framed(&claims), claims] {
        let error = summed(&bytes).unwrap_err();
        assert!(error.to_string().contains("ends early"), "{error}");
    }
}

#[test]
fn endless_decompression_is_an_error() {
    let error = summed(&framed(&vec![0; 2 * PLAIN_BYTES_MAX])).unwrap_err();
    assert!(error.to_string().contains("too long"), "{error}");
}

#[test]
fn indices_end_at_the_highest_value() {
    for digits in DIGITS {
        let histogram = of_digits(digits, &[(u64::MAX, 1)]);
        let last = histogram.distinct_values() - 1;
        assert_eq!(
            lowest_at(last, digits),
            Some(histogram.lowest_equivalent(u64::MAX))
        );
        assert_eq!(lowest_at(last + 1, digits), None);
        assert_eq!(lowest_at(usize::MAX, digits), None);
    }
}

proptest! {
    #[test]
    fn decoding_matches_the_library(values in values()) {
        for digits in DIGITS {
            let bytes = deflated(&of_digits(digits, &values));
            let expected = oracle(&bytes);
            let read = Decoder::new().histogram(Some(&bytes)).unwrap();
            prop_assert_eq!(bins(&read), bins(&expected));
            prop_assert_eq!(&read, &expected);
            // If a histogram of three digits is added to a sum, it is reduced to two digits.
            let mut coarse = of_digits(SPAN_DIGITS, &[]);
            coarse.add(&expected).unwrap();
            prop_assert_eq!(bins(&summed(&bytes).unwrap()), bins(&coarse));
        }
    }

    #[test]
    fn a_sum_is_the_whole(parts in prop::collection::vec(values(), 1..6)) {
        let (mut decoder, mut sum) = (Decoder::new(), Sum::default());
        let mut whole = of_digits(SPAN_DIGITS, &[]);
        for part in &parts {
            let part = of_digits(SPAN_DIGITS, part);
            decoder.add(Some(&deflated(&part)), &mut sum).unwrap();
            whole.add(&part).unwrap();
        }
        prop_assert_eq!(bins(&sum.take()), bins(&whole));
        prop_assert!(sum.take().is_empty());
    }

    #[test]
    fn rows_are_read_back(values in values()) {
        let latencies = recorded(&values);
        let total = SpanRow::total_of(&latencies, 0.0, 1.0).service.unwrap();
        let read = Decoder::new().histogram(Some(&total)).unwrap();
        prop_assert_eq!(bins(&read), bins(&latencies.service));
        let span = Measured::from(&latencies).row(0.0, 1.0).service.unwrap();
        prop_assert_eq!(bins(&summed(&span).unwrap()), bins(&oracle(&span)));
    }

    #[test]
    fn an_index_is_that_of_its_value(value in any::<u64>()) {
        let lowest = lowest_at(index_of(value), SPAN_DIGITS).unwrap();
        prop_assert_eq!(lowest, of_digits(SPAN_DIGITS, &[]).lowest_equivalent(value));
    }

    #[test]
    fn nothing_panics(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        counts in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let _ = summed(&bytes);
        let _ = Decoder::new().histogram(Some(&bytes));
        let _ = summed(&framed(&bytes));
        // A valid header, followed by arbitrary counts.
        let mut plain = plain(&of_digits(2, &[]));
        plain.truncate(HEADER_BYTES);
        plain[4..8].copy_from_slice(&(counts.len() as u32).to_be_bytes());
        plain.extend(&counts);
        let bytes = framed(&plain);
        let read = Decoder::new().histogram(Some(&bytes));
        prop_assert_eq!(read.is_ok(), summed(&bytes).is_ok());
    }
}
