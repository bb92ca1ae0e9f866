//! Mount points, from proc(5).

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use dyno_core::mounts::{containing, parse};

pub(crate) use dyno_core::mounts::Mount;

use crate::error::{OnPath, Result, failed};

/// All mounts visible to this process, in mount order.
pub(crate) fn mounts() -> Vec<Mount> {
    parse(&fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
}

/// The mount at exactly this path.
pub(crate) fn mounted_at(path: &Path) -> Option<Mount> {
    mounts().into_iter().rfind(|mount| mount.point == path)
}

/// The mount that contains a path.
fn mount_of(path: &Path) -> Option<Mount> {
    let path = fs::canonicalize(path).ok()?;
    containing(&mounts(), &path).cloned()
}

/// The disk that contains a path, in the kernel's notation `MAJOR:MINOR`. For a partition it is the
/// whole disk, because only that can be limited.
///
/// # Errors
/// The path is not on a block device of this host.
pub(crate) fn disk_of(path: &Path) -> Result<String> {
    let data = fs::metadata(path).on("read", path)?;
    let mut device = data.dev();
    let mount = mount_of(path);
    // btrfs has its own numbers for its volumes.
    if libc::major(device) == 0
        && let Some(source) = mount.as_ref().map(|mount| &mount.source)
        && let Ok(source) = fs::metadata(source)
    {
        device = source.rdev();
    }
    let number = format!("{}:{}", libc::major(device), libc::minor(device));
    let known = PathBuf::from(format!("/sys/dev/block/{number}"));
    if !known.exists() {
        let kind = mount.map_or_else(|| "an unknown file system".to_owned(), |mount| mount.kind);
        return failed(format!(
            "{} is on {kind}, which is not a block device of this host: its reads and writes \
             cannot be limited",
            path.display()
        ));
    }
    if !known.join("partition").exists() {
        return Ok(number);
    }
    let disk = fs::canonicalize(&known)
        .on("read", &known)?
        .with_file_name("dev");
    // A partition's folder is in that of its disk.
    let disk = disk
        .parent()
        .map_or_else(|| disk.clone(), |folder| folder.join("dev"));
    let text = fs::read_to_string(&disk).on("read", &disk)?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_read() {
        assert_eq!(
            mount_of(Path::new("/proc/self")).expect("proc").kind,
            "proc"
        );
        assert!(mounted_at(Path::new("/proc")).is_some());
        assert_eq!(mounted_at(Path::new("/proc/self")), None);
    }

    #[test]
    fn reports_file_systems_without_a_disk() {
        let error = disk_of(Path::new("/proc"))
            .expect_err("it has no disk")
            .to_string();
        assert!(error.contains("is on proc"), "{error}");
    }
}
