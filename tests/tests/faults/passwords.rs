//! Servers on other hosts that request the password in clear text.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, UdpSocket};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use dyno_tests::command::run;

use crate::common::{LIMIT, command, dyno, has};
use crate::hostile::{greeting, packet};

const SECRET: &str = "c4naryWord";

/// An address of this machine outside the loopback interface.
fn address() -> IpAddr {
    // Nothing is sent: connecting only makes the kernel choose a source address.
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    let connected = socket.connect("198.51.100.1:9");
    assert!(
        connected.is_ok(),
        "this test needs a network interface besides the loopback one"
    );
    socket.local_addr().unwrap().ip()
}

/// A server that answers each message with the next of these, once. At the end, it passes on the
/// bytes that it received on each connection.
fn password_server(answers: Vec<Vec<u8>>, greets: bool) -> (u16, Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, received) = channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (answers, sender) = (answers.clone(), sender.clone());
            thread::spawn(move || {
                stream
                    .set_read_timeout(Some(Duration::from_secs(2)))
                    .unwrap();
                let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
                for (turn, answer) in answers.iter().enumerate() {
                    if turn > 0 || !greets {
                        match stream.read(&mut buffer) {
                            Ok(length) if length > 0 => bytes.extend(&buffer[..length]),
                            _ => break,
                        }
                    }
                    // The client may close the connection early.
                    let _ = stream.write_all(answer);
                }
                if let Ok(length) = stream.read(&mut buffer) {
                    bytes.extend(&buffer[..length]);
                }
                let _ = sender.send(bytes);
            });
        }
    });
    (port, received)
}

/// The three ways to request the password, by URL scheme.
fn ways() -> [(&'static str, bool, Vec<Vec<u8>>); 3] {
    [
        (
            "mysql",
            true,
            vec![greeting(), packet(2, b"\xfemysql_clear_password\0")],
        ),
        (
            "mysql",
            true,
            vec![
                greeting(),
                packet(2, b"\xfecaching_sha2_password\0abcdefghijklmnopqrst\0"),
                // The hash is not cached.
                packet(4, b"\x01\x04"),
            ],
        ),
        (
            "postgres",
            false,
            vec![b"N".to_vec(), b"R\0\0\0\x08\0\0\0\x03".to_vec()],
        ),
    ]
}

fn holds(bytes: &[u8]) -> bool {
    let secret = SECRET.as_bytes();
    bytes.windows(secret.len()).any(|part| part == secret)
}

#[test]
fn an_unidentified_server_does_not_get_the_password() {
    let (far, near) = (address(), "127.0.0.1".parse::<IpAddr>().unwrap());
    for (scheme, greets, answers) in ways() {
        // The client first requests a key with which to encrypt the password.
        let keyed = answers.len() == 3;
        for (host, more, sent) in [
            (far, "", false),
            (far, "&allow_cleartext_password=1", true),
            (near, "", true),
        ] {
            let (port, received) = password_server(answers.clone(), greets);
            let output = dyno(&format!(
                "run oltp_point_select --target \
                 {scheme}://u:{SECRET}@{host}:{port}/d?connect_timeout=1s{more} -t 1s"
            ));
            assert_eq!(output.status.code(), Some(1), "{output:?}");
            let bytes = received.recv_timeout(Duration::from_secs(10)).unwrap();
            assert_eq!(holds(&bytes), sent && !keyed, "{scheme} {host}{more}");
            if keyed {
                let request = b"\x01\0\0\x05\x02";
                let asked = bytes.windows(5).any(|part| part == request);
                assert_eq!(asked, sent, "{host}{more}");
            }
            if !sent {
                has(&output, &["allow_cleartext_password=1", "sslrootcert="]);
            }
        }
    }
}

#[test]
fn the_sysbench_command_line_protects_the_password_too() {
    let far = address();
    for (scheme, greets, answers) in ways() {
        let driver = if scheme == "mysql" { "mysql" } else { "pgsql" };
        let keyed = answers.len() == 3;
        for (more, sent) in [("", false), ("--allow-cleartext-password", true)] {
            let (port, received) = password_server(answers.clone(), greets);
            let line = format!(
                "sysbench oltp_point_select --db-driver={driver} --{driver}-host={far} \
                 --{driver}-port={port} --{driver}-user=u --{driver}-password={SECRET} \
                 --time=1 {more} run"
            );
            let output = run(&mut command(&line), LIMIT).failure(1);
            let bytes = received.recv_timeout(Duration::from_secs(10)).unwrap();
            assert_eq!(holds(&bytes), sent && !keyed, "{driver} {more}");
            if !sent {
                has(&output, &["--allow-cleartext-password"]);
            }
        }
    }
}
