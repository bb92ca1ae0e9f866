//! A NATS server for one run on the loopback interface. Each agent has a key that only lets it
//! write its own messages and read those to it. The server ends with its parent process.

mod files;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use dyno_core::clock::wall_time;
use dyno_core::{Clock, Secret};
use nkeys::KeyPair;
use tempfile::TempDir;

use crate::message::MESSAGE_BYTES_MAX;
use crate::names::{AgentName, Channel, RunId, Subject};

pub use files::ServerFiles;

const LISTEN_LIMIT: Duration = Duration::from_secs(20);
const END_LIMIT: Duration = Duration::from_secs(5);
/// Polling interval while it starts.
const LOOK: Duration = Duration::from_millis(10);
const STORE_BYTES_MAX: u64 = 4 << 30;
/// The coordinator's user name, next to the agents' names.
pub const COORDINATOR: &str = "coordinator";
/// The program, and the name of its log.
const PROGRAM: &str = "nats-server";
const LOG: &str = "server.log";

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The program could not be started.
    #[error(
        "cannot start {program}: {why}; install it (`apt install nats-server`), or name it with \
         --nats-server PATH"
    )]
    Program {
        /// The program.
        program: String,
        /// The reason.
        why: io::Error,
    },
    /// Its folder could not be created or read.
    #[error("{what} of the NATS server: {why}")]
    Folder {
        /// The action that failed.
        what: &'static str,
        /// The system's error.
        why: io::Error,
    },
    /// Keys could not be created.
    #[error("a key for {whom}: {why}")]
    Key {
        /// The owner.
        whom: String,
        /// The reason.
        why: String,
    },
    /// It does not listen.
    #[error(
        "{program} does not listen{}{}; is it a NATS server?",
        ended.as_ref().map_or_else(String::new, |how| format!(" and ended ({how})")),
        if log.is_empty() { String::new() } else { format!("; it said: {log}") }
    )]
    Silent {
        /// The program.
        program: String,
        /// How it ended, if it did.
        ended: Option<String>,
        /// The end of its log.
        log: String,
    },
}

/// The keys of the coordinator and the agents.
#[derive(Debug)]
struct Keys {
    coordinator: (String, Secret),
    agents: BTreeMap<AgentName, (String, Secret)>,
}

/// A server for one run.
#[derive(Debug)]
pub struct Server {
    program: PathBuf,
    run: RunId,
    /// Configuration, log and store: only this user can read them.
    folder: TempDir,
    keys: Keys,
    port: u16,
    process: Option<Process>,
}

/// A process, and the thread that waits for it. The kernel ends the process when the thread that
/// started it ends, so the thread lives as long as the process.
#[derive(Debug)]
struct Process {
    id: libc::pid_t,
    ended: Receiver<String>,
    thread: JoinHandle<()>,
}

impl Server {
    /// Starts a server for these agents; without `program` it uses the one in `PATH`.
    ///
    /// # Errors
    /// The program does not exist, or it does not listen.
    pub fn start(
        program: Option<&Path>,
        run: &RunId,
        agents: &[AgentName],
    ) -> Result<Self, ServerError> {
        let ns = wall_time().as_nanos();
        let name = format!("dyno-{}-{ns:x}", std::process::id());
        let mut builder = tempfile::Builder::new();
        builder
            // Named like all folders of runs, so that those of killed runs are removed.
            .prefix(&name)
            .rand_bytes(0)
            .permissions(Permissions::from_mode(0o700));
        let folder = builder.tempdir().map_err(|why| ServerError::Folder {
            what: "the folder",
            why,
        })?;
        let agent_keys = agents
            .iter()
            .map(|name| Ok((name.clone(), key(name.as_str())?)));
        let keys = Keys {
            coordinator: key("the coordinator")?,
            agents: agent_keys.collect::<Result<_, _>>()?,
        };
        let mut server = Self {
            program: program.unwrap_or(Path::new(PROGRAM)).to_owned(),
            run: run.clone(),
            folder,
            keys,
            port: 0,
            process: None,
        };
        server.restart()?;
        Ok(server)
    }

