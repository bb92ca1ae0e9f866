//! An agent's file of its part of a run on its own host: a second source if the coordinator or the
//! bus is lost.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail};
use dyno_core::clock::{Nanos, wall_time};
use dyno_fleet::agent::StoredMessage;
use dyno_fleet::bus::{Bus, BusError, Incoming};
use dyno_fleet::collect::{EXTENSION, FileHead, FileWriter, file_name};
use dyno_fleet::message::{Assignment, Hello, PROTOCOL};
use dyno_fleet::names::{AgentName, RunId, Subject};
use dyno_fleet::pump::unix_ns;
use dyno_run::Sinks;

/// Retention time of files.
const AGE_MAX: Duration = Duration::from_secs(7 * 24 * 3600);

/// The folder of agents' files on this host; `None` without a home directory.
pub(super) fn folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let state = set("XDG_STATE_HOME").map(PathBuf::from);
    let home = || set("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    Some(state.or_else(home)?.join("dyno/agents"))
}

/// An agent's file; empty until it has a part of a run.
pub(super) struct PartFile {
    writer: Mutex<Option<FileWriter>>,
    notices: Sinks,
}

impl PartFile {
    /// An empty one, which reports errors as warnings.
    pub(super) fn new(notices: Sinks) -> Self {
        Self {
            writer: Mutex::default(),
            notices,
        }
    }

    /// Starts the file of a part. The run continues without it if that fails.
    pub(super) fn begin(
        &self,
        run: &RunId,
        agent: &AgentName,
        hello: Hello,
        assignment: &Assignment,
    ) {
        let Some(folder) = folder() else {
            let why = "this agent keeps no file of the run: $HOME is not set";
            return self.notices.warn(why);
        };
        remove_old(&folder);
        let head = FileHead {
            v: PROTOCOL,
            run: run.clone(),
            agent: agent.clone(),
            hello,
            unix_ns: unix_ns(),
            assignment: assignment.clone(),
        };
        match FileWriter::begin(&folder, &head) {
            Ok(writer) => *self.lock() = Some(writer),
            Err(error) => self.warn(&error),
        }
    }

    fn keep(&self, kept: &StoredMessage) {
        let mut writer = self.lock();
        let failed = writer.as_mut().and_then(|writer| writer.keep(kept).err());
        if let Some(error) = failed {
            // The file ends at the first gap.
            *writer = None;
            self.warn(&error);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<FileWriter>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn warn(&self, error: &dyn std::fmt::Display) {
        let what = "this agent's file of the run is incomplete";
        self.notices.warn(format!("{what}: {error}"));
    }
}

/// A bus that also writes each message to be stored to the agent's file.
pub(super) struct Keeping<'a, B> {
    bus: B,
    file: &'a PartFile,
}

impl<'a, B> Keeping<'a, B> {
    /// Copies this bus's data to this file.
    pub(super) fn new(bus: B, file: &'a PartFile) -> Self {
        Self { bus, file }
    }
}

impl<B: Bus> Bus for Keeping<'_, B> {
    fn send(&mut self, subject: &Subject, bytes: &[u8]) -> Result<(), BusError> {
        self.bus.send(subject, bytes)
    }

    fn keep(&mut self, kept: &StoredMessage) -> Result<(), BusError> {
        self.file.keep(kept);
        self.bus.keep(kept)
    }

    fn receive(&mut self, until: Nanos) -> Result<Option<Incoming>, BusError> {
        self.bus.receive(until)
    }
}

/// Removes the files of old runs.
fn remove_old(folder: &Path) {
    let now = wall_time();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_file = path.extension().is_some_and(|end| end == EXTENSION);
        let changed = entry.metadata().and_then(|of| of.modified());
        let age = changed
            .ok()
            .and_then(|then| now.checked_sub(then.duration_since(UNIX_EPOCH).ok()?));
        if is_file && age.is_some_and(|age| age > AGE_MAX) {
            // Another agent may have removed it.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The file of an agent on this host, to be read.
///
/// # Errors
/// It does not exist, or the agent is still writing it.
pub fn open_part_file(run: &RunId, agent: &AgentName) -> Result<File> {
    let folder = folder().context("$HOME is not set")?;
    let path = folder.join(file_name(run, agent));
    let file = File::open(&path);
    let file = file.with_context(|| format!("cannot read {}", path.display()))?;
    if let Err(TryLockError::WouldBlock) = file.try_lock_shared() {
        bail!("the agent is still writing it: collect it when the agent's load has ended");
    }
    Ok(file)
}
