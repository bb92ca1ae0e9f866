//! What the standard library's sockets cannot do.

use std::mem;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

/// Ends a connection with a reset, whoever else holds its descriptor.
pub(super) fn reset(stream: &TcpStream) {
    // SAFETY: an all-zero sockaddr is valid, and AF_UNSPEC (0) needs no more of it.
    let nowhere: libc::sockaddr = unsafe { mem::zeroed() };
    let length = mem::size_of::<libc::sockaddr>() as libc::socklen_t;
    // By connect(2) this dissolves the association; of a TCP connection Linux makes a reset. One
    // that is gone already needs none, so that an error says nothing.
    // SAFETY: the address lives during the call and has the length that is named.
    unsafe { libc::connect(stream.as_raw_fd(), &raw const nowhere, length) };
}

/// Holds back what is written, or lets it go: so that data and the end travel together.
pub(super) fn cork(stream: &TcpStream, hold: bool) {
    let value = libc::c_int::from(hold);
    let length = mem::size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the value lives during the call and has the length that is named.
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
