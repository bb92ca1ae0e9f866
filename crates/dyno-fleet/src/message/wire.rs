//! The encoding of messages: JSON, or deflated JSON.

use std::borrow::Cow;
use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::Deserialize;

use super::{MessageError, bounds};
use crate::names::Subject;

pub(super) fn deflate(json: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(json)?;
    encoder.finish()
}

/// The JSON of a message. Deflated or not, it is within the size limit of its channel.
pub(super) fn inflated<'a>(
    subject: &Subject,
    bytes: &'a [u8],
) -> Result<Cow<'a, [u8]>, MessageError> {
    let limit = bounds::bytes_max(subject.channel);
    let too_large = |size| MessageError::TooLarge {
        subject: subject.to_string(),
        what: "bytes",
        size,
        limit,
    };
    if bytes.len() > limit {
        return Err(too_large(bytes.len()));
    }
    if bytes.first() == Some(&b'{') {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut json = Vec::with_capacity(limit.min(4 * bytes.len()));
    let mut reader = ZlibDecoder::new(bytes).take(limit as u64 + 1);
    let read = reader.read_to_end(&mut json);
    read.map_err(|error| MessageError::Malformed {
        subject: subject.to_string(),
        why: format!("it is neither JSON nor deflated: {error}"),
    })?;
    match json.len() > limit {
        true => Err(too_large(json.len())),
        false => Ok(Cow::Owned(json)),
    }
}

/// The version of a message with unreadable contents.
pub(super) fn version(json: &[u8]) -> Option<u32> {
    #[derive(Deserialize)]
    struct Outline {
        v: u32,
    }
    let outline: Result<Outline, _> = serde_json::from_slice(json);
    outline.ok().map(|outline| outline.v)
}

/// Whether it is JetStream's answer to a request to store a message.
pub(super) fn is_acknowledgement(json: &[u8]) -> bool {
    let json: Result<serde_json::Value, _> = serde_json::from_slice(json);
    let has = |name: &str| json.as_ref().is_ok_and(|json| json.get(name).is_some());
    has("stream") && has("seq")
}
