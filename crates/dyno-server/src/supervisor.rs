//! The process that runs a server and stops it: on request, or when the process that started it has
//! ended in any way.
//!
//! Dyno starts itself again as a supervisor, which starts the server and waits. The supervisor has
//! the reading end of a pipe that only Dyno writes to. The end of Dyno, including `kill -9`, is the
//! end of the file; the server then stops unless Dyno has asked for it to stay. The kernel kills
//! the server if its supervisor is killed.

use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::{OnPath, Result, ServerError, failed};
use crate::home::Folder;
use crate::process::{Deadline, Identity, ProcessId, children, confine, join, wait_until};

/// The supervisor's instructions.
const LAUNCH: &str = "launch.json";
/// The running processes.
const RUNNING: &str = "supervisor.json";
/// How the last ones ended.
const ENDED: &str = "ended.json";
/// How often to repeat the request to stop.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// How long a supervisor may take to report that it has started a server.
const BEGIN_LIMIT: Duration = Duration::from_secs(20);

/// How to stop a server.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Stop {
    /// By a signal to its first process.
    Signal(i32),
    /// By a program with its arguments.
    Program(Vec<String>),
}

/// The program, its user, and how to stop it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Launch {
    /// The program with its arguments.
    pub command: Vec<String>,
    /// Variables of its environment.
    pub environment: Vec<(String, String)>,
    /// It also inherits Dyno's environment.
    pub inherits: bool,
    /// Its standard input.
    pub input: String,
    /// Its user, if it is not this user.
    pub identity: Option<Identity>,
    /// How to stop it.
    pub stop: Stop,
    /// How long it may take to stop before it is killed, in seconds.
    pub grace_s: u64,
    /// It may exit with status 0 and leave the server running.
    pub daemon: bool,
    /// Its control groups.
    #[serde(default)]
    pub groups: Vec<PathBuf>,
}

impl Launch {
    fn command_of(&self, program: &str, arguments: &[String]) -> Command {
        let mut command = Command::new(program);
        if !self.inherits {
            command.env_clear();
        }
        command
            .args(arguments)
            .envs(self.environment.iter().cloned());
        command
    }
}

/// The processes that run a server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Running {
    /// The supervisor.
    pub supervisor: ProcessId,
    /// The first process of the server.
    pub server: ProcessId,
}

/// How a server ended.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Ended {
    /// In words.
    pub how: String,
    /// It was requested.
    pub asked: bool,
    /// It did not stop in time and was killed.
    pub killed: bool,
}

/// How Dyno starts itself as a supervisor: its program, and the arguments before the folder's path.
#[derive(Clone, Debug)]
pub struct SupervisorCommand {
    /// The program.
    pub program: PathBuf,
    /// The arguments.
    pub arguments: Vec<OsString>,
}

/// Asks a supervisor to keep its server running.
const STAY: u8 = b's';

/// Keeps a server alive: it stops when this is dropped, or with this process.
#[derive(Debug)]
pub struct Lifeline {
    supervisor: Child,
    stays: bool,
}

impl Lifeline {
    /// Whether the server has ended.
    pub fn is_over(&mut self) -> bool {
        !matches!(self.supervisor.try_wait(), Ok(None))
    }

    /// Lets the server outlive this process.
    ///
    /// # Errors
    /// Its supervisor has ended.
    pub fn stay(mut self) -> Result<()> {
        let written = self
            .supervisor
            .stdin
            .take()
            .map(|mut pipe| pipe.write_all(&[STAY]));
        self.stays = matches!(written, Some(Ok(())));
        match self.stays {
            true => Ok(()),
            false => failed("the server's supervisor is gone"),
        }
    }
}

impl Drop for Lifeline {
    fn drop(&mut self) {
        if !self.stays {
            // The supervisor sees the end of the file.
            drop(self.supervisor.stdin.take());
            let _ = self.supervisor.wait();
        }
    }
}

