//! Non-blocking sockets and system calls on them.

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

use crate::tls::TlsSetup;

/// A non-blocking stream socket, connected or connecting.
pub trait Socket: Read + Write + AsRawFd + Send {}
impl<T: Read + Write + AsRawFd + Send> Socket for T {}

/// Opens another socket to the same endpoint, with its TLS settings.
pub type Reopen = Box<dyn FnOnce() -> io::Result<(Box<dyn Socket>, Option<Box<TlsSetup>>)> + Send>;

// Both calls bypass libc: its wrappers are cancellation points, which in a process with threads
// cost more than the rest of the user-space path.

/// Writes what the kernel takes, possibly nothing.
#[inline]
pub(super) fn write(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    loop {
        // SAFETY: the descriptor is the socket's own, and open.
        match rustix::net::send(unsafe { borrow(fd) }, bytes, SendFlags::NOSIGNAL) {
            Ok(written) => return Ok(written),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(0),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Reads once. `None`: nothing is available yet; `Some(0)`: end of stream.
#[inline]
pub(super) fn read(fd: RawFd, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        // SAFETY: the descriptor is the socket's own, and open.
        match rustix::net::recv(unsafe { borrow(fd) }, &mut *buffer, RecvFlags::empty()) {
            Ok((read, _)) => return Ok(Some(read)),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
}

/// # Safety
/// The descriptor must stay open for the lifetime of the returned value.
#[inline]
unsafe fn borrow<'a>(fd: RawFd) -> BorrowedFd<'a> {
    // SAFETY: guaranteed by the caller.
    unsafe { BorrowedFd::borrow_raw(fd) }
}

/// The error of a failed connect, if any.
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

/// Whether the socket is connected.
pub(super) fn is_connected(fd: RawFd) -> bool {
    let mut poll = libc::pollfd {
        fd,
        events: libc::POLLOUT,
        revents: 0,
    };
    // SAFETY: `poll` is one valid pollfd; a zero timeout does not block.
    unsafe { libc::poll(&raw mut poll, 1, 0) == 1 && poll.revents & libc::POLLOUT != 0 }
}
