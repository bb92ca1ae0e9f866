//! Copies whole folders: by sharing blocks if the file system supports it (`FICLONE`), else byte by
//! byte.

use std::fs::{self, File, Metadata};
use std::io::{Read, Seek as _, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::error::{OnPath, Result, ServerError, failed};
use crate::process::{Identity, give};

/// Buffer size.
const BLOCK_BYTES: usize = 1 << 20;

/// Statistics of a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Copied {
    /// Number of files.
    pub files: u64,
    /// Their bytes, by their lengths.
    pub bytes: u64,
    /// Bytes that share their blocks with the original.
    pub shared_bytes: u64,
}

/// Copies a folder into another one that is empty or missing, and gives it to a user. Calls
/// `progress` with the bytes so far.
///
/// # Errors
/// A file that cannot be read or written. The partial copy stays.
pub(crate) fn tree(
    from: &Path,
    to: &Path,
    identity: Option<Identity>,
    progress: &dyn Fn(u64),
) -> Result<Copied> {
    let mut copied = Copied::default();
    folder(from, to, identity, &mut copied, progress)?;
    Ok(copied)
}

fn folder(
    from: &Path,
    to: &Path,
    identity: Option<Identity>,
    copied: &mut Copied,
    progress: &dyn Fn(u64),
) -> Result<()> {
    let mode = fs::metadata(from).on("read", from)?.mode() & 0o777;
    if !to.is_dir() {
        fs::DirBuilder::new().mode(mode).create(to).on("make", to)?;
    }
    fs::set_permissions(to, fs::Permissions::from_mode(mode)).on("write", to)?;
    give(to, identity)?;
    for entry in fs::read_dir(from).on("read", from)? {
        let entry = entry.on("read", from)?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().on("read", &source)?;
        if kind.is_dir() {
            folder(&source, &target, identity, copied, progress)?;
        } else if kind.is_symlink() {
            let points_to = fs::read_link(&source).on("read", &source)?;
            if points_to.is_absolute() {
                return failed(format!(
                    "{} links to {}, outside the data directory: a copy would share it",
                    source.display(),
                    points_to.display()
                ));
            }
            std::os::unix::fs::symlink(points_to, &target).on("make", &target)?;
            give(&target, identity)?;
        } else if kind.is_file() {
            file(&source, &target, copied, progress)?;
            give(&target, identity)?;
        }
        // Sockets and pipes belong to a server that ran; a new one creates its own.
    }
    Ok(())
}

fn file(from: &Path, to: &Path, copied: &mut Copied, progress: &dyn Fn(u64)) -> Result<()> {
    let mut source = File::open(from).on("read", from)?;
    let data = source.metadata().on("read", from)?;
    let mut target = File::options()
        .write(true)
        .create_new(true)
        .mode(data.mode() & 0o777)
        .open(to)
        .on("write", to)?;
    copied.files += 1;
    if rustix::fs::ioctl_ficlone(&target, &source).is_ok() {
        copied.bytes += data.len();
        copied.shared_bytes += data.len();
        progress(copied.bytes);
        return Ok(());
    }
    // Allocated zeros stay allocated in the copy: a server preallocates its logs.
    let is_sparse = data.blocks() * 512 < data.len();
    let mut block = vec![0; BLOCK_BYTES];
    let mut from_byte = 0;
    while from_byte < data.len() {
        let extent = match is_sparse {
            true => extent(&source, from_byte, data.len()),
            false => from_byte..data.len(),
        };
        copied.bytes += extent.start - from_byte;
        from_byte = extent.start;
        source.seek(SeekFrom::Start(from_byte)).on("read", from)?;
        target.seek(SeekFrom::Start(from_byte)).on("write", to)?;
        while from_byte < extent.end {
            let most = (extent.end - from_byte).min(BLOCK_BYTES as u64) as usize;
            let count = source.read(&mut block[..most]).on("read", from)?;
            if count == 0 {
                // It became shorter during the copy.
                return target.sync_data().on("write", to);
            }
            target.write_all(&block[..count]).on("write", to)?;
            from_byte += count as u64;
            copied.bytes += count as u64;
            progress(copied.bytes);
        }
    }
    if is_sparse {
        // It may end in a hole.
        target.set_len(data.len()).on("write", to)?;
        progress(copied.bytes);
    }
    target.sync_data().on("write", to)
}

