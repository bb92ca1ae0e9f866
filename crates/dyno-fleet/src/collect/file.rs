//! The file in which an agent keeps its part of a run: a head, and then a line for each message
//! with records that it has sent to the bus.

use std::collections::BTreeSet;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::agent::StoredMessage;
use crate::message::{Assignment, Hello, MESSAGE_BYTES_MAX, Message, PROTOCOL};
use crate::names::{AgentName, Channel, RunId, Subject};

/// The file name extension.
pub const EXTENSION: &str = "dyno-agent";
/// The maximum size of a file in bytes, which is that of the bus's store.
pub const FILE_BYTES_MAX: u64 = 4 << 30;
/// The maximum length of a line in bytes. It contains the name of a channel and a message, or an
/// assignment as JSON.
const LINE_BYTES_MAX: usize = 2 * MESSAGE_BYTES_MAX;
/// How the first line begins.
const FIRST: &str = "dyno-agent";

/// Why an agent's file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// An I/O error.
    #[error("{what} {}: {source}", path.display())]
    Io {
        /// The action that failed.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The contents are wrong.
    #[error("{}: {why}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

/// The head of an agent's file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileHead {
    /// The version of the protocol.
    pub v: u32,
    /// The run.
    pub run: RunId,
    /// The agent.
    pub agent: AgentName,
    /// Its hello message.
    pub hello: Hello,
    /// The wall-clock time at which it received its part, in nanoseconds since 1970.
    pub unix_ns: u64,
    /// Its part of the run.
    pub assignment: Assignment,
}

/// Writes an agent's file.
#[derive(Debug)]
pub struct FileWriter {
    path: PathBuf,
    file: File,
    bytes: u64,
    /// The messages that are in the file already, so that repeated ones are skipped.
    ids: BTreeSet<Arc<str>>,
}

impl FileWriter {
    /// Creates a file, and its folder if needed. Only this user can read them.
    ///
    /// # Errors
    /// The file or the folder cannot be created.
    pub fn begin(folder: &Path, head: &FileHead) -> Result<Self, FileError> {
        let failed = |what, path: &Path, source| FileError::Io {
            what,
            path: path.to_owned(),
            source,
        };
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(folder);
        made.map_err(|error| failed("cannot make", folder, error))?;
        let path = folder.join(file_name(&head.run, &head.agent));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let file = options.open(&path);
        let file = file.map_err(|error| failed("cannot write", &path, error))?;
        // The lock shows readers that the file is still being written. Some file systems do not
        // support it.
        let _ = file.try_lock();
        let mut this = Self {
            path,
            file,
            bytes: 0,
            ids: BTreeSet::new(),
        };
        let json = serde_json::to_vec(head);
        let json = json.map_err(|error| failed("cannot write", &this.path, error.into()))?;
        this.line(FIRST, &json)?;
        Ok(this)
    }

