//! Processes that outlive the call that starts them. They are unprivileged, have their own session,
//! and are identified by pid and start time.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// How often to poll.
const POLL: Duration = Duration::from_millis(20);

/// A user and its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    uid: u32,
    gid: u32,
}

/// Whether this process runs as root.
pub fn is_root() -> bool {
    effective_uid() == 0
}

/// The effective user.
pub(super) fn effective_uid() -> u32 {
    // SAFETY: geteuid has no arguments, no memory effects and cannot fail.
    unsafe { libc::geteuid() }
}

/// The user that the servers run as: `nobody` if this process is root, because servers refuse to
/// run as root. `None` means the current user.
///
/// # Errors
/// This process is root, and the machine has no user `nobody`.
pub fn unprivileged() -> Result<Option<Identity>> {
    if !is_root() {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd").context("cannot read /etc/passwd")?;
    let fields = users
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>());
    for field in fields {
        if let ["nobody", _, uid, gid, ..] = field[..] {
            let uid = uid.parse().context("the uid of `nobody` is not a number")?;
            let gid = gid.parse().context("the gid of `nobody` is not a number")?;
            return Ok(Some(Identity { uid, gid }));
        }
    }
    bail!("servers must not run as root, and this machine has no user `nobody`")
}

/// Gives a file or folder to the servers' user.
///
/// # Errors
/// The file belongs to another user, and this process is not root.
pub fn give(path: &Path, identity: Option<Identity>) -> Result<()> {
    let Some(Identity { uid, gid }) = identity else {
        return Ok(());
    };
    std::os::unix::fs::chown(path, Some(uid), Some(gid))
        .with_context(|| format!("cannot give {} to uid {uid}", path.display()))
}

/// A command that runs as the unprivileged user, with its home and temporary files in `home`.
pub(super) fn command(program: &Path, home: &Path, identity: Option<Identity>) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/").stdin(Stdio::null());
    command.env("HOME", home).env("TMPDIR", home);
    become_user(&mut command, identity);
    command
}

/// Makes a command run as a user, if one is given.
pub fn become_user(command: &mut Command, identity: Option<Identity>) {
    if let Some(Identity { uid, gid }) = identity {
        // The standard library drops root's other groups along with the uid.
        command.uid(uid).gid(gid);
    }
}

/// Starts a server in its own session, with its output in `log`. With `death_signal`, the server
/// gets that signal when the *thread* that called this ends, for whatever reason.
pub(super) fn spawn(command: &mut Command, log: &Path, death_signal: Option<i32>) -> Result<Child> {
    let output = File::options()
        .append(true)
        .create(true)
        .open(log)
        .with_context(|| format!("cannot open {}", log.display()))?;
    command.stdout(output.try_clone()?).stderr(output);
    let prepare = move || {
        // SAFETY: both are system calls without pointers.
        let failed = unsafe {
            libc::setsid() < 0
                || death_signal
                    .is_some_and(|signal| libc::prctl(libc::PR_SET_PDEATHSIG, signal) != 0)
        };
        if failed {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    };
    // SAFETY: the closure runs between fork and exec and makes only async-signal-safe calls.
    unsafe { command.pre_exec(prepare) };
    let program = command.get_program().to_string_lossy().into_owned();
    command
        .spawn()
        .with_context(|| format!("cannot start {program}"))
}

/// Limits the size of the program's files in bytes.
pub fn limit_files(command: &mut Command, bytes: u64) {
    let prepare = move || {
        let limit = libc::rlimit {
            rlim_cur: bytes,
            rlim_max: bytes,
        };
        // SAFETY: it reads the limit.
        if unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    };
    // SAFETY: the closure runs between fork and exec and makes only async-signal-safe calls.
    unsafe { command.pre_exec(prepare) };
}

/// A process. Its start time distinguishes it from a later process with the same pid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessId {
    /// The pid.
    pub pid: u32,
    /// The start time in clock ticks since boot, as the kernel reports it.
    pub started_ticks: u64,
}

impl ProcessId {
    /// The process that has this pid now.
    pub fn of(pid: u32) -> Option<Self> {
        let (_, started_ticks) = stat(pid)?;
        Some(Self { pid, started_ticks })
    }

    /// Whether it still runs. A zombie does not.
    pub fn is_alive(self) -> bool {
        stat(self.pid).is_some_and(|(state, ticks)| state != 'Z' && ticks == self.started_ticks)
    }

