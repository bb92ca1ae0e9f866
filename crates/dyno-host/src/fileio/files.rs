//! The open files of one session, and blocking calls on them.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, RawFd};

use super::layout::For;
use super::options::FileIo;

/// The files of a session, opened by the thread that uses them.
#[derive(Debug)]
pub(crate) struct Files {
    files: Vec<File>,
    data_only: bool,
}

impl Files {
    pub(crate) fn open(test: &FileIo) -> Result<Self, String> {
        let files = (0..test.files).map(|number| test.open(number, For::Requests));
        Ok(Self {
            files: files.collect::<Result<_, _>>()?,
            data_only: test.data_only,
        })
    }

    #[inline]
    pub(crate) fn fd(&self, number: u32) -> RawFd {
        self.files[number as usize].as_raw_fd()
    }

    /// The descriptors, in the order of the files.
    pub(crate) fn fds(&self) -> Vec<RawFd> {
        self.files.iter().map(|file| file.as_raw_fd()).collect()
    }

    /// Reads all of `bytes`.
    #[inline]
    pub(crate) fn read(&self, number: u32, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            let rest = &mut bytes[done..];
            // SAFETY: pointer and length describe `rest`.
            let count = unsafe {
                libc::pread64(
                    self.fd(number),
                    rest.as_mut_ptr().cast(),
                    rest.len(),
                    (offset + done as u64) as libc::off64_t,
                )
            };
            done += moved(count, "the file ends before")?;
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn write(&self, number: u32, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            let rest = &bytes[done..];
            // SAFETY: pointer and length describe `rest`.
            let count = unsafe {
                libc::pwrite64(
                    self.fd(number),
                    rest.as_ptr().cast(),
                    rest.len(),
                    (offset + done as u64) as libc::off64_t,
                )
            };
            done += moved(count, "nothing more was written")?;
        }
        Ok(())
    }

    /// Flushes the file to the device.
    pub(crate) fn sync(&self, number: u32) -> io::Result<()> {
        let file = &self.files[number as usize];
        match self.data_only {
            true => file.sync_data(),
            false => file.sync_all(),
        }
    }
}

/// The number of bytes moved by a call; 0 if it was interrupted.
#[inline]
fn moved(count: isize, nothing: &'static str) -> io::Result<usize> {
    match count {
        0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, nothing)),
        count if count > 0 => Ok(count as usize),
        _ => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            error => Err(error),
        },
    }
}
