//! Commands that run during the load of a trial, and the data that they or the server write.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, anyhow, bail};
use dyno_core::Clock;
use dyno_lab::Effective;
use dyno_results::Captured;
use dyno_server::{Companion, Online};

/// The keys of `output`.
pub(super) const KEYS: [&str; 2] = ["file", "count"];
/// Status variables that count executed statements, in MariaDB and MySQL.
const EXECUTED: [&str; 2] = [
    "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'QUESTIONS'",
    "SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Questions'",
];

/// A command that runs during the load of a trial.
pub(super) struct Capture {
    commands: Vec<Companion>,
    /// The output file, and its size at the start.
    file: Option<(PathBuf, u64)>,
    /// The command that counts the written statements, and its first count.
    count: Option<(String, u64)>,
    url: Option<String>,
    executed: Option<u64>,
    begun: u64,
}

/// Paths and addresses for commands.
pub(super) struct Places<'a> {
    /// A folder for their output.
    pub out: &'a Path,
    /// The server's data directory; empty if unknown.
    pub data: &'a Path,
    /// The server's port.
    pub port: u16,
    /// Its URL, for queries.
    pub url: Option<&'a str>,
}

impl Capture {
    /// Starts the trial's command, if it has one.
    ///
    /// # Errors
    /// The command does not run, or the server does not report the file's name.
    pub(super) fn start(effective: &Effective, places: &Places<'_>) -> Result<Option<Self>> {
        if effective.commands.is_empty() && effective.output.is_empty() {
            return Ok(None);
        }
        std::fs::create_dir_all(places.out)
            .with_context(|| format!("cannot create {}", places.out.display()))?;
        let words = |text: &str| {
            text.replace("{out}", &places.out.display().to_string())
                .replace("{port}", &places.port.to_string())
                .replace("{interface}", "lo")
        };
        let file = match effective.output.get("file") {
            None => None,
            Some(name) => {
                let path = path_of(&words(name), places)?;
                let before = std::fs::metadata(&path).map_or(0, |found| found.len());
                Some((path, before))
            }
        };
        let mut count = effective.output.get("count").map(|count| words(count));
        if let (Some(count), Some((path, _))) = (&mut count, &file) {
            *count = count.replace("{file}", &path.display().to_string());
        }
        // Trials without a restart between them write to one file.
        let already = |path: &(PathBuf, u64)| path.1 > 0;
        let count = count
            .map(|count| {
                let before = match file.as_ref().is_some_and(already) {
                    true => counted(&count)?,
                    false => 0,
                };
                Ok::<_, anyhow::Error>((count, before))
            })
            .transpose()?;
        let mut commands = Vec::new();
        for (number, command) in effective.commands.iter().enumerate() {
            let log = places.out.join(format!("command-{}.log", number + 1));
            commands.push(Companion::start(&words(command), &log)?);
        }
        Ok(Some(Self {
            commands,
            file,
            count,
            url: places.url.map(str::to_owned),
            executed: executed(places.url),
            begun: Clock.now(),
        }))
    }

    /// Ends it, and returns the written data.
    ///
    /// # Errors
    /// The command ended early, or its count is not a number.
    pub(super) fn end(self) -> Result<Option<Captured>> {
        let length_s = Clock.since(self.begun).as_secs_f64();
        let after = executed(self.url.as_deref());
        for command in self.commands {
            command.end()?;
        }
        let Some((path, before)) = self.file else {
            return Ok(None);
        };
        let now = std::fs::metadata(&path)
            .with_context(|| format!("nothing was written to {}", path.display()))?;
        let counted = |(count, before): (String, u64)| {
            counted(&count).map(|after| after.saturating_sub(before))
        };
        let statements = self.count.map(counted).transpose()?;
        let executed = after.zip(self.executed);
        Ok(Some(Captured {
            bytes: now.len().saturating_sub(before),
            length_s,
            statements,
            executed: executed.map(|(after, before)| after.saturating_sub(before)),
        }))
    }
}

/// The output path: literal, or the value of a server variable.
fn path_of(name: &str, places: &Places<'_>) -> Result<PathBuf> {
    let Some(variable) = name.strip_prefix("@@") else {
        return Ok(PathBuf::from(name));
    };
    let url = places
        .url
        .ok_or_else(|| anyhow!("{name}: no running server names a file"))?;
    let named = Online::connect(url)?.value(&format!("SELECT @@GLOBAL.{variable}"))?;
    let named = named.ok_or_else(|| anyhow!("the server has no file {name}"))?;
    Ok(places.data.join(named))
}

fn executed(url: Option<&str>) -> Option<u64> {
    let mut online = Online::connect(url?).ok()?;
    EXECUTED
        .iter()
        .find_map(|sql| online.value(sql).ok()??.parse().ok())
}

/// The number that a shell command prints.
fn counted(command: &str) -> Result<u64> {
    let output = Command::new("/bin/sh").args(["-c", command]).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    match text.trim().parse() {
        Ok(count) => Ok(count),
        Err(_) => bail!(
            "'{command}' printed no number: {} {}",
            text.trim(),
            String::from_utf8_lossy(&output.stderr).trim()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_the_number_that_a_command_prints() {
        assert_eq!(counted("echo ' 12 '").unwrap(), 12);
        let error = counted("echo none").unwrap_err().to_string();
        assert!(error.contains("printed no number: none"), "{error}");
    }
}
