//! Run programs and measure their cost.

use std::cell::RefCell;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use dyno_core::Clock;
use dyno_sys::process::{Cpu, pin, wait_with_usage};

use crate::options::Options;
use crate::tool::{NullEndpoint, Protocol, Tool};

/// Longer than any run, so that a program that exceeds it must be hanging.
const RUN_TIME_MAX: Duration = Duration::from_secs(600);

/// The options, the scratch folder, and the problems found so far.
pub(crate) struct Bench {
    /// The command line.
    pub options: Options,
    /// The repository.
    pub root: PathBuf,
    beside: PathBuf,
    work: tempfile::TempDir,
    missing: RefCell<Vec<Tool>>,
    problems: RefCell<Vec<String>>,
}

/// What a program printed, and what it cost.
pub(crate) struct Outcome {
    /// Its standard output.
    pub report: String,
    /// Its standard error.
    pub messages: String,
    /// Its CPU time.
    pub cpu: Cpu,
    /// Elapsed time.
    pub elapsed_s: f64,
    /// Its largest resident set.
    pub rss_max_bytes: u64,
}

impl Bench {
    /// Builds Dyno unless `--build no` was given, and creates a scratch folder.
    pub(crate) fn new(options: Options) -> Result<Bench> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let root = root.canonicalize().context("the repository is gone")?;
        let cores = std::thread::available_parallelism()?.get();
        ensure!(
            options.client_core != options.server_core && cores > 1,
            "client and server need a core each"
        );
        if options.build {
            build(&root)?;
        }
        let program = std::env::current_exe()?;
        let beside = program.parent().context("a program without a folder")?;
        Ok(Bench {
            options,
            root,
            beside: beside.to_path_buf(),
            work: tempfile::tempdir()?,
            missing: RefCell::default(),
            problems: RefCell::default(),
        })
    }

    /// Records a problem, which makes the whole program fail in the end.
    pub(crate) fn problem(&self, problem: String) {
        crate::say(&format!("client-cost: PROBLEM: {problem}"));
        self.problems.borrow_mut().push(problem);
    }

    /// All recorded problems.
    pub(crate) fn into_problems(self) -> Vec<String> {
        self.problems.into_inner()
    }

    /// The path of a tool.
    pub(crate) fn path(&self, tool: Tool) -> PathBuf {
        match tool {
            Tool::Floor => self.beside.join("floor"),
            Tool::Dyno => match &self.options.dyno {
                Some(path) => path.clone(),
                None => self.beside.join("dyno"),
            },
            Tool::Sysbench => self.options.sysbench.clone(),
            Tool::Pgbench => self.options.pgbench.clone(),
        }
    }

    /// A file of `bench/scripts`.
    pub(crate) fn script(&self, name: &str) -> PathBuf {
        self.root.join("bench/scripts").join(name)
    }

    /// Those of the `wanted` tools that speak the protocol and run. Reports each broken tool once.
    pub(crate) fn tools(&self, wanted: &[Tool], protocol: Protocol) -> Vec<Tool> {
        let wanted = wanted.iter().copied();
        wanted
            .filter(|tool| tool.speaks(protocol) && self.has(*tool))
            .collect()
    }

    /// The first line of the tool's version output.
    pub(crate) fn version(&self, tool: Tool) -> Option<String> {
        let output = Command::new(self.path(tool)).arg("--version").output();
        let output = output.ok().filter(|output| output.status.success())?;
        let text = String::from_utf8_lossy(&output.stdout);
        text.lines().next().map(|line| line.trim().to_owned())
    }

    fn has(&self, tool: Tool) -> bool {
        if self.missing.borrow().contains(&tool) {
            return false;
        }
        // The floor has no version, because it is built together with this program.
        let works = match tool {
            Tool::Floor => self.path(tool).exists(),
            _ => self.version(tool).is_some_and(|line| !line.is_empty()),
        };
        if !works {
            let path = self.path(tool);
            self.missing.borrow_mut().push(tool);
            self.problem(format!(
                "{} cannot be run as {}: its rows are left out",
                tool.name(),
                path.display()
            ));
        }
        works
    }

    /// Runs a command on the client's core until it exits.
    pub(crate) fn measure(&self, mut command: Command) -> Result<Outcome> {
        let (out, err) = (self.work.path().join("out"), self.work.path().join("err"));
        pin(&mut command, self.options.client_core);
        let described = describe(&command);
        command.stdin(Stdio::null());
        command.stdout(File::create(&out)?);
        command.stderr(File::create(&err)?);
        let begun_ns = Clock.now();
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {described}"))?;
        let finished = wait_with_usage(&child, RUN_TIME_MAX)?;
        let elapsed_s = (Clock.now() - begun_ns) as f64 / 1e9;
        let (report, messages) = (read(&out)?, read(&err)?);
        if !finished.status.success() {
            bail!("{described}: {}\n{report}{messages}", finished.status);
        }
        Ok(Outcome {
            report,
            messages,
            cpu: finished.cpu,
            elapsed_s,
            rss_max_bytes: finished.rss_max_bytes,
        })
    }

    /// Starts a null server on the server's core.
    pub(crate) fn null_server(&self, protocol: Protocol) -> Result<NullServer> {
        // PostgreSQL's clients look for a socket of this name in a directory.
        let socket = self.work.path().join(".s.PGSQL.5432");
        let mut command = Command::new(self.beside.join("null-server"));
        command.args(["--protocol", protocol.name(), "--socket"]);
        command.arg(&socket).stdout(Stdio::piped());
        pin(&mut command, self.options.server_core);
        let described = describe(&command);
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {described}"))?;
        let mut server = NullServer {
            child,
            protocol,
            socket,
        };
        let mut line = String::new();
        if let Some(pipe) = server.child.stdout.take() {
            BufReader::new(pipe).read_line(&mut line)?;
        }
        ensure!(line.trim() == "ready", "{described} did not start");
        Ok(server)
    }
}

/// A null server, which is killed when this is dropped.
pub(crate) struct NullServer {
    child: Child,
    protocol: Protocol,
    socket: PathBuf,
}

impl NullServer {
    /// The socket to connect to.
    pub(crate) fn endpoint(&self) -> NullEndpoint<'_> {
        NullEndpoint {
            protocol: self.protocol,
            socket: &self.socket,
        }
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        // An error means that it has already exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The command as a user would type it.
pub(crate) fn describe(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy()];
    words.extend(command.get_args().map(|word| word.to_string_lossy()));
    words.join(" ")
}

fn build(root: &Path) -> Result<()> {
    let cargo = std::env::var("CARGO").unwrap_or("cargo".to_owned());
    let mut command = Command::new(cargo);
    command.args(["build", "--release", "--quiet"]);
    command.args(["-p", "dyno-null", "-p", "floor", "-p", "dyno"]);
    let status = command.current_dir(root).status()?;
    ensure!(status.success(), "{} failed", describe(&command));
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
