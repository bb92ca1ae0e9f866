//! Decodes histograms. A run may have hundreds of thousands of spans, so their histograms are added
//! up while they are read, without creating each one.

use dyno_core::record::Span;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::{
    TINFL_FLAG_PARSE_ZLIB_HEADER, TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF,
};
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

use crate::codec::{SPAN_DIGITS, span_histogram};
use crate::error::Problem;

/// The first bytes of HdrHistogram's V2 format, deflated and not deflated. Source: the description
/// of the format in the HdrHistogram project, `EncodableHistogram`.
const COOKIE_DEFLATED: u32 = 0x1c84_9314;
const COOKIE_PLAIN: u32 = 0x1c84_9313;

/// Bytes before the deflated part: cookie and length.
const FRAME_BYTES: usize = 8;

/// Bytes before the counts: cookie, length of the counts, normalizing offset, digits, lowest and
/// highest value, conversion ratio.
const HEADER_BYTES: usize = 40;

/// Enough for most histograms of spans.
const PLAIN_BYTES: usize = 16 << 10;

/// Enough for the counts of any histogram of up to four digits. It limits how much memory damaged
/// data can make Dyno allocate.
const PLAIN_BYTES_MAX: usize = 8 << 20;

/// The digits of the histograms that Dyno writes: those of spans, and those of whole runs.
const DIGITS: [u8; 2] = [SPAN_DIGITS, 3];

/// Decodes histograms with buffers that it reuses.
pub(crate) struct Decoder {
    inflate: Box<DecompressorOxide>,
    plain: Vec<u8>,
}

/// The kinds of encoded histogram.
enum Encoding {
    /// A histogram with the header that Dyno writes. Its counts are in the buffer.
    Ours(Header),
    /// Any other histogram that the format permits.
    Other(Histogram<u64>),
}

/// The header of a histogram that Dyno wrote.
struct Header {
    digits: u8,
    highest: u64,
    bytes: usize,
}

impl Decoder {
    pub(crate) fn new() -> Self {
        Self {
            inflate: Box::default(),
            plain: vec![0; PLAIN_BYTES],
        }
    }

    /// Decodes a histogram. One that is missing is empty.
    pub(crate) fn histogram(&mut self, bytes: Option<&[u8]>) -> Result<Histogram<u64>, Problem> {
        let Some(bytes) = bytes else {
            return Ok(span_histogram(0));
        };
        let mut histogram = match self.encoding(bytes)? {
            Encoding::Ours(header) => self.ours(&header)?,
            Encoding::Other(histogram) => histogram,
        };
        histogram.auto(true);
        Ok(histogram)
    }

    fn ours(&self, header: &Header) -> Result<Histogram<u64>, Problem> {
        let mut histogram = Histogram::new_with_bounds(1, header.highest, header.digits)
            .map_err(|error| unreadable(&error.to_string()))?;
        histogram.auto(true);
        each(&self.plain[HEADER_BYTES..header.bytes], |index, count| {
            let value = lowest_at(index, header.digits)?;
            histogram.saturating_record_n(value, count);
            Some(())
        })?;
        Ok(histogram)
    }

    /// Adds a histogram to a sum. One that is missing adds nothing.
    pub(crate) fn add(&mut self, bytes: Option<&[u8]>, to: &mut Sum) -> Result<(), Problem> {
        let Some(bytes) = bytes else {
            return Ok(());
        };
        let header = match self.encoding(bytes)? {
            Encoding::Ours(header) => header,
            Encoding::Other(histogram) => {
                return to
                    .add(&histogram)
                    .ok_or_else(|| unreadable("its range is too wide"));
            }
        };
        let counts = &self.plain[HEADER_BYTES..header.bytes];
        if header.digits == SPAN_DIGITS {
            return each(counts, |index, count| to.add_at(index, count));
        }
        each(counts, |index, count| {
            to.add_at(index_of(lowest_at(index, header.digits)?), count)
        })
    }

    /// Inflates a histogram into the buffer and reads its header.
    fn encoding(&mut self, bytes: &[u8]) -> Result<Encoding, Problem> {
        if number(bytes, 0) == Some(COOKIE_PLAIN) {
            return other(bytes).map(Encoding::Other);
        }
        let length = self.inflate(bytes)?;
        let plain = &self.plain[..length];
        match Header::ours(plain) {
            Some(header) => Ok(Encoding::Ours(header)),
            None => other(plain).map(Encoding::Other),
        }
    }

