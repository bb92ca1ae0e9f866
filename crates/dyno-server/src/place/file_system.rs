//! The file systems that Dyno can create, and their programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::error::{OnPath, Result, failed, usage};
use crate::process;

/// Locations of root's programs, in addition to the search path.
const ROOTS_PROGRAMS: [&str; 3] = ["/usr/sbin", "/sbin", "/usr/local/sbin"];

/// A file system that Dyno can create.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileSystem {
    /// ext4.
    Ext4,
    /// XFS, whose copies share blocks.
    Xfs,
    /// btrfs, whose copies share blocks.
    Btrfs,
    /// ZFS: a pool in a single file.
    Zfs,
}

impl FileSystem {
    const ALL: [Self; 4] = [Self::Ext4, Self::Xfs, Self::Btrfs, Self::Zfs];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
            Self::Zfs => "zfs",
        }
    }

    /// The file system with this name.
    ///
    /// # Errors
    /// An unknown name.
    pub fn parse(text: &str) -> Result<Self> {
        match Self::ALL.into_iter().find(|one| one.name() == text) {
            Some(found) => Ok(found),
            None => usage(format!(
                "Dyno cannot create a file system '{text}' for a server; expected ext4, xfs, btrfs \
                 or zfs"
            )),
        }
    }

    /// The programs that create it, and the package that usually contains them.
    pub(super) fn programs(self) -> (&'static [&'static str], &'static str) {
        match self {
            Self::Ext4 => (&["mkfs.ext4", "mount"], "e2fsprogs"),
            Self::Xfs => (&["mkfs.xfs", "mount"], "xfsprogs"),
            Self::Btrfs => (&["mkfs.btrfs", "mount"], "btrfs-progs"),
            Self::Zfs => (&["zpool"], "zfsutils-linux"),
        }
    }

    /// The smallest size in which a server's initial data fit.
    pub(super) fn size_min(self) -> u64 {
        match self {
            Self::Xfs => 320 << 20,
            _ => 256 << 20,
        }
    }
}

/// A program by its name.
pub(super) fn program(name: &str) -> Option<PathBuf> {
    process::program(name, &ROOTS_PROGRAMS)
}

/// Runs a program to completion; its output is in the error.
pub(super) fn run<'a>(
    name: &str,
    arguments: impl Iterator<Item = &'a str>,
    paths: &[&Path],
) -> Result<()> {
    let path = program(name).unwrap_or_else(|| name.into());
    let mut command = Command::new(&path);
    let arguments: Vec<&str> = arguments.collect();
    command.args(&arguments).args(paths).env("LC_ALL", "C");
    let done = command.stdin(Stdio::null()).output().on("start", &path)?;
    if done.status.success() {
        return Ok(());
    }
    let said = [done.stderr, done.stdout].concat();
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    let arguments = arguments.join(" ");
    failed(format!(
        "`{name} {arguments}` failed ({}): {said}",
        done.status
    ))
}
