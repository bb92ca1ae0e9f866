//! Starts agents: processes of this host, or the user's own ssh, through which the bus is reached.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use dyno_core::{Clock, redact};
use serde::Serialize;

use super::agent::LaunchConfig;
use super::specs::{Fleet, Place, Spec};
use super::ssh::{GivingBack, Remote};

/// So much of what an agent writes to standard error is kept.
const KEPT_BYTES: usize = 4 << 10;
/// So long may an agent take to end by itself once the run is over.
const LEAVE: Duration = Duration::from_secs(5);
/// The last words of one that has ended may take so long to be read.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Whether it has is looked at so often.
const LOOK: Duration = Duration::from_millis(20);

/// An agent that was started.
pub struct Launched {
    pub name: String,
    /// Where it is, if the user's ssh has started it.
    remote: Option<Remote>,
    child: Child,
    said: Arc<Mutex<String>>,
    hearing: Option<JoinHandle<()>>,
    ended: Option<ExitStatus>,
}

impl Launched {
    /// Starts an agent, and tells it what it has to know.
    ///
    /// # Errors
    /// There is no such program.
    pub fn start(fleet: &Fleet, spec: &Spec, mut config: LaunchConfig) -> Result<Self> {
        let mut remote = None;
        let command = match &spec.place {
            Place::Local => own(&["agent", "--stdin-key"])?,
            Place::Joins => bail!("agent {} is started by somebody else", spec.name),
            Place::Ssh(host) => {
                let at = remote.insert(Remote::new(host, &fleet.program));
                let number = fleet.specs.iter().position(|one| one.name == spec.name);
                config.bus = at.carry(&config.bus, &config.run, number.unwrap_or_default());
                at.command("agent --stdin-key")
            }
        };
        Self::begin(spec.name.as_str(), remote, command, &config)
    }

    /// Starts a process of Dyno's here, or by the user's own ssh on another host, which is told an
    /// order and is heard.
    ///
    /// # Errors
    /// There is no such program.
    pub fn observer(
        place: &Place,
        program: &str,
        config: &impl Serialize,
    ) -> Result<(Self, ChildStdin, ChildStdout)> {
        let (name, remote, mut command) = match place {
            Place::Ssh(host) => {
                let remote = Remote::new(host, program);
                let command = remote.command("agent --observe");
                (host.as_str(), Some(remote), command)
            }
            Place::Local | Place::Joins => ("local", None, own(&["agent", "--observe"])?),
        };
        command.stdout(Stdio::piped());
        let mut this = Self::begin(name, remote, command, config)?;
        let pipes = (this.child.stdin.take(), this.child.stdout.take());
        match pipes {
            (Some(input), Some(output)) => Ok((this, input, output)),
            _ => bail!("the observer {name} has no standard input and output"),
        }
    }

    fn begin(
        name: &str,
        remote: Option<Remote>,
        mut command: Command,
        config: &impl Serialize,
    ) -> Result<Self> {
        command
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is the coordinator's, who tells the agents.
            .process_group(0);
        // What it has to know it is told; a variable is there for more than its process.
        for (name, value) in std::env::vars_os() {
            let value = value.to_string_lossy();
            if redact::text(&value) != value {
                command.env_remove(name);
            }
        }
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = command.spawn().with_context(|| match remote {
            None => format!("cannot start {name} with {program}"),
            Some(_) => format!("cannot start {name} with {program} (`apt install openssh-client`)"),
        })?;
        let said = Arc::new(Mutex::new(String::new()));
        let hearing = child.stderr.take().and_then(|errors| {
            let said = Arc::clone(&said);
            let thread = std::thread::Builder::new().name("agent-errors".to_owned());
            // Without it the agent's last words are not known.
            thread.spawn(move || hear(errors, &said)).ok()
        });
        let line = serde_json::to_string(config)? + "\n";
        let input = child.stdin.as_mut();
        let input = input.ok_or_else(|| anyhow!("the agent has no standard input"))?;
        // One that has ended already says why itself.
        let _ = input
            .write_all(line.as_bytes())
            .and_then(|()| input.flush());
        Ok(Self {
            name: name.to_owned(),
            remote,
            child,
            said,
            hearing,
            ended: None,
        })
    }

    /// Its process on this host.
    pub fn process_id(&self) -> i32 {
        self.child.id() as i32
    }

    /// How it ended, if it has, with the last that it said.
    pub fn ended(&mut self) -> Option<String> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().ok().flatten();
            let hearing = self.hearing.take_if(|_| self.ended.is_some());
            // Another process may hold its standard error: that of a shared connection.
            let until = Clock.now() + LAST_WORDS.as_nanos() as u64;
            while hearing.as_ref().is_some_and(|one| !one.is_finished()) && Clock.now() < until {
                std::thread::sleep(LOOK);
            }
        }
        let how = self.ended?;
        let said = self.said();
        Some(match said.is_empty() {
            true => format!("{how}"),
            false => format!("{how}: {said}"),
        })
    }

    /// The same of one that is about to end.
    pub fn ended_within(&mut self, time: Duration) -> Option<String> {
        let until = Clock.now() + time.as_nanos() as u64;
        while self.ended().is_none() && Clock.now() < until {
            std::thread::sleep(LOOK);
        }
        self.ended()
    }

    /// The last that it said.
    pub fn said(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        redact::text(said.trim()).replace('\n', "; ")
    }

    /// What to try where it could not be started on its host, if that is known.
    pub fn advice(&self) -> Option<String> {
        let status = self.ended.and_then(|status| status.code());
        self.remote.as_ref()?.advice(status, &self.said())
    }

    /// Ends it at once.
    pub fn kill(&mut self) {
        // It may have ended just now.
        let _ = self.child.kill();
    }

    /// Ends all of them: those that do not end by themselves are killed.
    pub fn end_all(all: &mut [Self], patience: Option<Duration>) {
        let until = Clock.now() + patience.unwrap_or(LEAVE).as_nanos() as u64;
        while Clock.now() < until && all.iter_mut().any(|one| one.ended().is_none()) {
            std::thread::sleep(LOOK);
        }
        let mut given_back = Vec::new();
        for one in all {
            if one.ended().is_none() {
                // It may have ended just now.
                let _ = one.child.kill();
                let _ = one.child.wait();
            }
            given_back.extend(one.remote.as_mut().and_then(Remote::give_back));
        }
        GivingBack::finish(given_back);
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        if self.ended().is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Keeps the end of what an agent says.
fn hear(errors: ChildStderr, said: &Mutex<String>) {
    for line in BufReader::new(errors).split(b'\n') {
        let Ok(line) = line else {
            return;
        };
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        said.push_str(&String::from_utf8_lossy(&line));
        said.push('\n');
        let mut from = said.len().saturating_sub(KEPT_BYTES);
        while !said.is_char_boundary(from) {
            from += 1;
        }
        said.drain(..from);
    }
}

/// This program.
fn own(arguments: &[&str]) -> Result<Command> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::null());
    Ok(command)
}
