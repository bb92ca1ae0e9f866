//! `dyno top`, and the pseudo-terminal that it runs on.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use dyno_core::Clock;
use dyno_tests::Output;
use dyno_tests::command::{dyno_path, run};
use serde_json::Value;

/// How long a command may take on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

pub(crate) fn top(arguments: &[&str]) -> Command {
    let mut command = Command::new(dyno_path());
    command.arg("top").args(arguments).env_remove("DYNO_TARGET");
    command
}

/// Runs `dyno top` until it exits.
pub(crate) fn output(arguments: &[&str]) -> Output {
    run(&mut top(arguments), LIMIT)
}

/// The objects that `--json` prints.
pub(crate) fn objects(arguments: &[&str]) -> Vec<Value> {
    let output = output(arguments).success();
    let lines = output.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect()
}

/// `dyno top` on a pseudo-terminal of 120×40.
pub(crate) struct Terminal {
    child: Child,
    /// The end that belongs to the test.
    master: Option<File>,
    /// Everything that the program has written so far.
    written: Arc<Mutex<Vec<u8>>>,
    /// The program's end, kept open so that its settings can be read afterwards.
    slave: Option<File>,
    /// The thread that collects the output until the sender is dropped.
    reader: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Terminal {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let (mut master, mut slave) = (0, 0);
        let size = libc::winsize {
            ws_row: 40,
            ws_col: 120,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        // SAFETY: all pointers are valid or null, as openpty allows; nobody else owns the
        // descriptors.
        let (master, slave) = unsafe {
            let name = std::ptr::null_mut();
            let settings = std::ptr::null();
            let made = libc::openpty(
                &raw mut master,
                &raw mut slave,
                name,
                settings,
                &raw const size,
            );
            assert_eq!(made, 0, "no pseudo-terminal");
            // The program must not inherit the test's end, which could then never be closed.
            for own in [master, slave] {
                assert_eq!(libc::fcntl(own, libc::F_SETFD, libc::FD_CLOEXEC), 0);
            }
            (File::from_raw_fd(master), File::from_raw_fd(slave))
        };
        let mut command = top(arguments);
        command
            .env("TERM", "xterm-256color")
            .env_remove("NO_COLOR")
            .env_remove("COLUMNS");
        let end = || Stdio::from(slave.try_clone().unwrap());
        let child = command
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        let written = Arc::new(Mutex::new(Vec::new()));
        let reader = Some(read(master.try_clone().unwrap(), Arc::clone(&written)));
        Self {
            child,
            master: Some(master),
            written,
            slave: Some(slave),
            reader,
        }
    }

    /// Closes the terminal as closing its window would. Returns whether the program ended.
    pub(crate) fn hang_up(mut self) -> bool {
        let (stop, thread) = self.reader.take().unwrap();
        drop(stop);
        thread.join().unwrap();
        (self.master, self.slave) = (None, None);
        let begun = Clock.now();
        while Clock.now() < begun + LIMIT.as_nanos() as u64 / 4 {
            if self.child.try_wait().unwrap().is_some() {
                return true;
            }
            thread::sleep(Duration::from_millis(10));
        }
        false
    }

    /// Types these keys.
    pub(crate) fn press(&mut self, keys: &str) {
        let mut master = self.master.as_ref().unwrap();
        master.write_all(keys.as_bytes()).unwrap();
    }

    /// Everything that was written so far.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.written.lock().unwrap()).into_owned()
    }

    /// Waits until this text appears.
    pub(crate) fn shows(&mut self, text: &str) {
        let deadline = Clock.now() + LIMIT.as_nanos() as u64;
        loop {
            let seen = plain(&self.text());
            if seen.contains(text) {
                return;
            }
            assert!(self.child.try_wait().unwrap().is_none(), "it ended: {seen}");
            assert!(Clock.now() < deadline, "'{text}' is not in {seen}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Types a key and returns the exit status.
    pub(crate) fn end(&mut self, key: &str) -> Option<i32> {
        self.press(key);
        self.ended()
    }

    /// Sends a signal and returns the exit status.
    pub(crate) fn end_by(&mut self, signal: i32) -> Option<i32> {
        // SAFETY: kill has no memory effects; the child has not been reaped, so the pid is its own.
        unsafe { libc::kill(self.child.id().cast_signed(), signal) };
        self.ended()
    }

    fn ended(&mut self) -> Option<i32> {
        let deadline = Clock.now() + LIMIT.as_nanos() as u64;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                // Some output may not have arrived yet.
                thread::sleep(Duration::from_millis(100));
                return status.code();
            }
            assert!(
                Clock.now() < deadline,
                "it does not end: {}",
                plain(&self.text())
            );
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Whether line editing and echo are on again, as a shell expects.
    pub(crate) fn is_cooked(&self) -> bool {
        let slave = self.slave.as_ref().unwrap().as_raw_fd();
        // SAFETY: a zeroed termios is a valid place for the kernel's answer.
        let settings = unsafe {
            let mut settings: libc::termios = std::mem::zeroed();
            assert_eq!(libc::tcgetattr(slave, &raw mut settings), 0);
            settings
        };
        let both = libc::ICANON | libc::ECHO;
        settings.c_lflag & both == both
    }
}

/// Stores the output until it ends, or until the sender is dropped.
fn read(mut master: File, kept: Arc<Mutex<Vec<u8>>>) -> (Sender<()>, JoinHandle<()>) {
    let (stop, stopped) = channel::<()>();
    let read = move || {
        let mut bytes = [0; 4096];
        while stopped.try_recv() != Err(TryRecvError::Disconnected) {
            let mut one = libc::pollfd {
                fd: master.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            };
            // SAFETY: one structure, which lives during the call.
            if unsafe { libc::poll(&raw mut one, 1, 20) } < 1 {
                continue;
            }
            let Ok(count @ 1..) = master.read(&mut bytes) else {
                return;
            };
            kept.lock().unwrap().extend_from_slice(&bytes[..count]);
        }
    };
    (stop, thread::spawn(read))
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// The visible text: removes what moves the cursor or clears the screen.
fn plain(text: &str) -> String {
    const COLUMNS: usize = 120;
    let mut cells = vec![vec![' '; COLUMNS]; 40];
    let (mut row, mut column) = (0, 0);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\x1b' if chars.next() == Some('[') => {
                let mut sequence = String::new();
                let last = chars.by_ref().find(|c| {
                    sequence.push(*c);
                    c.is_ascii_alphabetic()
                });
                let numbers = sequence.trim_end_matches(|c: char| c.is_ascii_alphabetic());
                let mut numbers = numbers.split(';').map(|text| text.parse().unwrap_or(1));
                match last {
                    Some('H') => {
                        row = numbers.next().unwrap_or(1).max(1) - 1;
                        column = numbers.next().unwrap_or(1).max(1) - 1;
                    }
                    Some('J') => cells.iter_mut().for_each(|line| line.fill(' ')),
                    _ => {}
                }
            }
            '\r' => column = 0,
            '\n' => row += 1,
            c => {
                if let Some(cell) = cells.get_mut(row).and_then(|line| line.get_mut(column)) {
                    *cell = c;
                }
                column += 1;
            }
        }
    }
    let lines = cells
        .into_iter()
        .map(|line| line.into_iter().collect::<String>());
    lines.collect::<Vec<_>>().join("\n")
}
