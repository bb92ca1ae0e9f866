//! The program `perf`: it ends with this process in any case, and writes into files without a name,
//! which disappear with it.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use dyno_core::Clock;
use dyno_core::clock::Nanos;

use super::fold::{Folded, Folder, Wanted};
use super::why;
use crate::Helpers;

const PERF: &str = "perf";
/// The path of the child's standard input, through which it gets its file.
const OWN_INPUT: &str = "/proc/self/fd/0";
/// Maximum number of bytes read of perf's messages.
const MESSAGES_MAX: u64 = 16_384;
/// How often to check whether perf has ended.
const LOOK: Duration = Duration::from_millis(10);
/// How long perf may take to stop.
const END_PATIENCE: Duration = Duration::from_secs(10);
/// Bytes per read of the output.
const PIECE: usize = 1 << 16;
/// Buffer for samples, in pages per CPU: twice the amount that an unprivileged user may lock, and
/// enough to keep a busy host from losing samples if there is no such limit.
const PAGES: (u32, u32) = (32, 256);

/// What to record, and how much.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The processes or threads.
    pub of: Sampled,
    /// Samples per second of CPU time.
    pub frequency_hz: u32,
    /// Maximum size of the samples' file, bytes.
    pub bytes_max: u64,
    /// The method of finding callers.
    pub call_graph: &'static str,
}

/// The threads whose CPU time is sampled.
#[derive(Clone, Debug)]
pub(crate) enum Sampled {
    /// All CPUs.
    Host,
    /// These processes with all their threads, and their later children.
    Processes(Vec<i32>),
    /// These threads of this process, and those they start later.
    Threads(Vec<i32>),
}

/// A `perf record`, running or ended.
pub(crate) struct Recorder {
    pub(super) pid: i32,
    data: File,
    messages: File,
    ended: Option<Ended>,
    /// Counts its usage as the client's.
    helper: Option<Helpers>,
}

/// How it ended.
#[derive(Clone, Copy)]
struct Ended {
    status: ExitStatus,
    cpu_s: f64,
}

impl Recorder {
    /// Starts it. It dies with the calling thread.
    ///
    /// # Errors
    /// The program, or a file for it, is missing.
    pub(crate) fn start(plan: &Plan) -> io::Result<Self> {
        Self::start_as(PERF, plan)
    }

    /// Like [`Self::start`], with another program instead of perf.
    pub(super) fn start_as(program: &str, plan: &Plan) -> io::Result<Self> {
        let (data, messages) = (tempfile::tempfile()?, tempfile::tempfile()?);
        let pages = if is_root() { PAGES.1 } else { PAGES.0 };
        let mut command = perf(program, "record");
        command
            .args(["-F", &plan.frequency_hz.to_string()])
            .args(["--call-graph", plan.call_graph])
            .args(["-m", &pages.to_string()])
            // The clock of the measurement.
            .args(["-k", "CLOCK_MONOTONIC"])
            // Otherwise it reads all samples again, and copies programs to its home directory.
            .args(["--no-buildid", "--no-buildid-cache"])
            .args(["--max-size", &format!("{}K", plan.bytes_max / 1024)])
            .args(["-o", OWN_INPUT])
            .args(plan.of.arguments())
            .stdin(data.try_clone()?)
            .stdout(Stdio::null())
            .stderr(messages.try_clone()?);
        let pid = command.spawn()?.id().cast_signed();
        Ok(Self {
            pid,
            data,
            messages,
            ended: None,
            helper: Some(Helpers::new(vec![pid], 0)),
        })
    }

