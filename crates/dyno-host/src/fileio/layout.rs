//! The files of a test: creating, checking and removing them.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use dyno_core::rand::Stream;
use dyno_core::text::trim_zeros;

use super::buffer::Buffer;
use super::content;
use super::options::{Content, FileIo, Flag, Mode};
use crate::NotReady;

/// Bytes per write while files are created.
const CHUNK: u64 = 1 << 20;

/// Progress of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// About to create files of this many bytes.
    Begin,
    /// The action on a file: `Creating file`, `Extending existing file`, `Reusing existing file`.
    File(&'static str, u32),
    /// All files exist; this many bytes were written.
    Written(u64),
    /// About to remove the files.
    Removing,
}

impl FileIo {
    /// Creates the files, or extends them to their size.
    pub(crate) fn prepare(
        &self,
        report: &mut dyn FnMut(Progress),
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), String> {
        report(Progress::Begin);
        let mut writer = Writer::new(self)?;
        for number in 0..self.files {
            let path = self.path(number);
            let before = fs::metadata(&path).map(|known| known.len()).ok();
            let from = before.unwrap_or(0) / self.block * self.block;
            report(Progress::File(
                match before {
                    None => "Creating file",
                    Some(_) if from < self.file_size() => "Extending existing file",
                    Some(_) => "Reusing existing file",
                },
                number,
            ));
            if from < self.file_size() {
                let file = self.open(number, For::Filling)?;
                writer.write(&file, number, from, stopped)?;
            }
        }
        report(Progress::Written(writer.written));
        Ok(())
    }

    pub(crate) fn cleanup(&self, report: &mut dyn FnMut(Progress)) -> Result<(), String> {
        report(Progress::Removing);
        for number in 0..self.files {
            let path = self.path(number);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(format!("cannot remove {}: {error}", path.display()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks that a run has its files; creates empty ones if its requests fill them.
    pub(crate) fn ready(&self) -> Result<(), NotReady> {
        let mode = self.run_mode().map_err(NotReady::for_good)?;
        for number in 0..self.files {
            if mode == Mode::SequentialWrite {
                self.open(number, For::Emptying)
                    .map_err(NotReady::for_good)?;
                continue;
            }
            let path = self.path(number);
            let path = path.display();
            let found = fs::metadata(self.path(number)).map_err(|error| {
                let needs_prepare = error.kind() == io::ErrorKind::NotFound;
                let hint = if needs_prepare {
                    "; did you forget to run the prepare step, with the same options?"
                } else {
                    ""
                };
                let why = format!("Cannot open file '{path}': {error}{hint}");
                NotReady { why, needs_prepare }
            })?;
            if found.len() < self.file_size() {
                let why = format!(
                    "Size of file '{path}' is {}B, but at least {}B is expected; did you run \
                     'prepare' with different --file-total-size or --file-num values?",
                    size(found.len()),
                    size(self.file_size())
                );
                return Err(NotReady {
                    why,
                    needs_prepare: true,
                });
            }
        }
        Ok(())
    }

    /// Flushes all files after the run.
    pub(crate) fn finish(&self) -> Result<(), String> {
        let writes = self.mode.is_some_and(Mode::writes);
        if !self.fsync_end || !writes {
            return Ok(());
        }
        for number in 0..self.files {
            let file = self.open(number, For::Requests)?;
            let result = match self.data_only {
                true => file.sync_data(),
                false => file.sync_all(),
            };
            result.map_err(|error| self.error("flush", number, &error))?;
        }
        Ok(())
    }

    /// Opens a file according to the options. A read-only run needs no write permission.
    pub(super) fn open(&self, number: u32, purpose: For) -> Result<File, String> {
        let mut flags = 0;
        for flag in &self.flags {
            flags |= match flag {
                Flag::Sync => libc::O_SYNC,
                Flag::Dsync => libc::O_DSYNC,
                Flag::Direct => libc::O_DIRECT,
            };
        }
        let makes = purpose != For::Requests;
        let file = OpenOptions::new()
            .read(true)
            .write(makes || self.mode.is_some_and(Mode::writes))
            .create(makes)
            .truncate(purpose == For::Emptying)
            .custom_flags(flags)
            .open(self.path(number));
        file.map_err(|error| self.error("open", number, &error))
    }

    pub(super) fn path(&self, number: u32) -> PathBuf {
        self.folder.join(format!("test_file.{number}"))
    }

    /// The error message for a file, with advice.
    pub(super) fn error(&self, what: &str, number: u32, error: &io::Error) -> String {
        let path = self.path(number);
        let direct = self.flags.contains(&Flag::Direct);
        let hint = match error.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT) => format!(
                "; all files together take {}B: use a smaller --file-total-size or another \
                 --file-directory",
                size(self.file_size() * u64::from(self.files))
            ),
            Some(libc::EINVAL) if direct => format!(
                "; this file system or device may not support direct I/O in blocks of {} bytes",
                self.block
            ),
            Some(libc::EMFILE | libc::ENFILE) => {
                "; use a smaller --file-num or raise the limit on open files".to_owned()
            }
            _ => String::new(),
        };
        format!("cannot {what} {}: {error}{hint}", path.display())
    }
}

/// The purpose of opening a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum For {
    /// Creating or extending it.
    Filling,
    /// Creating or emptying it.
    Emptying,
    /// The requests of a run.
    Requests,
}

struct Writer<'a> {
    test: &'a FileIo,
    buffer: Buffer,
    stream: Stream,
    written: u64,
}

impl<'a> Writer<'a> {
    fn new(test: &'a FileIo) -> Result<Self, String> {
        let blocks = (CHUNK / test.block).clamp(1, test.blocks());
        let mut buffer = Buffer::new((blocks * test.block) as usize)?;
        // Not one of the sessions' streams.
        let mut stream = Stream::new(test.seed, u64::MAX);
        if test.content == Content::Random {
            content::fill(&mut buffer, &mut stream);
        }
        Ok(Self {
            test,
            buffer,
            stream,
            written: 0,
        })
    }

    fn write(
        &mut self,
        file: &File,
        number: u32,
        from: u64,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), String> {
        let test = self.test;
        let mut offset = from;
        while offset < test.file_size() {
            if stopped() {
                return Err("stopped by the user; the files are incomplete".to_owned());
            }
            let len = (test.file_size() - offset).min(self.buffer.len() as u64) as usize;
            let bytes = &mut self.buffer[..len];
            if test.content == Content::Random {
                content::renew(bytes, &mut self.stream);
            }
            if test.validate {
                content::seal(bytes, test.block as usize, number, offset);
            }
            file.write_all_at(bytes, offset)
                .map_err(|error| test.error("write", number, &error))?;
            offset += len as u64;
            self.written += len as u64;
        }
        file.sync_all()
            .map_err(|error| test.error("flush", number, &error))
    }
}

/// Formats bytes like sysbench: five digits and a binary unit, without the `B`.
pub fn size(bytes: u64) -> String {
    let (unit, factor) = match bytes {
        0..1024 => ("", 1.0),
        1024..1_048_576 => ("Ki", 1024.0),
        1_048_576..1_073_741_824 => ("Mi", 1_048_576.0),
        1_073_741_824..1_099_511_627_776 => ("Gi", 1_073_741_824.0),
        _ => ("Ti", 1_099_511_627_776.0),
    };
    let value = bytes as f64 / factor;
    let whole_digits = value.max(1.0).log10() as usize + 1;
    let text = format!("{value:.*}", 5usize.saturating_sub(whole_digits));
    format!("{}{unit}", trim_zeros(&text))
}
