//! Socket calls that the standard library lacks.

use std::io;
use std::mem;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

/// Ends a connection with a reset, even if other descriptors share it.
///
/// # Errors
/// The connection has already ended.
pub fn reset(stream: &TcpStream) -> io::Result<()> {
    // SAFETY: an all-zero sockaddr is valid, and the kernel reads nothing else of an AF_UNSPEC (0)
    // address.
    let nowhere: libc::sockaddr = unsafe { mem::zeroed() };
    let length = mem::size_of::<libc::sockaddr>() as libc::socklen_t;
    // According to connect(2), this dissolves the association; Linux resets a TCP connection.
    // SAFETY: the address lives during the call and has the given length.
    match unsafe { libc::connect(stream.as_raw_fd(), &raw const nowhere, length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Holds back writes or releases them, so that data and the FIN travel together.
pub fn cork(stream: &TcpStream, hold: bool) {
    let value = libc::c_int::from(hold);
    let length = mem::size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the value lives during the call and has the given length.
    unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CORK,
            (&raw const value).cast(),
            length,
        );
    }
}
