//! What a load came to, besides what its intervals say: JSON, deflated, in base64, in pieces that
//! fit into messages.

use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::{Deserialize, Serialize};

/// The longest text of a piece, in bytes.
pub(super) const PIECE_BYTES_MAX: usize = 512 << 10;

/// How many pieces there may be.
pub const PIECES_MAX: u32 = 64;

/// How much there may be of the JSON, in bytes.
const JSON_BYTES_MAX: u64 = 512 << 20;

/// A piece of what a load came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Piece {
    /// The start that it was measured after.
    pub attempt: u32,
    /// Which one it is, from 0.
    pub number: u32,
    /// A part of the text.
    pub text: String,
}

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub enum OutcomeError {
    /// It does not fit.
    #[error("what the load came to takes {pieces} messages, more than {PIECES_MAX}")]
    TooLarge {
        /// How many it takes.
        pieces: usize,
    },
    /// It is not what was sent.
    #[error("what the load came to cannot be read: {0}")]
    Malformed(String),
}

/// The texts of the pieces.
///
/// # Errors
/// There is too much.
pub fn pack(json: &[u8]) -> Result<Vec<String>, OutcomeError> {
    let malformed = |error: std::io::Error| OutcomeError::Malformed(error.to_string());
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(json).map_err(malformed)?;
    let text = STANDARD.encode(encoder.finish().map_err(malformed)?);
    let pieces = text.len().div_ceil(PIECE_BYTES_MAX);
    if pieces > PIECES_MAX as usize {
        return Err(OutcomeError::TooLarge { pieces });
    }
    let chunks = text.as_bytes().chunks(PIECE_BYTES_MAX);
    Ok(chunks
        .map(|chunk| String::from_utf8_lossy(chunk).into_owned())
        .collect())
}

/// The JSON that the pieces' texts hold, in their order.
///
/// # Errors
/// They hold none, or too much.
pub fn unpack<'a>(pieces: impl Iterator<Item = &'a str>) -> Result<Vec<u8>, OutcomeError> {
    let text: String = pieces.collect();
    let deflated = STANDARD.decode(text);
    let deflated = deflated.map_err(|error| OutcomeError::Malformed(error.to_string()))?;
    let mut json = Vec::new();
    let mut reader = DeflateDecoder::new(deflated.as_slice()).take(JSON_BYTES_MAX + 1);
    let read = reader.read_to_end(&mut json);
    read.map_err(|error| OutcomeError::Malformed(error.to_string()))?;
    match json.len() as u64 > JSON_BYTES_MAX {
        true => Err(OutcomeError::Malformed("it has no end".to_owned())),
        false => Ok(json),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked() {
        // Numbers that deflate finds nothing in.
        let mut state = 1_u64;
        let noise = |_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 56) as u8
        };
        let large: Vec<u8> = (0..2_000_000).map(noise).collect();
        for json in [b"".as_slice(), b"{}", &large] {
            let pieces = pack(json).unwrap();
            assert!(pieces.iter().all(|piece| piece.len() <= PIECE_BYTES_MAX));
            assert_eq!(unpack(pieces.iter().map(String::as_str)).unwrap(), json);
        }
        assert!(pack(&large).unwrap().len() > 4);
        let huge: Vec<u8> = large.iter().cycle().take(30_000_000).copied().collect();
        // It repeats itself, but too far apart for deflate.
        assert!(matches!(pack(&huge), Err(OutcomeError::TooLarge { .. })));
    }

    #[test]
    fn what_is_no_outcome_is_refused() {
        for wrong in ["?", "AAAA", "////"] {
            assert!(unpack([wrong].into_iter()).is_err(), "{wrong}");
        }
    }
}
