//! The kernel's text files: kept open, and split into words and numbers.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Maximum number of bytes read of a kernel file.
const FILE_BYTES_MAX: usize = 1 << 20;

/// A file of `/proc` or `/sys` that is read repeatedly through one descriptor.
pub(crate) struct ProcFile {
    file: File,
}

impl ProcFile {
    pub(crate) fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let file = File::open(path)?;
        Ok(Self { file })
    }

    /// Opens a file that may be missing without a report.
    pub(crate) fn find(path: impl AsRef<Path>) -> Option<Self> {
        let kept = Self::open(path).ok()?;
        // Some can be opened but not read, such as pressure without its accounting.
        kept.file.read_at(&mut [0; 1], 0).is_ok().then_some(kept)
    }

    /// Its current content, in `buffer`.
    pub(crate) fn read<'a>(&self, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        if buffer.is_empty() {
            buffer.resize(16 * 1024, 0);
        }
        let mut length = 0;
        loop {
            if length == buffer.len() {
                if length >= FILE_BYTES_MAX {
                    break;
                }
                buffer.resize(length * 2, 0);
            }
            match self.file.read_at(&mut buffer[length..], length as u64) {
                Ok(0) => break,
                Ok(count) => length += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(&buffer[..length])
    }
}

/// A small file as trimmed text; `None` if it cannot be read.
pub(crate) fn small(path: impl AsRef<Path>) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim().to_owned())
}

/// The sorted names in a directory; empty if it cannot be listed.
pub(crate) fn names_in(path: impl AsRef<Path>) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(path) else {
        return Vec::new();
    };
    let name = |entry: io::Result<std::fs::DirEntry>| entry.ok()?.file_name().into_string().ok();
    let mut names: Vec<String> = entries.filter_map(name).collect();
    names.sort();
    names
}

/// `/proc/PID/FILE`.
pub(crate) fn of_process(pid: i32, file: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/{file}"))
}

pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
}

pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
}

/// Parses a word as a number.
pub(crate) fn number(word: &[u8]) -> Option<f64> {
    // Counters have 64 bits; beyond 2^53 the rounding error of a rate is smaller than the clock's.
    whole(word).map(|value| value as f64)
}

/// Parses a word as an unsigned integer.
pub(crate) fn whole(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0_u64, |sum, byte| {
        let digit = char::from(*byte).to_digit(10)?;
        sum.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// Parses a word as a decimal fraction.
pub(crate) fn fraction(word: &[u8]) -> Option<f64> {
    let value: f64 = std::str::from_utf8(word).ok()?.parse().ok()?;
    value.is_finite().then_some(value)
}

/// Parses lines of a name and a number: `name value`, `name: value kB`, with kB converted to bytes.
pub(crate) fn named_numbers(text: &[u8]) -> impl Iterator<Item = (&[u8], f64)> {
    lines(text).filter_map(|line| {
        let mut words = words(line);
        let name = words.next()?;
        let value = number(words.next()?)?;
        let unit = match words.next() {
            Some(b"kB") => 1024.0,
            _ => 1.0,
        };
        Some((name.strip_suffix(b":").unwrap_or(name), value * unit))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_whole_words() {
        assert_eq!(whole(b"18446744073709551615"), Some(u64::MAX));
        for bad in [&b""[..], b"18446744073709551616", b"1x", b"-1", b"1.5"] {
            assert_eq!(whole(bad), None, "{bad:?}");
        }
        let text = b"MemTotal:   24 kB\nHugePages_Total:  3\noom_kill 7\nodd\n";
        let seen: Vec<_> = named_numbers(text).collect();
        let expected: [(&[u8], f64); 3] = [
            (b"MemTotal", 24_576.0),
            (b"HugePages_Total", 3.0),
            (b"oom_kill", 7.0),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_file_is_read_whole_and_again() {
        let kept = ProcFile::open("/proc/self/stat").unwrap();
        let mut buffer = Vec::new();
        for _ in 0..2 {
            assert!(kept.read(&mut buffer).unwrap().ends_with(b"\n"));
        }
        // A buffer that is too small grows.
        let mut buffer = vec![0; 8];
        let expected = std::fs::read("/proc/version").unwrap();
        let kept = ProcFile::open("/proc/version").unwrap();
        assert_eq!(kept.read(&mut buffer).unwrap(), expected);
    }

    proptest! {
        #[test]
        fn nothing_panics(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = named_numbers(&text).count();
            let _ = (whole(&text), fraction(&text), words(&text).count());
        }
    }
}
