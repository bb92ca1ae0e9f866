//! The sockets between both sides.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::net::{SendFlags, send, sockopt};

use crate::channel::Socket;
use crate::socket;

/// Small, so that large requests are written in pieces.
const BUFFER_BYTES: usize = 32 * 1024;

/// The kind of sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// Pairs of UNIX sockets. Each call takes effect at the other end before it returns, so a seed
    /// always gives the same run, however busy the machine is.
    Pairs,
    /// TCP, where the kernel delivers later.
    Tcp,
}

/// Where the client connects and the server accepts.
#[derive(Clone)]
pub(super) enum Listener {
    Pairs(Arc<Mutex<VecDeque<ServerEnd>>>),
    Tcp(Arc<TcpListener>),
}

impl Listener {
    pub(super) fn new(link: Link) -> Self {
        if link == Link::Pairs {
            return Self::Pairs(Arc::default());
        }
        // A loopback address for this process: on 127.0.0.1 another test may still be connecting to
        // a server that had this port.
        let [.., high, low] = std::process::id().to_be_bytes();
        let listener = TcpListener::bind(SocketAddr::from(([127, 77, high, low], 0))).unwrap();
        listener.set_nonblocking(true).unwrap();
        sockopt::set_socket_recv_buffer_size(&listener, BUFFER_BYTES).unwrap();
        Self::Tcp(Arc::new(listener))
    }

    /// The client's end of a new connection.
    pub(super) fn connect(&self) -> Box<dyn Socket> {
        match self {
            Self::Pairs(queue) => {
                let (near, far) = UnixStream::pair().unwrap();
                near.set_nonblocking(true).unwrap();
                far.set_nonblocking(true).unwrap();
                sockopt::set_socket_send_buffer_size(&near, BUFFER_BYTES).unwrap();
                let open = Arc::new(AtomicBool::new(true));
                queue.lock().unwrap().push_back(ServerEnd {
                    socket: far.into(),
                    client: Some((near.as_raw_fd(), Arc::clone(&open))),
                });
                Box::new(ClientEnd { open, socket: near })
            }
            Self::Tcp(listener) => {
                let socket = socket::tcp(listener.local_addr().unwrap()).unwrap();
                // Leaves no TIME_WAIT: hundreds of thousands would use up the ports.
                sockopt::set_socket_linger(&socket, Some(Duration::ZERO)).unwrap();
                Box::new(socket)
            }
        }
    }

    /// The server's end of a pending connection.
    pub(super) fn accept(&self) -> Option<ServerEnd> {
        match self {
            Self::Pairs(queue) => queue.lock().unwrap().pop_front(),
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().ok()?;
                stream.set_nonblocking(true).unwrap();
                stream.set_nodelay(true).unwrap();
                Some(ServerEnd {
                    socket: stream.into(),
                    client: None,
                })
            }
        }
    }
}

/// The client's end of a pair.
struct ClientEnd {
    /// Shared with the server's end; cleared on drop.
    open: Arc<AtomicBool>,
    socket: UnixStream,
}

impl Drop for ClientEnd {
    fn drop(&mut self) {
        self.open.store(false, Ordering::Relaxed);
    }
}

impl AsRawFd for ClientEnd {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl Read for ClientEnd {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.read(buffer)
    }
}

impl Write for ClientEnd {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The server's end of a connection. Dropping it closes: by FIN, or by RST if there are unread
/// bytes.
pub(super) struct ServerEnd {
    socket: OwnedFd,
    /// The client's descriptor, and whether it is open; only for a pair.
    client: Option<(RawFd, Arc<AtomicBool>)>,
}

impl AsFd for ServerEnd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl ServerEnd {
    /// Closes by RST.
    pub(super) fn reset(self) {
        match &self.client {
            None => sockopt::set_socket_linger(&self.socket, Some(Duration::ZERO)).unwrap(),
            // A UNIX socket resets its peer if it has unread bytes. If there is no room for one
            // more byte, it has some.
            Some((fd, open)) if open.load(Ordering::Relaxed) => {
                // SAFETY: the descriptor is open, and belongs to this thread.
                let client = unsafe { BorrowedFd::borrow_raw(*fd) };
                let _ = send(client, b"!", SendFlags::NOSIGNAL);
            }
            Some(_) => {}
        }
    }

    /// Whether the client's kernel has received everything that was sent.
    pub(super) fn is_delivered(&self) -> bool {
        if self.client.is_some() {
            return true;
        }
        let mut unacknowledged: libc::c_int = 0;
        // SAFETY: the answer is an int, which lives during the call.
        unsafe {
            libc::ioctl(
                self.socket.as_raw_fd(),
                libc::TIOCOUTQ,
                &raw mut unacknowledged,
            )
        };
        unacknowledged == 0
    }
}
