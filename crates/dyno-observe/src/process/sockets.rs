//! Sockets and their owners.

use std::collections::HashSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::path::PathBuf;

use dyno_core::target::Endpoint;

use super::find::processes;
use crate::helpers;
use crate::text::{lines, names_in, of_process, whole, words};

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Peer {
    /// A process behind a UNIX socket; 0 if its namespace is not visible.
    Process(i32),
    Address {
        local: SocketAddr,
        peer: SocketAddr,
    },
}

/// The peer of a connected socket.
pub(super) fn peer_of(socket: RawFd) -> io::Result<Peer> {
    // SAFETY: the caller's connection stays open during this call.
    let borrowed = unsafe { BorrowedFd::borrow_raw(socket) };
    if domain(borrowed.as_raw_fd())? == libc::AF_UNIX {
        return credentials(socket).map(Peer::Process);
    }
    let stream = TcpStream::from(borrowed.try_clone_to_owned()?);
    Ok(Peer::Address {
        local: plain(stream.local_addr()?),
        peer: plain(stream.peer_addr()?),
    })
}

/// Whether a TCP connection sends small segments immediately; `None` for other sockets.
pub(crate) fn nodelay_of(socket: RawFd) -> Option<bool> {
    // SAFETY: the caller's connection stays open during this call.
    let borrowed = unsafe { BorrowedFd::borrow_raw(socket) };
    if domain(borrowed.as_raw_fd()).ok()? == libc::AF_UNIX {
        return None;
    }
    let stream = TcpStream::from(borrowed.try_clone_to_owned().ok()?);
    stream.nodelay().ok()
}

fn domain(socket: RawFd) -> io::Result<libc::c_int> {
    let mut domain: libc::c_int = 0;
    option(socket, libc::SO_DOMAIN, &mut domain)?;
    Ok(domain)
}

fn credentials(socket: RawFd) -> io::Result<i32> {
    let mut credentials = libc::ucred {
        pid: 0,
        uid: 0,
        gid: 0,
    };
    option(socket, libc::SO_PEERCRED, &mut credentials)?;
    Ok(credentials.pid)
}

