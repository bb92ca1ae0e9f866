//! The identity of a log: the hash of its lines, and its hashes when it was shorter.

use std::collections::HashSet;

use dyno_core::text::hex;
use sha2::{Digest as _, Sha256};

/// The identity of a run's log, in addition to the fact
/// [`names::IMPORT_SHA256`](dyno_core::catalogue::names::IMPORT_SHA256).
#[derive(Clone, Debug, Default)]
pub struct Identity {
    earlier: HashSet<[u8; 32]>,
    former: Option<String>,
}

impl Identity {
    /// Whether the log with this hash, in hexadecimal digits, is the beginning of this one.
    pub fn grew_from(&self, digest: &str) -> bool {
        bytes(digest).is_some_and(|digest| self.earlier.contains(&digest))
    }

    /// The hash of a log with a command line in earlier versions, which left the command line out.
    /// Logs of other command lines have the same hash.
    pub fn former(&self) -> Option<&str> {
        self.former.as_deref()
    }
}

fn bytes(hex: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if hex.len() != 64 || !hex.is_ascii() {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[index * 2..index * 2 + 2], 16).ok()?;
    }
    Some(bytes)
}

/// The hash of a run's lines, updated while they are read.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogHash {
    all: Sha256,
    /// Without the command line, if there is one.
    lines: Option<Sha256>,
    earlier: HashSet<[u8; 32]>,
}

impl LogHash {
    /// The hash of a run with this command line, which may be empty.
    pub(crate) fn of_command(argv: &[String]) -> Self {
        let mut hash = Self::default();
        if !argv.is_empty() {
            for word in argv {
                hash.all.update(word.as_bytes());
                hash.all.update([0]);
            }
            hash.lines = Some(Sha256::new());
        }
        hash
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.all.update(bytes);
        if let Some(lines) = &mut self.lines {
            lines.update(bytes);
        }
    }

    /// The log may have ended here in an earlier import.
    pub(crate) fn may_end(&mut self) {
        self.earlier.insert(self.all.clone().finalize().into());
    }

    /// The log may have been this one in an earlier import.
    pub(crate) fn grew_from(&mut self, other: &Self) {
        self.earlier.insert(other.all.clone().finalize().into());
    }

    pub(crate) fn hex(&self) -> String {
        hex(self.all.clone().finalize())
    }

    pub(crate) fn identity(&self) -> Identity {
        Identity {
            earlier: self.earlier.clone(),
            former: self.lines.clone().map(|lines| hex(lines.finalize())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_identified_by_its_beginning_and_its_command() {
        let hash = |argv: &[&str], lines: &[&str]| {
            let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
            let mut hash = LogHash::of_command(&argv);
            for line in lines {
                hash.update(line.as_bytes());
                hash.may_end();
            }
            hash
        };
        let (short, long) = (hash(&[], &["a"]), hash(&[], &["a", "b"]));
        assert!(long.identity().grew_from(&short.hex()));
        assert!(!short.identity().grew_from(&long.hex()));
        assert!(!long.identity().grew_from("x") && short.identity().former().is_none());
        let (one, other) = (hash(&["x", "y"], &["a"]), hash(&["xy"], &["a"]));
        assert_ne!(one.hex(), other.hex());
        assert_eq!(one.identity().former(), Some(short.hex().as_str()));
    }
}
