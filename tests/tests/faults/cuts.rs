//! Connections that end in the middle of an answer. A relay in front of real servers sends the last
//! bytes and the end of the connection together.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use dyno_tests::{Database, Kind, socket};

use crate::common::{dyno, result};

/// How many connections to cut, each at a different byte. Later connections are not cut.
const CUTS: u64 = 24;

/// Cut after this many bytes from the server, so after the log-in, even with TLS.
const BYTES_MIN: u64 = 12_000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Fin,
    Reset,
}

/// Forwards bytes and cuts long connections. Returns its port and the number of cuts so far.
fn relay(server: u16, end: End) -> (u16, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let cuts = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&cuts);
    thread::spawn(move || {
        for (number, client) in listener.incoming().flatten().enumerate() {
            let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
            client.set_nodelay(true).unwrap();
            server.set_nodelay(true).unwrap();
            let (from_client, to_server) =
                (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || forward(from_client, to_server));
            let cuts = Arc::clone(&counted);
            let after = BYTES_MIN + 137 * number as u64;
            thread::spawn(move || back(server, client, after, end, &cuts));
        }
    });
    (port, cuts)
}

fn forward(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    // One side has closed its end, so close the other.
    let _ = to.shutdown(Shutdown::Both);
}

/// Forwards from the server to the client, up to the cut.
fn back(mut from: TcpStream, mut to: TcpStream, after: u64, end: End, cuts: &AtomicU64) {
    let mut buffer = [0; 16 * 1024];
    let mut passed = 0;
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        passed += count as u64;
        if passed >= after && cuts.fetch_add(1, Ordering::SeqCst) < CUTS {
            // Forward part of the bytes, at least one, and end the connection immediately.
            let part = (count / 2).max(1);
            let _ = to.write_all(&buffer[..part]);
            cut(&to, end);
            let _ = from.shutdown(Shutdown::Both);
            return;
        }
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}

fn cut(stream: &TcpStream, end: End) {
    if end == End::Fin {
        let _ = stream.shutdown(Shutdown::Write);
        return;
    }
    socket::reset(stream).unwrap();
}

#[test]
fn a_session_reconnects_after_a_cut_in_an_answer() {
    for kind in Kind::ALL {
        let database = Database::new(kind);
        let direct = database.url();
        dyno(&format!(
            "prepare oltp_point_select --target {direct} --table-size 100"
        ))
        .success();
        for mode in ["disable", "require"] {
            for end in [End::Fin, End::Reset] {
                cut_and_go_on(&database, mode, end);
            }
        }
    }
}

fn cut_and_go_on(database: &Database, mode: &str, end: End) {
    let kind = database.server.kind;
    let (port, cuts) = relay(database.server.port, end);
    let (scheme, user) = (kind.scheme(), database.server.user());
    let what = format!("{kind} {mode} {end:?}");
    let name = &database.name;
    let url = format!("{scheme}://{user}@127.0.0.1:{port}/{name}?sslmode={mode}");
    let line = format!(
        "run oltp_point_select --target {url} --table-size 100 -c 8 --events 8000 -t 120s \
         --warmup 0 --observe off"
    );
    let result = result(&line);
    assert_eq!(result["end"]["how"], "completed", "{what}: {result}");
    let seen = cuts.load(Ordering::SeqCst);
    assert!(seen >= CUTS, "{what}: only {seen} connections were cut");
    // Each cut is one lost connection, one error and one reconnect. A session that waits forever
    // would have none of them.
    assert_eq!(result["totals"]["reconnects"], CUTS, "{what}: {result}");
    let errors = result["errors"].as_object().unwrap();
    let errors: u64 = errors.values().map(|e| e["count"].as_u64().unwrap()).sum();
    assert_eq!(errors, CUTS, "{what}: {result}");
    assert_eq!(result["events_unfinished"], 0, "{what}: {result}");
}
