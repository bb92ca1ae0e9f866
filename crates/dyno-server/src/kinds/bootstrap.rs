//! Programs that create a data directory: run to completion, with their output kept for errors.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::{OnPath, Result, failed};
use crate::home::Folder;
use crate::process::confine;

/// The number of last lines of output shown.
const LINES_SHOWN: usize = 8;

/// Runs a program as the server's user until it succeeds. Its output goes to `init.log`.
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
        // A program that ended early has closed it; its status says what failed.
        let _ = pipe.write_all(input.as_bytes());
    }
    let status = child.wait().on("wait for", program)?;
    if status.success() {
        return Ok(());
    }
    failed(format!(
        "{} could not create a data directory ({status}):\n{}",
        program.display(),
        last_lines(&path, LINES_SHOWN)
    ))
}

/// The environment of a server's programs: nothing from Dyno's own, which may contain a password.
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
    excerpt(&String::from_utf8_lossy(&text), count)
}

/// The most earlier error lines shown with the last lines.
const ERRORS_SHOWN: usize = 4;

/// The last lines of a text, preceded by the first errors that are not among them, because the root
/// cause may come much earlier.
pub(crate) fn excerpt(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let (above, last) = lines.split_at(lines.len().saturating_sub(count));
    let is_error = |line: &&&str| {
        let words = ["[ERROR]", "FATAL:", "PANIC:"];
        words.iter().any(|word| line.contains(word))
    };
    let mut shown: Vec<String> = Vec::new();
    for line in above.iter().filter(is_error).take(ERRORS_SHOWN) {
        shown.push(format!("  {line}"));
    }
    if !shown.is_empty() {
        shown.push("  …".to_owned());
    }
    shown.extend(last.iter().map(|line| format!("  {line}")));
    match shown.is_empty() {
        true => "  (it says nothing)".to_owned(),
        false => shown.join("\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_is_shown_however_far_above_it_is() {
        let mut text = "1 [ERROR] Can't open shared library\n".to_owned();
        for line in 2..40 {
            text += &format!("{line} [Note] more\n\n");
        }
        assert_eq!(
            excerpt(&text, 2),
            "  1 [ERROR] Can't open shared library\n  …\n  38 [Note] more\n  39 [Note] more"
        );
        assert_eq!(excerpt("a\n", 2), "  a");
        assert_eq!(excerpt("\n", 2), "  (it says nothing)");
    }
}