    /// Whether it has ended.
    pub(crate) fn is_over(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = wait(self.pid);
        }
        if self.ended.is_some() {
            // Its number may be reused from now on.
            self.helper = None;
        }
        self.ended.is_some()
    }

    /// Asks it to stop.
    pub(crate) fn stop(&mut self) {
        self.signal(libc::SIGINT);
    }

    /// Waits until it has ended, and kills it after a timeout.
    pub(crate) fn join(&mut self) {
        let deadline = Clock.now() + END_PATIENCE.as_nanos() as Nanos;
        while !self.is_over() {
            if Clock.now() > deadline {
                self.signal(libc::SIGKILL);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// The CPU time that it used; known once it has ended.
    pub(crate) fn cpu_s(&self) -> f64 {
        self.ended.map_or(0.0, |ended| ended.cpu_s)
    }

    /// Whether it ended because it reached its size limit.
    pub(crate) fn is_full(&mut self) -> bool {
        self.messages().contains("size limit reached")
    }

    /// Why its file is empty; `None` if it is not. `sampled` is the intended target.
    pub(crate) fn failure(&mut self, sampled: &Sampled) -> Option<String> {
        let status = self.ended.map(|ended| ended.status)?;
        let written = self.data.metadata().map_or(0, |data| data.len());
        // When stopped, it ends by the signal or with status 0.
        let fine = status.success() || status.signal() == Some(libc::SIGINT);
        match fine && written > 0 {
            true => None,
            false => Some(why::of_messages(&self.messages(), sampled)),
        }
    }

    /// Turns its recording into stacks. Leaves out what was not read within `patience`; the second
    /// value is then true.
    ///
    /// # Errors
    /// The program cannot be started, or reports an error.
    pub(crate) fn fold(
        &mut self,
        wanted: Wanted,
        patience: Duration,
    ) -> io::Result<(Vec<Folded>, bool)> {
        let mut messages = tempfile::tempfile()?;
        let mut command = perf(PERF, "script");
        command
            .args([
                "-i",
                OWN_INPUT,
                "--ns",
                "--show-lost-events",
                "--show-task-events",
            ])
            // Otherwise it looks up each address in debug information, which takes minutes.
            .arg("--no-inline")
            .args(["-F", "comm,pid,tid,time,event,ip,sym,dso"])
            .stdin(self.data.try_clone()?)
            .stdout(Stdio::piped())
            .stderr(messages.try_clone()?);
        let mut child = command.spawn()?;
        let _helper = Helpers::new(vec![child.id().cast_signed()], 0);
        let mut folder = Folder::new(wanted);
        let deadline = Clock.now() + patience.as_nanos() as Nanos;
        let mut cut = false;
        if let Some(mut output) = child.stdout.take() {
            let mut piece = vec![0; PIECE];
            loop {
                if !is_readable(output.as_raw_fd(), deadline) {
                    cut = true;
                    break;
                }
                match output.read(&mut piece) {
                    Ok(0) => break,
                    Ok(length) => folder.feed(&piece[..length]),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => {
                        // Leave nothing running.
                        let _ = child.kill();
                        let _ = child.wait();
                        return Err(error);
                    }
                }
            }
        }
        if cut {
            // It may have just ended.
            let _ = child.kill();
        }
        let status = child.wait()?;
        let found = folder.finish();
        match cut || status.success() || found.iter().any(|found| found.samples > 0) {
            true => Ok((found, cut)),
            false => Err(io::Error::other(why::last_line(&read(&mut messages)))),
        }
    }

    fn signal(&self, signal: i32) {
        if self.ended.is_none() {
            // SAFETY: a system call without pointers; the process has not been waited for, so its
            // number is still its own.
            unsafe { libc::kill(self.pid, signal) };
        }
    }

    fn messages(&mut self) -> String {
        read(&mut self.messages)
    }
}

impl Sampled {
    fn arguments(&self) -> Vec<String> {
        let list = |numbers: &[i32]| {
            let words: Vec<String> = numbers.iter().map(i32::to_string).collect();
            words.join(",")
        };
        match self {
            Self::Host => vec!["-a".to_owned()],
            Self::Processes(pids) => vec!["-p".to_owned(), list(pids)],
            Self::Threads(tids) => vec!["-t".to_owned(), list(tids)],
        }
    }
}

/// Whether all CPUs may be sampled.
pub(super) fn may_sample_host() -> bool {
    let level = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    let level = level
        .ok()
        .and_then(|level| level.trim().parse::<i32>().ok());
    is_root() || level.is_some_and(|level| level <= 0)
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if !self.is_over() {
            self.signal(libc::SIGKILL);
            self.join();
        }
    }
}

/// One of perf's commands. It runs in a separate session, so that Ctrl-C does not reach it, with a
/// clean environment, and ends with the thread that starts it.
fn perf(program: &str, subcommand: &str) -> Command {
    let mut command = Command::new(program);
    command.arg(subcommand).env_clear().envs([
        ("LC_ALL", "C"),
        ("PERF_CONFIG", "/dev/null"),
        ("PERF_PAGER", "cat"),
    ]);
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    let prepare = || {
        // SAFETY: system calls without pointers.
        let failed = unsafe {
            // A process started in the background ignores Ctrl-C and passes that on.
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            libc::signal(libc::SIGQUIT, libc::SIG_DFL);
            // A script's pipe must not stay open while this runs. An old kernel without the call
            // only leaves it open.
            libc::syscall(libc::SYS_close_range, 3, u32::MAX, CLOSE_RANGE_CLOEXEC);
            libc::setsid() < 0 || libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0
        };
        match failed {
            true => Err(io::Error::last_os_error()),
            false => Ok(()),
        }
    };
    // SAFETY: the closure runs between fork and exec and makes only async-signal-safe calls.
    unsafe { command.pre_exec(prepare) };
    command
}

/// `CLOSE_RANGE_CLOEXEC` of `linux/close_range.h`.
const CLOSE_RANGE_CLOEXEC: u32 = 4;

/// The status and CPU time of a child, if it has ended.
fn wait(pid: i32) -> Option<Ended> {
    let mut status = 0;
    // SAFETY: plain numbers, for which zero is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both locations are valid for the result.
    let ended = unsafe { libc::wait4(pid, &raw mut status, libc::WNOHANG, &raw mut usage) };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    match ended {
        0 => None,
        _ if ended == pid => Some(Ended {
            status: ExitStatus::from_raw(status),
            cpu_s: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        }),
        // It was waited for elsewhere.
        _ => Some(Ended {
            status: ExitStatus::from_raw(libc::SIGKILL),
            cpu_s: 0.0,
        }),
    }
}

/// Waits until there is something to read, or the end of the file; false at the deadline.
fn is_readable(fd: RawFd, deadline: Nanos) -> bool {
    loop {
        let left = deadline.saturating_sub(Clock.now());
        if left == 0 {
            return false;
        }
        let mut poll = libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        };
        let left_ms = (left / 1_000_000).clamp(1, 1_000) as i32;
        // SAFETY: one valid pollfd.
        if unsafe { libc::poll(&raw mut poll, 1, left_ms) } > 0 {
            return true;
        }
    }
}

fn read(file: &mut File) -> String {
    let mut bytes = Vec::new();
    // An unreadable message counts as missing.
    let _ = file.seek(SeekFrom::Start(0));
    let _ = file.take(MESSAGES_MAX).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether this process may lock any amount of memory.
fn is_root() -> bool {
    // SAFETY: a system call without pointers.
    unsafe { libc::geteuid() == 0 }
}

/// The user of a process.
pub(super) fn user_of(pid: i32) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(format!("/proc/{pid}"))
        .ok()
        .map(|file| file.uid())
}