    /// Writes a message unless it is already in the file.
    ///
    /// # Errors
    /// The message cannot be written, or the file is full.
    pub fn keep(&mut self, kept: &StoredMessage) -> Result<(), FileError> {
        match self.ids.insert(Arc::clone(&kept.id)) {
            true => {
                // Deflated data may contain line breaks.
                let json = Message::plain(&kept.subject, &kept.bytes);
                let json = json.map_err(|error| FileError::Wrong {
                    path: self.path.clone(),
                    why: error.to_string(),
                })?;
                self.line(kept.subject.channel.token(), &json)
            }
            false => Ok(()),
        }
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a line at once, so that a process that is killed leaves only whole lines behind.
    fn line(&mut self, name: &str, json: &[u8]) -> Result<(), FileError> {
        let mut line = Vec::with_capacity(name.len() + json.len() + 2);
        line.extend_from_slice(name.as_bytes());
        line.push(b' ');
        line.extend_from_slice(json);
        line.push(b'\n');
        self.bytes += line.len() as u64;
        if self.bytes > FILE_BYTES_MAX {
            return Err(FileError::Wrong {
                path: self.path.clone(),
                why: format!("it has reached its limit of {FILE_BYTES_MAX} bytes"),
            });
        }
        self.file.write_all(&line).map_err(|source| FileError::Io {
            what: "cannot write",
            path: self.path.clone(),
            source,
        })
    }
}

/// The name of the file of an agent and a run.
pub fn file_name(run: &RunId, agent: &AgentName) -> String {
    format!("{run}.{agent}.{EXTENSION}")
}

/// Reads an agent's file.
#[derive(Debug)]
pub struct AgentFile {
    path: PathBuf,
    head: FileHead,
    lines: BufReader<File>,
}

impl AgentFile {
    /// Opens a file.
    ///
    /// # Errors
    /// The file cannot be read, or is not that of an agent.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let opened = File::open(path);
        let file = opened.map_err(|source| FileError::Io {
            what: "cannot read",
            path: path.to_owned(),
            source,
        })?;
        let wrong = |why: String| FileError::Wrong {
            path: path.to_owned(),
            why,
        };
        if let Err(TryLockError::WouldBlock) = file.try_lock_shared() {
            let why = "its agent is still writing it: collect it when the load has ended";
            return Err(wrong(why.to_owned()));
        }
        let none = || wrong("it is not an agent's file".to_owned());
        let mut lines = BufReader::new(file);
        let first = line(&mut lines, path)?.ok_or_else(none)?;
        let json = first.strip_prefix(FIRST.as_bytes()).ok_or_else(none)?;
        let value: serde_json::Value = serde_json::from_slice(json).map_err(|_| none())?;
        let version = value.get("v").and_then(serde_json::Value::as_u64);
        if version != Some(u64::from(PROTOCOL)) {
            return Err(wrong(
                "another version of Dyno wrote it: collect it with that version".to_owned(),
            ));
        }
        let head: FileHead = serde_json::from_value(value).map_err(|e| wrong(e.to_string()))?;
        if !head.assignment.share.is_valid() {
            return Err(wrong("its share of the run is invalid".to_owned()));
        }
        Ok(Self {
            path: path.to_owned(),
            head,
            lines,
        })
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The head.
    pub fn head(&self) -> &FileHead {
        &self.head
    }

    /// The next message. `None` at the end, and if the last line is cut off.
    ///
    /// # Errors
    /// The message cannot be read, or is malformed.
    pub fn next_message(&mut self) -> Result<Option<Message>, FileError> {
        let Some(line) = line(&mut self.lines, &self.path)? else {
            return Ok(None);
        };
        let wrong = |why: String| FileError::Wrong {
            path: self.path.clone(),
            why,
        };
        let (channel, json) = [Channel::Intervals, Channel::End]
            .into_iter()
            .find_map(|channel| {
                let rest = line.strip_prefix(channel.token().as_bytes())?;
                Some((channel, rest.strip_prefix(b" ")?))
            })
            .ok_or_else(|| wrong("a line is not a message with records".to_owned()))?;
        let subject = Subject {
            run: self.head.run.clone(),
            channel,
            agent: self.head.agent.clone(),
        };
        let message = Message::decode(&subject, json).map_err(|error| wrong(error.to_string()))?;
        Ok(Some(message))
    }
}

/// The next complete line, without its line break.
fn line(lines: &mut BufReader<File>, path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    let mut line = Vec::new();
    let mut bounded = lines.take(LINE_BYTES_MAX as u64);
    let read = bounded.read_until(b'\n', &mut line);
    read.map_err(|source| FileError::Io {
        what: "cannot read",
        path: path.to_owned(),
        source,
    })?;
    match line.pop() {
        Some(b'\n') => Ok(Some(line)),
        Some(_) if line.len() + 1 >= LINE_BYTES_MAX => Err(FileError::Wrong {
            path: path.to_owned(),
            why: format!("a line has more than {LINE_BYTES_MAX} bytes"),
        }),
        _ => Ok(None),
    }
}
