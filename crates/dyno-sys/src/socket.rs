//! Reading and writing sockets by descriptor.

use std::io;
use std::os::fd::RawFd;

/// Reads the available bytes.
///
/// # Errors
/// `recv` failed; `WouldBlock` if nothing is available on a non-blocking socket.
#[inline]
pub fn recv(fd: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the buffer is valid for its length.
    let count = unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), 0) };
    size(count)
}

/// Writes as much as fits. A closed peer is an error, not a signal.
///
/// # Errors
/// `send` failed; `WouldBlock` if nothing fits on a non-blocking socket.
#[inline]
pub fn send(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the bytes are valid for their length.
    let count = unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
    size(count)
}

#[inline]
fn size(count: isize) -> io::Result<usize> {
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}
