//! Space in a file system, and its device.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use dyno_core::catalogue::names;

use crate::sink::{Gauge, SampleBuffer, Sink};

/// Types of file systems by their numbers: see statfs(2).
const KINDS: [(i64, &str); 12] = [
    (0x0102_1994, "tmpfs"),
    (0x8584_58f6, "ramfs"),
    (0xef53, "ext4"),
    (0x5846_5342, "xfs"),
    (0x9123_683e, "btrfs"),
    (0x794c_7630, "overlayfs"),
    (0x2fc1_2fc1, "zfs"),
    (0x6969, "nfs"),
    (0xff53_4d42, "cifs"),
    (0x6573_5546, "fuse"),
    (0xf2f5_2010, "f2fs"),
    (0xca45_1a4e, "bcachefs"),
];

pub(crate) struct FileSystem {
    path: CString,
    kind: Option<String>,
    free: Gauge,
    size: Gauge,
}

impl FileSystem {
    /// The file system of this path; `None` if it cannot be queried.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let path = CString::new(path.as_os_str().as_bytes()).ok()?;
        room(&path)?;
        let gauge = |name: &str| Gauge::new(name, "bytes", "statvfs");
        Some(Self {
            kind: kind_of(&path),
            path,
            free: gauge(names::HOST_FILESYSTEM_FREE),
            size: gauge(names::HOST_FILESYSTEM_SIZE),
        })
    }

    /// Reports its type, once.
    fn report_type(&mut self, sink: &Sink) {
        if let Some(kind) = self.kind.take() {
            sink.fact(names::HOST_FILESYSTEM_TYPE, kind, "statfs");
        }
    }

    pub(crate) fn sample(&mut self, recorder: &mut SampleBuffer) {
        self.report_type(recorder.sink());
        if let Some((free, size)) = room(&self.path) {
            self.free.put(recorder, free);
            self.size.put(recorder, size);
        }
    }
}

/// The type of this path's file system; its number if it has no name here.
fn kind_of(path: &CString) -> Option<String> {
    // SAFETY: all zeros is a valid value of this structure of numbers.
    let mut stat: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the path is zero-terminated, and `stat` is a valid structure.
    let result = unsafe { libc::statfs(path.as_ptr(), &raw mut stat) };
    if result != 0 {
        return None;
    }
    #[allow(clippy::unnecessary_cast)] // its width differs between architectures
    let number = stat.f_type as i64 & 0xffff_ffff;
    let known = KINDS.iter().find(|(of, _)| *of == number);
    Some(known.map_or_else(|| format!("{number:#x}"), |(_, name)| (*name).to_owned()))
}

/// The space available to unprivileged users, and the total, in bytes.
fn room(path: &CString) -> Option<(f64, f64)> {
    // SAFETY: all zeros is a valid value of this structure of numbers.
    let mut stat: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the path is zero-terminated, and `stat` is a valid structure.
    let result = unsafe { libc::statvfs(path.as_ptr(), &raw mut stat) };
    let bytes = |blocks: libc::fsblkcnt_t| blocks as f64 * stat.f_frsize as f64;
    (result == 0).then(|| (bytes(stat.f_bavail), bytes(stat.f_blocks)))
}

/// The name in `/proc/diskstats` of the device with this path's file system; for a partition, that
/// of its disk.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_file_systems() {
        let kind = |path: &str| kind_of(&CString::new(path).unwrap());
        assert_eq!(kind("/dev/shm").as_deref(), Some("tmpfs"));
        assert_eq!(kind("/nowhere/at/all"), None);
        assert!(kind("/").is_some_and(|kind| !kind.is_empty()));
    }
}
