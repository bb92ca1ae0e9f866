//! The user, the database and the password of a server that Dyno made.

use std::fs;
use std::path::Path;

use ring::rand::{SecureRandom as _, SystemRandom};
use zeroize::Zeroizing;

use crate::error::{OnPath, Result, failed};
use crate::home::Folder;

/// The user: it may do everything.
pub const USER: &str = "dyno";
/// The database, by the name that sysbench's users expect.
pub const DATABASE: &str = "sbtest";
/// The file of the password.
const FILE: &str = "password";
/// Letters and digits; 24 of them are 142 bits.
const LENGTH: usize = 24;
const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// A password. It is wiped from memory when it is dropped, and never shown by `Debug`.
pub struct Password(Zeroizing<String>);

impl Password {
    /// A new one.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn generate() -> Result<Self> {
        let random = SystemRandom::new();
        let mut text = Zeroizing::new(String::with_capacity(LENGTH));
        while text.len() < LENGTH {
            let mut byte = [0_u8];
            if random.fill(&mut byte).is_err() {
                return failed("the system provides no random numbers for a password");
            }
            // The largest multiple of 62: what is above would make some letters likelier.
            if byte[0] < 248 {
                text.push(char::from(LETTERS[usize::from(byte[0]) % LETTERS.len()]));
            }
        }
        Ok(Self(text))
    }

    /// That of a server.
    ///
    /// # Errors
    /// There is no file of it.
    pub fn of(folder: &Folder) -> Result<Self> {
        Self::in_file(&folder.join(FILE))
    }

    /// That of a file.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn in_file(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).on("read", path)?;
        Ok(Self(Zeroizing::new(text.trim().to_owned())))
    }

    /// Keeps it in the server's folder.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&self, folder: &Folder) -> Result<()> {
        folder.write(FILE, self.expose(), 0o600).map(drop)
    }

    /// The password itself, for a file that only its owner can read.
    pub fn expose(&self) -> &str {
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
