//! The options of `fileio` and values derived from them.

use std::path::PathBuf;

use dyno_core::interval::Counters;
use dyno_core::plan::RandPlan;

use crate::options::{Kind, Values, option};
use crate::plan::{Figure, Setting};
use crate::{Definition, Test};

const MIB: f64 = 1_048_576.0;

const OPTIONS: &[Definition] = &[
    option("file-num", Kind::Int, "128", "number of files to create"),
    option(
        "file-block-size",
        Kind::Size,
        "16384",
        "block size to use in all IO operations",
    ),
    option(
        "file-total-size",
        Kind::Size,
        "2G",
        "total size of files to create",
    ),
    option(
        "file-test-mode",
        Kind::Text,
        "",
        "test mode {seqwr, seqrewr, seqrd, rndrd, rndwr, rndrw}",
    ),
    option(
        "file-io-mode",
        Kind::Text,
        "sync",
        "file operations mode {sync,async,mmap,io_uring}; async is libaio",
    ),
    option(
        "file-async-backlog",
        Kind::Int,
        "128",
        "number of asynchronous operations to queue per thread",
    ),
    option(
        "file-extra-flags",
        Kind::List,
        "",
        "list of additional flags to use to open files {sync,dsync,direct}",
    ),
    option(
        "file-fsync-freq",
        Kind::Int,
        "100",
        "do fsync() after this number of requests (0 - don't use fsync())",
    ),
    option(
        "file-fsync-all",
        Kind::Bool,
        "off",
        "do fsync() after each write operation",
    ),
    option(
        "file-fsync-end",
        Kind::Bool,
        "on",
        "do fsync() at the end of test",
    ),
    option(
        "file-fsync-mode",
        Kind::Text,
        "fsync",
        "which method to use for synchronization {fsync, fdatasync}",
    ),
    option(
        "file-merged-requests",
        Kind::Int,
        "0",
        "merge at most this number of IO requests if possible (0 - don't merge)",
    ),
    option(
        "file-rw-ratio",
        Kind::Double,
        "1.5",
        "reads/writes ratio for combined test",
    ),
    option(
        "file-directory",
        Kind::Text,
        ".",
        "folder of the files (not in sysbench)",
    ),
    option(
        "file-content",
        Kind::Text,
        "random",
        "content to write {random, zeros}: storage may skip or compress zeros (not in sysbench)",
    ),
    option(
        "validate",
        Kind::Bool,
        "off",
        "write a checksum with each block and verify it on reads",
    ),
];

/// The `fileio` test.
pub(crate) const TEST: Test = Test {
    name: "fileio",
    about: "reads, writes and flushes of files, in order or at random",
    options: OPTIONS,
    operations: &["read", "write", "fsync"],
    commands: &["prepare", "cleanup"],
    draws_places: true,
    revision: 1,
};

/// The kind and order of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Sequential writes to empty files.
    SequentialWrite,
    /// Sequential writes over existing contents.
    SequentialRewrite,
    /// Sequential reads.
    SequentialRead,
    /// Random reads.
    RandomRead,
    /// Random writes.
    RandomWrite,
    /// Random reads and writes.
    RandomMixed,
}

/// The names of the modes, in the order of [`Mode`].
const MODES: [(&str, Mode); 6] = [
    ("seqwr", Mode::SequentialWrite),
    ("seqrewr", Mode::SequentialRewrite),
    ("seqrd", Mode::SequentialRead),
    ("rndrd", Mode::RandomRead),
    ("rndwr", Mode::RandomWrite),
    ("rndrw", Mode::RandomMixed),
];

impl Mode {
    /// Whether any requests write.
    pub fn writes(self) -> bool {
        !matches!(self, Self::SequentialRead | Self::RandomRead)
    }

    /// Whether requests go to random places.
    pub fn random(self) -> bool {
        matches!(
            self,
            Self::RandomRead | Self::RandomWrite | Self::RandomMixed
        )
    }
}

/// The interface to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// `pread`, `pwrite`, `fsync`: one blocking call per request.
    Sync,
    /// Mapped files: loads, stores and `msync`.
    Mmap,
    /// `io_submit` and `io_getevents`.
    Aio,
    /// io_uring.
    Uring,
}

