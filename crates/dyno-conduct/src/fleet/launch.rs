//! Starts agents: processes on this host, or through the user's ssh, which also forwards the bus.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use dyno_core::clock::{Clock, Nanos};
use dyno_core::{Secret, redact};
use serde::Serialize;

use super::agent::LaunchConfig;
use super::specs::{AgentLocation, Fleet, Spec};
use super::ssh::{self, Remote};

/// Maximum number of bytes to keep of an agent's standard error.
const KEPT_BYTES: usize = 4 << 10;
/// Timeout for an agent's end after the run.
const LEAVE: Duration = Duration::from_secs(5);
/// Polling interval for its end.
const LOOK: Duration = Duration::from_millis(20);
/// Timeout for reading the last output of an agent that has ended.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Number of times an agent is restarted, with increasing delays.
const RETRIES: u32 = 5;
const RETRY_NS: Nanos = 300_000_000;
/// An agent's arguments.
const AGENT: &str = "agent --stdin-key";

/// An agent process.
pub(super) struct Launched {
    pub name: String,
    /// Its location, if the user's ssh started it.
    remote: Option<Remote>,
    child: Child,
    said: Arc<Mutex<String>>,
    hearing: Option<JoinHandle<()>>,
    ended: Option<ExitStatus>,
    again: Option<Again>,
}

/// A pending restart of one of many agents, whose ssh server was too busy to answer.
struct Again {
    /// Its configuration.
    line: Secret,
    left: u32,
    /// The time of the restart, if one is due.
    at: Option<Nanos>,
}

impl Launched {
    /// Starts an agent and sends it its configuration.
    ///
    /// # Errors
    /// The program does not exist.
    pub(super) fn start(fleet: &Fleet, spec: &Spec, mut config: LaunchConfig) -> Result<Self> {
        let host = match &spec.place {
            AgentLocation::Local => {
                let command = own(&["agent", "--stdin-key"])?;
                return Self::begin(spec.name.as_str(), None, command, &config);
            }
            AgentLocation::Joins => bail!("Dyno does not start agent {}: it joins", spec.name),
            AgentLocation::Ssh(host) => host,
        };
        let mut remote = Remote::new(host, &fleet.program);
        let number = fleet.specs.iter().position(|one| one.name == spec.name);
        config.bus = remote.carry(&config.bus, &config.run, number.unwrap_or_default());
        let command = remote.command(AGENT);
        let mut this = Self::begin(spec.name.as_str(), Some(remote), command, &config)?;
        this.again = Some(Again {
            line: Secret::new(line(&config)?),
            left: RETRIES,
            at: None,
        });
        Ok(this)
    }

