//! Runs programs with a time limit, after which they and their children are killed.

use std::env;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::Duration;

use dyno_core::Clock;

use crate::program::Program;
use crate::server::variable;

/// The default time limit of a program. It only has to tell a hang from a busy machine.
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
/// The program does not start, or exceeds `limit`. In that case it is killed, and the message
/// contains its output so far.
pub fn run(command: &mut Command, limit: Duration) -> Output {
    let running = Running::start(command);
    running.finish(limit)
}

/// Fails unless each of these texts is in one of the two streams.
///
/// # Panics
/// One is in neither.
pub fn has(output: &Output, texts: &[&str]) {
    let all = flat(&format!("{}\n{}", output.stdout, output.stderr));
    for text in texts {
        assert!(all.contains(text), "no '{text}' in\n{output:?}");
    }
}

/// The text without line breaks and indentation, which depend on the width of the terminal.
pub fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A program in the background. Dropping it kills it.
pub struct Running {
    program: Program,
    what: String,
}

impl Running {
    /// Starts a program without input.
    ///
    /// # Panics
    /// It cannot be started.
    pub fn start(command: &mut Command) -> Self {
        // Tests of the record set a results file; all others must not leave one behind.
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
        let program = Program::start(command, usize::MAX)
            .unwrap_or_else(|error| panic!("cannot start {what}: {error}"));
        Self { program, what }
    }

    /// Its pid.
    pub fn pid(&self) -> u32 {
        self.program.pid()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: i32) {
        self.program.signal(signal);
    }

    /// Waits for the first interval line of a run: its sessions are then connected and working.
    /// Does not work with `-q`, which prints no intervals.
    ///
    /// # Panics
    /// The program ends first, or prints no interval within a minute.
    pub fn measuring(&mut self) {
        self.prints(" tx/s ");
    }

    /// Waits until its standard error contains this text.
    ///
    /// # Panics
    /// The program ends first, or does not print the text within a minute.
    pub fn prints(&mut self, text: &str) {
        let printed = self.prints_or_ends(text);
        assert!(printed, "{} ended early: {}", self.what, self.printed());
    }

    /// Waits until its standard error contains this text. Returns false if the program ends first.
    ///
    /// # Panics
    /// Neither happens within a minute.
    pub fn prints_or_ends(&mut self, text: &str) -> bool {
        let deadline_ns = Clock.now() + 60_000_000_000;
        loop {
            let ended = self.ended();
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
        self.program.stderr.text()
    }

    fn ended(&mut self) -> Option<ExitStatus> {
        self.program.ended().expect("a child can be waited for")
    }

    /// Waits until it exits.
    ///
    /// # Panics
    /// It does not exit within `limit`.
    pub fn finish(mut self, limit: Duration) -> Output {
        let deadline_ns = Clock.now() + limit.as_nanos() as u64;
        let status = loop {
            let status = self.ended();
            if status.is_some() {
                break status;
            }
            if Clock.now() > deadline_ns {
                self.program.kill();
                break None;
            }
            thread::sleep(Duration::from_millis(5));
        };
        while !self.program.is_closed() {
            thread::sleep(Duration::from_millis(1));
        }
        let Self { program, what } = self;
        let [stdout, stderr] = [program.stdout.text(), program.stderr.text()];
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
