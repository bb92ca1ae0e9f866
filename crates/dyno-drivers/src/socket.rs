//! Non-blocking sockets and their errors.

use std::ffi::c_int;
use std::io;
use std::mem::size_of;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Starts a TCP connection: the socket is connecting or connected on return. Small requests are
/// sent immediately (`TCP_NODELAY`).
///
/// # Errors
/// What the kernel refuses immediately.
pub(crate) fn tcp(address: SocketAddr) -> io::Result<TcpStream> {
    let family = match address {
        SocketAddr::V4(_) => libc::AF_INET,
        SocketAddr::V6(_) => libc::AF_INET6,
    };
    let socket = TcpStream::from(open(family, libc::SOCK_NONBLOCK)?);
    socket.set_nodelay(true)?;
    let started = match address {
        SocketAddr::V4(address) => {
            let raw = libc::sockaddr_in {
                sin_family: family as libc::sa_family_t,
                sin_port: address.port().to_be(),
                sin_addr: libc::in_addr {
                    s_addr: u32::from_ne_bytes(address.ip().octets()),
                },
                sin_zero: [0; 8],
            };
            connect(&socket, &raw, size_of::<libc::sockaddr_in>())
        }
        SocketAddr::V6(address) => {
            let raw = libc::sockaddr_in6 {
                sin6_family: family as libc::sa_family_t,
                sin6_port: address.port().to_be(),
                sin6_flowinfo: address.flowinfo(),
                sin6_addr: libc::in6_addr {
                    s6_addr: address.ip().octets(),
                },
                sin6_scope_id: address.scope_id(),
            };
            connect(&socket, &raw, size_of::<libc::sockaddr_in6>())
        }
    };
    match started {
        Ok(()) => Ok(socket),
        // An interrupted connect continues in the background, like one in progress.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EINPROGRESS | libc::EINTR)) => {
            Ok(socket)
        }
        Err(error) => Err(error),
    }
}

/// Connects to a UNIX socket. The kernel has no intermediate state for these: if the server's queue
/// of connections is full, this waits for room, at most for `patience`.
///
/// # Errors
/// No such socket, nobody listening, a queue that stays full, a path of more than 107 bytes.
pub(crate) fn unix(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let bytes = path.as_os_str().as_bytes();
    let mut raw = libc::sockaddr_un {
        sun_family: libc::AF_UNIX as libc::sa_family_t,
        sun_path: [0; 108],
    };
    if bytes.len() >= raw.sun_path.len() || bytes.contains(&0) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the path of a UNIX socket must have at most 107 bytes and no zero byte",
        ));
    }
    for (to, from) in raw.sun_path.iter_mut().zip(bytes) {
        *to = *from as libc::c_char;
    }
    let socket = UnixStream::from(open(libc::AF_UNIX, 0)?);
    socket.set_write_timeout(Some(patience))?;
    // Retry an interrupted wait.
    while let Err(error) = connect(&socket, &raw, size_of::<libc::sockaddr_un>()) {
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    socket.set_write_timeout(None)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Advice for a failed attempt to connect, empty or beginning with `; `.
pub(crate) fn advice(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::ECONNREFUSED) => "; is the server running, and does it listen there?",
        Some(libc::ENOENT) => {
            "; there is no such socket: is the server running, and is this its socket's path?"
        }
        Some(libc::ETIMEDOUT | libc::EHOSTUNREACH | libc::ENETUNREACH) => {
            "; check the address, the network and firewalls in between"
        }
        Some(libc::EACCES | libc::EPERM) => "; check the permissions of the socket, or a firewall",
        Some(libc::EAGAIN) => "; the server's connection queue is full",
        Some(libc::EADDRNOTAVAIL) => {
            "; no local port is free: widen net.ipv4.ip_local_port_range or use fewer sessions"
        }
        Some(libc::EMFILE | libc::ENFILE) => {
            "; raise the limit on open files (ulimit -n) or use fewer sessions"
        }
        Some(libc::ECONNRESET | libc::EPIPE) => {
            "; the server may have reached its connection limit, or have stopped"
        }
        _ => "",
    }
}

fn open(family: c_int, flags: c_int) -> io::Result<OwnedFd> {
    // SAFETY: no pointers are passed.
    let fd = unsafe { libc::socket(family, libc::SOCK_STREAM | libc::SOCK_CLOEXEC | flags, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn connect<T>(socket: &impl AsRawFd, address: &T, len: usize) -> io::Result<()> {
    // SAFETY: the pointer and length describe `address`, one of the sockaddr structures.
    let result = unsafe {
        libc::connect(
            socket.as_raw_fd(),
            std::ptr::from_ref(address).cast(),
            len as libc::socklen_t,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    use super::*;

    fn is_nonblocking(socket: &impl AsRawFd) -> bool {
        // SAFETY: the descriptor is open; F_GETFL takes no argument.
        unsafe { libc::fcntl(socket.as_raw_fd(), libc::F_GETFL) & libc::O_NONBLOCK != 0 }
    }

    #[test]
    fn tcp_sockets_connect_without_blocking() {
        for host in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(host).unwrap();
            let socket = tcp(listener.local_addr().unwrap()).unwrap();
            assert!(is_nonblocking(&socket) && socket.nodelay().unwrap());
            let (mut peer, _) = listener.accept().unwrap();
            peer.write_all(b"x").unwrap();
            socket.set_nonblocking(false).unwrap();
            assert_eq!((&socket).read(&mut [0; 8]).unwrap(), 1);
        }
    }

    #[test]
    fn a_closed_port_is_refused_with_advice() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        // The kernel reports it immediately or later.
        let error = match tcp(address) {
            Err(error) => error,
            Ok(socket) => loop {
                if let Some(error) = socket.take_error().unwrap() {
                    break error;
                }
                std::thread::yield_now();
            },
        };
        assert!(advice(&error).contains("is the server running"), "{error}");
    }

    #[test]
    fn unix_sockets_connect_and_wait_for_a_full_queue() {
        let directory = tempfile::TempDir::new().unwrap();
        let path = directory.path().join("s");
        let patience = Duration::from_millis(20);
        assert!(advice(&unix(&path, patience).unwrap_err()).contains("no such socket"));
        let listener = UnixListener::bind(&path).unwrap();
        // SAFETY: the descriptor is open; listening again changes the length of the queue.
        unsafe { libc::listen(listener.as_raw_fd(), 0) };
        let first = unix(&path, patience).unwrap();
        assert!(is_nonblocking(&first));
        let error = unix(&path, patience).unwrap_err();
        assert!(
            advice(&error).contains("connection queue is full"),
            "{error}"
        );
        listener.accept().unwrap();
        unix(&path, patience).unwrap();
        let long = directory.path().join("x".repeat(200));
        assert!(
            unix(&long, patience)
                .unwrap_err()
                .to_string()
                .contains("107 bytes")
        );
    }
}
