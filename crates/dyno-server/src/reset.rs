//! Clears the host's state between trials: pages in the page cache, and blocks that a device still
//! considers in use.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use dyno_core::units::human_size;
use rustix::fs::Advice;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::copy::each_file;
use crate::error::{OnPath, Result, ServerError, failed};
use crate::server::Server;

/// The kernel's file for dropping clean caches.
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Actions to give trials equal starting conditions, and those that failed, both in words for the
/// record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reset {
    /// Completed actions.
    pub done: Vec<String>,
    /// Failed actions, with reasons.
    pub not_done: Vec<String>,
}

impl Reset {
    /// Adds another's actions.
    pub fn and(&mut self, other: Self) {
        self.done.extend(other.done);
        self.not_done.extend(other.not_done);
    }

    fn note(&mut self, what: &str, outcome: Result<String>) {
        match outcome {
            Ok(how) => self.done.push(how),
            Err(error) => self.not_done.push(format!("{what}: {error}")),
        }
    }
}

/// Writes all dirty pages of the host to its disks, and drops its page cache, directory entries and
/// inodes.
///
/// # Errors
/// This user is not root, or `/proc/sys` is read-only, as in many containers.
pub fn drop_page_cache() -> Result<()> {
    // Only clean pages can be dropped.
    rustix::fs::sync();
    let dropped = File::options()
        .write(true)
        .open(DROP_CACHES)
        .and_then(|mut file| file.write_all(b"3\n"));
    let Err(error) = dropped else { return Ok(()) };
    let code = error.raw_os_error().map(Errno::from_raw_os_error);
    failed(match code {
        Some(Errno::ROFS) => format!(
            "cannot drop the page cache: {DROP_CACHES} is read-only, as in an unprivileged \
             container"
        ),
        Some(Errno::ACCESS | Errno::PERM) => {
            format!("cannot drop the page cache: writing to {DROP_CACHES} needs root on the host")
        }
        _ => format!("cannot drop the page cache: {DROP_CACHES}: {error}"),
    })
}

/// The result of [`forget_files`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Files that the kernel was advised about.
    pub files: u64,
    /// Their bytes, by allocated blocks.
    pub bytes: u64,
    /// Files that could not be opened or written back.
    pub refused: u64,
}

/// Writes back the files of a folder and advises the kernel (`posix_fadvise`) that their pages are
/// not needed. Needs no root, but does less than [`drop_page_cache`]: pages mapped by a process
/// stay, and so do directory entries and inodes.
///
/// # Errors
/// The folder is not readable.
pub fn forget_files(folder: &Path) -> Result<Forgotten> {
    let mut forgotten = Forgotten::default();
    fs::read_dir(folder).on("read", folder)?;
    each_file(folder, |path, data| {
        let advised = File::open(path).is_ok_and(|file| {
            file.sync_data().is_ok()
                && rustix::fs::fadvise(&file, 0, None, Advice::DontNeed).is_ok()
        });
        match advised {
            true => {
                forgotten.files += 1;
                forgotten.bytes += std::os::unix::fs::MetadataExt::blocks(data) * 512;
            }
            false => forgotten.refused += 1,
        }
    });
    Ok(forgotten)
}

/// The result of a trim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trimmed {
    /// The number of free bytes reported to the device.
    Bytes(u64),
    /// The device or the file system does not support it; the reason in words.
    Unsupported(String),
}

/// The kernel's `struct fstrim_range`.
#[repr(C)]
struct Range {
    start: u64,
    length: u64,
    least: u64,
}

/// `FITRIM` of linux/fs.h.
const FITRIM: rustix::ioctl::Opcode = rustix::ioctl::opcode::read_write::<Range>(b'X', 121);

/// Reports free blocks to the device below the file system of a path, like fstrim(8).
///
/// # Errors
/// The path cannot be opened, or this user is not root.
pub fn trim(path: &Path) -> Result<Trimmed> {
    let folder = File::open(path).on("open", path)?;
    let mut range = Range {
        start: 0,
        length: u64::MAX,
        least: 0,
    };
    // SAFETY: FITRIM reads and writes the one structure that its opcode names, which lives until
    // the call returns.
    let done = unsafe {
        let call = rustix::ioctl::Updater::<FITRIM, Range>::new(&mut range);
        rustix::ioctl::ioctl(&folder, call)
    };
    match done {
        Ok(()) => Ok(Trimmed::Bytes(range.length)),
        Err(Errno::OPNOTSUPP) => Ok(Trimmed::Unsupported(format!(
            "trim is not supported by the device below {}",
            path.display()
        ))),
        Err(Errno::NOTTY | Errno::NOSYS | Errno::INVAL) => Ok(Trimmed::Unsupported(format!(
            "trim is not supported by the file system of {}",
            path.display()
        ))),
        Err(Errno::PERM | Errno::ACCESS) => failed(format!(
            "cannot trim the device below {}: that needs root",
            path.display()
        )),
        Err(error) => Err(ServerError::Io {
            what: format!("cannot trim the device below {}", path.display()),
            why: error.into(),
        }),
    }
}

