//! A disk that fills up quickly.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use xtask::servers::process;

/// A folder with this many bytes of space. If mounts are not permitted, a file size limit takes its
/// place.
pub(super) struct SmallDisk {
    folder: PathBuf,
    mounted: bool,
}

impl SmallDisk {
    /// Creates the folder, and makes the command run under its limit.
    pub(super) fn new(folder: &Path, bytes: u64, command: &mut Command) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let mut disk = Self {
            folder: folder.to_owned(),
            mounted: false,
        };
        let path = CString::new(folder.as_os_str().as_bytes())?;
        if process::is_root() {
            let options = CString::new(format!("size={bytes}"))?;
            // SAFETY: all pointers are to strings that live during the call.
            let status = unsafe {
                libc::mount(
                    c"tmpfs".as_ptr(),
                    path.as_ptr(),
                    c"tmpfs".as_ptr(),
                    0,
                    options.as_ptr().cast(),
                )
            };
            disk.mounted = status == 0;
        }
        if !disk.mounted {
            process::limit_files(command, bytes);
            ignore_limit(command);
        }
        Ok(disk)
    }

    /// Moves the files to a disk with enough space.
    pub(super) fn rescue(&self, to: &Path) -> Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            fs::copy(entry.path(), to.join(entry.file_name()))
                .with_context(|| format!("cannot copy {}", entry.path().display()))?;
        }
        Ok(())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        if let (true, Ok(path)) = (
            self.mounted,
            CString::new(self.folder.as_os_str().as_bytes()),
        ) {
            // SAFETY: the path lives during the call.
            unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) };
        }
    }
}

/// Makes writes beyond the limit fail instead of ending the process.
fn ignore_limit(command: &mut Command) {
    let prepare = || {
        // SAFETY: ignoring a signal has no memory effects.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        Ok(())
    };
    // SAFETY: the closure runs between fork and exec, and makes only async-signal-safe calls.
    unsafe { command.pre_exec(prepare) };
}
