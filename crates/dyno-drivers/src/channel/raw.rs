//! Sockets that do not block, and system calls on them.

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};

use crate::tls::TlsSetup;

/// A connected or connecting stream socket that does not block.
pub trait Socket: Read + Write + AsRawFd + Send {}
impl<T: Read + Write + AsRawFd + Send> Socket for T {}

/// Opens another socket to the same endpoint, with the settings for its TLS.
pub type Reopen = Box<dyn FnOnce() -> io::Result<(Box<dyn Socket>, Option<Box<TlsSetup>>)> + Send>;

/// Writes what the kernel takes, which may be nothing.
#[inline]
pub(super) fn write(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    loop {
        // SAFETY: the pointer and length describe `bytes`; the descriptor is the socket's own.
        let written =
            unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
        if written >= 0 {
            return Ok(written as usize);
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::Interrupted => {}
            io::ErrorKind::WouldBlock => return Ok(0),
            _ => return Err(error),
        }
    }
}

/// Reads once. `None` means that nothing is there yet, `Some(0)` the end.
#[inline]
pub(super) fn read(fd: RawFd, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        // SAFETY: the pointer and length describe `buffer`; the descriptor is the socket's own.
        let read = unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        if read >= 0 {
            return Ok(Some(read as usize));
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::Interrupted => {}
            io::ErrorKind::WouldBlock => return Ok(None),
            _ => return Err(error),
        }
    }
}

/// Why connecting failed, if it did.
pub(super) fn pending_error(fd: RawFd) -> io::Result<Option<io::Error>> {
    let mut code: libc::c_int = 0;
    let mut len = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: `code` and `len` are valid for the kernel to write an int and its size.
    let result = unsafe {
        libc::getsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_ERROR,
            (&raw mut code).cast(),
            &raw mut len,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((code != 0).then(|| io::Error::from_raw_os_error(code)))
}

/// Whether connecting has succeeded.
pub(super) fn is_connected(fd: RawFd) -> bool {
    let mut poll = libc::pollfd {
        fd,
        events: libc::POLLOUT,
        revents: 0,
    };
    // SAFETY: `poll` is one valid pollfd; a zero timeout does not block.
    unsafe { libc::poll(&raw mut poll, 1, 0) == 1 && poll.revents & libc::POLLOUT != 0 }
}
