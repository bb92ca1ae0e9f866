//! The user, the database and the password of a server created by Dyno.

use std::fs;
use std::path::Path;

use ring::rand::{SecureRandom as _, SystemRandom};
use zeroize::Zeroizing;

use crate::error::{OnPath, Result, failed};
use crate::home::Folder;

/// The user, with all privileges.
pub const USER: &str = "dyno";
/// The database; its name is sysbench's default.
pub const DATABASE: &str = "sbtest";
/// The password file.
const FILE: &str = "password";
/// Letters and digits; 24 of them are 142 bits.
const LENGTH: usize = 24;
const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// A password. Wiped from memory on drop, and never shown by `Debug`.
pub(crate) struct Password(Zeroizing<String>);

impl Password {
    /// Generates a password.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(crate) fn generate() -> Result<Self> {
        let random = SystemRandom::new();
        let mut text = Zeroizing::new(String::with_capacity(LENGTH));
        while text.len() < LENGTH {
            let mut byte = [0_u8];
            if random.fill(&mut byte).is_err() {
                return failed("the system provides no random numbers for a password");
            }
            // The largest multiple of 62: higher values would make some letters more likely.
            if byte[0] < 248 {
                text.push(char::from(LETTERS[usize::from(byte[0]) % LETTERS.len()]));
            }
        }
        Ok(Self(text))
    }

    /// The password of a server.
    ///
    /// # Errors
    /// The file is missing.
    pub(crate) fn of(folder: &Folder) -> Result<Self> {
        Self::in_file(&folder.join(FILE))
    }

    /// The password in a file.
    ///
    /// # Errors
    /// The file is not readable.
    pub(crate) fn in_file(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).on("read", path)?;
        Ok(Self(Zeroizing::new(text.trim().to_owned())))
    }

    /// Saves it in the server's folder.
    ///
    /// # Errors
    /// The file is not writable.
    pub(crate) fn keep(&self, folder: &Folder) -> Result<()> {
        folder.write(FILE, self.expose(), 0o600).map(drop)
    }

    /// The password itself, for a file that only its owner can read.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Password(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_differ_and_are_not_shown() {
        let one = Password::generate().expect("random numbers");
        let other = Password::generate().expect("random numbers");
        assert_eq!(one.expose().len(), LENGTH);
        assert!(one.expose().bytes().all(|byte| LETTERS.contains(&byte)));
        assert_ne!(one.expose(), other.expose());
        assert!(!format!("{one:?}").contains(one.expose()));
    }
}
