//! Run programs with a time limit, after which they and their children are killed.

use std::env;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use dyno_core::Clock;

use crate::server::variable;

/// The default time limit of a program. It only has to distinguish a hang from a busy machine.
const LIMIT: Duration = Duration::from_secs(180);

/// A program's output and exit status.
#[derive(Debug)]
pub struct Output {
    /// Its exit status.
    pub status: ExitStatus,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    what: String,
}

/// Runs the `dyno` under test.
///
/// # Panics
/// It has not been built, or takes too long.
pub fn dyno<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Output {
    run(Command::new(dyno_path()).args(arguments), LIMIT)
}

/// Runs Debian's sysbench.
///
/// # Panics
/// It is not installed, or takes too long.
pub fn sysbench<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Output {
    run(
        Command::new(variable("DYNO_TEST_SYSBENCH")).args(arguments),
        LIMIT,
    )
}

/// The `dyno` under test: `$DYNO_BIN`, or the one that cargo built next to this test.
///
/// # Panics
/// It does not exist.
pub fn dyno_path() -> PathBuf {
    if let Some(path) = env::var_os("DYNO_BIN").map(PathBuf::from) {
        assert!(
            path.exists(),
            "DYNO_BIN names {path:?}, which does not exist"
        );
        return path;
    }
    let test = env::current_exe().expect("a test knows its own path");
    // target/PROFILE/deps/TEST
    let target = test
        .ancestors()
        .nth(3)
        .expect("a test lies in target/PROFILE/deps");
    let built = ["release", "debug"].map(|profile| target.join(profile).join("dyno"));
    let found = built.into_iter().find(|path| path.exists());
    found.expect("dyno is not built: `cargo build -p dyno`, or name one by DYNO_BIN")
}

/// Runs a program without input until it exits.
///
/// # Panics
/// It does not start, or exceeds `limit`: then it is killed, and the message has its output so far.
pub fn run(command: &mut Command, limit: Duration) -> Output {
    let running = Running::start(command);
    running.finish(limit)
}

/// A program in the background. Dropping it kills it.
pub struct Running {
    child: Child,
    stdout: Option<Reader>,
    stderr: Option<Reader>,
    what: String,
}

/// Collects a program's output while it runs.
struct Reader {
    so_far: Arc<Mutex<Vec<u8>>>,
    thread: thread::JoinHandle<()>,
}

impl Reader {
    fn new(mut stream: impl Read + Send + 'static) -> Self {
        let so_far = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&so_far);
        let thread = thread::spawn(move || {
            let mut bytes = [0; 4096];
            // Keep the output before an error: it helps the test more than the error.
            while let Ok(count @ 1..) = stream.read(&mut bytes) {
                let mut kept = kept.lock().expect("nobody panics with it");
                kept.extend_from_slice(&bytes[..count]);
            }
        });
        Self { so_far, thread }
    }

    fn text(&self) -> String {
        let so_far = self.so_far.lock().expect("nobody panics with it");
        String::from_utf8_lossy(&so_far).into_owned()
    }

    /// All of it, once the stream has ended.
    fn whole(self) -> String {
        let Self { so_far, thread } = self;
        thread.join().expect("reading does not panic");
        let so_far = so_far.lock().expect("nobody panics with it");
        String::from_utf8_lossy(&so_far).into_owned()
    }
}

impl Running {
    /// Starts a program without input.
    ///
    /// # Panics
    /// It cannot be started.
    pub fn start(command: &mut Command) -> Self {
        // Tests of the record set a file; others leave none behind.
        if !command.get_envs().any(|(name, _)| name == "DYNO_RESULTS") {
            command.env("DYNO_RESULTS", "none");
        }
        // By default, tests read the verbose output at a fixed width.
        for (name, value) in [("DYNO_VERBOSE", "1"), ("COLUMNS", "80")] {
            if !command.get_envs().any(|(set, _)| set == name) {
                command.env(name, value);
            }
        }
        let what = format!("{command:?}").replace('"', "");
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {what}: {error}"));
        let stdout = Some(Reader::new(child.stdout.take().expect("it is piped")));
        let stderr = Some(Reader::new(child.stderr.take().expect("it is piped")));
        Self {
            child,
            stdout,
            stderr,
            what,
        }
    }

    /// Its pid.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: i32) {
        // SAFETY: kill has no memory effects; the child has not been reaped, so the pid is its own.
        unsafe { libc::kill(self.child.id().cast_signed(), signal) };
    }

    /// Waits for a run's first interval line: its sessions are connected and working. Does not work
    /// with `-q`, which prints no intervals.
    ///
    /// # Panics
    /// It ends before that, or prints no interval within a minute.
    pub fn measuring(&mut self) {
        self.prints(" tx/s ");
    }

    /// Waits for this text in its standard error.
    ///
    /// # Panics
    /// It ends before that, or does not print the text within a minute.
    pub fn prints(&mut self, text: &str) {
        let printed = self.prints_or_ends(text);
        assert!(printed, "{} ended early: {}", self.what, self.printed());
    }

    /// Waits for this text in its standard error; false if it ends before.
    ///
    /// # Panics
    /// Neither happens within a minute.
    pub fn prints_or_ends(&mut self, text: &str) -> bool {
        let deadline_ns = Clock.now() + 60_000_000_000;
        loop {
            let ended = self.child.try_wait().expect("a child can be waited for");
            if self.printed().contains(text) {
                return true;
            }
            if ended.is_some() {
                return false;
            }
            assert!(
                Clock.now() < deadline_ns,
                "{}: {}",
                self.what,
                self.printed()
            );
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn printed(&self) -> String {
        self.stderr.as_ref().map(Reader::text).unwrap_or_default()
    }

    /// Waits until it exits.
    ///
    /// # Panics
    /// It does not exit within `limit`.
    pub fn finish(mut self, limit: Duration) -> Output {
        let deadline_ns = Clock.now() + limit.as_nanos() as u64;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                break Some(status);
            }
            if Clock.now() > deadline_ns {
                self.kill_all();
                break None;
            }
            thread::sleep(Duration::from_millis(5));
        };
        let [stdout, stderr] = [self.stdout.take(), self.stderr.take()]
            .map(|reader| reader.expect("read once").whole());
        let what = std::mem::take(&mut self.what);
        let Some(status) = status else {
            panic!("{what}\nwas not done after {limit:?}\n{stdout}\n{stderr}");
        };
        Output {
            status,
            stdout,
            stderr,
            what,
        }
    }

    fn kill_all(&mut self) {
        // SAFETY: kill has no memory effects; the group belongs to the child, see `process_group`.
        unsafe { libc::kill(-self.child.id().cast_signed(), libc::SIGKILL) };
        // It has been killed, so it will end.
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.kill_all();
        }
    }
}

impl Output {
    /// Returns itself if the program succeeded.
    ///
    /// # Panics
    /// It failed.
    pub fn success(self) -> Self {
        assert!(
            self.status.success(),
            "{}\nfailed ({})\n{}\n{}",
            self.what,
            self.status,
            self.stdout,
            self.stderr
        );
        self
    }

    /// Returns itself if the program exited with this status.
    ///
    /// # Panics
    /// It did not.
    pub fn failure(self, code: i32) -> Self {
        assert_eq!(
            self.status.code(),
            Some(code),
            "{}\n{}\n{}",
            self.what,
            self.stdout,
            self.stderr
        );
        self
    }
}