/// The contents of written blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Incompressible data, no two blocks alike.
    Random,
    /// Zeros.
    Zeros,
}

/// A flag for opening files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flag {
    /// Each write waits until data and metadata are stored.
    Sync,
    /// Each write waits until its data are stored.
    Dsync,
    /// Bypasses the page cache.
    Direct,
}

/// The test with its options read.
#[derive(Clone, Debug)]
pub struct FileIo {
    /// The number of files.
    pub files: u32,
    /// Bytes per block.
    pub block: u64,
    /// Bytes of all files, as configured.
    pub total: u64,
    /// The kind and order of requests; `None` if not given.
    pub mode: Option<Mode>,
    /// The interface to the kernel.
    pub engine: Engine,
    /// Requests of a session in flight at a time, with asynchronous engines.
    pub depth: u32,
    /// Flags for opening files.
    pub flags: Vec<Flag>,
    /// Requests of a session between two flushes of all files; 0 for none.
    pub fsync_every: u64,
    /// Flush after each write.
    pub fsync_all: bool,
    /// Flush all files after the run.
    pub fsync_end: bool,
    /// Use `fdatasync` instead of `fsync`.
    pub data_only: bool,
    /// Maximum number of blocks per sequential request; 0 and 1 mean one.
    pub merged: u64,
    /// Reads per write in mixed mode.
    pub ratio: f64,
    /// The directory of the files.
    pub folder: PathBuf,
    /// The contents of written blocks.
    pub content: Content,
    /// Add checksums to blocks and check them when reading.
    pub validate: bool,
    pub(super) rand: RandPlan,
    pub(super) seed: u64,
}

impl FileIo {
    pub(crate) fn new(values: &Values<'_>, setting: &Setting) -> Result<Self, String> {
        let fsync_all = values.switch("file-fsync-all")?;
        let files = values.count("file-num", 1)?;
        let mut test = Self {
            files: u32::try_from(files)
                .map_err(|_| format!("--file-num: {files} is too many; at most {}", u32::MAX))?,
            block: values.count("file-block-size", 1)?,
            total: values.count("file-total-size", 1)?,
            mode: mode(&values.text("file-test-mode")?)?,
            engine: engine(values)?,
            depth: depth(values)?,
            flags: flags(&values.list("file-extra-flags")?)?,
            fsync_every: values.count("file-fsync-freq", 0)?,
            fsync_all,
            fsync_end: values.switch("file-fsync-end")?,
            data_only: values.word("file-fsync-mode", &["fsync", "fdatasync"])? == "fdatasync",
            merged: values.count("file-merged-requests", 0)?,
            ratio: values.number("file-rw-ratio")?,
            folder: PathBuf::from(values.text("file-directory")?),
            content: match values.word("file-content", &["random", "zeros"])? {
                "zeros" => Content::Zeros,
                _ => Content::Random,
            },
            validate: values.switch("validate")?,
            rand: setting.rand.clone(),
            seed: setting.seed,
        };
        if fsync_all {
            // Each write is stored already.
            (test.fsync_every, test.fsync_end) = (0, false);
        }
        test.check()?;
        Ok(test)
    }

    fn check(&self) -> Result<(), String> {
        const REQUEST_MAX: u64 = 1 << 30;
        if self.file_size() == 0 {
            return Err(format!(
                "--file-total-size: {} bytes over {} files are less than one block of {} per file",
                self.total, self.files, self.block
            ));
        }
        if self.request_max() > REQUEST_MAX {
            return Err(
                "--file-block-size: requests of more than 1 GiB, including merged ones, are too \
                 large"
                    .to_owned(),
            );
        }
        let direct = self.flags.contains(&Flag::Direct);
        if direct && !self.block.is_multiple_of(512) {
            return Err(format!(
                "--file-extra-flags=direct needs a --file-block-size that is a multiple of 512, \
                 not {}",
                self.block
            ));
        }
        if direct && self.engine == Engine::Mmap {
            return Err(
                "--file-io-mode=mmap uses the page cache, so it cannot be combined with \
                 --file-extra-flags=direct"
                    .to_owned(),
            );
        }
        if self.validate && self.block < super::content::VALIDATED_MIN {
            return Err(format!(
                "--validate needs a --file-block-size of at least {} bytes",
                super::content::VALIDATED_MIN
            ));
        }
        if self.validate && self.content == Content::Zeros {
            return Err("--validate writes checksums: omit --file-content=zeros".to_owned());
        }
        Ok(())
    }

