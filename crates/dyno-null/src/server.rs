//! The event loop: one thread, edge-triggered, one read and one write per burst of requests.

use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixListener;

use dyno_sys::socket::{recv, send};
use dyno_sys::{Epoll, Event, Interest};

/// The server's limit on open files: ten thousand clients and some spare.
pub const OPEN_FILES: u64 = 12_000;

const READ_BYTES: usize = 256 * 1024;

/// The protocol of one connection.
pub(crate) trait Protocol {
    /// The canned answers, shared by all connections.
    type Replies;

    /// Appends the server's first message, if any.
    fn greet(&mut self, replies: &Self::Replies, out: &mut Vec<u8>);

    /// Answers the complete requests in `input`.
    fn feed(&mut self, replies: &Self::Replies, input: &[u8], out: &mut Vec<u8>) -> Fed;
}

/// What [`Protocol::feed`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fed {
    /// How many bytes were consumed. The rest is passed again, with more bytes appended.
    pub consumed: usize,
    /// Whether the connection ends.
    pub close: bool,
}

impl Fed {
    /// These bytes were consumed, and the connection continues.
    #[inline]
    pub(crate) fn open(consumed: usize) -> Fed {
        let close = false;
        Fed { consumed, close }
    }

    /// The connection ends after these bytes.
    #[inline]
    pub(crate) fn close(consumed: usize) -> Fed {
        let close = true;
        Fed { consumed, close }
    }
}

/// The listening sockets.
pub struct Listeners {
    unix: UnixListener,
    tcp: Option<TcpListener>,
}

impl Listeners {
    /// Binds the sockets. Removes a socket that an earlier server has left behind. The kernel
    /// chooses the port if it is 0.
    ///
    /// # Errors
    /// Says what cannot be bound and why.
    pub fn bind(path: &str, port: Option<u16>) -> Result<Listeners, String> {
        if std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket()) {
            std::fs::remove_file(path).map_err(|error| format!("cannot remove {path}: {error}"))?;
        }
        let unix = UnixListener::bind(path)
            .map_err(|error| format!("cannot listen on {path}: {error}"))?;
        let mut tcp = None;
        if let Some(port) = port {
            let bound = TcpListener::bind(("127.0.0.1", port));
            tcp = Some(bound.map_err(|error| format!("cannot listen on port {port}: {error}"))?);
        }
        Ok(Listeners { unix, tcp })
    }

    /// The TCP port, if there is one.
    pub fn port(&self) -> Option<u16> {
        let address = self.tcp.as_ref()?.local_addr().ok()?;
        Some(address.port())
    }

    fn descriptors(&self) -> impl Iterator<Item = RawFd> + '_ {
        let tcp = self.tcp.iter().map(AsRawFd::as_raw_fd);
        std::iter::once(self.unix.as_raw_fd()).chain(tcp)
    }
}

/// Serves until `stop` is ready, or until a system call fails for a reason other than a client.
pub(crate) fn serve<P: Protocol>(
    listeners: Listeners,
    replies: &P::Replies,
    open: impl Fn() -> P,
    stop: Option<OwnedFd>,
) -> io::Result<()> {
    let mut epoll = Epoll::new()?;
    if let Some(stop) = &stop {
        let fd = stop.as_raw_fd();
        epoll.add(fd, fd as u64, Interest::Read)?;
    }
    for fd in listeners.descriptors() {
        // SAFETY: the descriptor is an open socket. The longer accept queue lets ten thousand
        // clients connect at the same time.
        unsafe { libc::listen(fd, 65_535) };
        set_nonblocking(fd)?;
        epoll.add(fd, fd as u64, Interest::Read)?;
    }
    let mut clients: Vec<Option<Client<P>>> = Vec::new();
    let mut buffers = Buffers {
        input: vec![0; READ_BYTES],
        output: Vec::with_capacity(READ_BYTES),
    };
    loop {
        let count = epoll.wait()?;
        for index in 0..count {
            let event = epoll.event(index);
            let token = event.token() as usize;
            if stop
                .as_ref()
                .is_some_and(|stop| stop.as_raw_fd() as usize == token)
            {
                return Ok(());
            }
            if listeners.descriptors().any(|fd| fd as usize == token) {
                accept_all(token as RawFd, &epoll, &mut clients, &open, replies)?;
                continue;
            }
            let Some(slot) = clients.get_mut(token) else {
                continue;
            };
            let alive = match slot {
                Some(client) => client.ready(event, replies, &mut buffers, &epoll),
                None => continue,
            };
            if alive.is_err() {
                *slot = None;
            }
        }
    }
}

