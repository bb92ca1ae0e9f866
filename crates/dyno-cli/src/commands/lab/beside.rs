//! Commands beside the load of a trial, and what they, or the server, wrote meanwhile.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, anyhow, bail};
use dyno_core::Clock;
use dyno_lab::Effective;
use dyno_results::Captured;
use dyno_server::{Companion, Online};

use super::site::since;

/// The keys of `output`.
pub const KEYS: [&str; 2] = ["file", "count"];
/// The statements that a server has executed, as MariaDB and MySQL tell them.
const EXECUTED: [&str; 2] = [
    "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'QUESTIONS'",
    "SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Questions'",
];

/// What runs beside the load of a trial.
pub struct Beside {
    commands: Vec<Companion>,
    /// What is written, and how large it was before.
    file: Option<(PathBuf, u64)>,
    /// The command that counts what is written, and what it counted before.
    count: Option<(String, u64)>,
    url: Option<String>,
    executed: Option<u64>,
    begun: u64,
}

/// Where things are that commands name.
pub struct Places<'a> {
    /// A folder for what they write.
    pub out: &'a Path,
    /// The data directory of the server; empty where that is not known.
    pub data: &'a Path,
    /// The server's port.
    pub port: u16,
    /// Its URL, for questions.
    pub url: Option<&'a str>,
}

impl Beside {
    /// Starts what the trial has; nothing of one that has nothing.
    ///
    /// # Errors
    /// A command that does not run, a file that the server does not name.
    pub fn start(effective: &Effective, places: &Places<'_>) -> Result<Option<Self>> {
        if effective.commands.is_empty() && effective.output.is_empty() {
            return Ok(None);
        }
        std::fs::create_dir_all(places.out)
            .with_context(|| format!("cannot make {}", places.out.display()))?;
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

    /// Ends it, and says what was written.
    ///
    /// # Errors
    /// A command that ended early, or a count that is none.
    pub fn end(self) -> Result<Option<Captured>> {
        let length_s = since(self.begun);
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

/// The path of what is written: as it stands, or a variable of the server that names it.
fn path_of(name: &str, places: &Places<'_>) -> Result<PathBuf> {
    let Some(variable) = name.strip_prefix("@@") else {
        return Ok(PathBuf::from(name));
    };
    let url = places
        .url
        .ok_or_else(|| anyhow!("{name}: no server runs that names a file"))?;
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

/// What a command of the shell counts.
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