/// Starts a supervisor, which starts the server. The server lives as long as the returned value.
///
/// # Errors
/// The program cannot be started.
pub(crate) fn start(
    folder: &Folder,
    launch: &Launch,
    command: &SupervisorCommand,
) -> Result<Lifeline> {
    folder.write_json(LAUNCH, launch)?;
    folder.remove(ENDED)?;
    folder.remove(RUNNING)?;
    let path = folder.join("supervisor.log");
    let log = fs::File::create(&path).on("write", &path)?;
    let mut supervisor = Command::new(&command.program);
    supervisor.args(&command.arguments).arg(folder.path());
    if !launch.inherits {
        // It lives as long as the server, so it must not inherit the user's variables.
        supervisor
            .env_clear()
            .envs(launch.environment.iter().cloned());
    }
    supervisor
        .stdout(Stdio::null())
        .stderr(log)
        .current_dir("/");
    supervisor.stdin(Stdio::piped());
    let apart = || match rustix::process::setsid() {
        Ok(_) => Ok(()),
        Err(error) => Err(error.into()),
    };
    // SAFETY: the closure runs between fork and exec and makes one system call.
    unsafe { supervisor.pre_exec(apart) };
    let child = supervisor.spawn().on("start", &command.program)?;
    let mut lifeline = Lifeline {
        supervisor: child,
        stays: false,
    };
    let begun = wait_until(BEGIN_LIMIT, || {
        folder.join(RUNNING).exists()
            || folder.join(ENDED).exists()
            || !matches!(lifeline.supervisor.try_wait(), Ok(None))
    });
    if !begun || !(folder.join(RUNNING).exists() || folder.join(ENDED).exists()) {
        let said = fs::read_to_string(&path).unwrap_or_default();
        return failed(format!(
            "the server's supervisor did not start: {}",
            said.trim()
        ));
    }
    Ok(lifeline)
}

/// The processes that run a folder's server, if any.
///
/// # Errors
/// The file is not readable.
pub(crate) fn running(folder: &Folder) -> Result<Option<Running>> {
    let running: Option<Running> = folder.read_json(RUNNING)?;
    Ok(running.filter(|running| running.supervisor.is_alive() || running.server.is_alive()))
}

/// How the folder's server ended, if it has run.
///
/// # Errors
/// The file is not readable.
pub(crate) fn ended(folder: &Folder) -> Result<Option<Ended>> {
    folder.read_json(ENDED)
}

/// Stops the folder's server and returns how it ended; `None` if it did not run.
///
/// # Errors
/// It survives SIGKILL.
pub(crate) fn stop(folder: &Folder) -> Result<Option<Ended>> {
    let Some(running) = running(folder)? else {
        return Ok(None);
    };
    let launch: Option<Launch> = folder.read_json(LAUNCH)?;
    let grace = launch.map_or(60, |launch| launch.grace_s);
    running.supervisor.signal(libc::SIGTERM);
    running
        .supervisor
        .wait_gone(Duration::from_secs(grace + 30));
    running.supervisor.signal(libc::SIGKILL);
    running.server.signal(libc::SIGKILL);
    if !running.server.wait_gone(Duration::from_secs(30)) {
        let pid = running.server.pid;
        return failed(format!(
            "process {pid} of server '{}' does not end, even after SIGKILL",
            folder.name()
        ));
    }
    ended(folder)
}

enum Event {
    Stop(&'static str),
    Ended(ExitStatus),
}

/// The supervisor's main function.
///
/// # Errors
/// The server cannot be started; the error is also written to the folder.
pub fn supervise(folder: &Folder) -> Result<()> {
    let Some(launch) = folder.read_json::<Launch>(LAUNCH)? else {
        return failed("this command is Dyno's own: `dyno server up` starts servers");
    };
    let lock = folder.join("lock");
    let held = fs::File::create(&lock).on("make", &lock)?;
    let exclusive = rustix::fs::FlockOperation::NonBlockingLockExclusive;
    if rustix::fs::flock(&held, exclusive).is_err() {
        return failed("another supervisor runs this server");
    }
    let (sender, events) = mpsc::channel();
    // SAFETY: a system call without pointers.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
    watch_signals(sender.clone())?;
    watch_end_of_dyno(sender.clone());
    let mut ended = match spawn(folder, &launch) {
        Ok(child) => {
            let Some(server) = ProcessId::of(child.id()) else {
                return failed("the server's process cannot be found in /proc");
            };
            let running = Running {
                supervisor: ProcessId::of(std::process::id()).unwrap_or_else(|| server.clone()),
                server,
            };
            folder.write_json(RUNNING, &running)?;
            attend(child, &running, &launch, sender, &events)
        }
        Err(error) => Ended {
            how: error.to_string(),
            asked: false,
            killed: false,
        },
    };
    end_orphans();
    if let Some(why) = crate::limits::end(&launch.groups)
        && !ended.asked
    {
        ended.how = format!("{}: {why}", ended.how);
    }
    folder.write_json(ENDED, &ended)?;
    folder.remove(RUNNING)
}

fn watch_signals(sender: Sender<Event>) -> Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP]);
    let mut signals = signals.map_err(|why| ServerError::Io {
        what: "cannot handle signals".to_owned(),
        why,
    })?;
    thread::spawn(move || {
        for _ in signals.forever() {
            let _ = sender.send(Event::Stop("it was stopped"));
        }
    });
    Ok(())
}