    /// Inflates the bytes into the buffer, and returns their length.
    fn inflate(&mut self, bytes: &[u8]) -> Result<usize, Problem> {
        let (Some(COOKIE_DEFLATED), Some(length)) = (number(bytes, 0), number(bytes, 4)) else {
            return Err(unreadable("it has no valid header"));
        };
        let deflated = bytes.get(FRAME_BYTES..FRAME_BYTES + length as usize);
        let mut deflated = deflated.ok_or_else(|| unreadable("it ends early"))?;
        let flags = TINFL_FLAG_PARSE_ZLIB_HEADER | TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        self.inflate.init();
        let mut written = 0;
        loop {
            let (status, taken, more) =
                decompress(&mut self.inflate, deflated, &mut self.plain, written, flags);
            deflated = &deflated[taken..];
            written += more;
            match status {
                TINFLStatus::Done => return Ok(written),
                TINFLStatus::HasMoreOutput if self.plain.len() < PLAIN_BYTES_MAX => {
                    self.plain.resize(self.plain.len() * 2, 0);
                }
                TINFLStatus::HasMoreOutput => return Err(unreadable("it is too long")),
                TINFLStatus::Adler32Mismatch => {
                    return Err(unreadable("its checksum is wrong"));
                }
                _ => return Err(unreadable("it ends early, or was not deflated")),
            }
        }
    }
}

impl Header {
    /// `None` if Dyno does not write histograms like this, or if the counts are incomplete.
    fn ours(plain: &[u8]) -> Option<Self> {
        let words = [0, 4, 8, 12, 16, 20, 24, 28, 32, 36].map(|at| number(plain, at));
        let [
            Some(COOKIE_PLAIN),
            Some(counts),
            Some(0),
            Some(digits),
            Some(0),
            Some(1),
            Some(high),
            Some(low),
            // 1.0 as a double.
            Some(0x3ff0_0000),
            Some(0),
        ] = words
        else {
            return None;
        };
        let known = |known: &u8| u32::from(*known) == digits;
        let bytes = HEADER_BYTES.checked_add(counts as usize)?;
        Some(Self {
            digits: DIGITS.into_iter().find(known)?,
            highest: u64::from(high) << 32 | u64::from(low),
            bytes: (bytes <= plain.len()).then_some(bytes)?,
        })
    }
}

/// Decodes other histograms with the library, which supports the whole format.
fn other(plain: &[u8]) -> Result<Histogram<u64>, Problem> {
    let (Some(COOKIE_PLAIN), Some(counts)) = (number(plain, 0), number(plain, 4)) else {
        return Err(unreadable("it has no valid header"));
    };
    // The library allocates whatever size the header claims, so check it.
    if plain.len().saturating_sub(HEADER_BYTES) < counts as usize {
        return Err(unreadable("it ends early"));
    }
    let read = Deserializer::new().deserialize(&mut &plain[..]);
    read.map_err(|error| unreadable(&error.to_string()))
}

/// Calls `visit` with the index of each count that is not zero. `visit` returns `None` if the index
/// is beyond the highest latency.
///
/// Runs of zeros are encoded as negative numbers and counts as positive ones. Each is
/// zigzag-encoded with seven bits per byte, except for the ninth byte, which has eight.
fn each(counts: &[u8], mut visit: impl FnMut(usize, u64) -> Option<()>) -> Result<(), Problem> {
    let mut index: usize = 0;
    let mut bytes = counts.iter();
    while let Some(&first) = bytes.next() {
        let mut encoded = u64::from(first & 0x7f);
        let mut byte = first;
        let mut shift = 7;
        while byte & 0x80 != 0 && shift <= 56 {
            byte = *bytes.next().ok_or_else(|| unreadable("it ends early"))?;
            let kept = if shift == 56 { byte } else { byte & 0x7f };
            encoded |= u64::from(kept) << shift;
            shift += 7;
        }
        let count = (encoded >> 1) as i64 ^ -((encoded & 1) as i64);
        if count <= 0 {
            let zeros = usize::try_from(count.unsigned_abs().max(1)).unwrap_or(usize::MAX);
            index = index.saturating_add(zeros);
        } else {
            visit(index, count as u64).ok_or_else(|| unreadable("its range is too wide"))?;
            index = index.saturating_add(1);
        }
    }
    Ok(())
}

/// A sum of latency distributions to two significant digits.
#[derive(Default)]
pub(crate) struct Sum {
    /// Indexed like a histogram of two digits, but only as long as the values need.
    counts: Vec<u64>,
}

impl Sum {
    fn add_at(&mut self, index: usize, count: u64) -> Option<()> {
        if index >= self.counts.len() {
            lowest_at(index, SPAN_DIGITS)?;
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] = self.counts[index].saturating_add(count);
        Some(())
    }