    /// Sends a signal if it still runs.
    pub fn signal(self, signal: i32) {
        if self.is_alive() {
            // SAFETY: kill has no memory effects, and the pid is that of the process just seen. The
            // process may have ended since, which is no error.
            unsafe { libc::kill(self.pid.cast_signed(), signal) };
        }
    }

    /// Stops the process and waits until all of its threads have stopped, because the signal
    /// reaches a thread on another processor a moment later. Returns false if one still runs after
    /// `limit`.
    pub fn suspend(self, limit: Duration) -> bool {
        self.signal(libc::SIGSTOP);
        wait_until(limit, || !self.is_alive() || stands(self.pid))
    }

    /// Sends a signal to the whole process group of which it is the leader, if it still runs.
    pub fn signal_group(self, signal: i32) {
        if self.is_alive() {
            // SAFETY: as in `signal`; a negative pid means a group.
            unsafe { libc::kill(-self.pid.cast_signed(), signal) };
        }
    }

    /// Waits until the process has ended. Returns false if it has not ended after `limit`.
    pub fn wait_gone(self, limit: Duration) -> bool {
        wait_until(limit, || !self.is_alive())
    }
}

/// Polls until `done` is true or `limit` is over, and returns whether it was true.
pub(super) fn wait_until(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let looks = limit.as_millis() / POLL.as_millis();
    for _ in 0..=looks {
        if done() {
            return true;
        }
        thread::sleep(POLL);
    }
    false
}

/// Whether all threads of a process are stopped.
fn stands(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    let mut threads = threads.into_iter().flatten().flatten();
    threads.all(|thread| stat_of(&thread.path()).is_none_or(|(state, _)| state == 'T'))
}

/// The state and start of a process.
fn stat(pid: u32) -> Option<(char, u64)> {
    stat_of(Path::new(&format!("/proc/{pid}")))
}

/// The state and start of the process or thread of this folder, by proc(5).
fn stat_of(folder: &Path) -> Option<(char, u64)> {
    let line = fs::read_to_string(folder.join("stat")).ok()?;
    // The name is in parentheses and may contain spaces and parentheses.
    let (_, rest) = line.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields.next()?.chars().next()?;
    let started = fields.nth(18)?.parse().ok()?;
    Some((state, started))
}

/// Whether every user can enter all folders above `path`.
pub fn is_reachable(path: &Path) -> bool {
    path.ancestors().all(|folder| {
        folder.as_os_str().is_empty()
            || fs::metadata(folder).map_or(true, |data| !data.is_dir() || data.mode() & 0o001 != 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_alive_until_it_ends() -> Result<()> {
        let home = tempfile::tempdir()?;
        let mut sleep = command(Path::new("sleep"), home.path(), None);
        let mut child = spawn(sleep.arg("600"), &home.path().join("log"), None)?;
        let process = ProcessId::of(child.id()).context("it runs")?;
        assert!(process.is_alive());
        let other = ProcessId {
            started_ticks: process.started_ticks + 1,
            ..process
        };
        assert!(!other.is_alive(), "another process of the same pid");
        process.signal(libc::SIGKILL);
        assert!(
            process.wait_gone(Duration::from_secs(60)),
            "a zombie is gone"
        );
        child.wait()?;
        assert_eq!(ProcessId::of(process.pid), None);
        Ok(())
    }

    #[test]
    fn a_server_dies_with_the_thread_that_started_it() -> Result<()> {
        let home = tempfile::tempdir()?;
        let log = home.path().join("log");
        let start = || {
            let mut sleep = command(Path::new("sleep"), Path::new("/"), None);
            let child = spawn(sleep.arg("600"), &log, Some(libc::SIGKILL))?;
            let process = ProcessId::of(child.id()).context("it runs")?;
            Ok::<_, anyhow::Error>((child, process))
        };
        let started = thread::scope(|scope| scope.spawn(start).join());
        let (mut child, process) = started.map_err(|_| anyhow::anyhow!("it panicked"))??;
        assert!(process.wait_gone(Duration::from_secs(60)));
        child.wait()?;
        Ok(())
    }

    #[test]
    fn detects_folders_that_others_cannot_enter() -> Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir()?;
        let inner = home.path().join("inner");
        fs::create_dir(&inner)?;
        for (mode, reachable) in [(0o700, false), (0o711, true)] {
            fs::set_permissions(home.path(), fs::Permissions::from_mode(mode))?;
            assert_eq!(is_reachable(&inner), reachable, "{mode:o}");
        }
        Ok(())
    }
}