/// The next range of a file, from `from_byte` on, that is not a hole; up to its end if the file
/// system does not report holes, and empty if no data is left.
fn extent(file: &File, from_byte: u64, length: u64) -> std::ops::Range<u64> {
    use rustix::fs::SeekFrom::{Data, Hole};
    let start = match rustix::fs::seek(file, Data(from_byte)) {
        Ok(start) => start,
        Err(rustix::io::Errno::NXIO) => return length..length,
        Err(_) => return from_byte..length,
    };
    let end = rustix::fs::seek(file, Hole(start)).unwrap_or(length);
    start.min(length)..end.clamp(start.min(length), length)
}

/// The size of a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    /// Sum of the files' lengths in bytes.
    pub length: u64,
    /// Bytes of the allocated blocks.
    pub allocated: u64,
}

/// The size of a folder. Ignores files that vanish in the process.
pub(crate) fn size(path: &Path) -> Size {
    let mut total = Size::default();
    each_file(path, |_, data| {
        total.length += data.len();
        total.allocated += data.blocks() * 512;
    });
    total
}

/// Visits the files below a folder. Ignores files that vanish in the process.
pub(crate) fn each_file(folder: &Path, mut visit: impl FnMut(&Path, &Metadata)) {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(data) = entry.metadata() else { continue };
            if data.is_dir() {
                folders.push(entry.path());
            } else if data.is_file() {
                visit(&entry.path(), &data);
            }
        }
    }
}

/// Free bytes for this user on the file system of a path.
///
/// # Errors
/// The file system cannot be queried.
pub fn free_bytes(path: &Path) -> Result<u64> {
    let data = rustix::fs::statvfs(path).map_err(|error| ServerError::Io {
        what: format!("cannot read the file system of {}", path.display()),
        why: error.into(),
    })?;
    Ok(data.f_bavail * data.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_copy_has_the_same_files_and_holes() {
        let outer = tempfile::tempdir().expect("a folder");
        let from = outer.path().join("from");
        fs::create_dir_all(from.join("inner")).expect("folders");
        fs::write(from.join("inner/a"), b"text").expect("a file");
        let sparse = File::create(from.join("sparse")).expect("a file");
        sparse.set_len(8 << 20).expect("a hole");
        std::os::unix::fs::symlink("inner/a", from.join("link")).expect("a link");
        let _listener =
            std::os::unix::net::UnixListener::bind(from.join("sock")).expect("a socket");
        let reported = Cell::new(0);
        let to = outer.path().join("to");
        let copied = tree(&from, &to, None, &|bytes| reported.set(bytes)).expect("a copy");
        assert_eq!((copied.files, copied.bytes), (2, (8 << 20) + 4));
        assert_eq!(reported.get(), copied.bytes);
        assert_eq!(
            fs::read(to.join("link")).expect("the link leads on"),
            b"text"
        );
        assert!(!to.join("sock").exists());
        let size = size(&to);
        assert_eq!(size.length, (8 << 20) + 4);
        assert!(size.allocated < 1 << 20, "{size:?}");
        assert!(free_bytes(&to).expect("a file system") > 0);
        let again = tree(&from, &to, None, &|_| {}).expect_err("a file is there");
        assert!(again.to_string().contains("cannot"), "{again}");
    }

    /// InnoDB punches holes of a few blocks into compressed pages.
    #[test]
    fn holes_of_a_few_blocks_are_holes_in_the_copy() {
        let outer = tempfile::tempdir().expect("a folder");
        let from = outer.path().join("from");
        fs::create_dir(&from).expect("a folder");
        let mut file = File::create(from.join("t.ibd")).expect("a file");
        for page in 0..64_u64 {
            file.seek(SeekFrom::Start(page * 16_384)).expect("a seek");
            file.write_all(&[page as u8 + 1; 4_096]).expect("room");
        }
        file.set_len(64 * 16_384).expect("a longer file");
        file.sync_all().expect("a device");
        let to = outer.path().join("to");
        let copied = tree(&from, &to, None, &|_| {}).expect("a copy");
        assert_eq!(copied.bytes, 64 * 16_384);
        let both = [&from, &to].map(|folder| fs::read(folder.join("t.ibd")).expect("a file"));
        assert!(both[0] == both[1], "the copy differs");
        let (before, after) = (size(&from), size(&to));
        assert_eq!(before.length, after.length);
        assert!(
            after.allocated <= before.allocated + 65_536,
            "{before:?} became {after:?}"
        );
    }
}
