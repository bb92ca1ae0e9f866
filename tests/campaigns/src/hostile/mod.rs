//! Malicious servers and inputs. Whatever they send, Dyno ends soon, uses little memory, prints
//! little, and exits with an error message and a status.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use dyno_core::rand::Stream;
use xtask::servers::process;

use crate::bed::{PASSWORD, dyno_command, in_folder};
use crate::child::{Ended, Running, find};
use crate::{Campaign, Closed, in_parallel};

mod inputs;
mod mutate;
mod payload;
mod peer;

use peer::Peer;

/// The time limit of an input that sets no duration, on a busy machine.
const LIMIT: Duration = Duration::from_secs(45);
/// The time limit after an interrupt, and again after a second one.
const INTERRUPTION: Duration = Duration::from_secs(10);
/// 64 sessions of SQLite, each with its own page cache, take 580 MB of this.
const MEMORY_MAX_KIB: u64 = 768 << 10;
const OUTPUT_MAX: u64 = 1 << 20;
/// Cases that run in parallel.
const LANES: u64 = 2;
/// This many cases in five have a hostile server, the others a bad input.
const SERVERS_IN_FIVE: u64 = 2;

/// Runs cases until the campaign is over.
///
/// # Errors
/// The null servers cannot be started, or a case cannot be created.
pub fn run(campaign: &Campaign) -> Result<()> {
    let sockets = tempfile::tempdir().context("cannot create a temporary folder")?;
    fs::set_permissions(sockets.path(), Permissions::from_mode(0o755))?;
    let servers = peer::Upstream::start(sockets.path())?;
    let servers = &servers;
    in_parallel((0..LANES).map(|index| move || lane(campaign, index, servers)))
}

fn lane(campaign: &Campaign, index: u64, servers: &peer::Upstream) -> Result<()> {
    for number in campaign.cases() {
        if campaign.over() {
            break;
        }
        if number % LANES != index {
            continue;
        }
        let folder = campaign.case_folder(number)?;
        let mut draws = Stream::new(campaign.options.seed, number);
        let hostile = draws.below(5) < SERVERS_IN_FIVE;
        let (what, failures) = match hostile {
            true => against_server(campaign, servers, &folder, &mut draws)?,
            false => bad_input(campaign, &folder, &mut draws)?,
        };
        campaign.close(&Closed {
            number,
            what: &what,
            folder: &folder,
            faults: u64::from(hostile),
            inputs: u64::from(!hostile),
            failures: &failures,
        });
    }
    Ok(())
}

fn against_server(
    campaign: &Campaign,
    servers: &peer::Upstream,
    folder: &Path,
    draws: &mut Stream,
) -> Result<(String, Vec<String>)> {
    let peer = Peer::draw(servers, draws)?;
    let mut command = dyno_command(&campaign.options.dyno);
    peer.command(&mut command, draws);
    let what = peer.to_string();
    fs::write(folder.join("case"), format!("{what}\n"))?;
    let (ended, interrupted) = finish(&mut command, folder)?;
    let mut failures = sound(&ended, true);
    if ended.code() == 0 && peer.must_fail() && peer.has_struck() {
        failures.push("status 0".to_owned());
    }
    // A run has a time limit, but creating tables has none.
    let makes_tables = command
        .get_args()
        .next()
        .is_some_and(|word| word == "prepare");
    if interrupted && !makes_tables {
        failures.push(format!("it did not end within {LIMIT:?}"));
    }
    Ok((what, failures))
}

fn bad_input(
    campaign: &Campaign,
    folder: &Path,
    draws: &mut Stream,
) -> Result<(String, Vec<String>)> {
    let mut command = dyno_command(&campaign.options.dyno);
    let input = inputs::Input::draw(&mut command, folder, draws)?;
    fs::write(folder.join("case"), format!("{}\n", input.what))?;
    let before = contents(&input.unchanged);
    let (ended, interrupted) = finish(&mut command, folder)?;
    let mut failures = sound(&ended, !input.prints);
    if interrupted && input.ends {
        failures.push(format!("it did not end within {LIMIT:?}"));
    }
    if input.must_fail && ended.code() == 0 {
        failures.push(format!("status 0: {}", brief(&ended.stdout)));
    }
    let left = fs::read_dir(folder.join("tmp"))?.count();
    if left > 0 && !ended.overdue && ended.status.signal().is_none() {
        failures.push(format!("{left} temporary files are left behind"));
    }
    for ((path, before), after) in input
        .unchanged
        .iter()
        .zip(before)
        .zip(contents(&input.unchanged))
    {
        if before != after {
            failures.push(format!("it changed {}", path.display()));
        }
    }
    Ok((input.what, failures))
}