impl Server {
    /// Drops the server's pages from the host's page cache: all of the cache if possible, else the
    /// files of the server's data. A running server keeps its own cache.
    pub fn forget_pages(&self) -> Reset {
        let mut reset = Reset::default();
        let Err(why) = drop_page_cache() else {
            reset
                .done
                .push("the host's page cache was dropped".to_owned());
            return reset;
        };
        reset.not_done.push(why.to_string());
        let advised = forget_files(&self.folder().data()).map(|forgotten| {
            let refused = match forgotten.refused {
                0 => String::new(),
                refused => format!("; {refused} files could not be opened"),
            };
            format!(
                "the kernel was advised (posix_fadvise) to drop the pages of {} data files, {}; \
                 this is weaker than dropping the page cache{refused}",
                forgotten.files,
                human_size(forgotten.bytes)
            )
        });
        reset.note("pages of the data files", advised);
        reset
    }

    /// Reports free blocks to the device below the server's folder. Missing support is listed in
    /// `not_done`, but is not an error.
    pub fn trim(&self) -> Reset {
        let mut reset = Reset::default();
        match trim(self.folder().path()) {
            Ok(Trimmed::Bytes(bytes)) => {
                reset.done.push(format!("trimmed, {}", human_size(bytes)));
            }
            Ok(Trimmed::Unsupported(why)) => reset.not_done.push(why),
            Err(error) => reset.not_done.push(error.to_string()),
        }
        reset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages of a file in the page cache.
    fn cached(path: &Path) -> usize {
        let file = File::open(path).expect("a file");
        let length = usize::try_from(file.metadata().expect("metadata").len()).expect("a length");
        let page = rustix::param::page_size();
        let mut present = vec![0_u8; length.div_ceil(page)];
        // SAFETY: the file is mapped for its length without being read, `present` has a byte for
        // each of its pages, and the mapping ends here.
        unsafe {
            let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
            let map = libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ,
                libc::MAP_SHARED,
                fd,
                0,
            );
            assert_ne!(map, libc::MAP_FAILED);
            assert_eq!(libc::mincore(map, length, present.as_mut_ptr()), 0);
            libc::munmap(map, length);
        }
        present.iter().filter(|byte| **byte & 1 == 1).count()
    }

    #[test]
    fn pages_of_files_are_forgotten() {
        // Not in /tmp, which may be in memory.
        let outer = tempfile::tempdir_in("/var/tmp").expect("a folder");
        let inner = outer.path().join("inner");
        fs::create_dir(&inner).expect("a folder");
        let path = inner.join("file");
        fs::write(&path, vec![7; 1 << 20]).expect("a file");
        assert!(cached(&path) > 200, "{} pages", cached(&path));
        let forgotten = forget_files(outer.path()).expect("the folder is read");
        assert_eq!((forgotten.files, forgotten.refused), (1, 0));
        assert!(forgotten.bytes >= 1 << 20);
        assert_eq!(cached(&path), 0);
        assert!(forget_files(&outer.path().join("none")).is_err());
    }

    #[test]
    fn an_unsupported_trim_is_not_a_failure() {
        // A file system in memory has no device.
        match trim(Path::new("/proc")) {
            Ok(Trimmed::Unsupported(why)) => assert!(why.contains("not supported"), "{why}"),
            other => panic!("/proc has no device: {other:?}"),
        }
        assert!(trim(Path::new("/there/is/no/such")).is_err());
    }

    #[test]
    fn outcomes_are_added_up() {
        let mut reset = Reset::default();
        reset.note("a", Ok("done".to_owned()));
        reset.note("b", failed("no root"));
        let mut sum = Reset::default();
        sum.and(reset.clone());
        assert_eq!(sum, reset);
        assert_eq!(sum.not_done, ["b: no root"]);
    }
}
