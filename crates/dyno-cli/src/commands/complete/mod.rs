//! `dyno __complete -- WORDS…`, which the shells' functions call: what may stand where the last of
//! the words is. It says nothing of errors, connects to no database and ends soon.
//!
//! A line for each candidate, with a tab and what it means behind it. `:files` asks the shell for
//! names of files as well, `:nospace` for none after the candidate.

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

/// How long an answer may take: a script may do anything while it is loaded.
const PATIENCE: Duration = Duration::from_secs(2);

/// What may follow.
#[derive(Debug, Default)]
pub struct Answer {
    /// Each with what it means.
    pub candidates: Vec<(String, String)>,
    /// Names of files may follow as well.
    pub files: bool,
    /// A candidate is the beginning of a word.
    pub open: bool,
}

impl Answer {
    /// Candidates without a meaning.
    pub fn of<T: ToString>(names: impl IntoIterator<Item = T>) -> Self {
        let names = names.into_iter();
        Self {
            candidates: names
                .map(|name| (name.to_string(), String::new()))
                .collect(),
            ..Self::default()
        }
    }

    /// Names of files.
    pub fn of_files() -> Self {
        Self {
            files: true,
            ..Self::default()
        }
    }

    /// The candidates with the same text before each.
    pub fn behind(mut self, prefix: &str) -> Self {
        for (name, _) in &mut self.candidates {
            name.insert_str(0, prefix);
        }
        self
    }

    /// What goes on from the text that is there.
    fn beginning_with(mut self, text: &str) -> Self {
        let plain = spelt(text);
        let fits = |(name, _): &(String, String)| spelt(name).starts_with(&plain);
        self.candidates.retain(fits);
        self
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (name, meaning) in &self.candidates {
            // What would not come through the shell whole is none.
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

/// As options are compared: `-` and `_` are the same in their names.
fn spelt(text: &str) -> String {
    match (text.strip_prefix("--"), text.split_once('=')) {
        (Some(_), Some((name, value))) => format!("{}={value}", name.replace('_', "-")),
        (Some(_), None) => text.replace('_', "-"),
        _ => text.to_owned(),
    }
}

/// Answers.
pub fn main(args: &[String]) -> u8 {
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

/// Sends away what anybody prints from now on, and answers what standard output was.
fn silence() -> std::io::Result<File> {
    let nowhere = File::options().write(true).open("/dev/null")?;
    // SAFETY: calls without pointers on descriptors that are open; the new one is nobody else's.
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

/// A word as the program would get it from the shell, as far as that is plain.
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
