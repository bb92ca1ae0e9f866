//! The user's ssh: its command lines, port forwarding to the bus, and hints when it fails.

use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use dyno_core::Clock;
use dyno_core::text::shell_word;
use dyno_fleet::names::RunId;

/// Ports for agents to reach the bus on their hosts, above Linux's range for outgoing connections.
const PORTS: std::ops::Range<u32> = 61_000..65_535;
/// ssh itself would wait for TCP's timeout, which is minutes.
const CONNECT_S: u32 = 10;
/// Timeout: a shared connection releases a port at once, or does not answer.
const GIVE_BACK: Duration = Duration::from_secs(2);
/// A host is given up after this long without data.
const QUIET: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(10);
/// Maximum number of concurrent releases.
const AT_ONCE: usize = 32;
/// Exit status of ssh's own failures.
const FAILED: i32 = 255;
/// Shells' exit statuses when a command cannot start.
const NO_COMMAND: [i32; 2] = [126, 127];

/// A Dyno program on another host.
#[derive(Clone, Debug)]
pub(super) struct Remote {
    host: String,
    /// The name of Dyno's program there.
    program: String,
    /// The value of `-R`, if its ssh forwards the bus.
    forward: Option<String>,
}

impl Remote {
    /// Dyno on a host, by its name in ssh.
    pub(super) fn new(host: &str, program: &str) -> Self {
        Self {
            host: host.to_owned(),
            program: program.to_owned(),
            forward: None,
        }
    }

    /// Makes its ssh forward the bus; returns the bus's address on the other host. Agents of a run
    /// have different numbers, and so different ports.
    pub(super) fn carry(&mut self, bus: &str, run: &RunId, number: usize) -> String {
        // Other runs may use ports there.
        let draw = run.as_str().bytes().fold(std::process::id(), |draw, byte| {
            draw.wrapping_mul(31).wrapping_add(byte.into())
        });
        let port = PORTS.start + draw.wrapping_add(number as u32) % (PORTS.end - PORTS.start);
        let there = format!("127.0.0.1:{port}");
        self.forward = Some(format!("{there}:{bus}"));
        there
    }

    /// The ssh command that starts it with these arguments.
    pub(super) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new("ssh");
        command
            .args(["-T", "-o", "BatchMode=yes"])
            .args(["-o", &format!("ConnectTimeout={CONNECT_S}")])
            .args(["-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"])
            .stdout(Stdio::null());
        if let Some(forward) = &self.forward {
            command.args(["-o", "ExitOnForwardFailure=yes", "-R", forward]);
        }
        command
            .args(["--", &self.host])
            .arg(format!("{} {arguments}", self.program));
        command
    }

    /// A hint for this failure of its ssh, if one is known.
    pub(super) fn advice(&self, status: Option<i32>, said: &str) -> Option<String> {
        let Self { host, program, .. } = self;
        match status {
            Some(FAILED) if said.contains("forwarding failed") => Some(format!(
                "the sshd of {host} must permit `ssh -R`: AllowTcpForwarding yes, and PermitListen \
                 any"
            )),
            Some(FAILED) if self.is_turned_away(status, said) => Some(format!(
                "the sshd of {host}, or of a host on the way, may take too few connections at \
                 once: MaxStartups"
            )),
            Some(FAILED) => Some(format!(
                "try `ssh -o BatchMode=yes {} {} --version`, which must work",
                shell_word(host),
                shell_word(program)
            )),
            Some(code) if NO_COMMAND.contains(&code) => Some(format!(
                "install Dyno on {host} so that its shell finds {program}, or name its command \
                 with --agent-command"
            )),
            _ => None,
        }
    }

    /// Whether the server gave no answer, as when more connections begin at once than it accepts
    /// (MaxStartups).
    pub(super) fn is_turned_away(&self, status: Option<i32>, said: &str) -> bool {
        status == Some(FAILED) && said.contains("kex_exchange_identification")
    }

    fn giving_back(&mut self) -> Option<Child> {
        let forward = self.forward.take()?;
        let mut command = Command::new("ssh");
        command
            .args(["-O", "cancel", "-R", &forward, "--", &self.host])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // Without it a port remains in use until the shared connection ends.
        command.spawn().ok()
    }
}

/// Releases ports: a connection that others share (ControlMaster) outlives the ssh that requested
/// one. Without such a connection, ssh fails at once.
pub(super) fn give_back<'a>(all: impl Iterator<Item = &'a mut Remote>) {
    let mut all = all.peekable();
    while all.peek().is_some() {
        let some = all.by_ref().take(AT_ONCE);
        let mut some: Vec<Child> = some.filter_map(Remote::giving_back).collect();
        let until = Clock.now() + GIVE_BACK.as_nanos() as u64;
        let goes_on = |one: &mut Child| matches!(one.try_wait(), Ok(None));
        while some.iter_mut().any(goes_on) && Clock.now() < until {
            std::thread::sleep(LOOK);
        }
        for one in &mut some {
            // Most have already ended and been reaped.
            let _ = one.kill();
            let _ = one.wait();
        }
    }
}

/// Waits for a command that writes a file, as long as data arrive.
///
/// # Errors
/// It cannot be started, or data stop arriving.
pub(super) fn brought(command: &mut Command, path: &Path) -> Result<ExitStatus> {
    let child = command.spawn();
    let mut child = child.context("cannot start ssh (`apt install openssh-client`)")?;
    let (mut size, mut grown) = (0, Clock.now());
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        let now = std::fs::metadata(path)?.len();
        if now > size {
            (size, grown) = (now, Clock.now());
        }
        if Clock.now() - grown > QUIET.as_nanos() as u64 {
            let _ = child.kill();
            child.wait()?;
            bail!("nothing arrived from its host for {} s", QUIET.as_secs());
        }
        std::thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_have_their_own_ports_outside_the_clients_range() {
        let run = RunId::new("r1").unwrap();
        let ports: Vec<u32> = (0..100)
            .map(|number| {
                let there = Remote::new("gen1", "dyno").carry("127.0.0.1:4222", &run, number);
                there.rsplit_once(':').unwrap().1.parse().unwrap()
            })
            .collect();
        let distinct: std::collections::BTreeSet<&u32> = ports.iter().collect();
        assert_eq!(distinct.len(), ports.len());
        assert!(ports.iter().all(|port| PORTS.contains(port)));
    }

    #[test]
    fn the_advice_depends_on_how_ssh_ended() {
        let remote = Remote::new("me@gen1", "/opt/dyno");
        let advice = |status, said| remote.advice(status, said).unwrap_or_default();
        assert_eq!(
            advice(Some(255), "Permission denied (publickey)."),
            "try `ssh -o BatchMode=yes me@gen1 /opt/dyno --version`, which must work"
        );
        let refused = "Error: remote port forwarding failed for listen port 61234";
        assert!(advice(Some(255), refused).contains("sshd of me@gen1"));
        assert!(advice(Some(127), "sh: 1: dyno: not found").contains("--agent-command"));
        let busy = "kex_exchange_identification: Connection closed by remote host";
        assert!(remote.is_turned_away(Some(255), busy));
        assert!(advice(Some(255), busy).contains("MaxStartups"));
        // Its own output explains these, or a signal does.
        assert_eq!(advice(Some(1), "error"), "");
        assert_eq!(advice(None, ""), "");
    }
}
