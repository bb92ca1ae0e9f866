//! Histograms as text: HdrHistogram's V2 format, deflated, in base64; nothing for an empty one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer as Reader, Serializer as _, V2DeflateSerializer};
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize as _, Deserializer, Serializer};

use super::latency_histogram;

pub(super) fn serialize<S: Serializer>(
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

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Histogram<u64>, D::Error> {
    let mut histogram = latency_histogram();
    if let Some(read) = read(deserializer)? {
        // Whatever its bounds are, those of all latencies must hold what is in it.
        histogram
            .add(read)
            .map_err(|error| D::Error::custom(format!("a histogram of latencies: {error}")))?;
    }
    Ok(histogram)
}

fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Histogram<u64>>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        return Ok(None);
    }
    let bytes = STANDARD
        .decode(text)
        .map_err(|error| D::Error::custom(format!("a histogram in base64: {error}")))?;
    let read = Reader::new().deserialize(&mut bytes.as_slice());
    read.map(Some)
        .map_err(|error| D::Error::custom(format!("a histogram: {error}")))
}

/// The same of a histogram that takes little memory while it is empty.
pub(super) mod unused {
    use hdrhistogram::Histogram;
    use serde::{Deserializer, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        histogram: &Histogram<u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        super::serialize(histogram, serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Histogram<u64>, D::Error> {
        let histogram = super::deserialize(deserializer)?;
        Ok(match histogram.is_empty() {
            true => super::super::unused_histogram(),
            false => histogram,
        })
    }
}
