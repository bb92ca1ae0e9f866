//! A command that runs during the load of a server, such as a packet capture, and ends with Dyno.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::error::{OnPath, Result, failed};
use crate::process::{confine, wait_until};

/// How long it may take to end before it is killed.
const GRACE: Duration = Duration::from_secs(5);
/// A command that ends this soon counts as failed.
const BEGIN: Duration = Duration::from_millis(300);

/// A running command. It ends when this is dropped, or with Dyno in any way.
#[derive(Debug)]
pub struct Companion {
    child: Child,
    text: String,
}

impl Companion {
    /// Starts a shell command, whose output goes to a file.
    ///
    /// # Errors
    /// It does not start, or ends at once; with its output.
    pub fn start(text: &str, log: &Path) -> Result<Self> {
        let output = File::create(log).on("write", log)?;
        let errors = output.try_clone().on("write", log)?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &format!("exec {text}")]);
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        confine(&mut command, None);
        let child = command.spawn().on("start", Path::new("/bin/sh"))?;
        let mut companion = Self {
            child,
            text: text.to_owned(),
        };
        if wait_until(BEGIN, || companion.has_ended()) {
            let said = std::fs::read_to_string(log).unwrap_or_default();
            return failed(format!(
                "the command '{text}' ended immediately: {}",
                said.trim().replace('\n', " | ")
            ));
        }
        Ok(companion)
    }

    /// Stops it, as Ctrl-C would.
    ///
    /// # Errors
    /// It had ended by itself, so it did not cover all of the load; or it does not end.
    pub fn end(mut self) -> Result<()> {
        if self.has_ended() {
            return failed(format!(
                "the command '{}' ended before the load did",
                self.text
            ));
        }
        self.signal(libc::SIGINT);
        match wait_until(GRACE, || self.has_ended()) {
            true => Ok(()),
            false => failed(format!(
                "the command '{}' did not end within {} s of SIGINT and is killed: its output may \
                 be truncated",
                self.text,
                GRACE.as_secs()
            )),
        }
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// To all of its processes: it leads its own session.
    fn signal(&self, signal: i32) {
        if let Ok(pid) = i32::try_from(self.child.id()) {
            // SAFETY: a system call without pointers.
            unsafe { libc::kill(-pid, signal) };
        }
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        if !self.has_ended() {
            self.signal(libc::SIGKILL);
        }
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_runs_until_it_is_stopped_or_reports_its_failure() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let file = folder.path().join("out");
        let text = format!(
            "sh -c 'while :; do echo x >> {}; sleep 0.01; done'",
            file.display()
        );
        let running = Companion::start(&text, &log).unwrap();
        running.end().unwrap();
        let size = || std::fs::metadata(&file).unwrap().len();
        let ended = size();
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!((ended > 0, size()), (true, ended));
        let error = Companion::start("sh -c 'echo why not >&2; exit 3'", &log).unwrap_err();
        assert!(
            error.to_string().contains("ended immediately: why not"),
            "{error}"
        );
        let short = Companion::start("sleep 0.5", &log).unwrap();
        std::thread::sleep(Duration::from_millis(500));
        let error = short.end().unwrap_err();
        assert!(error.to_string().contains("before the load did"), "{error}");
    }

    /// A script that starts Dyno with `&` makes it ignore Ctrl-C.
    #[test]
    fn a_command_ends_where_its_parent_ignores_ctrl_c() {
        let folder = tempfile::tempdir().unwrap();
        // SAFETY: system calls without pointers, which restore the handler.
        let before = unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
        let running = Companion::start("sleep 60", &folder.path().join("log"));
        unsafe { libc::signal(libc::SIGINT, before) };
        running.unwrap().end().unwrap();
    }
}
