//! Logs as text: plain, or compressed with gzip or xz, whatever their names.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};

use anyhow::{Context as _, Result};
use dyno_import::Log;

use crate::input;

/// A day of one-second intervals has some tens of MiB.
const LOG_BYTES_MAX: u64 = 1 << 30;

/// Bytes read to recognize a file.
const HEAD_BYTES: u64 = 256 << 10;

const GZIP: &[u8] = &[0x1f, 0x8b];
const XZ: &[u8] = b"\xfd7zXZ\0";

/// Suffixes of compressed files.
pub(super) const COMPRESSED: [&str; 2] = [".gz", ".xz"];

/// A log.
pub(super) struct Text {
    name: String,
    text: String,
}

impl Text {
    /// Reads a file, or standard input if it is `-`. [`dyno_import::decode`] describes the
    /// encodings.
    ///
    /// # Errors
    /// It cannot be read, or its compressed data are damaged.
    pub(super) fn read(file: impl AsRef<str>) -> Result<Self> {
        let name = file.as_ref().to_owned();
        let read = input::read(&name, LOG_BYTES_MAX).and_then(|bytes| plain(bytes, LOG_BYTES_MAX));
        let bytes = read.with_context(|| format!("cannot read {name}"))?;
        let text = dyno_import::decode(&bytes);
        let name = if name == "-" {
            "(standard input)".to_owned()
        } else {
            name
        };
        Ok(Self { name, text })
    }

    /// The beginning of a file as text.
    ///
    /// # Errors
    /// See [`Self::read`].
    pub(super) fn head(file: &str) -> Result<String> {
        let read = File::open(file).and_then(|opened| {
            let mut opened = BufReader::new(opened);
            let begins = opened.fill_buf()?.to_vec();
            head_of(&begins, opened)
        });
        let bytes = read.with_context(|| format!("cannot read {file}"))?;
        Ok(dyno_import::decode(&bytes))
    }

    /// The form that the importers take.
    pub(super) fn log(&self) -> Log<'_> {
        Log::new(&self.name, &self.text)
    }
}

/// The first bytes, decompressed.
fn head_of(begins: &[u8], from: impl BufRead) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if begins.starts_with(GZIP) {
        let decoder = flate2::bufread::MultiGzDecoder::new(from);
        decoder.take(HEAD_BYTES).read_to_end(&mut bytes)?;
    } else if begins.starts_with(XZ) {
        let decoder = lzma_rust2::XzReader::new(from, true);
        decoder.take(HEAD_BYTES).read_to_end(&mut bytes)?;
    } else {
        from.take(HEAD_BYTES).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// The bytes, decompressed, up to a limit.
fn plain(bytes: Vec<u8>, most: u64) -> io::Result<Vec<u8>> {
    let read = |from: &mut dyn Read, how: &str| {
        input::bounded(from, most).map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => error,
            kind => io::Error::new(kind, format!("its {how} data is damaged: {error}")),
        })
    };
    if bytes.starts_with(GZIP) {
        let mut decoder = flate2::read::MultiGzDecoder::new(Cursor::new(bytes));
        read(&mut decoder, "gzip")
    } else if bytes.starts_with(XZ) {
        let mut decoder = lzma_rust2::XzReader::new(Cursor::new(bytes), true);
        read(&mut decoder, "xz")
    } else if let Some(how) = packed(&bytes) {
        let why = format!("it is compressed with {how}: unpack it first (gzip and xz are read)");
        Err(io::Error::new(io::ErrorKind::InvalidData, why))
    } else {
        Ok(bytes)
    }
}

/// A compression that is not read, by the first bytes.
fn packed(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some("zstd"),
        [b'B', b'Z', b'h', b'1'..=b'9', b'1', b'A', b'Y', ..] => Some("bzip2"),
        [b'P', b'K', 3, 4, ..] => Some("zip"),
        _ => None,
    }
}

/// The name without a compression suffix.
pub(super) fn uncompressed(name: &str) -> &str {
    let ending = COMPRESSED
        .iter()
        .find_map(|ending| name.strip_suffix(ending));
    ending.unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// `printf 'tps: 1\n' | xz`.
    const BY_XZ: &[u8] = include_bytes!("one-line.xz");

    fn gzipped(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn compressed_logs_are_recognised_by_content() {
        assert_eq!(plain(b"tps: 1\n".to_vec(), 100).unwrap(), b"tps: 1\n");
        assert_eq!(plain(BY_XZ.to_vec(), 100).unwrap(), b"tps: 1\n");
        // Concatenated files.
        let twice = [gzipped(b"a\n"), gzipped(b"b\n")].concat();
        assert_eq!(plain(twice, 100).unwrap(), b"a\nb\n");
        assert_eq!(uncompressed("a/res.txt.gz"), "a/res.txt");
        assert_eq!(uncompressed("a/res.txt"), "a/res.txt");
    }

    #[test]
    fn other_compressions_are_named() {
        for (bytes, how) in [
            (&b"\x28\xb5\x2f\xfd\x24\x0e"[..], "zstd"),
            (b"BZh91AY&SY\x01", "bzip2"),
            (b"PK\x03\x04\x14\0", "zip"),
        ] {
            let error = plain(bytes.to_vec(), 100).unwrap_err().to_string();
            assert!(
                error.contains(&format!("compressed with {how}: ")),
                "{error}"
            );
        }
        let text = b"BZh: a name\n".to_vec();
        assert_eq!(plain(text.clone(), 100).unwrap(), text);
    }

    #[test]
    fn reports_logs_that_are_cut_off_damaged_or_without_end() {
        let whole = gzipped(b"some text\n");
        let cut = plain(whole[..whole.len() - 6].to_vec(), 100).unwrap_err();
        assert!(
            cut.to_string().starts_with("its gzip data is damaged"),
            "{cut}"
        );
        let cut = plain(BY_XZ[..BY_XZ.len() - 20].to_vec(), 100).unwrap_err();
        assert!(
            cut.to_string().starts_with("its xz data is damaged"),
            "{cut}"
        );
        let zeros = gzipped(&vec![0; 3 << 20]);
        let error = plain(zeros, 1 << 20).unwrap_err();
        assert_eq!(error.to_string(), "it has more than 1 MiB");
    }
}
