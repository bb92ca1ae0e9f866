//! Room in a file system, and the device below it.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::sink::{Gauge, Recorder};

pub(crate) struct FileSystem {
    path: CString,
    free: Gauge,
    size: Gauge,
}

impl FileSystem {
    /// That of this path; `None` where it cannot be asked.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let path = CString::new(path.as_os_str().as_bytes()).ok()?;
        room(&path)?;
        let gauge = |name: &str| Gauge::new(name, "bytes", "statvfs");
        Some(Self {
            path,
            free: gauge("host.filesystem.free"),
            size: gauge("host.filesystem.size"),
        })
    }

    pub(crate) fn sample(&mut self, recorder: &mut Recorder) {
        if let Some((free, size)) = room(&self.path) {
            self.free.put(recorder, free);
            self.size.put(recorder, size);
        }
    }
}

/// Free, for those without privileges, and in all, in bytes.
fn room(path: &CString) -> Option<(f64, f64)> {
    // SAFETY: all zeros is a valid value of this structure of numbers.
    let mut stat: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the path ends with a zero byte, and `stat` is a valid structure.
    let result = unsafe { libc::statvfs(path.as_ptr(), &raw mut stat) };
    let bytes = |blocks: libc::fsblkcnt_t| blocks as f64 * stat.f_frsize as f64;
    (result == 0).then(|| (bytes(stat.f_bavail), bytes(stat.f_blocks)))
}

/// The name in `/proc/diskstats` of the device that this path's file system is on; of a partition
/// that of its disk.
pub(crate) fn device_of(path: &Path) -> Option<String> {
    let device = std::fs::metadata(path).ok()?.dev();
    let link = format!(
        "/sys/dev/block/{}:{}",
        libc::major(device),
        libc::minor(device)
    );
    let mut folder: PathBuf = std::fs::canonicalize(link).ok()?;
    if folder.join("partition").exists() {
        folder.pop();
    }
    let name = folder.file_name()?.to_str()?;
    Some(name.replace('!', "/"))
}
