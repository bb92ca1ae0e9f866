//! Mounted file systems, from proc_pid_mountinfo(5).

use std::path::{Path, PathBuf};

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The folder of the file system that is mounted.
    pub root: PathBuf,
    /// The mount point.
    pub point: PathBuf,
    /// The file system: `ext4`, `cgroup2`.
    pub kind: String,
    /// The source: a device, or a word.
    pub source: String,
    /// Mount options: `rw,noatime`.
    pub flags: String,
    /// Options of the file system.
    pub options: String,
}

/// The mounts of a table, in mount order.
pub fn parse(table: &str) -> Vec<Mount> {
    let line = |line: &str| {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(3);
        let mut right = right.split(' ');
        Some(Mount {
            root: unescaped(left.next()?).into(),
            point: unescaped(left.next()?).into(),
            flags: left.next()?.to_owned(),
            kind: right.next()?.to_owned(),
            source: unescaped(right.next()?),
            options: right.next().unwrap_or_default().to_owned(),
        })
    };
    table.lines().filter_map(line).collect()
}

/// The mount that contains a path: the deepest one, and the last of those, which hides the ones
/// below it.
pub fn containing<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    let contain = mounts.iter().filter(|mount| path.starts_with(&mount.point));
    contain.max_by_key(|mount| mount.point.components().count())
}

/// Whether a file system of this kind keeps its files only in memory.
pub fn is_in_memory(kind: &str) -> bool {
    ["tmpfs", "ramfs"].contains(&kind)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_belongs_to_the_deepest_mount_that_it_begins_with() {
        let mounts = parse(
            "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard\n\
             30 22 0:26 / /run rw,nosuid shared:5 - tmpfs tmpfs rw,size=402396k\n\
             31 22 0:40 /v /var/lib/my\\040sql rw,noatime - xfs /dev/mapper/vg-data rw,attr2\n\
             nonsense\n",
        );
        assert_eq!(mounts.len(), 3);
        let of = |path: &str| containing(&mounts, Path::new(path)).unwrap();
        assert_eq!(of("/var/lib/mysql").kind, "ext4");
        assert_eq!(of("/run/db").kind, "tmpfs");
        assert_eq!(of("/runner").kind, "ext4");
        let volume = of("/var/lib/my sql/data");
        assert_eq!(volume.root, Path::new("/v"));
        assert_eq!(
            (&*volume.kind, &*volume.source),
            ("xfs", "/dev/mapper/vg-data")
        );
        assert_eq!(
            (&*volume.flags, &*volume.options),
            ("rw,noatime", "rw,attr2")
        );
    }
}
