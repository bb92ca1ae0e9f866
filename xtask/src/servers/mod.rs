//! Private servers on the loopback interface. They run installed programs as an unprivileged user
//! in their own data directory, with a UNIX socket and a port that no outgoing connection takes.

use std::fmt;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use dyno_core::ports::free_port;

mod commands;
pub mod process;
pub mod programs;
pub mod set;
mod tls;

use process::{Identity, ProcessId, wait_until};

/// How long a server may take to start or stop on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// MariaDB.
    Mariadb,
    /// MySQL.
    Mysql,
    /// PostgreSQL.
    Postgres,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Mariadb, Self::Mysql, Self::Postgres];

    /// The name of the kind in paths and in environment variables.
    pub fn tag(self) -> &'static str {
        match self {
            Self::Mariadb => "mariadb",
            Self::Mysql => "mysql",
            Self::Postgres => "pg",
        }
    }

    /// The scheme of its URLs.
    pub fn scheme(self) -> &'static str {
        match self {
            Self::Mariadb | Self::Mysql => "mysql",
            Self::Postgres => "postgres",
        }
    }

    /// The name of the driver in sysbench's options.
    pub fn driver(self) -> &'static str {
        match self {
            Self::Mariadb | Self::Mysql => "mysql",
            Self::Postgres => "pgsql",
        }
    }

    /// The administrator, who needs no password.
    pub fn administrator(self) -> &'static str {
        match self {
            Self::Mariadb | Self::Mysql => "root",
            Self::Postgres => "postgres",
        }
    }

    /// The signal for an orderly shutdown.
    pub fn stop_signal(self) -> i32 {
        match self {
            Self::Mariadb | Self::Mysql => libc::SIGTERM,
            // "Fast" shutdown: the server does not wait for its clients to disconnect.
            Self::Postgres => libc::SIGINT,
        }
    }

    /// The signal for the fastest end that leaves only files behind.
    pub fn discard_signal(self) -> i32 {
        match self {
            Self::Mariadb | Self::Mysql => libc::SIGKILL,
            // "Immediate" shutdown: the server also removes its processes and its shared memory.
            Self::Postgres => libc::SIGQUIT,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mariadb => "MariaDB",
            Self::Mysql => "MySQL",
            Self::Postgres => "PostgreSQL",
        })
    }
}

/// How to start a server.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// More arguments, such as `--max-connections=9` or `-c`, `work_mem=1MB`.
    pub arguments: Vec<String>,
    /// Whether the server ends when the thread that launched it ends, for whatever reason.
    pub dies_with_thread: bool,
    /// Environment variables.
    pub environment: Vec<(String, String)>,
    /// The maximum size of the server's files in bytes, to simulate a full disk.
    pub file_size_max: Option<u64>,
}

/// A data directory on which a server can be launched.
pub struct Ready {
    kind: Kind,
    dir: PathBuf,
    identity: Option<Identity>,
    /// The root of an unpacked server, or `None` for the one installed on the machine.
    base: Option<PathBuf>,
}

/// A server that is running, stopped or killed. Dropping it ends the server but keeps its files.
pub struct Server {
    ready: Ready,
    options: Options,
    port: u16,
    child: Child,
}

/// Creates a data directory at `dir`.
///
/// # Errors
/// The server is not installed, or cannot be initialised. The error contains the end of its log.
pub fn initialize(kind: Kind, dir: &Path) -> Result<Ready> {
    initialize_with(kind, dir, None)
}

/// The same for a server that was unpacked into a folder, with its programs in `bin`.
///
/// # Errors
/// Those of [`initialize`].
pub fn initialize_with(kind: Kind, dir: &Path, base: Option<&Path>) -> Result<Ready> {
    let identity = process::unprivileged()?;
    fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    process::give(dir, identity)?;
    let ready = Ready {
        kind,
        dir: dir.to_owned(),
        identity,
        base: base.map(Path::to_owned),
    };
    let mut command = ready.command(&commands::initializer(kind, base)?);
    command.args(commands::initialize(kind, dir, base)?);
    ready.make_data(&mut command)?;
    Ok(ready)
}

impl Ready {
    /// Starts the server and waits until it accepts connections.
    ///
    /// # Errors
    /// The server ended, or took too long. The error contains the end of its log.
    pub fn launch(self, options: Options) -> Result<Server> {
        let port = free_port().context("no port is free")?;
        let child = self.start(port, &options)?;
        let mut server = Server {
            ready: self,
            options,
            port,
            child,
        };
        server.wait_ready()?;
        Ok(server)
    }

