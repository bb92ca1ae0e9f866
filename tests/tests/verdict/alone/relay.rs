//! A proxy that sends answers in two small parts without TCP_NODELAY. The second part waits until
//! the first is acknowledged, and the acknowledgement waits for data to travel with.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

/// The size of the first part of an answer in bytes.
const FIRST: usize = 5;

/// Starts a proxy for the server at this port, which splits one in `every` answers. Returns its
/// port.
pub(super) fn in_two_parts(server: u16, every: u32) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
            server.set_nodelay(true).unwrap();
            client.set_nodelay(false).unwrap();
            let (from_client, to_server) =
                (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || pass(from_client, to_server, 0));
            thread::spawn(move || pass(server, client, every));
        }
    });
    port
}

fn pass(mut from: TcpStream, mut to: TcpStream, every: u32) {
    let mut buffer = [0; 16 * 1024];
    let mut number = 0_u32;
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        number += 1;
        let apart = every > 0 && number.is_multiple_of(every) && count > FIRST;
        let (first, rest) = buffer[..count].split_at(if apart { FIRST } else { 0 });
        if [first, rest].iter().any(|part| to.write_all(part).is_err()) {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}