/// The type and contents of each file.
fn contents(paths: &[PathBuf]) -> Vec<(String, Vec<u8>)> {
    let look = |path: &PathBuf| {
        let data = fs::symlink_metadata(path);
        let what = data.as_ref().map_or_else(
            |error| error.kind().to_string(),
            |data| format!("{:?} {}", data.file_type(), data.len()),
        );
        let plain = data.is_ok_and(|data| data.is_file());
        let bytes = if plain {
            fs::read(path).unwrap_or_default()
        } else {
            Vec::new()
        };
        (what, bytes)
    };
    paths.iter().map(look).collect()
}

/// Runs the command until it exits. Interrupts a command without a time limit, and then once more.
fn finish(command: &mut Command, folder: &Path) -> Result<(Ended, bool)> {
    in_folder(command, folder);
    if !command.get_envs().any(|(name, _)| name == "DYNO_RESULTS") {
        command.env("DYNO_RESULTS", "none");
    }
    fs::write(folder.join("command"), format!("{command:?}\n"))?;
    disarm(command, folder)?;
    let mut running = Running::start(command)?;
    let interrupted = running.run_for(LIMIT);
    if interrupted {
        running.signal(libc::SIGINT);
        if running.run_for(INTERRUPTION) {
            running.signal(libc::SIGINT);
        }
    }
    let ended = running.finish(INTERRUPTION)?;
    ended.keep(folder)?;
    Ok((ended, interrupted))
}

/// Keeps mutated and random paths from harming this machine. If the campaign runs as root, its
/// children run as `nobody`, who may write only to the case's folder. They stay root if `nobody`
/// cannot reach that folder or the program.
fn disarm(command: &mut Command, folder: &Path) -> Result<()> {
    let program = PathBuf::from(command.get_program());
    if !process::is_reachable(folder) || !process::is_reachable(&program) {
        return Ok(());
    }
    let identity = process::unprivileged()?;
    let mut folders = vec![folder.to_owned()];
    while let Some(own) = folders.pop() {
        for entry in fs::read_dir(&own)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if !kind.is_symlink() {
                process::give(&entry.path(), identity)?;
            }
        }
        process::give(&own, identity)?;
    }
    process::become_user(command, identity);
    Ok(())
}

/// Checks what must hold for every process, whatever its input.
fn sound(ended: &Ended, clean: bool) -> Vec<String> {
    let mut failures = Vec::new();
    if ended.overdue {
        failures.push("it did not end, nor when it was interrupted twice".to_owned());
    }
    if let Some(signal) = ended.status.signal()
        && !ended.overdue
        && signal != libc::SIGINT
    {
        failures.push(format!("it was ended by a signal: {}", ended.status));
    }
    for (what, found, bound) in [
        ("KiB of memory", ended.seen.memory_kib, MEMORY_MAX_KIB),
        ("bytes of output", ended.written, OUTPUT_MAX),
    ] {
        if found > bound {
            failures.push(format!("{found} {what}, more than {bound}"));
        }
    }
    for (what, bytes) in [("output", &ended.stdout), ("error output", &ended.stderr)] {
        if find(bytes, b"panicked at") || find(bytes, b"RUST_BACKTRACE") {
            failures.push(format!("it panicked: {}", brief(bytes)));
        }
        if find(bytes, PASSWORD.as_bytes()) {
            failures.push(format!("the password is in the {what}"));
        }
        if clean && let Some(character) = unprintable(bytes) {
            failures.push(format!("a raw {character} in the {what}: {}", brief(bytes)));
        }
    }
    let code = ended.code();
    if !matches!(code, 0..=3 | 130) && !ended.overdue {
        failures.push(format!("status {code}"));
    }
    // A user who interrupts it knows why it ended, so it may print nothing.
    if !matches!(code, 0 | 130) && ended.written == 0 && !ended.overdue {
        failures.push(format!("status {code} without a word"));
    }
    failures
}

fn brief(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(600)]);
    let escaped = text.chars().map(|character| match character {
        '\n' => " ".to_owned(),
        other if other.is_control() => other.escape_unicode().to_string(),
        other => other.to_string(),
    });
    escaped.collect()
}

/// The first bytes that would move a terminal's cursor, reverse its text, or are not text.
fn unprintable(bytes: &[u8]) -> Option<String> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Some(format!("{:#04x}", bytes[error.valid_up_to()])),
    };
    let bad = |character: &char| match character {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' => true,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        other => other.is_control(),
    };
    let found = text.chars().find(bad)?;
    Some(found.escape_unicode().to_string())
}

#[cfg(test)]
mod tests {
    use super::unprintable;

    #[test]
    fn finds_terminal_control_characters() {
        assert_eq!(unprintable("tx/s  4 – ✔\n\tµs".as_bytes()), None);
        for text in ["\u{1b}[2J", "a\rb", "\u{9b}2J", "\u{202e}x", "\u{7f}", "\0"] {
            assert!(unprintable(text.as_bytes()).is_some(), "{text:?}");
        }
        assert!(unprintable(b"\x9b2J").is_some());
    }
}
