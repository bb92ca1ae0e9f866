//! Writes files atomically: to a temporary file that is then renamed, so that a kill leaves no
//! partial file and does not destroy an earlier one.

use std::fs::{self, File, Permissions};
use std::io::{Error, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use tempfile::{Builder, NamedTempFile};

/// The destination of a result.
pub(crate) struct Destination {
    path: PathBuf,
    /// The open pipe or device, which cannot be replaced.
    stream: Option<File>,
}

impl Destination {
    /// Checks that the path can be written. Does not change an existing file.
    ///
    /// # Errors
    /// It cannot be written; it is a symbolic link, and writing would change a file elsewhere or
    /// replace the link; or it is a database, which must not be replaced by the page of one run.
    pub(crate) fn of(path: &str) -> Result<Self> {
        let failure = || format!("cannot write {path}");
        let path = PathBuf::from(path);
        let stream = match fs::metadata(&path) {
            Ok(about) if about.is_dir() => bail!("{}: it is a directory", failure()),
            // Includes /dev/stdout, which is a link.
            Ok(about) if !about.is_file() => Some(open_stream(&path).with_context(failure)?),
            _ => None,
        };
        if stream.is_none() {
            if fs::symlink_metadata(&path).is_ok_and(|about| about.is_symlink()) {
                let to = fs::read_link(&path).with_context(failure)?;
                bail!(
                    "{}: it is a symbolic link; name the file itself, {}",
                    failure(),
                    to.display()
                );
            }
            if is_database(&path) {
                bail!(
                    "{}: it is an SQLite database, as results files are; name another file",
                    failure()
                );
            }
            beside(&path).with_context(failure)?;
        }
        Ok(Self { path, stream })
    }

    /// Writes the result.
    ///
    /// # Errors
    /// The previous content remains.
    pub(crate) fn write(self, bytes: &[u8]) -> Result<()> {
        let failure = || format!("cannot write {}", self.path.display());
        if let Some(mut stream) = self.stream {
            return stream.write_all(bytes).with_context(failure);
        }
        let mut file = beside(&self.path).with_context(failure)?;
        file.write_all(bytes).with_context(failure)?;
        if let Ok(about) = fs::metadata(&self.path) {
            let rights = about.permissions();
            file.as_file()
                .set_permissions(rights)
                .with_context(failure)?;
        }
        file.persist(&self.path).with_context(failure).map(drop)
    }
}

/// Whether the file is an SQLite database, by its first bytes.
fn is_database(path: &Path) -> bool {
    const MAGIC: &[u8; 16] = b"SQLite format 3\0";
    let mut first = [0; MAGIC.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && first == *MAGIC
}

/// Opens a pipe or a device. A pipe without a reader is an error, because a blocking open would
/// wait for one forever.
fn open_stream(path: &Path) -> std::io::Result<File> {
    let file = File::options()
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)
        .map_err(|error| match error.raw_os_error() {
            Some(libc::ENXIO) => Error::other("nobody reads from this pipe"),
            _ => error,
        })?;
    // Block again when the pipe is full. SAFETY: system calls on an open descriptor.
    let failed = unsafe {
        let flags = libc::fcntl(file.as_raw_fd(), libc::F_GETFL);
        flags < 0 || libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags & !libc::O_NONBLOCK) < 0
    };
    match failed {
        true => Err(Error::last_os_error()),
        false => Ok(file),
    }
}

/// A temporary file in the same folder, with the mode of a new file, removed when dropped.
fn beside(path: &Path) -> std::io::Result<NamedTempFile> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    Builder::new()
        .prefix(".dyno-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder.unwrap_or(Path::new(".")))
        .map_err(|error| {
            // Without the temporary file's name, which the user does not know.
            let text = error.to_string();
            let why = text.split(" at path ").next().unwrap_or(&text);
            Error::new(error.kind(), why.to_owned())
        })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn write(path: &Path, text: &str) -> Result<()> {
        Destination::of(path.to_str().unwrap())?.write(text.as_bytes())
    }

    #[test]
    fn a_pipe_is_written_to_where_somebody_reads_and_never_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let name = std::ffi::CString::new(pipe.to_str().unwrap()).unwrap();
        // SAFETY: the name is a valid C string.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        let error = Destination::of(pipe.to_str().unwrap()).err().unwrap();
        let error = format!("{error:#}");
        assert!(error.contains("nobody reads from this pipe"), "{error}");
        let mut reader = File::options();
        let mut reader = reader
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(&pipe)
            .unwrap();
        write(&pipe, "two").unwrap();
        let mut read = String::new();
        std::io::Read::read_to_string(&mut reader, &mut read).unwrap();
        assert_eq!(read, "two");
    }

    #[test]
    fn files_are_replaced_whole_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        write(&at("new"), "one").unwrap();
        fs::set_permissions(at("new"), Permissions::from_mode(0o640)).unwrap();
        // Opened and never written, as by a failed run.
        drop(Destination::of(at("new").to_str().unwrap()).unwrap());
        assert_eq!(fs::read_to_string(at("new")).unwrap(), "one");
        write(&at("new"), "two").unwrap();
        assert_eq!(fs::read_to_string(at("new")).unwrap(), "two");
        let mode = fs::metadata(at("new")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);

        fs::write(at("other"), "kept").unwrap();
        symlink(at("other"), at("link")).unwrap();
        symlink(at("nowhere"), at("dangling")).unwrap();
        for name in ["link", "dangling"] {
            let error = write(&at(name), "x").unwrap_err().to_string();
            assert!(error.contains("symbolic link"), "{error}");
        }
        assert_eq!(fs::read_to_string(at("other")).unwrap(), "kept");
        assert!(!at("nowhere").exists());
        fs::write(at("runs.db"), b"SQLite format 3\0 and pages").unwrap();
        let error = write(&at("runs.db"), "x").unwrap_err().to_string();
        assert!(error.contains("it is an SQLite database"), "{error}");
        assert!(fs::read(at("runs.db")).unwrap().ends_with(b"pages"));
        write(Path::new("/dev/null"), "x").unwrap();
        assert!(write(folder.path(), "x").is_err());
        let error = format!("{:#}", write(&at("no/such"), "x").unwrap_err());
        assert!(error.contains("No such file"), "{error}");
        assert!(!error.contains(".dyno-"), "{error}");
        // No temporary files remain.
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5);
    }
}