    /// Copies the data directory, before any server has used it, to a template for [`initialize`].
    fn save(self, template: &Path) -> Result<Self> {
        let mut command = self.command(&commands::copier()?);
        command.arg("-r").arg(self.dir.join("data")).arg(template);
        self.make_data(&mut command)?;
        // Remove MySQL's server UUID. Replication needs a different one for each server, which
        // creates it when it starts.
        let identity = template.join("auto.cnf");
        if identity.exists() {
            fs::remove_file(&identity)
                .with_context(|| format!("cannot remove {}", identity.display()))?;
        }
        Ok(self)
    }

    fn make_data(&self, command: &mut Command) -> Result<()> {
        let log = self.dir.join("initialize.log");
        let mut child = process::spawn(command, &log, None)?;
        if !child.wait()?.success() {
            bail!(
                "{} could not make a data directory in {}:\n{}",
                self.kind,
                self.dir.display(),
                tail(&log)
            );
        }
        Ok(())
    }

    fn command(&self, program: &Path) -> Command {
        process::command(program, &self.dir, self.identity)
    }

    fn start(&self, port: u16, options: &Options) -> Result<Child> {
        let base = self.base.as_deref();
        let mut command = self.command(&commands::server(self.kind, base)?);
        let variables = options.environment.iter();
        command.envs(variables.map(|(name, value)| (name, value)));
        command.args(commands::serve(self.kind, &self.dir, port, base)?);
        command.args(&options.arguments);
        if let Some(bytes) = options.file_size_max {
            process::limit_files(&mut command, bytes);
        }
        let signal = options.dies_with_thread.then(|| self.kind.discard_signal());
        process::spawn(&mut command, &self.dir.join("server.log"), signal)
    }

    fn socket(&self, port: u16) -> PathBuf {
        match self.kind {
            Kind::Mariadb | Kind::Mysql => self.dir.join("sock"),
            Kind::Postgres => self.dir.join(format!(".s.PGSQL.{port}")),
        }
    }
}

impl Server {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        self.ready.kind
    }

    /// The UNIX socket. For PostgreSQL this is the full path of the socket file.
    pub fn socket(&self) -> PathBuf {
        self.ready.socket(self.port)
    }

    /// The TCP port on 127.0.0.1, which stays the same after a restart.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its pid.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its log file.
    pub fn log(&self) -> PathBuf {
        self.ready.dir.join("server.log")
    }

    /// Suspends the server (SIGSTOP). Its connections stay open, but nothing answers. All of its
    /// processes have stopped when this returns.
    pub fn suspend(&self) {
        if let Some(process) = ProcessId::of(self.pid()) {
            process.suspend(PATIENCE);
        }
        // A stopped process creates no more children.
        for child in children(self.pid()) {
            child.suspend(PATIENCE);
        }
    }

    /// Resumes the server after [`Self::suspend`].
    pub fn resume(&self) {
        self.signal(libc::SIGCONT);
        for child in children(self.pid()) {
            child.signal(libc::SIGCONT);
        }
    }

    /// Kills the server as a crash would, and waits until it is gone.
    ///
    /// # Errors
    /// The server cannot be waited for.
    pub fn kill(&mut self) -> Result<()> {
        self.signal(libc::SIGKILL);
        self.child.wait().context("cannot wait for the server")?;
        self.wait_children_gone()
    }

    /// Shuts the server down.
    ///
    /// # Errors
    /// The server does not end.
    pub fn stop(&mut self) -> Result<()> {
        self.resume();
        self.signal(self.ready.kind.stop_signal());
        self.reap(PATIENCE)
    }

    /// Restarts the server on the same files, socket and port, after [`Self::kill`] or
    /// [`Self::stop`].
    ///
    /// # Errors
    /// The server is still running, has ended, or takes too long.
    pub fn start_again(&mut self) -> Result<()> {
        if self.child.try_wait()?.is_none() {
            bail!("{} still runs as pid {}", self.kind(), self.pid());
        }
        self.child = self.ready.start(self.port, &self.options)?;
        self.wait_ready()
    }

    /// Keeps the server running after this handle is dropped, and returns its process.
    ///
    /// # Errors
    /// The server has already ended.
    pub fn leave(self) -> Result<ProcessId> {
        let process = ProcessId::of(self.pid()).context("the server has ended")?;
        std::mem::forget(self);
        Ok(process)
    }

    fn wait_ready(&mut self) -> Result<()> {
        let mut ended = None;
        let Self { ready, child, .. } = self;
        let socket = ready.socket(self.port);
        let up = wait_until(PATIENCE, || {
            ended = child.try_wait().ok().flatten();
            ended.is_some() || answers(ready, child.id(), &socket)
        });
        let log = tail(&self.log());
        let kind = self.kind();
        match ended {
            Some(status) => bail!("{kind} ended while it was starting ({status}):\n{log}"),
            None if !up => bail!("{kind} was not ready after {PATIENCE:?}:\n{log}"),
            None => Ok(()),
        }
    }

    fn signal(&self, signal: i32) {
        if let Some(process) = ProcessId::of(self.pid()) {
            process.signal(signal);
        }
    }

    /// Waits until the processes of a killed postmaster have noticed and exited, because a new
    /// postmaster refuses to start while one of them uses the shared memory.
    fn wait_children_gone(&self) -> Result<()> {
        let gone = || !working_folders().any(|folder| folder.starts_with(&self.ready.dir));
        if self.ready.kind == Kind::Postgres && !wait_until(PATIENCE, gone) {
            bail!("processes of the killed PostgreSQL are still running");
        }
        Ok(())
    }

    fn reap(&mut self, limit: Duration) -> Result<()> {
        let pid = self.pid();
        let child = &mut self.child;
        if !wait_until(limit, || !matches!(child.try_wait(), Ok(None))) {
            bail!("{} (pid {pid}) does not stop", self.ready.kind);
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.resume();
        self.signal(self.ready.kind.discard_signal());
        if self.reap(Duration::from_secs(10)).is_err() {
            self.signal(libc::SIGKILL);
            // Errors cannot be reported here. A process that survives this hangs in the kernel.
            let _ = self.child.wait();
        }
    }
}

