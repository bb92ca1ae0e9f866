//! Limits on the size of a server's answers and on its silence.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use dyno_core::Target;
use dyno_core::db::{DbError, ErrorKind, OutcomeKind, Scratch, Submitted};

use crate::connector;
use crate::control::Control;
use crate::fuzzing::echo::{Echo, MysqlEcho, PostgresEcho, Turn};

const MINUTE: Duration = Duration::from_secs(60);

const SCHEMES: [&str; 2] = ["mysql", "postgres"];

fn echo(scheme: &str) -> Box<dyn Echo> {
    match scheme {
        "mysql" => Box::new(MysqlEcho::new(false)),
        _ => Box::new(PostgresEcho::new(false)),
    }
}

/// Serves one client up to its first request, then calls `answer` and returns its result.
fn serve<T: Send + 'static>(
    scheme: &'static str,
    answer: impl FnOnce(&mut TcpStream) -> T + Send + 'static,
) -> (String, std::thread::JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut echo, mut input) = (echo(scheme), Vec::new());
        let mut out = Vec::new();
        echo.greet(&mut out);
        while !echo.is_logged_in() {
            stream.write_all(&std::mem::take(&mut out)).unwrap();
            let mut piece = [0; 4096];
            let count = stream.read(&mut piece).unwrap();
            assert_ne!(count, 0, "the client left before it was in");
            input.extend_from_slice(&piece[..count]);
            let (taken, turn) = echo.take(&input, &mut out);
            assert_eq!(turn, Turn::Input);
            input.drain(..taken);
        }
        stream.write_all(&out).unwrap();
        assert_ne!(stream.read(&mut [0; 4096]).unwrap(), 0);
        answer(&mut stream)
    });
    (format!("{scheme}://u@{address}?sslmode=disable"), server)
}

fn ask(url: &str) -> Result<Control, DbError> {
    let connector = connector(&Target::parse(url).unwrap()).unwrap();
    let mut control = Control::connect(connector.as_ref(), MINUTE)?;
    control.query("SELECT 1", MINUTE)?;
    Ok(control)
}

/// Writes until the client closes and returns the number of bytes written.
fn flood(stream: &mut TcpStream, mut piece: impl FnMut(u64) -> Vec<u8>) -> u64 {
    let mut sent = 0;
    for number in 0.. {
        let bytes = piece(number);
        if stream.write_all(&bytes).is_err() {
            break;
        }
        sent += bytes.len() as u64;
    }
    sent
}

fn mysql_packet(sequence: u64, payload: &[u8]) -> Vec<u8> {
    let mut packet = (payload.len() as u32).to_le_bytes();
    packet[3] = sequence as u8;
    [&packet, payload].concat()
}

#[test]
fn endless_rows_are_an_error_and_do_not_exhaust_memory() {
    for scheme in SCHEMES {
        let (url, server) = serve(scheme, move |stream| match scheme {
            "mysql" => {
                let column = b"\x03def\0\0\0\x01c\x01c\x0c\x2d\0\x14\0\0\0\xfd\0\0\0\0\0";
                let head = [mysql_packet(1, &[1]), mysql_packet(2, column)].concat();
                stream.write_all(&head).unwrap();
                let row = [&[0xFC, 0x00, 0x10][..], &[b'x'; 0x1000]].concat();
                flood(stream, |number| mysql_packet(3 + number, &row))
            }
            _ => {
                let column = [&[0, 1][..], b"c\0", &[0; 18]].concat();
                let head = [&b"T\0\0\0\x1a"[..], &column[..22]].concat();
                stream.write_all(&head).unwrap();
                let row = [&b"D\0\0\x10\x0a\0\x01\0\0\x10\0"[..], &[b'x'; 0x1000]].concat();
                flood(stream, |_| row.clone())
            }
        });
        let error = ask(&format!("{url}&max_answer=1M")).err().unwrap();
        assert_eq!(error.kind, ErrorKind::TooLarge, "{scheme}: {error}");
        assert!(error.message.contains("max_answer"), "{error}");
        // The rest is in the kernel's buffers.
        assert!(server.join().unwrap() < 64 << 20);
    }
}

#[test]
fn one_endless_message_is_an_error_too() {
    for scheme in SCHEMES {
        let (url, server) = serve(scheme, move |stream| {
            let head: &[u8] = match scheme {
                // A packet of 16 MB; a row of almost 1 GB.
                "mysql" => b"\xff\xff\xff\x01",
                _ => b"D\x3f\0\0\0",
            };
            stream.write_all(head).unwrap();
            flood(stream, |_| vec![b'x'; 0x10000])
        });
        let error = ask(&format!("{url}&max_answer=2M")).err().unwrap();
        assert_eq!(error.kind, ErrorKind::TooLarge, "{scheme}: {error}");
        assert!(server.join().unwrap() < 64 << 20);
    }
}

#[test]
fn accepts_an_answer_within_the_bound() {
    for scheme in SCHEMES {
        let (url, server) = serve(scheme, move |stream| {
            let (mut echo, mut out) = (echo(scheme), Vec::new());
            echo.stray_answer(&mut out);
            stream.write_all(&out).unwrap();
            stream.read_to_end(&mut Vec::new()).unwrap();
        });
        drop(ask(&format!("{url}&max_answer=4K")).unwrap());
        server.join().unwrap();
    }
}

#[test]
fn a_server_that_talks_without_end_before_the_log_in_is_left() {
    for scheme in SCHEMES {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            match scheme {
                "mysql" => stream.write_all(b"\xff\xff\xff\0").unwrap(),
                _ => stream.write_all(b"N\0\0\0\x04").unwrap(),
            }
            flood(&mut stream, |_| match scheme {
                "mysql" => vec![10; 0x10000],
                _ => b"N\0\0\0\x04".repeat(0x1000),
            })
        });
        let error = ask(&format!("{scheme}://u@{address}?sslmode=disable"));
        let error = error.err().unwrap();
        assert_eq!(error.kind, ErrorKind::Protocol, "{scheme}: {error}");
        assert!(error.message.contains("before the log-in"), "{error}");
        assert!(server.join().unwrap() < 64 << 20);
    }
}

#[test]
fn an_abandoned_attempt_reports_its_progress() {
    // The listener never accepts, and later a server never answers.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    for scheme in SCHEMES {
        let url = format!("{scheme}://u@{address}?sslmode=disable");
        let remote = connector(&Target::parse(&url).unwrap()).unwrap();
        let mut connection = remote.connect(0).unwrap();
        while connection.wants_write() {
            let submitted = connection.advance(&mut Scratch::default());
            assert_eq!(submitted, Submitted::Pending);
        }
        connection.abort("no answer within 1s");
        assert!(connection.fd().is_none());
        assert_eq!(connection.outcome().kind, OutcomeKind::Failed);
        let error = connection.outcome().error.as_ref().unwrap();
        assert_eq!(error.kind, ErrorKind::Lost);
        let text = format!("cannot log in to {address}: no answer within 1s");
        assert!(error.message.contains(&text), "{error}");
    }
}
