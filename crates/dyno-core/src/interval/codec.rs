//! Histograms as text: HdrHistogram's V2 format, deflated and in base64, or the empty string for an
//! empty histogram. Input is not trusted: reading it takes no more memory than a latency histogram
//! does.

use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer as Reader, Serializer as _, V2DeflateSerializer};
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize as _, Deserializer, Serializer};

use super::{LATENCY_NS_MAX, latency_histogram};

/// The longest serialised histogram in bytes: all counts of three digits over 64 bits, with at most
/// nine bytes each.
const BYTES_MAX: usize = 9 * 64 * 1024;
/// The header before the counts: cookie, length, offset, digits, bounds and a ratio.
const HEAD_BYTES: usize = 40;
/// The digits of latency histograms. More digits would take a hundred times the memory.
const DIGITS_MAX: u32 = 3;
/// The start of a deflated histogram (`V2CompressedEncodingCookieBase` of HdrHistogram's format,
/// with the word size), before the length of the deflated data.
const DEFLATED: u32 = 0x1c84_9314;

pub(super) fn write<S: Serializer>(
    histogram: &Histogram<u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    if histogram.is_empty() {
        return serializer.serialize_str("");
    }
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .map_err(|error| S::Error::custom(format!("a histogram: {error:?}")))?;
    serializer.serialize_str(&STANDARD.encode(bytes))
}

pub(super) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Histogram<u64>, D::Error> {
    let Some(read) = any(deserializer)? else {
        return Ok(latency_histogram());
    };
    if (read.low(), read.high(), read.sigfig()) == (1, LATENCY_NS_MAX, DIGITS_MAX as u8) {
        return Ok(read);
    }
    let mut histogram = latency_histogram();
    // The values must fit the bounds of latency histograms, whatever the histogram's own bounds
    // are.
    histogram
        .add(read)
        .map_err(|error| D::Error::custom(format!("a histogram of latencies: {error}")))?;
    Ok(histogram)
}

fn any<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Histogram<u64>>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        return Ok(None);
    }
    let bytes = STANDARD
        .decode(text)
        .map_err(|error| D::Error::custom(format!("a histogram in base64: {error}")))?;
    let plain = inflated(&bytes).map_err(|why| D::Error::custom(format!("a histogram: {why}")))?;
    let read = Reader::new().deserialize(&mut plain.as_slice());
    read.map(Some)
        .map_err(|error| D::Error::custom(format!("a histogram: {error}")))
}

/// The bytes of the histogram. Checks the size that they declare against their actual size.
fn inflated(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let word = |bytes: &[u8], at: usize| {
        let word = bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
        word.map(u32::from_be_bytes).ok_or("it is truncated")
    };
    if word(bytes, 0)? != DEFLATED {
        return Err("it is not in HdrHistogram's compressed V2 format".to_owned());
    }
    let length = word(bytes, 4)? as usize;
    let deflated = bytes.get(8..8 + length).ok_or("it is truncated")?;
    let mut plain = Vec::new();
    let mut reader = ZlibDecoder::new(deflated).take(BYTES_MAX as u64 + 1);
    reader
        .read_to_end(&mut plain)
        .map_err(|error| error.to_string())?;
    if plain.len() > BYTES_MAX {
        return Err(format!("it has more than {BYTES_MAX} bytes"));
    }
    let counts = word(&plain, 4)? as usize;
    if counts > plain.len().saturating_sub(HEAD_BYTES) {
        return Err("it is truncated".to_owned());
    }
    match word(&plain, 12)? {
        0..=DIGITS_MAX => Ok(plain),
        digits => Err(format!("it has {digits} digits, more than {DIGITS_MAX}")),
    }
}
