//! The `dyno` under test as a child process, observed from outside.

use std::collections::HashSet;
use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};
use dyno_core::Clock;
use dyno_tests::program::Program;

/// Keep this many bytes of a stream; only count the rest.
const KEPT_BYTES: usize = 4 << 20;
/// The sampling interval. It is short because some processes end soon.
const LOOK: Duration = Duration::from_millis(25);
/// Samples between two counts of descriptors, which are slower to take.
const DESCRIPTORS_EVERY: u64 = 20;
/// How long to wait for the streams to close after the process has ended, because its children may
/// still have them open, and how often to look.
const CLOSES_AFTER: Duration = Duration::from_secs(4);
const CLOSES_LOOK: Duration = Duration::from_millis(10);
/// A process with more memory than this is killed to protect the machine.
const MEMORY_MAX_KIB: u64 = 3 << 20;

/// Observations of a process while it ran.
#[derive(Clone, Debug, Default)]
pub struct Observations {
    /// Its largest resident set.
    pub memory_kib: u64,
    /// The maximum number of open descriptors.
    pub descriptors: u64,
    /// The maximum number of threads.
    pub threads: u64,
    /// Its command line, as other users see it.
    pub command_line: String,
}

/// A process that has ended.
#[derive(Debug)]
pub struct Ended {
    /// The exit status.
    pub status: ExitStatus,
    /// Standard output, up to the limit.
    pub stdout: Vec<u8>,
    /// Standard error, up to the limit.
    pub stderr: Vec<u8>,
    /// Bytes written to both streams, including those that were not kept.
    pub written: u64,
    /// How long it ran, in seconds.
    pub seconds: f64,
    /// The time from the last [`Running::signal`], or from its start, to its end.
    pub late_s: f64,
    /// It did not end in time and was killed.
    pub overdue: bool,
    /// What was observed while it ran.
    pub seen: Observations,
}

impl Ended {
    /// Its standard output as text.
    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Its standard error as text.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// Saves its output in the folder of its case.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn keep(&self, folder: &Path) -> Result<()> {
        fs::write(folder.join("stdout"), &self.stdout)?;
        fs::write(folder.join("stderr"), &self.stderr)?;
        Ok(())
    }

    /// The status as one number, with signals as in a shell.
    pub fn code(&self) -> i32 {
        let signal = self.status.signal().map(|signal| 128 + signal);
        self.status.code().or(signal).unwrap_or(-1)
    }
}

/// A running process.
pub struct Running {
    program: Program,
    watcher: JoinHandle<Observations>,
    ended: Arc<AtomicBool>,
    began_ns: u64,
    limit_ns: u64,
}

impl Running {
    /// Starts a program without input. The program is killed when this thread ends.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(command: &mut Command) -> Result<Self> {
        // SAFETY: the closure runs between fork and exec, and prctl is a system call.
        unsafe {
            command.pre_exec(|| {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                Ok(())
            })
        };
        let began_ns = Clock.now();
        let program = Program::start(command, KEPT_BYTES)
            .with_context(|| format!("cannot start {command:?}"))?;
        let ended = Arc::new(AtomicBool::new(false));
        let watcher = watch(program.pid(), Arc::clone(&ended));
        Ok(Self {
            program,
            watcher,
            ended,
            began_ns,
            limit_ns: began_ns,
        })
    }

    /// Its pid.
    pub fn pid(&self) -> u32 {
        self.program.pid()
    }

    /// Sends a signal and restarts the clock of [`Ended::late_s`].
    pub fn signal(&mut self, signal: i32) {
        self.limit_ns = Clock.now();
        self.program.signal(signal);
    }

    /// Whether it still runs.
    pub fn runs(&mut self) -> bool {
        matches!(self.program.ended(), Ok(None))
    }

    /// Whether one of the streams contains this text so far.
    pub fn has_printed(&self, text: &str) -> bool {
        let streams = [&self.program.stdout, &self.program.stderr];
        streams
            .iter()
            .any(|stream| find(&stream.bytes(), text.as_bytes()))
    }

    /// Waits until it prints one of these texts. Returns false if it ends first, or after `limit`.
    pub fn wait_for_text(&mut self, texts: &[&str], limit: Duration) -> bool {
        let deadline_ns = Clock.now() + limit.as_nanos() as u64;
        while self.runs() && Clock.now() < deadline_ns {
            if texts.iter().any(|text| self.has_printed(text)) {
                return true;
            }
            thread::sleep(Duration::from_millis(10));
        }
        false
    }

    /// Lets it run for this time. Returns false if it ended before.
    pub fn run_for(&mut self, time: Duration) -> bool {
        let until_ns = Clock.now() + time.as_nanos() as u64;
        while Clock.now() < until_ns {
            if !self.runs() {
                return false;
            }
            thread::sleep(Duration::from_millis(2).min(time));
        }
        // Ask the process itself: the loop may not have looked if the time was very short.
        self.runs()
    }

    /// Waits until it exits, or kills it after `limit`.
    ///
    /// # Errors
    /// The process cannot be waited for.
    pub fn finish(mut self, limit: Duration) -> Result<Ended> {
        let overdue = self.run_for(limit);
        let end_ns = Clock.now();
        if overdue {
            self.program.kill();
        }
        let status = self.program.wait().context("cannot wait for dyno")?;
        self.ended.store(true, Ordering::Relaxed);
        let seen = self.watcher.join().unwrap_or_default();
        for _ in 0..CLOSES_AFTER.as_millis() / CLOSES_LOOK.as_millis() {
            if self.program.is_closed() {
                break;
            }
            thread::sleep(CLOSES_LOOK);
        }
        let (stdout, stderr) = (&self.program.stdout, &self.program.stderr);
        Ok(Ended {
            status,
            stdout: stdout.bytes(),
            stderr: stderr.bytes(),
            written: stdout.count() + stderr.count(),
            seconds: end_ns.saturating_sub(self.began_ns) as f64 / 1e9,
            late_s: (end_ns as f64 - self.limit_ns as f64) / 1e9,
            overdue,
            seen,
        })
    }
}