    /// Restarts it after it ended, on the same port and with its stored data.
    ///
    /// # Errors
    /// It does not listen.
    pub fn restart(&mut self) -> Result<(), ServerError> {
        self.stop();
        self.write_config()?;
        let ports = self.folder.path().join("ports");
        let _ = fs::remove_dir_all(&ports);
        fs::create_dir(&ports).map_err(|why| ServerError::Folder {
            what: "the folder for ports",
            why,
        })?;
        let mut process = self.spawn()?;
        let limit = Clock.now() + LISTEN_LIMIT.as_nanos() as u64;
        loop {
            let ended = process.wait(LOOK);
            if let Some(port) = listening(&ports) {
                self.port = port;
                self.process = Some(process);
                return Ok(());
            }
            if ended.is_some() || Clock.now() > limit {
                process.end(libc::SIGKILL);
                return Err(ServerError::Silent {
                    program: self.program.display().to_string(),
                    ended,
                    log: self.log(),
                });
            }
        }
    }

    /// Restarts it if it has ended by itself, with its stored data; returns how it ended.
    ///
    /// # Errors
    /// It no longer listens.
    pub fn revive(&mut self) -> Result<Option<String>, ServerError> {
        let ended = self.process.as_mut();
        let Some(how) = ended.and_then(|process| process.wait(Duration::ZERO)) else {
            return Ok(None);
        };
        self.process = None;
        self.restart()?;
        Ok(Some(how))
    }

    /// The address it listens at.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    /// The coordinator's key, which may read and write all subjects.
    pub fn coordinator_key(&self) -> &Secret {
        &self.keys.coordinator.1
    }

    /// An agent's key.
    pub fn agent_key(&self, name: &AgentName) -> Option<&Secret> {
        self.keys.agents.get(name).map(|(_, secret)| secret)
    }

    /// The folder with its configuration, log and store.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The process id, while it runs.
    pub fn process_id(&self) -> Option<i32> {
        self.process.as_ref().map(|process| process.id)
    }

    /// Kills it like `kill -9`.
    pub fn kill(&mut self) {
        if let Some(process) = self.process.take() {
            process.end(libc::SIGKILL);
        }
    }

    /// Stops it.
    pub fn stop(&mut self) {
        if let Some(process) = self.process.take() {
            process.end(libc::SIGTERM);
        }
    }

    fn config_path(&self) -> PathBuf {
        self.folder.path().join("server.conf")
    }