    /// Adds a histogram of any digits.
    fn add(&mut self, histogram: &Histogram<u64>) -> Option<()> {
        histogram.iter_recorded().try_for_each(|bin| {
            let lowest = histogram.lowest_equivalent(bin.value_iterated_to());
            self.add_at(index_of(lowest), bin.count_at_value())
        })
    }

    /// Returns the sum as the smallest histogram that fits, and resets it.
    pub(crate) fn take(&mut self) -> Histogram<u64> {
        let lowest = |index| lowest_at(index, SPAN_DIGITS).unwrap_or(u64::MAX);
        let highest = self.counts.len().checked_sub(1).map_or(0, lowest);
        let mut histogram = span_histogram(highest);
        let recorded = self.counts.iter().enumerate();
        for (index, &count) in recorded.filter(|(_, count)| **count > 0) {
            histogram.saturating_record_n(lowest(index), count);
        }
        self.counts.clear();
        histogram
    }
}

/// How many values a histogram distinguishes within a power of two, as a binary logarithm: 128
/// with two digits, and 1024 with three. HdrHistogram takes half of the first power of two that is
/// at least twice 10^digits.
fn half_bits(digits: u8) -> u32 {
    let distinguished = 2 * 10_u64.pow(u32::from(digits));
    distinguished.next_power_of_two().trailing_zeros() - 1
}

/// The lowest value of the bin at this index. The first bins have one value each, and each half
/// after that divides the next power of two. `None` beyond 64 bits.
fn lowest_at(index: usize, digits: u8) -> Option<u64> {
    let bits = half_bits(digits);
    let half = 1_u64 << bits;
    let index = index as u64;
    let octave = index >> bits;
    if octave < 2 {
        return Some(index);
    }
    (octave <= u64::from(u64::BITS - bits)).then(|| (index % half + half) << (octave - 1))
}

/// The index of the bin that a value has in a histogram of two digits.
fn index_of(value: u64) -> usize {
    let bits = half_bits(SPAN_DIGITS);
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(bits + 1);
    (value >> shift) as usize + ((shift as usize) << bits)
}

/// Reads four bytes, big-endian.
fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

fn unreadable(why: &str) -> Problem {
    Problem::Unreadable {
        what: "a histogram".to_owned(),
        why: why.to_owned(),
    }
}

/// Merges consecutive spans of one operation.
#[derive(Default)]
pub(crate) struct Merging {
    open: Option<Exact>,
    service: Sum,
    response: Sum,
}

/// The exact figures of a span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exact {
    /// Spans with the same slot are merged.
    pub(crate) slot: u64,
    pub(crate) from_s: f64,
    pub(crate) to_s: f64,
    pub(crate) count: u64,
    pub(crate) sum_ns: u64,
    pub(crate) min_ns: u64,
    pub(crate) max_ns: u64,
}

impl Merging {
    /// Adds the next span. If the slot changes, returns the merged span before it.
    pub(crate) fn add(
        &mut self,
        next: Exact,
        blobs: [Option<&[u8]>; 2],
        decoder: &mut Decoder,
    ) -> Result<Option<Span>, Problem> {
        let before = match &mut self.open {
            Some(open) if open.slot == next.slot => {
                open.join(&next);
                None
            }
            _ => {
                let before = self.take();
                self.open = Some(next);
                before
            }
        };
        decoder.add(blobs[0], &mut self.service)?;
        decoder.add(blobs[1], &mut self.response)?;
        Ok(before)
    }

    /// The merged span so far. `None` if it is empty.
    pub(crate) fn take(&mut self) -> Option<Span> {
        let open = self.open.take()?;
        Some(Span {
            from_s: open.from_s,
            to_s: open.to_s,
            count: open.count,
            service_ns_sum: open.sum_ns,
            service_ns_min: open.min_ns,
            service_ns_max: open.max_ns,
            service: self.service.take(),
            response: self.response.take(),
        })
    }
}

impl Exact {
    fn join(&mut self, next: &Self) {
        self.to_s = next.to_s;
        self.min_ns = match (self.count, next.count) {
            (_, 0) => self.min_ns,
            (0, _) => next.min_ns,
            _ => self.min_ns.min(next.min_ns),
        };
        self.max_ns = self.max_ns.max(next.max_ns);
        self.count = self.count.saturating_add(next.count);
        self.sum_ns = self.sum_ns.saturating_add(next.sum_ns);
    }
}

#[cfg(test)]
mod tests;
