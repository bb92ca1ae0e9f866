//! Starts agents: processes of this host, or the user's own ssh, through which the bus is reached.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use dyno_core::{Clock, redact};
use serde::Serialize;

use super::agent::LaunchConfig;
use super::specs::{Fleet, Place, Spec};

/// So much of what an agent writes to standard error is kept.
const KEPT_BYTES: usize = 4 << 10;
/// So long may an agent take to end by itself once the run is over.
const LEAVE: Duration = Duration::from_secs(5);
/// Whether it has is looked at so often.
const LOOK: Duration = Duration::from_millis(20);
/// Ports at which agents reach the bus on their hosts: those that no service is given.
const PORTS: std::ops::Range<u32> = 49_152..65_535;

/// An agent that was started.
pub struct Launched {
    pub name: String,
    child: Child,
    said: Arc<Mutex<String>>,
    ended: Option<ExitStatus>,
}

impl Launched {
    /// Starts an agent, and tells it what it has to know.
    ///
    /// # Errors
    /// There is no such program.
    pub fn start(fleet: &Fleet, spec: &Spec, mut config: LaunchConfig) -> Result<Self> {
        let command = match &spec.place {
            Place::Local => own(&["agent", "--stdin-key"])?,
            Place::Joins => bail!("agent {} is started by somebody else", spec.name),
            Place::Ssh(host) => {
                let (command, bus) = ssh_to_bus(fleet, host, &config.bus);
                config.bus = bus;
                command
            }
        };
        Self::begin(spec.name.as_str(), command, &config)
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
        let (name, mut command) = match place {
            Place::Ssh(host) => {
                let mut command = ssh();
                let there = format!("{program} agent --observe");
                command.args(["--", host, &there]);
                (host.as_str(), command)
            }
            Place::Local | Place::Joins => ("local", own(&["agent", "--observe"])?),
        };
        command.stdout(Stdio::piped());
        let mut this = Self::begin(name, command, config)?;
        let pipes = (this.child.stdin.take(), this.child.stdout.take());
        match pipes {
            (Some(input), Some(output)) => Ok((this, input, output)),
            _ => bail!("the observer {name} has no standard input and output"),
        }
    }

    fn begin(name: &str, mut command: Command, config: &impl Serialize) -> Result<Self> {
        command
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is the coordinator's, who tells the agents.
            .process_group(0);
        // What it has to know it is told; a variable is there for more than its process.
        for (name, value) in std::env::vars() {
            if redact::text(&value) != value {
                command.env_remove(name);
            }
        }
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start {name} with {program}"))?;
        let said = Arc::new(Mutex::new(String::new()));
        if let Some(errors) = child.stderr.take() {
            let said = Arc::clone(&said);
            // Without it the agent's last words are not known.
            let _ = std::thread::Builder::new()
                .name("agent-errors".to_owned())
                .spawn(move || hear(errors, &said));
        }
        let line = serde_json::to_string(config)? + "\n";
        let input = child.stdin.as_mut();
        let input = input.ok_or_else(|| anyhow!("the agent has no standard input"))?;
        // One that has ended already says why itself.
        let _ = input
            .write_all(line.as_bytes())
            .and_then(|()| input.flush());
        Ok(Self {
            name: name.to_owned(),
            child,
            said,
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
        }
        let how = self.ended?;
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let said = redact::text(said.trim());
        Some(match said.is_empty() {
            true => format!("{how}"),
            false => format!("{how}: {}", said.replace('\n', "; ")),
        })
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
        for one in all {
            if one.ended().is_none() {
                // It may have ended just now.
                let _ = one.child.kill();
                let _ = one.child.wait();
            }
        }
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

/// The user's own ssh.
pub fn ssh() -> Command {
    let mut command = Command::new("ssh");
    command
        .args(["-T", "-o", "BatchMode=yes"])
        .args(["-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"])
        .stdout(Stdio::null());
    command
}

/// The same with a way back to the bus; and where the bus is on the other host.
fn ssh_to_bus(fleet: &Fleet, host: &str, bus: &str) -> (Command, String) {
    // Another run may be under way there.
    let draw = Clock.now() as u32 ^ std::process::id();
    let port = PORTS.start + draw % (PORTS.end - PORTS.start);
    let there = format!("127.0.0.1:{port}");
    let mut command = ssh();
    command
        .args(["-o", "ExitOnForwardFailure=yes", "-R"])
        .arg(format!("{there}:{bus}"))
        .arg("--")
        .arg(host)
        .arg(format!("{} agent --stdin-key", fleet.program));
    (command, there)
}
