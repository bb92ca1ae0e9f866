//! Reads the user's files up to a limit: a device or a pipe may be endless.

use std::fs::File;
use std::io::{self, Read};

/// The bytes of a file, or of standard input if it is `-`.
///
/// # Errors
/// It cannot be read, or has more than `most` bytes.
pub(crate) fn read(file: &str, most: u64) -> io::Result<Vec<u8>> {
    match file {
        "-" => bounded(io::stdin().lock(), most),
        file => bounded(File::open(file)?, most),
    }
}

/// Like [`read`], as text.
///
/// # Errors
/// As [`read`], or the bytes are not UTF-8.
pub(crate) fn read_text(file: &str, most: u64) -> io::Result<String> {
    let bytes = read(file, most)?;
    String::from_utf8(bytes).map_err(|_| {
        let why = "it is not text in UTF-8";
        io::Error::new(io::ErrorKind::InvalidData, why)
    })
}

/// Reads everything, up to a limit.
///
/// # Errors
/// It cannot be read, or has more than `most` bytes.
pub(crate) fn bounded(from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let why = format!("it has more than {} MiB", most >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_endless_input() {
        let error = read("/dev/zero", 3 << 20).unwrap_err();
        assert_eq!(error.to_string(), "it has more than 3 MiB");
        assert_eq!(bounded(&[7_u8; 5][..], 5).unwrap(), [7; 5]);
        assert!(bounded(&[7_u8; 6][..], 5).is_err());
        let not_text = std::env::temp_dir().join(format!("dyno-input-{}", std::process::id()));
        std::fs::write(&not_text, b"\xff").unwrap();
        let error = read_text(not_text.to_str().unwrap(), 10).unwrap_err();
        std::fs::remove_file(&not_text).unwrap();
        assert_eq!(error.to_string(), "it is not text in UTF-8");
    }
}
