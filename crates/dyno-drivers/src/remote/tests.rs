//! Tests which addresses of an endpoint are tried, and which errors are reported.

mod moved;

use std::io::{Read, Write};
use std::net::TcpListener;

use dyno_core::db::{OutcomeKind, Scratch, Submitted};

use super::host::first_to_answer;
use super::*;
use crate::connector;

fn refuse(url: &str) -> DbError {
    connector(&Target::parse(url).unwrap()).err().unwrap()
}

/// The error of a connection, which fails at once or later, as the kernel decides.
fn failure(connection: Result<Box<dyn Connection>, DbError>) -> DbError {
    let mut connection = match connection {
        Ok(connection) => connection,
        Err(error) => return error,
    };
    let mut scratch = Scratch::default();
    while connection.advance(&mut scratch) == Submitted::Pending {
        std::thread::yield_now();
    }
    assert_eq!(connection.outcome().kind, OutcomeKind::Failed);
    DbError::clone(connection.outcome().error.as_ref().unwrap())
}

fn closed_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

#[test]
fn a_refused_connection_names_the_endpoint_and_suggests_a_fix() {
    let port = closed_port();
    for scheme in ["mysql", "postgres"] {
        let url = format!("{scheme}://u:hunter2@127.0.0.1:{port}");
        let remote = connector(&Target::parse(&url).unwrap()).unwrap();
        let error = failure(remote.connect(0));
        assert_eq!(error.kind, ErrorKind::Lost);
        let text = error.to_string();
        assert!(
            text.contains(&format!("cannot connect to 127.0.0.1:{port}: ")),
            "{text}"
        );
        assert!(text.contains("is the server running"), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
    let remote = connector(&Target::parse("mysql://u@/?socket=/nowhere/s").unwrap()).unwrap();
    let text = remote.connect(0).err().unwrap().to_string();
    assert!(text.contains("cannot connect to /nowhere/s: "), "{text}");
}

#[test]
fn after_an_address_that_does_not_answer_the_next_is_tried() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let live = listener.local_addr().unwrap();
    let dead = SocketAddr::from(([127, 0, 0, 2], live.port()));
    let target = Target::parse(&format!("mysql://u@{live}?max_answer=5K")).unwrap();
    let resolver = Resolver {
        look_up: Arc::new(move |_, _| Ok(vec![dead, live])),
        ..Resolver::default()
    };
    let remote = Remote::by(&target, &resolver).unwrap();
    // The connector has tried out which address answers.
    listener.accept().unwrap();
    let Address::Tcp(host) = &remote.parts.endpoints[0].address else {
        panic!("no address");
    };
    assert_eq!(host.addresses(), [live, dead]);
    host.prefer(dead);
    failure(remote.connect(0));
    let mut connection = remote.connect(1).unwrap();
    let _peer = listener.accept().unwrap();
    assert_eq!(
        connection.advance(&mut Scratch::default()),
        Submitted::Pending
    );
    // An attempt that is aborted reports it, too.
    connection.abort("no answer");
    drop(remote.connect(2).unwrap());
    listener.accept().unwrap();
}

#[test]
fn addresses_share_the_time_of_one_attempt() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let live = listener.local_addr().unwrap();
    let dead = SocketAddr::from(([127, 0, 0, 2], live.port()));
    let timeout = Duration::from_secs(10);
    assert_eq!(first_to_answer(&[dead, live], timeout), Some(1));
    assert_eq!(first_to_answer(&[dead, dead], timeout), None);
    assert_eq!(first_to_answer(&[live], Duration::ZERO), None);
}

#[test]
fn settings_that_cannot_work_are_refused_at_once() {
    let unknown = refuse("mysql://u@no-such-host.invalid");
    assert!(
        unknown.message.contains("host 'no-such-host.invalid'"),
        "{unknown}"
    );
    let socket = refuse("postgres://u@/?host=/tmp&sslmode=require");
    assert!(
        socket.message.contains("no TLS on UNIX sockets"),
        "{socket}"
    );
    let ca = refuse("mysql://u@127.0.0.1?sslrootcert=/nowhere/ca.pem");
    assert!(ca.message.contains("/nowhere/ca.pem"), "{ca}");
}

#[test]
fn endpoints_take_turns() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = format!("mysql://u@127.0.0.1:{port},localhost:{port},127.0.0.1:{port}");
    let remote = connector(&Target::parse(&url).unwrap()).unwrap();
    let names = remote.endpoints();
    assert_eq!(names[1], format!("localhost:{port}"));
    // `localhost` may be ::1 first, where nobody listens. The next address must be used.
    for sequence in 0..7 {
        let connection = remote.connect(sequence).unwrap();
        assert_eq!(connection.endpoint() as u64, sequence % 3);
        assert!(connection.fd().is_some() && connection.wants_write());
    }
    assert!(!remote.blocks());
    assert_eq!(remote.family(), Family::Mysql);
}

/// Connects with TLS to a server that waits for `expected` bytes and then sends `bytes`. Returns
/// the error, and how many bytes the client sent after that.
fn answered(scheme: &str, expected: usize, bytes: &[u8]) -> (DbError, usize) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = format!("{scheme}://u@127.0.0.1:{port}?sslmode=require");
    let remote = connector(&Target::parse(&url).unwrap()).unwrap();
    let connection = remote.connect(0);
    let (mut peer, _) = listener.accept().unwrap();
    let bytes = bytes.to_vec();
    let server = std::thread::spawn(move || {
        peer.read_exact(&mut vec![0; expected]).unwrap();
        peer.write_all(&bytes).unwrap();
        let mut rest = Vec::new();
        // The client may reset the connection. Only the bytes before that count.
        let _ = peer.read_to_end(&mut rest);
        rest.len()
    });
    (failure(connection), server.join().unwrap())
}

#[test]
fn plaintext_cannot_be_smuggled_into_tls() {
    let (error, sent) = answered("postgres", 8, b"SR\0\0\0\x08\0\0\0\0");
    assert_eq!(error.kind, ErrorKind::Protocol);
    assert!(error.message.contains("unencrypted"), "{error}");
    assert_eq!(sent, 0);

    // A greeting that offers TLS, followed by an OK packet.
    let mut greeting = b"\x0a8.0.0\0\x01\0\0\x0012345678\0".to_vec();
    greeting.extend([0x00, 0x8a, 45, 2, 0, 0x08, 0, 21]);
    greeting.extend([0; 10]);
    greeting.extend(b"123456789012\0mysql_native_password\0");
    let mut bytes = vec![greeting.len() as u8, 0, 0, 0];
    bytes.extend(greeting);
    bytes.extend(b"\x07\0\0\x02\0\0\0\x02\0\0\0");
    let (error, sent) = answered("mysql", 0, &bytes);
    assert_eq!(error.kind, ErrorKind::Protocol);
    assert!(error.message.contains("unencrypted"), "{error}");
    // The client has sent only the request for TLS: a header and 32 bytes.
    assert!(sent <= 36, "{sent}");
}

#[test]
fn a_server_that_hangs_up_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = format!("mysql://u@127.0.0.1:{port}");
    let remote = connector(&Target::parse(&url).unwrap()).unwrap();
    let connection = remote.connect(0);
    drop(listener.accept().unwrap());
    let error = failure(connection);
    assert!(
        error.message.contains(&format!("127.0.0.1:{port}")),
        "{error}"
    );
}
