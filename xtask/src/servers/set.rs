//! Servers of several kinds, one of each, for a test run or for a developer.
//!
//! A set has its own folder below the temporary directory. The name of the folder contains its
//! owner, so that the next run removes what an aborted run left behind, but no set that is in use.

use std::env;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};

use super::process::{self, ProcessId};
use super::tls::Certificates;
use super::{Kind, Options, Server, initialize, programs};

const PREFIX: &str = "dyno-servers-";
/// Stands for the owner of a set that stays until it is taken down.
const KEPT: &str = "kept";

/// Running servers, one of each wanted kind. Dropping it ends them and removes their files.
pub struct Set {
    dir: PathBuf,
    servers: Vec<Server>,
    authority: PathBuf,
}

impl Set {
    /// Starts one server of each of these kinds. They end with this thread.
    ///
    /// # Errors
    /// One of them cannot be started. The others are stopped again.
    pub fn up(kinds: &[Kind]) -> Result<Self> {
        Self::start(kinds, true)
    }

    /// Starts servers that do not end with this thread, so that [`Self::keep`] can leave them
    /// running.
    ///
    /// # Errors
    /// One of them cannot be started. The others are stopped again.
    pub fn up_to_stay(kinds: &[Kind]) -> Result<Self> {
        Self::start(kinds, false)
    }

    /// The environment variables that tell the tests where the servers are.
    ///
    /// # Errors
    /// A program has disappeared.
    pub fn environment(&self) -> Result<Vec<(String, String)>> {
        let mut variables = Vec::new();
        let mut add = |name: String, value: String| variables.push((name, value));
        let kinds: Vec<Kind> = self.servers.iter().map(Server::kind).collect();
        let tags: Vec<&str> = kinds.iter().map(|kind| kind.tag()).collect();
        add(programs::KINDS.to_owned(), tags.join(","));
        for server in &self.servers {
            let tag = server.kind().tag().to_uppercase();
            let tcp = format!("127.0.0.1:{}", server.port());
            let program = programs::locate(server.kind())?;
            add(format!("DYNO_TEST_{tag}_SOCKET"), text(&server.socket()));
            add(format!("DYNO_TEST_{tag}_TCP"), tcp);
            add(programs::variable(server.kind()).to_owned(), text(&program));
        }
        let sysbench = programs::find("sysbench").context("sysbench is not installed")?;
        add("DYNO_TEST_SYSBENCH".to_owned(), text(&sysbench));
        let nats = programs::find("nats-server").context("nats-server is not installed")?;
        add("DYNO_TEST_NATS_SERVER".to_owned(), text(&nats));
        let sshd = programs::find("sshd").context("openssh-server is not installed")?;
        add("DYNO_TEST_SSHD".to_owned(), text(&sshd));
        // It comes with MySQL.
        if kinds.contains(&Kind::Mysql)
            && let Some(programs) = programs::newest_postgres_bin()
        {
            add(programs::NEWEST_POSTGRES.to_owned(), text(&programs));
        }
        add(programs::TEMPLATES.to_owned(), text(&templates(&self.dir)));
        add("DYNO_TEST_TLS_CA".to_owned(), text(&self.authority));
        Ok(variables)
    }

    /// The servers, for fault injection; in the order in which the kinds were named.
    pub fn servers_mut(&mut self) -> &mut [Server] {
        &mut self.servers
    }

    /// The PEM file of the certificate authority that signed the servers' certificates.
    pub fn authority(&self) -> &Path {
        &self.authority
    }

    /// Leaves the servers of [`Self::up_to_stay`] running until [`down`].
    ///
    /// # Errors
    /// The folder of the set cannot be written, or a server has ended.
    pub fn keep(mut self) -> Result<()> {
        let environment = self.environment()?;
        let lines = environment
            .iter()
            .map(|(k, v)| format!("export {k}={}\n", quoted(v)));
        write(&self.dir.join("env"), &lines.collect::<String>())?;
        write(&self.dir.join("owner"), KEPT)?;
        for server in self.servers.drain(..) {
            server.leave()?;
        }
        self.dir = PathBuf::new();
        Ok(())
    }

    fn start(kinds: &[Kind], die_with_thread: bool) -> Result<Self> {
        let dir = new_folder()?;
        let mut set = Self {
            dir: dir.clone(),
            servers: Vec::new(),
            authority: PathBuf::new(),
        };
        let certificates = Certificates::make(&dir)?;
        set.authority = certificates.authority();
        let folder = |kind: Kind| dir.join(kind.tag());
        let templates = templates(&dir);
        fs::create_dir(&templates)
            .with_context(|| format!("cannot create {}", templates.display()))?;
        programs::give_to_servers(&templates)?;
        // Creating the data directories takes longest, and can run in parallel.
        let ready: Vec<_> = thread::scope(|scope| {
            let start = |&kind: &Kind| {
                let (folder, template) = (folder(kind), templates.join(kind.tag()));
                scope.spawn(move || initialize(kind, &folder)?.save(&template))
            };
            let starts: Vec<_> = kinds.iter().map(start).collect();
            starts.into_iter().map(|start| start.join()).collect()
        });
        for (&kind, ready) in kinds.iter().zip(ready) {
            let ready = ready.map_err(|_| anyhow!("starting {kind} panicked"))??;
            let options = Options {
                arguments: certificates.install(kind, &folder(kind))?,
                dies_with_thread: die_with_thread,
                ..Options::default()
            };
            set.servers.push(ready.launch(options)?);
            set.write_servers()?;
        }
        Ok(set)
    }

