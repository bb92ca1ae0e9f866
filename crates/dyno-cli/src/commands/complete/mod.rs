//! `dyno __complete -- WORDS…`, called by the shells' functions: completes the last word. It prints
//! no errors, does not connect to a database, and ends within 2 s.
//!
//! Prints one line for each candidate: the candidate, a tab and its description. `:files` requests
//! file names as well; `:nospace` suppresses the space after the candidate.

mod choices;
mod recorded;
mod script;
mod words;

use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::thread;
use std::time::Duration;

use crate::{STATUS_DONE, STATUS_FAILED, console};

/// Timeout of an answer: a script can run any code while it is loaded.
const PATIENCE: Duration = Duration::from_secs(2);

/// The completions of a word.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// The candidates, each with its description.
    pub candidates: Vec<(String, String)>,
    /// File names are valid as well.
    pub files: bool,
    /// Candidates are prefixes of words.
    pub open: bool,
}

impl Answer {
    /// Candidates without descriptions.
    pub(super) fn of<T: ToString>(names: impl IntoIterator<Item = T>) -> Self {
        let names = names.into_iter();
        Self {
            candidates: names
                .map(|name| (name.to_string(), String::new()))
                .collect(),
            ..Self::default()
        }
    }

    /// File names.
    pub(super) fn of_files() -> Self {
        Self {
            files: true,
            ..Self::default()
        }
    }

    /// Adds a prefix to each candidate.
    pub(super) fn behind(mut self, prefix: &str) -> Self {
        for (name, _) in &mut self.candidates {
            name.insert_str(0, prefix);
        }
        self
    }

    /// Keeps the candidates that begin with the text.
    fn beginning_with(mut self, text: &str) -> Self {
        let plain = spelt(text);
        let fits = |(name, _): &(String, String)| spelt(name).starts_with(&plain);
        self.candidates.retain(fits);
        self
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (name, meaning) in &self.candidates {
            // The shells cannot pass control characters.
            if name.is_empty() || name.contains(char::is_control) {
                continue;
            }
            let meaning = meaning.replace(char::is_control, " ");
            text.push_str(&format!("{name}\t{meaning}\n"));
        }
        let flags = [(self.files, ":files\n"), (self.open, ":nospace\n")];
        text.extend(
            flags
                .into_iter()
                .filter(|(is, _)| *is)
                .map(|(_, flag)| flag),
        );
        text
    }
}

/// Normalizes an option name: `-` and `_` are equivalent.
fn spelt(text: &str) -> String {
    match (text.strip_prefix("--"), text.split_once('=')) {
        (Some(_), Some((name, value))) => format!("{}={value}", name.replace('_', "-")),
        (Some(_), None) => text.replace('_', "-"),
        _ => text.to_owned(),
    }
}

/// Prints the completions.
pub(super) fn main(args: &[String]) -> u8 {
    let given = match args {
        [dashes, words @ ..] if dashes == "--" => words,
        words => words,
    };
    let Ok(mut answers) = silence() else {
        return STATUS_FAILED;
    };
    let bound = thread::Builder::new().spawn(|| {
        thread::sleep(PATIENCE);
        console::leave(STATUS_FAILED.into());
    });
    if bound.is_err() {
        return STATUS_FAILED;
    }
    let given: Vec<String> = given.iter().map(|word| unquoted(word)).collect();
    let (current, before) = match given.split_last() {
        Some((current, before)) => (current.as_str(), before),
        None => ("", &[][..]),
    };
    let answer = words::after(before, current).beginning_with(current);
    match answers.write_all(answer.text().as_bytes()) {
        Ok(()) => STATUS_DONE,
        Err(_) => STATUS_FAILED,
    }
}

/// Redirects standard output and standard error to `/dev/null`, and returns the original standard
/// output.
fn silence() -> std::io::Result<File> {
    let nowhere = File::options().write(true).open("/dev/null")?;
    // SAFETY: calls without pointers on open descriptors; the new one has no other owner.
    unsafe {
        let output = libc::fcntl(libc::STDOUT_FILENO, libc::F_DUPFD_CLOEXEC, 3);
        if output < 0 {
            return Err(std::io::Error::last_os_error());
        }
        let output = File::from_raw_fd(output);
        libc::dup2(nowhere.as_raw_fd(), libc::STDOUT_FILENO);
        libc::dup2(nowhere.as_raw_fd(), libc::STDERR_FILENO);
        Ok(output)
    }
}

/// Removes a word's shell quoting, in simple cases.
fn unquoted(word: &str) -> String {
    for quote in ['\'', '"'] {
        let Some(inner) = word.strip_prefix(quote) else {
            continue;
        };
        return inner.strip_suffix(quote).unwrap_or(inner).to_owned();
    }
    match (word.strip_prefix("~/"), std::env::var("HOME")) {
        (Some(rest), Ok(home)) => format!("{home}/{rest}"),
        _ => word.to_owned(),
    }
}

#[cfg(test)]
mod tests;