    fn write_config(&self) -> Result<(), ServerError> {
        let text = config(self.folder.path(), self.port, &self.run, &self.keys);
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        let written = options
            .open(self.config_path())
            .and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|why| ServerError::Folder {
            what: "the configuration",
            why,
        })
    }

    fn spawn(&self) -> Result<Process, ServerError> {
        let mut command = Command::new(&self.program);
        command
            .arg("-c")
            .arg(self.config_path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // It needs no environment, which may contain passwords.
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            // Protect it from Ctrl-C: it ends with the process that started it.
            .process_group(0);
        // SAFETY: between fork and exec only two system calls run, and they allocate no memory.
        unsafe { command.pre_exec(end_with_parent) };
        let (started, starts) = channel();
        let (ends, ended) = channel();
        let body = move || {
            let child = command.spawn();
            let child: io::Result<Child> = child.inspect(|child| {
                let _ = started.send(Ok(child.id() as libc::pid_t));
            });
            match child {
                // The receiver may be gone.
                Err(error) => drop(started.send(Err(error))),
                Ok(mut child) => {
                    let how = child.wait();
                    let how = how.map_or_else(|error| error.to_string(), |how| how.to_string());
                    let _ = ends.send(how);
                }
            }
        };
        let failed = |why| ServerError::Program {
            program: self.program.display().to_string(),
            why,
        };
        let thread = std::thread::Builder::new().name("dyno-bus".to_owned());
        let thread = thread.spawn(body).map_err(failed)?;
        let id = starts
            .recv()
            .map_err(|error| failed(io::Error::other(error)))?;
        Ok(Process {
            id: id.map_err(failed)?,
            ended,
            thread,
        })
    }

    /// The last lines of its log, which contains no secrets.
    fn log(&self) -> String {
        let text = fs::read_to_string(self.folder.path().join(LOG)).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(5)..].join("\n")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Process {
    /// How it ended, if it ends within this time.
    fn wait(&mut self, time: Duration) -> Option<String> {
        match self.ended.recv_timeout(time) {
            Ok(how) => Some(how),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some("before".to_owned()),
        }
    }

    /// Asks it to end, and kills it if it does not.
    fn end(mut self, signal: i32) {
        let mut signal = signal;
        while self.wait(Duration::ZERO).is_none() {
            // SAFETY: a signal to a child that has not been waited for, so its process id is still
            // valid.
            unsafe { libc::kill(self.id, signal) };
            if self.wait(END_LIMIT).is_some() {
                break;
            }
            signal = libc::SIGKILL;
        }
        let _ = self.thread.join();
    }
}

/// Makes the kernel end this process with its parent.
fn end_with_parent() -> io::Result<()> {
    // SAFETY: a system call without pointers.
    match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The port from the file that the server writes when it listens.
fn listening(folder: &Path) -> Option<u16> {
    let mut files = fs::read_dir(folder).ok()?;
    let file = files.find_map(|file| file.ok().filter(|f| f.path().extension().is_some()))?;
    let text = fs::read_to_string(file.path()).ok()?;
    let ports: serde_json::Value = serde_json::from_str(&text).ok()?;
    let url = ports.get("nats")?.get(0)?.as_str()?;
    url.rsplit(':').next()?.trim_end_matches('/').parse().ok()
}

fn key(whom: &str) -> Result<(String, Secret), ServerError> {
    let pair = KeyPair::new_user();
    let seed = pair.seed().map_err(|error| ServerError::Key {
        whom: whom.to_owned(),
        why: error.to_string(),
    })?;
    Ok((pair.public_key(), Secret::new(seed)))
}

/// The subject prefix for replies to a client. Each client has a different one, so that none can
/// read another's replies.
pub(crate) fn inbox(whom: &str) -> String {
    format!("_INBOX_{whom}")
}

/// The server's configuration, which contains only public keys.
fn config(folder: &Path, port: u16, run: &RunId, keys: &Keys) -> String {
    let folder = folder.display();
    let mut users = format!("    {{ nkey: {} }}\n", keys.coordinator.0);
    for (name, (public, _)) in &keys.agents {
        let subjects = |upward: bool| {
            let own = Channel::ALL.into_iter().filter(|c| c.is_upward() == upward);
            let own = own.map(|channel| Subject {
                run: run.clone(),
                channel,
                agent: name.clone(),
            });
            own.map(|subject| format!("\"{subject}\""))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let inbox = inbox(name.as_str());
        let _ = writeln!(
            users,
            "    {{ nkey: {public}, permissions: {{ publish: [{}], \
             subscribe: [{}, \"{inbox}.>\"] }} }}",
            subjects(true),
            subjects(false)
        );
    }
    // With -1 the server picks a free port.
    let port = if port == 0 { -1 } else { i32::from(port) };
    format!(
        "host: \"127.0.0.1\"\n\
         port: {port}\n\
         max_payload: {payload}\n\
         log_file: \"{folder}/{LOG}\"\n\
         ports_file_dir: \"{folder}/ports\"\n\
         jetstream {{\n    store_dir: \"{folder}/store\"\n    \
         max_file_store: {STORE_BYTES_MAX}\n}}\n\
         authorization {{\n  users = [\n{users}  ]\n}}\n",
        payload = MESSAGE_BYTES_MAX + 4096,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_may_write_its_subjects_and_read_its_orders() {
        let run = RunId::new("r1").unwrap();
        let name = AgentName::new("gen1").unwrap();
        let keys = Keys {
            coordinator: key("c").unwrap(),
            agents: BTreeMap::from([(name.clone(), key("a").unwrap())]),
        };
        let text = config(Path::new("/f"), 0, &run, &keys);
        let own = text
            .lines()
            .find(|line| line.contains(&keys.agents[&name].0))
            .unwrap();
        assert!(own.contains(
            "publish: [\"dyno.r1.hello.gen1\", \"dyno.r1.hb.gen1\", \"dyno.r1.echo.gen1\", \
             \"dyno.r1.iv.gen1\", \"dyno.r1.end.gen1\"]"
        ));
        assert!(own.contains(
            "subscribe: [\"dyno.r1.ctl.gen1\", \"dyno.r1.clk.gen1\", \"_INBOX_gen1.>\"]"
        ));
        // It does not contain the secret halves of the keys.
        for secret in [&keys.coordinator.1, &keys.agents[&name].1] {
            assert!(!text.contains(secret.expose()));
        }
        assert!(text.contains("port: -1\n"));
    }

    #[test]
    fn reports_a_missing_program_with_advice() {
        let run = RunId::new("r1").unwrap();
        let error = Server::start(Some(Path::new("/nowhere/nats-server")), &run, &[]).unwrap_err();
        assert!(
            error.to_string().contains("apt install nats-server"),
            "{error}"
        );
    }

    #[test]
    fn reports_how_a_program_that_does_not_listen_ended() {
        let run = RunId::new("r1").unwrap();
        let error = Server::start(Some(Path::new("/bin/false")), &run, &[]).unwrap_err();
        assert!(error.to_string().contains("exit status: 1"), "{error}");
    }
}