    fn write_servers(&self) -> Result<()> {
        let mut lines = String::new();
        for server in &self.servers {
            let process = ProcessId::of(server.pid())
                .with_context(|| format!("{} ended right after its start", server.kind()))?;
            let ProcessId { pid, started_ticks } = process;
            lines += &format!("{} {pid} {started_ticks}\n", server.kind().tag());
        }
        write(&self.dir.join("servers"), &lines)
    }
}

impl Drop for Set {
    fn drop(&mut self) {
        self.servers.clear();
        if !self.dir.as_os_str().is_empty() {
            // The next run removes whatever is left.
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}

/// The environment of the kept set, as lines for a shell. `None` if there is no kept set, or if one
/// of its servers has ended.
///
/// # Errors
/// The folder of the set cannot be read.
pub fn kept_environment() -> Result<Option<String>> {
    for dir in folders()? {
        if owner(&dir).as_deref() == Some(KEPT) && all_alive(&dir)? {
            let path = dir.join("env");
            let lines = fs::read_to_string(&path);
            return Ok(Some(
                lines.with_context(|| format!("cannot read {}", path.display()))?,
            ));
        }
    }
    Ok(None)
}

/// Ends the servers that earlier runs left behind, and the kept set if `kept` is true. Returns how
/// many sets it ended.
///
/// # Errors
/// A server does not end, or a folder cannot be removed.
pub fn down(kept: bool) -> Result<usize> {
    let mut ended = 0;
    for dir in folders()? {
        let unwanted = match owner(&dir) {
            None => false, // it is being created right now
            Some(owner) if owner == KEPT => kept || !all_alive(&dir)?,
            Some(owner) => parse_process(&owner).is_none_or(|process| !process.is_alive()),
        };
        if unwanted {
            end(&dir)?;
            ended += 1;
        }
    }
    Ok(ended)
}

fn end(dir: &Path) -> Result<()> {
    let servers = recorded(dir)?;
    for (kind, process) in &servers {
        process.signal(libc::SIGCONT);
        process.signal(kind.discard_signal());
    }
    for (kind, process) in &servers {
        if !process.wait_gone(Duration::from_secs(60)) {
            bail!(
                "{kind} (pid {}) of {} does not end",
                process.pid,
                dir.display()
            );
        }
    }
    fs::remove_dir_all(dir).with_context(|| format!("cannot remove {}", dir.display()))
}

fn all_alive(dir: &Path) -> Result<bool> {
    let servers = recorded(dir)?;
    let alive = servers.iter().all(|(_, process)| process.is_alive());
    Ok(alive && servers.len() == Kind::ALL.len())
}

/// The servers of a set, or none if the set ended before it started the first one.
fn recorded(dir: &Path) -> Result<Vec<(Kind, ProcessId)>> {
    let path = dir.join("servers");
    if !path.exists() {
        return Ok(Vec::new());
    }
    let lines =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let parse = |line: &str| {
        let (tag, process) = line.split_once(' ')?;
        let kind = Kind::ALL.into_iter().find(|kind| kind.tag() == tag)?;
        Some((kind, parse_process(process)?))
    };
    lines
        .lines()
        .map(|line| parse(line).with_context(|| format!("{}: `{line}`", path.display())))
        .collect()
}

fn owner(dir: &Path) -> Option<String> {
    fs::read_to_string(dir.join("owner")).ok()
}

fn parse_process(text: &str) -> Option<ProcessId> {
    let (pid, started) = text.trim().split_once(' ')?;
    Some(ProcessId {
        pid: pid.parse().ok()?,
        started_ticks: started.parse().ok()?,
    })
}

/// The folders of this user's sets. Pids in the folders of other users cannot be trusted.
fn folders() -> Result<Vec<PathBuf>> {
    let temporary = env::temp_dir();
    let entries =
        fs::read_dir(&temporary).with_context(|| format!("cannot list {}", temporary.display()))?;
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let ours = entry
            .metadata()
            .is_ok_and(|data| data.is_dir() && data.uid() == process::effective_uid());
        if ours && entry.file_name().to_string_lossy().starts_with(PREFIX) {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

fn new_folder() -> Result<PathBuf> {
    let me = ProcessId::of(std::process::id()).context("cannot read /proc/self")?;
    let dir = env::temp_dir().join(format!("{PREFIX}{}", me.pid));
    fs::create_dir(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755))?;
    let owner = format!("{} {}", me.pid, me.started_ticks);
    write(&dir.join("owner"), &owner)?;
    Ok(dir)
}

/// The folder with the data directories that private servers copy.
fn templates(dir: &Path) -> PathBuf {
    dir.join("templates")
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// A value quoted as one shell word.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', r"'\''"))
}
