//! Processes that outlive a call, and the user that servers run as.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use dyno_core::Clock;
use dyno_core::clock::Nanos;
use serde::{Deserialize, Serialize};

use crate::error::{OnPath, Result, failed};

/// Polling interval of waits.
pub(crate) const POLL: Duration = Duration::from_millis(20);

/// A user and its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
}

/// The effective user of this process.
pub(crate) fn effective_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The user that servers run as: `nobody` if this process is root (servers refuse root), else this
/// user.
///
/// # Errors
/// Root on a machine without a user `nobody`.
pub(crate) fn unprivileged() -> Result<Option<Identity>> {
    if effective_uid() != 0 {
        return Ok(None);
    }
    let path = Path::new("/etc/passwd");
    let users = fs::read_to_string(path).on("read", path)?;
    for line in users.lines() {
        let fields: Vec<&str> = line.split(':').collect();
        if let ["nobody", _, uid, gid, ..] = fields[..]
            && let (Ok(uid), Ok(gid)) = (uid.parse(), gid.parse())
        {
            return Ok(Some(Identity { uid, gid }));
        }
    }
    failed("database servers refuse to run as root, but this machine has no user `nobody`")
}

/// Gives a file or a folder to the user that servers run as.
pub(crate) fn give(path: &Path, identity: Option<Identity>) -> Result<()> {
    let Some(Identity { uid, gid }) = identity else {
        return Ok(());
    };
    std::os::unix::fs::lchown(path, Some(uid), Some(gid)).on(&format!("give to user {uid}"), path)
}

/// Makes a command run as a user, in its own session; the kernel kills it when the thread that
/// starts it ends in any way.
pub(crate) fn confine(command: &mut Command, identity: Option<Identity>) {
    if let Some(Identity { uid, gid }) = identity {
        // The standard library drops root's supplementary groups along with the uid.
        command.uid(uid).gid(gid);
    }
    let prepare = || {
        // Processes that a shell starts in the background inherit that Ctrl-C is ignored; processes
        // started here are stopped by it.
        // SAFETY: system calls without pointers.
        let failed = unsafe {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            libc::signal(libc::SIGQUIT, libc::SIG_DFL);
            libc::setsid() < 0 || libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0
        };
        match failed {
            true => Err(io::Error::last_os_error()),
            false => Ok(()),
        }
    };
    // SAFETY: the closure runs between fork and exec and makes only async-signal-safe calls.
    unsafe { command.pre_exec(prepare) };
}

/// Makes a command join control groups before it runs, and only then change to a user, who may not
/// join. Does nothing without groups.
pub(crate) fn join(command: &mut Command, groups: Vec<File>, identity: Option<Identity>) {
    if groups.is_empty() {
        return;
    }
    let check = |result: i32| match result {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    };
    let prepare = move || {
        for group in &groups {
            // 0 means the writing process.
            rustix::io::write(group, b"0")?;
        }
        if let Some(Identity { uid, gid }) = identity {
            // SAFETY: system calls; the only pointer is that of an empty list.
            unsafe {
                check(libc::setgroups(0, std::ptr::null()))?;
                check(libc::setgid(gid))?;
                check(libc::setuid(uid))?;
            }
        }
        Ok(())
    };
    // SAFETY: the closure runs between fork and exec and makes only async-signal-safe calls.
    unsafe { command.pre_exec(prepare) };
}

/// Makes a command run as a user.
pub(crate) fn become_user(command: &mut Command, identity: Option<Identity>) {
    if let Some(Identity { uid, gid }) = identity {
        command.uid(uid).gid(gid);
    }
}

/// A process, identified by its pid and start time, because pids are reused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    /// The pid.
    pub pid: u32,
    /// When it started, in clock ticks since boot.
    pub started_ticks: u64,
    /// The id of that boot.
    pub boot: String,
}

impl ProcessId {
    /// The process that has this pid now.
    pub fn of(pid: u32) -> Option<Self> {
        let (_, started_ticks) = stat(pid)?;
        Some(Self {
            pid,
            started_ticks,
            boot: boot_id(),
        })
    }

    /// Whether it still runs. A zombie does not.
    pub fn is_alive(&self) -> bool {
        self.boot == boot_id()
            && stat(self.pid)
                .is_some_and(|(state, ticks)| state != 'Z' && ticks == self.started_ticks)
    }

    /// Sends a signal if it still runs.
    pub fn signal(&self, signal: i32) {
        if self.is_alive() {
            // SAFETY: kill has no memory effects; the pid is that of the process just seen. If it
            // ends in between, no signal is needed.
            unsafe { libc::kill(self.pid.cast_signed(), signal) };
        }
    }

    /// Waits until it has ended; false after `limit`.
    pub fn wait_gone(&self, limit: Duration) -> bool {
        wait_until(limit, || !self.is_alive())
    }
}

/// A program by its name: in the search path, else in one of these folders.
pub(crate) fn program(name: &str, others: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(others.iter().map(PathBuf::from));
    folders
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Nanos);

impl Deadline {
    pub(crate) fn after(limit: Duration) -> Self {
        Self(Clock.now().saturating_add(limit.as_nanos() as Nanos))
    }

    /// The remaining time; zero if it is over.
    pub(crate) fn left(self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(Clock.now()))
    }
}

/// Polls until `done` or the limit; returns whether it was done.
pub(crate) fn wait_until(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let deadline = Deadline::after(limit);
    loop {
        if done() {
            return true;
        }
        if deadline.left().is_zero() {
            return false;
        }
        std::thread::sleep(POLL);
    }
}

fn boot_id() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    text.map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// The state and start time of a process, from proc(5).
fn stat(pid: u32) -> Option<(char, u64)> {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may itself contain spaces and parentheses.
    let (_, rest) = line.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields.next()?.chars().next()?;
    let started = fields.nth(18)?.parse().ok()?;
    Some((state, started))
}

/// The pids of this process's children, of all its threads.
pub(crate) fn children() -> Vec<u32> {
    let threads = fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| {
            let pids = list.split_whitespace().filter_map(|pid| pid.parse().ok());
            pids.collect::<Vec<u32>>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_alive_until_it_ends() {
        let mut command = Command::new("sleep");
        confine(&mut command, None);
        let mut child = command.arg("600").spawn().expect("sleep runs");
        let process = ProcessId::of(child.id()).expect("it runs");
        assert!(process.is_alive());
        assert!(children().contains(&process.pid));
        let later = ProcessId {
            started_ticks: process.started_ticks + 1,
            ..process.clone()
        };
        assert!(!later.is_alive(), "another process of the same pid");
        let rebooted = ProcessId {
            boot: "another".to_owned(),
            ..process.clone()
        };
        assert!(!rebooted.is_alive(), "a process of another boot");
        process.signal(libc::SIGKILL);
        assert!(
            process.wait_gone(Duration::from_secs(60)),
            "a zombie is gone"
        );
        child.wait().expect("it is reaped");
    }

    #[test]
    fn a_confined_process_dies_with_the_thread_that_started_it() {
        let start = || {
            let mut command = Command::new("sleep");
            confine(&mut command, None);
            let child = command.arg("600").spawn().expect("sleep runs");
            let process = ProcessId::of(child.id()).expect("it runs");
            (child, process)
        };
        let (mut child, process) = std::thread::spawn(start).join().expect("it does not panic");
        assert!(process.wait_gone(Duration::from_secs(60)));
        child.wait().expect("it is reaped");
    }
}
