//! Mount points, from proc(5).

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::{OnPath, Result, failed};

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// The mount point.
    pub(crate) point: PathBuf,
    /// The file system: `ext4`, `cgroup2`.
    pub(crate) kind: String,
    /// The source: a device, or a word.
    pub(crate) source: String,
    /// Mount options: `rw,noatime`.
    pub(crate) flags: String,
    /// Options of the file system.
    pub(crate) options: String,
}

/// All mounts visible to this process, in mount order.
pub(crate) fn mounts() -> Vec<Mount> {
    parse(&fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
}

fn parse(text: &str) -> Vec<Mount> {
    let line = |line: &str| {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(4);
        let (point, flags) = (left.next()?, left.next()?);
        let mut right = right.split(' ');
        Some(Mount {
            point: unescaped(point).into(),
            kind: right.next()?.to_owned(),
            source: unescaped(right.next()?),
            flags: flags.to_owned(),
            options: right.next().unwrap_or_default().to_owned(),
        })
    };
    text.lines().filter_map(line).collect()
}

/// Blanks and backslashes are octal escapes.
fn unescaped(text: &str) -> String {
    let codes = [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ];
    codes.iter().fold(text.to_owned(), |text, (code, letter)| {
        text.replace(code, letter)
    })
}

/// The mount at exactly this path.
pub(crate) fn mounted_at(path: &Path) -> Option<Mount> {
    mounts().into_iter().rfind(|mount| mount.point == path)
}

/// The mount that contains a path.
pub(crate) fn mount_of(path: &Path) -> Option<Mount> {
    let path = fs::canonicalize(path).ok()?;
    let mut found: Option<Mount> = None;
    for mount in mounts() {
        let deeper = found.as_ref().is_none_or(|found| {
            mount.point.components().count() >= found.point.components().count()
        });
        if path.starts_with(&mount.point) && deeper {
            found = Some(mount);
        }
    }
    found
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
        let kind = mount.map_or_else(|| "what is not known".to_owned(), |mount| mount.kind);
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
        let text = "36 35 98:0 / /mnt/a\\040b rw,noatime master:1 shared:2 - ext4 /dev/loop0 rw\n\
                    37 35 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\nodd\n";
        let mounts = parse(text);
        assert_eq!(mounts.len(), 2);
        assert_eq!(mounts[0].point, Path::new("/mnt/a b"));
        assert_eq!(
            (&*mounts[0].kind, &*mounts[0].source),
            ("ext4", "/dev/loop0")
        );
        assert_eq!(mounts[1].options, "rw,cpu,cpuacct");
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