fn watch_end_of_dyno(sender: Sender<Event>) {
    thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        let mut byte = [0];
        if matches!(input.read(&mut byte), Ok(1..)) && byte[0] == STAY {
            return;
        }
        let _ = sender.send(Event::Stop("the process that started it has exited"));
    });
}

/// Starts the server on this thread; the server ends with it.
fn spawn(folder: &Folder, launch: &Launch) -> Result<Child> {
    let Some((program, arguments)) = launch.command.split_first() else {
        return failed("no program to start is given");
    };
    let path = folder.log();
    let log = fs::File::options()
        .append(true)
        .create(true)
        .open(&path)
        .on("open", &path)?;
    let errors = log.try_clone().on("open", &path)?;
    let mut command = launch.command_of(program, arguments);
    command.stdout(log).stderr(errors).stdin(Stdio::piped());
    command.current_dir(folder.join("tmp"));
    join(
        &mut command,
        crate::limits::doors(&launch.groups)?,
        launch.identity,
    );
    confine(
        &mut command,
        launch.identity.filter(|_| launch.groups.is_empty()),
    );
    let mut child = command.spawn().on("start", Path::new(program))?;
    if let Some(mut input) = child.stdin.take() {
        // A program that reads no input has closed it, which is fine.
        let _ = input.write_all(launch.input.as_bytes());
    }
    Ok(child)
}

/// Waits for the server's end, or stops it.
fn attend(
    mut child: Child,
    running: &Running,
    launch: &Launch,
    sender: Sender<Event>,
    events: &Receiver<Event>,
) -> Ended {
    thread::spawn(move || {
        if let Ok(status) = child.wait() {
            let _ = sender.send(Event::Ended(status));
        }
    });
    let mut has_ended = false;
    loop {
        match events.recv() {
            Ok(Event::Ended(status)) if launch.daemon && status.success() => has_ended = true,
            Ok(Event::Ended(status)) => {
                return Ended {
                    how: words(status),
                    asked: false,
                    killed: false,
                };
            }
            Ok(Event::Stop(why)) => return end(why, has_ended, running, launch, events),
            // The senders live as long as this process.
            Err(_) => thread::park(),
        }
    }
}

/// Asks the server to stop, and kills it after the grace period.
fn end(
    why: &str,
    has_ended: bool,
    running: &Running,
    launch: &Launch,
    events: &Receiver<Event>,
) -> Ended {
    let deadline = Deadline::after(Duration::from_secs(launch.grace_s));
    let ask = || {
        if let Stop::Signal(signal) = &launch.stop {
            running.server.signal(*signal);
        }
    };
    ask();
    if let Stop::Program(words) = &launch.stop {
        run_stop(words, launch, deadline);
    }
    let mut gone = has_ended;
    while !gone && !deadline.left().is_zero() {
        match events.recv_timeout(deadline.left().min(ASK_AGAIN)) {
            Ok(Event::Ended(_)) => gone = true,
            Ok(Event::Stop(_)) => {}
            // A server that was just starting may have missed the request.
            Err(mpsc::RecvTimeoutError::Timeout) => ask(),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    // Processes that a daemon left to this process end by themselves, too.
    let quiet = wait_until(deadline.left(), || {
        reap();
        children().is_empty()
    });
    Ended {
        how: match gone && quiet {
            true => why.to_owned(),
            false => format!("{why}, and killed after {} s", launch.grace_s),
        },
        asked: true,
        killed: !(gone && quiet),
    }
}

fn run_stop(words: &[String], launch: &Launch, deadline: Deadline) {
    let Some((program, arguments)) = words.split_first() else {
        return;
    };
    let mut command = launch.command_of(program, arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    confine(&mut command, launch.identity);
    if let Ok(mut child) = command.spawn() {
        let limit = deadline.left();
        if !wait_until(limit, || !matches!(child.try_wait(), Ok(None))) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Kills the server's remaining processes, which this process inherited as their subreaper.
fn end_orphans() {
    wait_until(Duration::from_secs(10), || {
        for pid in children() {
            if let Some(process) = ProcessId::of(pid) {
                process.signal(libc::SIGKILL);
            }
        }
        reap();
        children().is_empty()
    });
}

/// Reaps children that have ended.
fn reap() {
    let options = rustix::process::WaitOptions::NOHANG;
    while matches!(rustix::process::wait(options), Ok(Some(_))) {}
}

fn words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("it ended with status {code}"),
        (None, Some(signal)) => format!("signal {signal} ended it"),
        (None, None) => "it ended".to_owned(),
    }
}