/// Reads an option of a socket; `T` must be plain data for which any bytes are valid.
fn option<T: Copy>(socket: RawFd, name: libc::c_int, value: &mut T) -> io::Result<()> {
    let mut length = size_of::<T>() as libc::socklen_t;
    let pointer = std::ptr::from_mut(value).cast();
    // SAFETY: `value` has the size in `length`, and the kernel writes at most that.
    let result =
        unsafe { libc::getsockopt(socket, libc::SOL_SOCKET, name, pointer, &raw mut length) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Converts IPv4 addresses mapped to IPv6.
fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// An established connection in the kernel's list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SocketRow {
    pub uid: u32,
    pub inode: u64,
}

/// The socket in this network namespace with these ends.
pub(super) fn row_of(local: SocketAddr, peer: SocketAddr) -> Option<SocketRow> {
    row_in("self", local, peer)
}

/// The socket with these ends in a process's network namespace.
pub(super) fn row_in(process: &str, local: SocketAddr, peer: SocketAddr) -> Option<SocketRow> {
    ["tcp", "tcp6"].iter().find_map(|file| {
        let text = std::fs::read(format!("/proc/{process}/net/{file}")).ok()?;
        find_row(&text, plain(local), plain(peer))
    })
}

fn find_row(text: &[u8], local: SocketAddr, peer: SocketAddr) -> Option<SocketRow> {
    let mut lines = lines(text);
    // The header names two columns after the addresses, queues and timers, that are one word each
    // in the rows. So columns are counted as in the kernel's proc_net_tcp.rst.
    let header = lines.next()?;
    if !words(header).any(|word| word == b"inode") {
        return None;
    }
    lines.find_map(|line| {
        let all: Vec<&[u8]> = words(line).collect();
        let matches = address(all.get(1)?)? == local && address(all.get(2)?)? == peer;
        if !matches {
            return None;
        }
        Some(SocketRow {
            uid: whole(all.get(7)?)?.try_into().ok()?,
            inode: whole(all.get(9)?)?,
        })
    })
}

/// Parses `0100007F:93BF`: 32-bit words in host byte order, then the port.
fn address(word: &[u8]) -> Option<SocketAddr> {
    let text = std::str::from_utf8(word).ok()?;
    let (host, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let part = |index: usize| {
        let digits = host.get(index * 8..index * 8 + 8)?;
        u32::from_str_radix(digits, 16).ok().map(u32::to_ne_bytes)
    };
    let ip = match host.len() {
        8 => IpAddr::V4(Ipv4Addr::from(part(0)?)),
        32 => {
            let mut bytes = [0; 16];
            for (index, chunk) in bytes.chunks_exact_mut(4).enumerate() {
                chunk.copy_from_slice(&part(index)?);
            }
            IpAddr::V6(Ipv6Addr::from(bytes)).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// The ports of both ends of a connected TCP socket, its own first.
pub(crate) fn ports_of(socket: RawFd) -> Option<(u16, u16)> {
    match peer_of(socket).ok()? {
        Peer::Address { local, peer } => Some((local.port(), peer.port())),
        Peer::Process(_) => None,
    }
}

/// The local ports of this process's and its helpers' connections to this port, including all
/// threads' tables of descriptors.
pub(crate) fn own_ports(peer: u16) -> HashSet<u16> {
    let mut inodes = HashSet::new();
    let helpers = helpers::processes().into_iter();
    let all = helpers.map(|pid| of_process(pid, "task"));
    let all = all.chain([PathBuf::from("/proc/self/task")]);
    let folders = all.flat_map(|tasks| {
        let threads = names_in(&tasks).into_iter();
        threads.map(move |tid| tasks.join(tid).join("fd"))
    });
    for folder in folders {
        for name in names_in(&folder) {
            let link = std::fs::read_link(folder.join(name)).unwrap_or_default();
            let link = link.to_string_lossy();
            let inode = link
                .strip_prefix("socket:[")
                .and_then(|rest| rest.strip_suffix(']'));
            inodes.extend(inode.and_then(|inode| whole(inode.as_bytes())));
        }
    }
    let mut ports = HashSet::new();
    for path in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let text = std::fs::read(path).unwrap_or_default();
        for line in lines(&text).skip(1) {
            let all: Vec<&[u8]> = words(line).collect();
            let port = |index: usize| all.get(index).and_then(|word| port(word));
            let inode = all.get(9).and_then(|word| whole(word));
            if port(2) == Some(peer) && inode.is_some_and(|inode| inodes.contains(&inode)) {
                ports.extend(port(1));
            }
        }
    }
    ports
}

/// The port of an address in the kernel's list.
fn port(word: &[u8]) -> Option<u16> {
    let (_, port) = std::str::from_utf8(word).ok()?.rsplit_once(':')?;
    u16::from_str_radix(port, 16).ok()
}

/// The processes of this host that listen on these endpoints.
pub(crate) fn listeners(endpoints: &[Endpoint]) -> Vec<i32> {
    let listener = |endpoint: &Endpoint| match endpoint {
        Endpoint::Tcp(host, port) => listener_of(host, *port),
        Endpoint::Unix(_) => None,
    };
    let mut found: Vec<i32> = endpoints.iter().filter_map(listener).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The process of this host that listens on an endpoint: a server or a proxy. Names other than
/// `localhost` are not looked up.
fn listener_of(host: &str, port: u16) -> Option<i32> {
    const LISTENS: &[u8] = b"0A";
    let ip = match host {
        "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
        host => host.parse().ok()?,
    };
    // Only addresses of this host can be bound.
    std::net::UdpSocket::bind((ip, 0)).ok()?;
    let listens = |all: &[&[u8]]| {
        let at = address(all.get(1)?)?;
        let here = at.ip() == ip || at.ip().is_unspecified();
        (here && at.port() == port && *all.get(3)? == LISTENS).then(|| whole(all.get(9)?))?
    };
    let inode = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .find_map(|path| {
            let text = std::fs::read(path).ok()?;
            let mut rows = lines(&text).skip(1);
            rows.find_map(|line| listens(&words(line).collect::<Vec<_>>()))
        })?;
    owner_of(inode)
}

/// The process that has this socket open; `None` also if its descriptors may not be read.
pub(super) fn owner_of(inode: u64) -> Option<i32> {
    let wanted = format!("socket:[{inode}]");
    processes().find(|pid| {
        let folder = of_process(*pid, "fd");
        names_in(&folder).iter().any(|name| {
            std::fs::read_link(folder.join(name))
                .is_ok_and(|link| link.as_os_str() == wanted.as_str())
        })
    })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_connection_of_this_process_is_found() {
        for place in ["127.0.0.1:0", "[::1]:0"] {
            // Not every host has IPv6.
            let Ok(listener) = TcpListener::bind(place) else {
                assert!(place.starts_with('['));
                continue;
            };
            let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (_accepted, _) = listener.accept().unwrap();
            let Peer::Address { local, peer } = peer_of(stream.as_raw_fd()).unwrap() else {
                panic!("no address");
            };
            let row = row_of(peer, local).unwrap();
            assert_eq!(owner_of(row.inode), Some(std::process::id() as i32));
            let ports = ports_of(stream.as_raw_fd()).unwrap();
            assert_eq!(ports, (local.port(), peer.port()));
            assert_eq!(own_ports(peer.port()), [local.port()].into());
            let listens = listener_of(&peer.ip().to_string(), peer.port());
            assert_eq!(listens, Some(std::process::id() as i32));
            assert_eq!(listener_of("192.0.2.1", peer.port()), None, "of no host");
        }
    }

    #[test]
    fn addresses_are_in_words_of_the_host() {
        let v4 = address(b"0100007F:0CEA").unwrap();
        assert_eq!(v4, "127.0.0.1:3306".parse().unwrap());
        let mapped = address(b"0000000000000000FFFF00000100007F:0CEA").unwrap();
        assert_eq!(mapped, v4);
        let v6 = address(b"00000000000000000000000001000000:0050").unwrap();
        assert_eq!(v6, "[::1]:80".parse().unwrap());
        assert_eq!(address(b"0100007F"), None);
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[ 0-9A-F:a-z\n]{0,200}") {
            let any: SocketAddr = "127.0.0.1:1".parse().unwrap();
            let _ = find_row(text.as_bytes(), any, any);
            let _ = address(text.as_bytes());
        }
    }
}