/// Buffers shared by all clients.
struct Buffers {
    input: Vec<u8>,
    output: Vec<u8>,
}

struct Client<P> {
    fd: OwnedFd,
    protocol: P,
    /// The first bytes of an incomplete request.
    partial: Vec<u8>,
    /// Bytes that the socket has not accepted yet. They must be sent before more is read.
    unsent: Vec<u8>,
}

/// The client has disconnected, or must be disconnected.
struct Gone;

impl<P: Protocol> Client<P> {
    fn ready(
        &mut self,
        event: Event,
        replies: &P::Replies,
        buffers: &mut Buffers,
        epoll: &Epoll,
    ) -> Result<(), Gone> {
        if !self.unsent.is_empty() {
            if !event.is_writable() {
                return Ok(());
            }
            let unsent = std::mem::take(&mut self.unsent);
            self.write(&unsent, epoll)?;
            if !self.unsent.is_empty() {
                return Ok(());
            }
            let fd = self.fd.as_raw_fd();
            epoll
                .modify(fd, fd as u64, Interest::Read)
                .map_err(|_| Gone)?;
        }
        loop {
            let count = match recv(self.fd.as_raw_fd(), &mut buffers.input) {
                Ok(0) => return Err(Gone),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(_) => return Err(Gone),
            };
            buffers.output.clear();
            let close = self.feed(&buffers.input[..count], replies, &mut buffers.output);
            if !buffers.output.is_empty() {
                self.write(&buffers.output, epoll)?;
            }
            if close {
                return Err(Gone);
            }
            // A short read has emptied the socket, so later bytes cause a new edge.
            if count < buffers.input.len() || !self.unsent.is_empty() {
                return Ok(());
            }
        }
    }

    fn feed(&mut self, input: &[u8], replies: &P::Replies, out: &mut Vec<u8>) -> bool {
        if self.partial.is_empty() {
            let fed = self.protocol.feed(replies, input, out);
            self.partial.extend_from_slice(&input[fed.consumed..]);
            return fed.close;
        }
        self.partial.extend_from_slice(input);
        let fed = self.protocol.feed(replies, &self.partial, out);
        self.partial.drain(..fed.consumed);
        fed.close
    }

    fn write(&mut self, bytes: &[u8], epoll: &Epoll) -> Result<(), Gone> {
        let fd = self.fd.as_raw_fd();
        let mut sent = 0;
        while sent < bytes.len() {
            match send(fd, &bytes[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.unsent = bytes[sent..].to_vec();
                    return epoll
                        .modify(fd, fd as u64, Interest::ReadWrite)
                        .map_err(|_| Gone);
                }
                Err(_) => return Err(Gone),
            }
        }
        Ok(())
    }
}

fn accept_all<P: Protocol>(
    listener: RawFd,
    epoll: &Epoll,
    clients: &mut Vec<Option<Client<P>>>,
    open: &impl Fn() -> P,
    replies: &P::Replies,
) -> io::Result<()> {
    loop {
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        let none = std::ptr::null_mut();
        // SAFETY: no address is requested.
        let fd = unsafe { libc::accept4(listener, none, std::ptr::null_mut(), flags) };
        if fd < 0 {
            let error = io::Error::last_os_error();
            return match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::ConnectionAborted => Ok(()),
                _ => Err(error),
            };
        }
        set_nodelay(fd);
        // SAFETY: the descriptor was just created and has no other owner.
        let owned = unsafe { OwnedFd::from_raw_fd(fd) };
        let mut client = Client {
            fd: owned,
            protocol: open(),
            partial: Vec::new(),
            unsent: Vec::new(),
        };
        epoll.add(fd, fd as u64, Interest::Read)?;
        let mut greeting = Vec::new();
        client.protocol.greet(replies, &mut greeting);
        if client.write(&greeting, epoll).is_err() {
            continue;
        }
        let slot = fd as usize;
        if clients.len() <= slot {
            clients.resize_with(slot + 1, || None);
        }
        clients[slot] = Some(client);
    }
}

/// Makes TCP send answers at once. A UNIX socket refuses the option, which does no harm.
fn set_nodelay(fd: RawFd) {
    let on: libc::c_int = 1;
    let size = size_of_val(&on) as libc::socklen_t;
    let value = (&raw const on).cast();
    // SAFETY: the option's value is an int that lives during the call.
    unsafe { libc::setsockopt(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, value, size) };
}

fn set_nonblocking(fd: RawFd) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the request's argument is an int that lives during the call.
    if unsafe { libc::ioctl(fd, libc::FIONBIO, &on) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
