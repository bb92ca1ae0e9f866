//! A TCP port for a server that is started later, or started again.
//!
//! Linux gives ports of a certain range to outgoing connections. Such a port is unsuitable: between
//! the choice and the start, and while the server is stopped, any connection may take it. A load
//! generator opens thousands of connections.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::net::{Ipv4Addr, TcpListener};

use crate::rand::Stream;

/// Lower ports belong to well-known services.
const LOWEST: u16 = 20_000;
/// The number of random ports to try.
const ATTEMPTS: u32 = 100;

/// A free port of 127.0.0.1 that no outgoing connection takes, unless the machine uses nearly all
/// ports for those.
///
/// # Errors
/// No port is free.
pub fn free_port() -> io::Result<u16> {
    let outgoing = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
    let others = others(&outgoing.unwrap_or_default());
    // The hasher is randomly keyed, so even its empty hash is a random number.
    let mut random = Stream::new(RandomState::new().build_hasher().finish(), 0);
    let attempts = if others.is_empty() { 0 } else { ATTEMPTS };
    for _ in 0..attempts {
        let port = others[random.below(others.len() as u64) as usize];
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    let any = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(any.local_addr()?.port())
}

/// The ports outside the range of outgoing connections, given as two numbers.
fn others(outgoing: &str) -> Vec<u16> {
    let mut numbers = outgoing.split_whitespace().map(str::parse::<u16>);
    let (Some(Ok(from)), Some(Ok(to))) = (numbers.next(), numbers.next()) else {
        return Vec::new();
    };
    let ports = LOWEST..=u16::MAX;
    ports.filter(|port| !(from..=to).contains(port)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_outgoing_connections_are_left_out() {
        let all = others("32768\t60999\n");
        assert_eq!(all.len(), 12_768 + 4536);
        assert!(all.contains(&32_767) && all.contains(&61_000));
        assert!(!all.contains(&32_768) && !all.contains(&60_999));
        assert!(others("1024\t65535\n").is_empty());
        assert_eq!(others("1024 2000").len(), 45_536);
        assert!(others("").is_empty());
    }

    #[test]
    fn a_free_port_can_be_listened_to() {
        let port = free_port().unwrap();
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
    }
}
