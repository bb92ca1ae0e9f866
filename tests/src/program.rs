//! A running program: a process group and its output so far.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// A program without input, in its own process group. Dropping it kills the group.
pub struct Program {
    child: Child,
    /// Its standard output.
    pub stdout: Capture,
    /// Its standard error.
    pub stderr: Capture,
}

impl Program {
    /// Starts the program, and keeps the first `kept_max` bytes of each stream.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(command: &mut Command, kept_max: usize) -> io::Result<Self> {
        command.stdin(Stdio::null()).process_group(0);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let stdout = Capture::of(child.stdout.take().expect("it is piped"), kept_max);
        let stderr = Capture::of(child.stderr.take().expect("it is piped"), kept_max);
        Ok(Self {
            child,
            stdout,
            stderr,
        })
    }

    /// Its pid.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: i32) {
        // SAFETY: kill has no memory effects; the child has not been reaped, so the pid is its own.
        unsafe { libc::kill(self.pid().cast_signed(), signal) };
    }

    /// Kills its process group.
    pub fn kill(&self) {
        // SAFETY: kill has no memory effects; the group belongs to the child, see `process_group`.
        unsafe { libc::kill(-self.pid().cast_signed(), libc::SIGKILL) };
    }

    /// Its exit status, if it has ended.
    ///
    /// # Errors
    /// It cannot be waited for.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Waits until it ends.
    ///
    /// # Errors
    /// It cannot be waited for.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }

    /// Whether its streams have ended, too: a child may still have them open.
    pub fn is_closed(&self) -> bool {
        self.stdout.thread.is_finished() && self.stderr.thread.is_finished()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if matches!(self.ended(), Ok(None)) {
            self.kill();
            // It has been killed, so this does not block.
            let _ = self.wait();
        }
    }
}

/// The contents of a stream so far.
pub struct Capture {
    kept: Arc<Mutex<Vec<u8>>>,
    count: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl Capture {
    fn of(mut stream: impl Read + Send + 'static, kept_max: usize) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let count = Arc::new(AtomicU64::new(0));
        let (to, counter) = (Arc::clone(&kept), Arc::clone(&count));
        let thread = thread::spawn(move || {
            let mut bytes = vec![0; 64 * 1024];
            // Keep the output that came before an error, which is more useful than the error.
            while let Ok(length @ 1..) = stream.read(&mut bytes) {
                counter.fetch_add(length as u64, Ordering::Relaxed);
                let mut to = to.lock().unwrap_or_else(PoisonError::into_inner);
                let room = kept_max.saturating_sub(to.len()).min(length);
                to.extend_from_slice(&bytes[..room]);
            }
        });
        Self {
            kept,
            count,
            thread,
        }
    }

    /// The kept bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.clone()
    }

    /// The kept bytes as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    /// The number of bytes read, kept or not.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}
