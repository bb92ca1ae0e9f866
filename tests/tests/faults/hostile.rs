//! Servers that do not speak the protocol, or that are malicious.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use crate::common::{dyno, has};

/// A server that handles each connection with `act` until the test ends. Returns its port.
fn server(act: impl Fn(TcpStream) + Send + Sync + Clone + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let act = act.clone();
            thread::spawn(move || act(stream));
        }
    });
    port
}

fn server_sending(bytes: Vec<u8>, then_waits: bool) -> u16 {
    server(move |mut stream| {
        // The client may close the connection early.
        let _ = stream.write_all(&bytes);
        if then_waits {
            thread::sleep(Duration::from_secs(30));
        }
    })
}

/// A packet of MySQL's protocol.
pub(crate) fn packet(sequence: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32).to_le_bytes();
    let mut packet = vec![length[0], length[1], length[2], sequence];
    packet.extend(body);
    packet
}

pub(crate) fn greeting() -> Vec<u8> {
    let mut body = b"\x0a8.0.0\0\x01\0\0\x0012345678\0".to_vec();
    // All old capabilities, but not TLS (0x0800), and no authentication plugins in the upper half.
    body.extend([0xff, 0xf7, 45, 2, 0, 0x08, 0, 21]);
    body.extend([0; 10]);
    body.extend(b"123456789012\0mysql_native_password\0");
    packet(0, &body)
}

const OK: &[u8] = b"\0\0\0\x02\0\0\0";

#[test]
fn no_server_of_any_kind_can_make_it_hang_or_crash() {
    let bytes: Vec<(Vec<u8>, bool)> = vec![
        (Vec::new(), false),
        (Vec::new(), true),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), false),
        (b"SSH-2.0-OpenSSH_9.2\r\n".to_vec(), true),
        (vec![0; 100_000], true),
        (vec![0xff; 100_000], true),
        // Lengths that no MySQL or PostgreSQL server sends.
        (b"\xff\xff\xff\0".to_vec(), true),
        (b"R\x7f\xff\xff\xff\0\0\0\0".to_vec(), true),
        (b"R\0\0\0\0\0\0\0\0".to_vec(), true),
        (b"N".to_vec(), false),
        (b"NR\0\0\0\x08\0\0\0\x63".to_vec(), true),
        (b"NE\0\0\0\x05S".to_vec(), false),
        // A greeting cut in its body, a greeting cut in its header, and a repeated greeting.
        (greeting()[..20].to_vec(), false),
        (greeting()[..3].to_vec(), false),
        ([greeting(), greeting(), greeting()].concat(), true),
        ([greeting(), packet(2, b"\xff\x15\x04")].concat(), false),
        ([greeting(), packet(2, b"\xfe")].concat(), false),
        (
            [greeting(), packet(2, b"\xfesome_plugin\0")].concat(),
            false,
        ),
    ];
    for (bytes, waits) in bytes {
        let start = format!("{:?}", &bytes[..bytes.len().min(12)]);
        let port = server_sending(bytes, waits);
        for scheme in ["mysql", "postgres"] {
            let output = dyno(&format!(
                "run oltp_point_select --target {scheme}://u@127.0.0.1:{port}/d?connect_timeout=1s"
            ));
            assert_eq!(output.status.code(), Some(1), "{start}: {output:?}");
            has(
                &output,
                &["cannot use the target", &format!("127.0.0.1:{port}")],
            );
        }
    }
}

#[test]
fn an_endless_stream_ends_at_the_timeout_at_the_latest() {
    for byte in [0, b'N', b'E', b'\n', 0xff] {
        let port = server(move |mut stream| {
            let bytes = vec![byte; 64 * 1024];
            while stream.write_all(&bytes).is_ok() {}
        });
        for scheme in ["mysql", "postgres"] {
            dyno(&format!(
                "run oltp_point_select --target {scheme}://u@127.0.0.1:{port}/d?connect_timeout=1s"
            ))
            .failure(1);
        }
    }
}

/// Accepts every log-in and answers each request with `answer`.
fn lets_in(answer: impl Fn(&[u8]) -> Vec<u8> + Send + Sync + Clone + 'static) -> u16 {
    server(move |mut stream| {
        let mut buffer = vec![0; 64 * 1024];
        let _ = stream.write_all(&greeting());
        let _ = stream.read(&mut buffer);
        let _ = stream.write_all(&packet(2, OK));
        while let Ok(length) = stream.read(&mut buffer) {
            // A request starts with its header.
            if length < 5 || stream.write_all(&answer(&buffer[4..length])).is_err() {
                return;
            }
        }
    })
}