    /// The mode of a run, which requires one.
    pub(crate) fn run_mode(&self) -> Result<Mode, String> {
        self.mode
            .ok_or_else(|| "Missing required argument: --file-test-mode".to_owned())
    }

    /// Maximum number of requests that a session has in flight at a time.
    pub(crate) fn depth_used(&self) -> u32 {
        match self.engine {
            Engine::Sync | Engine::Mmap => 1,
            Engine::Aio | Engine::Uring => self.depth,
        }
    }

    /// The number of whole blocks in a file.
    pub(super) fn blocks(&self) -> u64 {
        self.total / u64::from(self.files) / self.block
    }

    /// Bytes of a file, in whole blocks.
    pub fn file_size(&self) -> u64 {
        self.blocks() * self.block
    }

    /// Bytes of the largest request.
    pub(super) fn request_max(&self) -> u64 {
        let blocks = self.merged.clamp(1, self.blocks().max(1));
        blocks.saturating_mul(self.block)
    }

    pub(crate) fn about(&self) -> Vec<String> {
        let cached = match (self.flags.contains(&Flag::Direct), self.engine) {
            (true, _) => {
                "Requests bypass the page cache of this host, but not the device's own cache."
                    .to_owned()
            }
            (false, _) => "Requests use this host's page cache: cached reads and unflushed writes \
                           do not measure the device. Bypass the cache with \
                           --file-extra-flags=direct."
                .to_owned(),
        };
        let mut about = vec!["An event is a read, a write or a flush.".to_owned(), cached];
        if self.depth_used() > 1 {
            about.push(format!(
                "Each session has up to {} in flight, and an event lasts until its request \
                 completes.",
                self.depth
            ));
        }
        about
    }

    pub(crate) fn figures(&self, counters: &Counters, seconds: f64) -> Vec<Figure> {
        let moved = [("read", counters.bytes_in), ("written", counters.bytes_out)];
        let moved = moved.into_iter().filter(|(_, bytes)| *bytes > 0);
        moved
            .map(|(name, bytes)| Figure {
                name,
                value: bytes as f64 / seconds / MIB,
                unit: "MiB/s",
            })
            .collect()
    }
}

fn engine(values: &Values<'_>) -> Result<Engine, String> {
    const NAMES: [&str; 6] = ["sync", "psync", "async", "libaio", "mmap", "io_uring"];
    Ok(match values.word("file-io-mode", &NAMES)? {
        "mmap" => Engine::Mmap,
        "async" | "libaio" => Engine::Aio,
        "io_uring" => Engine::Uring,
        _ => Engine::Sync,
    })
}

fn depth(values: &Values<'_>) -> Result<u32, String> {
    // The kernel's limit on registered buffers.
    const DEPTH_MAX: u64 = 1 << 14;
    match values.count("file-async-backlog", 1)? {
        depth if depth <= DEPTH_MAX => Ok(depth as u32),
        depth => Err(format!(
            "--file-async-backlog: {depth} is too many; at most {DEPTH_MAX}"
        )),
    }
}

fn mode(text: &str) -> Result<Option<Mode>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let known = MODES.iter().find(|(name, _)| *name == text);
    known.map(|(_, mode)| Some(*mode)).ok_or_else(|| {
        let names: Vec<&str> = MODES.iter().map(|(name, _)| *name).collect();
        format!(
            "--file-test-mode: '{text}' is not one of {}",
            names.join(", ")
        )
    })
}

fn flags(words: &[String]) -> Result<Vec<Flag>, String> {
    let flag = |word: &String| match word.as_str() {
        "sync" => Ok(Flag::Sync),
        "dsync" => Ok(Flag::Dsync),
        "direct" => Ok(Flag::Direct),
        other => Err(format!(
            "--file-extra-flags: '{other}' is not one of sync, dsync, direct"
        )),
    };
    let named = words.iter().filter(|word| !word.is_empty());
    named.map(flag).collect()
}