    /// Starts a Dyno process, here or through the user's ssh on another host, with a configuration
    /// and a reader of its output.
    ///
    /// # Errors
    /// The program does not exist.
    pub(super) fn observer(
        place: &AgentLocation,
        program: &str,
        config: &impl Serialize,
    ) -> Result<(Self, ChildStdin, ChildStdout)> {
        let (name, remote, mut command) = match place {
            AgentLocation::Ssh(host) => {
                let remote = Remote::new(host, program);
                let command = remote.command("agent --observe");
                (host.as_str(), Some(remote), command)
            }
            AgentLocation::Local | AgentLocation::Joins => {
                ("local", None, own(&["agent", "--observe"])?)
            }
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
        command: Command,
        config: &impl Serialize,
    ) -> Result<Self> {
        let said = Arc::new(Mutex::new(String::new()));
        let (child, hearing) = spawn(command, &line(config)?, &said).with_context(|| {
            let program = if remote.is_some() {
                "ssh"
            } else {
                "this program"
            };
            format!("cannot start {name} by {program}")
        })?;
        Ok(Self {
            name: name.to_owned(),
            remote,
            child,
            said,
            hearing,
            ended: None,
            again: None,
        })
    }

    /// Restarts the agent if its ssh server was too busy. Before an agent has joined, this is the
    /// same as a later start.
    pub(super) fn try_again(&mut self) {
        let ended = self.ended().is_some();
        let (Some(again), Some(remote)) = (&mut self.again, &self.remote) else {
            return;
        };
        let now = Clock.now();
        match again.at {
            Some(at) if now >= at => {
                again.at = None;
                let command = remote.command(AGENT);
                if let Ok((child, hearing)) = spawn(command, again.line.expose(), &self.said) {
                    (self.child, self.hearing, self.ended) = (child, hearing, None);
                }
            }
            Some(_) => {}
            None if ended => {
                let status = self.ended.and_then(|status| status.code());
                let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
                if again.left == 0 || !remote.is_turned_away(status, &said) {
                    return;
                }
                said.clear();
                again.left -= 1;
                // Spread the retries: others were turned away at the same time.
                let pause = (RETRIES - again.left) as u64 * RETRY_NS + now % RETRY_NS;
                again.at = Some(now + pause);
            }
            None => {}
        }
    }

    /// Whether it has ended and will be restarted.
    pub(super) fn comes_again(&self) -> bool {
        self.again.as_ref().is_some_and(|again| again.at.is_some())
    }

    /// Its process on this host.
    pub(super) fn process_id(&self) -> i32 {
        self.child.id() as i32
    }

    /// Its exit status, if it has ended, with its last output.
    pub(super) fn ended(&mut self) -> Option<String> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().ok().flatten();
            let hearing = self.hearing.take_if(|_| self.ended.is_some());
            // The process of a shared ssh connection may keep its standard error open.
            let until = Clock.now() + LAST_WORDS.as_nanos() as u64;
            while hearing.as_ref().is_some_and(|one| !one.is_finished()) && Clock.now() < until {
                std::thread::sleep(LOOK);
            }
        }
        let how = self.ended?;
        let said = self.said();
        Some(match said.is_empty() {
            true if self.remote.is_some() && how.success() => {
                format!("{how}, without a message: does --agent-command name Dyno on that host?")
            }
            true => format!("{how}"),
            false => format!("{how}: {said}"),
        })
    }

    /// Like `ended`, for an agent that is about to end.
    pub(super) fn ended_within(&mut self, time: Duration) -> Option<String> {
        let until = Clock.now() + time.as_nanos() as u64;
        while self.ended().is_none() && Clock.now() < until {
            std::thread::sleep(LOOK);
        }
        self.ended()
    }

    /// Its last output.
    pub(super) fn said(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        redact::text(said.trim()).replace('\n', "; ")
    }

    /// A hint if it could not be started on its host.
    pub(super) fn advice(&self) -> Option<String> {
        let status = self.ended.and_then(|status| status.code());
        self.remote.as_ref()?.advice(status, &self.said())
    }

    /// Ends it immediately.
    pub(super) fn kill(&mut self) {
        // It may have ended just now.
        let _ = self.child.kill();
    }

    /// Ends all agents; kills those that do not end by themselves.
    pub(super) fn end_all(all: &mut [Self], patience: Option<Duration>) {
        all.iter_mut().for_each(|one| one.again = None);
        let until = Clock.now() + patience.unwrap_or(LEAVE).as_nanos() as u64;
        while Clock.now() < until && all.iter_mut().any(|one| one.ended().is_none()) {
            std::thread::sleep(LOOK);
        }
        for one in all.iter_mut() {
            if one.ended().is_none() {
                // It may have ended just now.
                let _ = one.child.kill();
                let _ = one.child.wait();
            }
        }
        ssh::give_back(all.iter_mut().filter_map(|one| one.remote.as_mut()));
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

/// A configuration as one line.
fn line(config: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string(config)? + "\n")
}

/// Starts a process and sends it its configuration.
fn spawn(
    mut command: Command,
    line: &str,
    said: &Arc<Mutex<String>>,
) -> Result<(Child, Option<JoinHandle<()>>)> {
    command
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C goes to the coordinator, which stops the agents.
        .process_group(0);
    // Its configuration comes by standard input; others could read a variable.
    for (name, value) in std::env::vars_os() {
        let value = value.to_string_lossy();
        if redact::text(&value) != value {
            command.env_remove(name);
        }
    }
    let mut child = command.spawn()?;
    let hearing = child.stderr.take().and_then(|errors| {
        let said = Arc::clone(said);
        let thread = std::thread::Builder::new().name("agent-errors".to_owned());
        // Without it the agent's last output is unknown.
        thread.spawn(move || hear(errors, &said)).ok()
    });
    let input = child.stdin.as_mut();
    let input = input.ok_or_else(|| anyhow!("it has no standard input"))?;
    // An agent that has already ended reports why itself.
    let _ = input
        .write_all(line.as_bytes())
        .and_then(|()| input.flush());
    Ok((child, hearing))
}

/// Stores the end of an agent's output.
fn hear(errors: ChildStderr, said: &Mutex<String>) {
    for line in BufReader::new(errors).split(b'\n') {
        let Ok(line) = line else {
            return;
        };
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        // ssh ends its own lines with a carriage return, too.
        said.push_str(String::from_utf8_lossy(&line).trim_end_matches('\r'));
        said.push('\n');
        let from = said.ceil_char_boundary(said.len().saturating_sub(KEPT_BYTES));
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