/// Runs a sysbench command line, which must fail with a message.
fn worthless(line: &str) {
    let output = dyno(line);
    assert!(matches!(output.status.code(), Some(1 | 2)), "{output:?}");
    has(&output, &["FATAL: ", "total number of events: 0"]);
}

fn sysbench_line(script: &std::path::Path, port: u16) -> String {
    format!(
        "sysbench {} --mysql-host=127.0.0.1 --mysql-port={port} --mysql-user=u --time=1 \
         --forced-shutdown=1 run",
        script.display()
    )
}

#[test]
fn a_server_that_requests_a_file_gets_no_data() {
    // Dyno must not send the data that the server requests: the server checks what it receives.
    let (sender, received) = std::sync::mpsc::channel::<Vec<u8>>();
    let port = lets_in(move |request| {
        let _ = sender.send(request.to_vec());
        packet(1, b"\xfb/etc/passwd")
    });
    let script = tempfile::tempdir().unwrap();
    let path = script.path().join("ask.lua");
    let text = "function thread_init() con = sysbench.sql.driver():connect() end\n\
                function event() con:query('SELECT 1') end\n";
    std::fs::write(&path, text).unwrap();
    let line = format!(
        "run {} --target mysql://u@127.0.0.1:{port}/d?connect_timeout=1s -t 1s --warmup 0",
        path.display()
    );
    dyno(&line).failure(1);
    // With these options, no query precedes the script's own statement.
    worthless(&sysbench_line(&path, port));
    let sent: Vec<Vec<u8>> = received.try_iter().collect();
    assert!(!sent.is_empty());
    for bytes in sent {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(!text.contains("root:"), "{text}");
    }
}

#[test]
fn truncated_and_invalid_answers_are_counted() {
    let script = tempfile::tempdir().unwrap();
    let path = script.path().join("ask.lua");
    let text = "function thread_init() con = sysbench.sql.driver():connect() end\n\
                function event() con:query('SELECT 1') end\n";
    std::fs::write(&path, text).unwrap();
    let answers: [&[u8]; 5] = [
        b"\x05\0\0\x01\x01",
        b"\xff\xff\xff\x01",
        b"\x01\0\0\x07\0",
        b"\0\0\0\x01",
        b"\x09\0\0\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff",
    ];
    for answer in answers {
        let port = lets_in(move |_| answer.to_vec());
        let target = format!("mysql://u@127.0.0.1:{port}/d?connect_timeout=1s");
        let line = format!("run {} --target {target} -t 1s --warmup 0", path.display());
        dyno(&line).failure(1);
        worthless(&sysbench_line(&path, port));
    }
}

#[test]
fn log_ins_to_a_proxy_without_its_server_back_off() {
    let count = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&count);
    let port = server(move |mut stream| {
        let number = counted.fetch_add(1, Ordering::SeqCst);
        let mut buffer = [0; 4096];
        let mut send = |bytes: &[u8]| -> Option<()> {
            stream.write_all(bytes).ok()?;
            (stream.read(&mut buffer).ok()? > 0).then_some(())
        };
        let _ = send(&greeting()).and_then(|()| send(&packet(2, OK)));
        // The first connections answer some statements, so that the run can start.
        for _ in 0..20 {
            if number >= 4 || send(&packet(1, OK)).is_none() {
                break;
            }
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("set.lua");
    let text = "function thread_init() con = sysbench.sql.driver():connect() end\n\
                function event() con:query('DO 1') end\n";
    std::fs::write(&script, text).unwrap();
    let line = format!(
        "run {} --target mysql://u@127.0.0.1:{port}/d -c 1 -t 4s --warmup 0 --calibrate never \
         --observe off",
        script.display()
    );
    // The session has no usable connection at the end.
    let output = dyno(&line).failure(1);
    assert!(output.stdout.contains("1 lost at the end"), "{output:?}");
    // Pauses of 10, 20, 40 ms and so on, up to a second, each reduced by at most half.
    let log_ins = count.load(Ordering::SeqCst);
    assert!((5..30).contains(&log_ins), "{log_ins}");
}