/// Whether the server accepts connections.
fn answers(ready: &Ready, pid: u32, socket: &Path) -> bool {
    match ready.kind {
        Kind::Postgres => {
            // The postmaster writes its state to the eighth line, which is also what pg_ctl reads.
            let file = ready.dir.join("data/postmaster.pid");
            let text = fs::read_to_string(file).unwrap_or_default();
            let lines: Vec<&str> = text.lines().map(str::trim).collect();
            let is_ready = match lines.get(7) {
                Some(state) => *state == "ready",
                // Before version 10 there is no eighth line.
                None => lines.len() == 7 && authenticates(socket),
            };
            lines.first() == Some(&&*pid.to_string()) && is_ready
        }
        // A server that is ready sends the protocol version, 10.
        Kind::Mariadb | Kind::Mysql => UnixStream::connect(socket).is_ok_and(|mut stream| {
            let mut head = [0; 5];
            let patient = stream.set_read_timeout(Some(Duration::from_secs(5)));
            patient.is_ok() && stream.read_exact(&mut head).is_ok() && head[4] == 10
        }),
    }
}

/// Whether a PostgreSQL server answers a startup message with an authentication request. While it
/// is starting, it answers with an error.
fn authenticates(socket: &Path) -> bool {
    let startup = b"\0\0\0\x17\0\x03\0\0user\0postgres\0\0";
    UnixStream::connect(socket).is_ok_and(|mut stream| {
        let mut kind = [0; 1];
        let patient = stream.set_read_timeout(Some(Duration::from_secs(5)));
        patient.is_ok()
            && stream.write_all(startup).is_ok()
            && stream.read_exact(&mut kind).is_ok()
            && kind == *b"R"
    })
}

fn pids() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

fn children(parent: u32) -> Vec<ProcessId> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let text = fs::read_to_string(path).unwrap_or_default();
    let pids = text.split_whitespace().filter_map(|pid| pid.parse().ok());
    pids.filter_map(ProcessId::of).collect()
}

/// The working folders of all processes. Those of PostgreSQL are data directories.
fn working_folders() -> impl Iterator<Item = PathBuf> {
    pids().filter_map(|pid| fs::read_link(format!("/proc/{pid}/cwd")).ok())
}

/// The end of a log, for error messages.
fn tail(log: &Path) -> String {
    let text = fs::read(log).map_or_else(
        |error| format!("(cannot read {}: {error})", log.display()),
        |bytes| String::from_utf8_lossy(&bytes).into_owned(),
    );
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}
