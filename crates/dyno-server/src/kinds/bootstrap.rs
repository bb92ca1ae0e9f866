//! Programs that make a data directory: run to their end, with what they say kept for the error.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::{OnPath, Result, failed};
use crate::home::Folder;
use crate::process::confine;

/// So many of the last lines of what a program says are shown.
const LINES_SHOWN: usize = 8;

/// Runs a program as the server's user until it has ended well. What it says goes to `init.log`.
pub(crate) fn run(
    folder: &Folder,
    program: &Path,
    arguments: &[impl AsRef<OsStr>],
    input: &str,
) -> Result<()> {
    let path = folder.join("init.log");
    let log = fs::File::create(&path).on("write", &path)?;
    let errors = log.try_clone().on("write", &path)?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(environment(folder));
    command.stdin(Stdio::piped()).stdout(log).stderr(errors);
    command.current_dir(folder.join("tmp"));
    confine(&mut command, folder.identity());
    let mut child = command.spawn().on("start", program)?;
    if let Some(mut pipe) = child.stdin.take() {
        // A program that ends early has closed it; its status says what is wrong.
        let _ = pipe.write_all(input.as_bytes());
    }
    let status = child.wait().on("wait for", program)?;
    if status.success() {
        return Ok(());
    }
    failed(format!(
        "{} could not make a data directory ({status}):\n{}",
        program.display(),
        last_lines(&path, LINES_SHOWN)
    ))
}

/// The environment of a server's programs: nothing of Dyno's own, which may hold a password.
pub(crate) fn environment(folder: &Folder) -> Vec<(String, String)> {
    let text = |path: &Path| path.display().to_string();
    let path = std::env::var("PATH").unwrap_or_default();
    let home = folder.join("tmp");
    let mut environment = vec![
        (
            "PATH".to_owned(),
            format!("{path}:/usr/sbin:/usr/bin:/sbin:/bin"),
        ),
        ("HOME".to_owned(), text(&home)),
        ("TMPDIR".to_owned(), text(&home)),
        ("LC_ALL".to_owned(), "C".to_owned()),
    ];
    if let Ok(libraries) = std::env::var("LD_LIBRARY_PATH") {
        environment.push(("LD_LIBRARY_PATH".to_owned(), libraries));
    }
    environment
}

/// The last lines of a log, indented, for an error.
pub(crate) fn last_lines(path: &Path, count: usize) -> String {
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let shown = &lines[lines.len().saturating_sub(count)..];
    match shown.is_empty() {
        true => "  (it says nothing)".to_owned(),
        false => shown
            .iter()
            .map(|line| format!("  {line}"))
            .collect::<Vec<_>>()
            .join("\n"),
    }
}
