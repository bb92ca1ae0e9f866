//! The outcome of a load, in addition to its intervals: JSON, deflated, in base64, in pieces that
//! fit into messages.

use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::{Deserialize, Serialize};

/// Maximum length of a piece, in bytes.
pub(super) const PIECE_BYTES_MAX: usize = 512 << 10;

/// Maximum number of pieces.
pub const PIECES_MAX: u32 = 64;

const JSON_BYTES_MAX: u64 = 512 << 20;

/// A piece of a load's outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Piece {
    /// The attempted start after which it was measured.
    pub attempt: u32,
    /// Its number, from 0.
    pub number: u32,
    /// A part of the text.
    pub text: String,
}

/// Why an outcome cannot be packed or unpacked.
#[derive(Debug, thiserror::Error)]
pub enum OutcomeError {
    /// It is too large.
    #[error("the load's outcome takes {pieces} messages, more than {PIECES_MAX}")]
    TooLarge {
        /// Number of pieces needed.
        pieces: usize,
    },
    /// It is malformed.
    #[error("cannot read the load's outcome: {0}")]
    Malformed(String),
}

/// Packs JSON into the texts of pieces.
///
/// # Errors
/// It is too large.
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

/// Unpacks the JSON from the texts of pieces, in order.
///
/// # Errors
/// The texts are malformed or too large.
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
    fn packed_outcomes_unpack_unchanged() {
        // Incompressible numbers.
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
        // It repeats, but too far apart for deflate.
        assert!(matches!(pack(&huge), Err(OutcomeError::TooLarge { .. })));
    }

    #[test]
    fn refuses_invalid_outcomes() {
        for wrong in ["?", "AAAA", "////"] {
            assert!(unpack([wrong].into_iter()).is_err(), "{wrong}");
        }
    }
}