/// Whether `bytes` contains `text`.
pub fn find(bytes: &[u8], text: &[u8]) -> bool {
    !text.is_empty() && bytes.windows(text.len()).any(|window| window == text)
}

fn watch(pid: u32, ended: Arc<AtomicBool>) -> JoinHandle<Observations> {
    thread::spawn(move || {
        let mut seen = Observations::default();
        let mut looks = 0;
        while !ended.load(Ordering::Relaxed) {
            look(pid, &mut seen);
            if looks % DESCRIPTORS_EVERY == 0 {
                seen.descriptors = seen.descriptors.max(descriptors(pid));
            }
            looks += 1;
            if seen.memory_kib > MEMORY_MAX_KIB {
                // SAFETY: kill has no memory effects; the child is reaped after this thread.
                unsafe { libc::kill(pid.cast_signed(), libc::SIGKILL) };
            }
            thread::sleep(LOOK);
        }
        seen
    })
}

fn look(pid: u32, seen: &mut Observations) {
    let now = Sample::without_descriptors(pid);
    seen.memory_kib = seen.memory_kib.max(now.peak_kib);
    seen.threads = seen.threads.max(now.threads);
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    if !line.is_empty() {
        seen.command_line = String::from_utf8_lossy(&line).replace('\0', " ");
    }
}

/// A sample of a process from proc(5), all zeros if it has ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Resident set.
    pub memory_kib: u64,
    /// The largest resident set so far.
    pub peak_kib: u64,
    /// Threads.
    pub threads: u64,
    /// Open descriptors.
    pub descriptors: u64,
}

impl Sample {
    /// Takes a sample.
    pub fn of(pid: u32) -> Self {
        Self {
            descriptors: descriptors(pid),
            ..Self::without_descriptors(pid)
        }
    }

    fn without_descriptors(pid: u32) -> Self {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|rest| rest.split_whitespace().next());
            number
                .and_then(|number| number.parse().ok())
                .unwrap_or_default()
        };
        Self {
            memory_kib: field("VmRSS:"),
            peak_kib: field("VmHWM:"),
            threads: field("Threads:"),
            descriptors: 0,
        }
    }
}

/// The open descriptors of all threads, because workers may have separate tables.
fn descriptors(pid: u32) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"));
    let mut open = HashSet::new();
    for task in tasks.into_iter().flatten().flatten() {
        let list = fs::read_dir(task.path().join("fd"));
        for entry in list.into_iter().flatten().flatten() {
            // Ignore descriptors that were closed in the meantime.
            if let Ok(target) = fs::read_link(entry.path()) {
                open.insert((entry.file_name(), target));
            }
        }
    }
    open.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ended_process_is_never_overdue() {
        let mut running = Running::start(&mut Command::new("true")).unwrap();
        assert!(!running.run_for(Duration::from_secs(60)));
        let ended = running.finish(Duration::ZERO).unwrap();
        assert!(!ended.overdue && ended.status.success());
        let mut sleep = Command::new("sleep");
        let running = Running::start(sleep.arg("60")).unwrap();
        let ended = running.finish(Duration::from_millis(20)).unwrap();
        assert!(ended.overdue && !ended.status.success());
    }
}
