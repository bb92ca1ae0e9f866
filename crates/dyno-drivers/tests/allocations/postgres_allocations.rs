//! The steady state of the PostgreSQL driver allocates nothing per operation, and an idle
//! connection uses little memory.

use crate::{ALLOCATIONS, BYTES};
use dyno_core::db::{OutcomeKind, Param, ParamKind, Row};
use dyno_core::target::TlsMode;
use dyno_drivers::channel::{Next, Protocol};
use dyno_drivers::postgres::{Postgres, PostgresOptions};

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[tag], &length[..], body].concat()
}

/// A row of one field of 119 bytes.
fn row() -> Vec<u8> {
    let field = [b'5'; 119];
    message(b'D', &[&[0, 1, 0, 0, 0, 119], &field[..]].concat())
}

fn connected() -> Postgres {
    let options = PostgresOptions {
        user: "u".to_owned(),
        tls: TlsMode::Disable,
        ..PostgresOptions::default()
    };
    let mut protocol = Postgres::new(&options).unwrap();
    let mut output = Vec::new();
    protocol.connected(&mut output);
    let greeting = [
        message(b'R', &[0; 4]),
        message(b'S', b"server_version\x0016.3\0"),
        message(b'Z', b"I"),
    ];
    let received = protocol.receive(&greeting.concat(), &mut output);
    assert_eq!(received.next, Next::Finished);
    assert_eq!(protocol.outcome().kind, OutcomeKind::Connected);
    protocol
}

fn prepare(protocol: &mut Postgres) {
    let mut output = Vec::new();
    let sql = b"SELECT c FROM sbtest1 WHERE id=?";
    let _ = protocol.prepare(sql, &[ParamKind::Int], &mut output);
    let description = [&b"\0\x01c\0"[..], &[0; 18]].concat();
    let answer = [
        message(b'1', b""),
        message(b't', b"\0\x01\0\0\0\x14"),
        message(b'T', &description),
        message(b'Z', b"I"),
    ];
    let received = protocol.receive(&answer.concat(), &mut output);
    assert_eq!(received.next, Next::Finished);
    assert_eq!(protocol.outcome().kind, OutcomeKind::Prepared);
}

#[test]
fn selects_allocate_nothing() {
    let mut protocol = connected();
    prepare(&mut protocol);
    let statement = protocol.outcome().statement;
    let mut id = Param::new(ParamKind::Int, 0);
    let (mut output, mut found) = (Vec::with_capacity(4096), Row::default());
    let tail = [message(b'C', b"SELECT 1\0"), message(b'Z', b"T")].concat();
    let answers =
        [1, 100].map(|rows| [message(b'2', b""), row().repeat(rows), tail.clone()].concat());
    let begin = [message(b'C', b"BEGIN\0"), message(b'Z', b"T")].concat();
    let mut before = 0;
    for round in 0..100 {
        if round == 10 {
            before = ALLOCATIONS.get();
        }
        output.clear();
        let _ = protocol.query(b"BEGIN", &mut output);
        assert_eq!(protocol.receive(&begin, &mut output).next, Next::Finished);
        for (answer, rows) in answers.iter().zip([1, 100, 300]) {
            output.clear();
            (id.int, id.is_null) = (round, 0);
            let _ = protocol.execute(statement, &[&id], &mut output);
            let received = protocol.receive(answer, &mut output);
            assert_eq!(
                (received.next, received.consumed),
                (Next::Finished, answer.len())
            );
            assert_eq!(protocol.outcome().rows, rows);
            let mut count = 0;
            while protocol.next_row(&mut found) {
                assert_eq!(found.field(0).unwrap().len(), 119);
                count += 1;
            }
            assert_eq!(count, rows);
            protocol.free_result();
        }
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
}

#[test]
fn an_idle_connection_is_small() {
    let before = BYTES.get();
    let mut protocol = Box::new(connected());
    for _ in 0..20 {
        prepare(&mut protocol);
    }
    let held = BYTES.get() - before;
    assert!(held < 4096, "{held} bytes");
    // A result of megabytes keeps no memory once it is freed.
    let mut output = Vec::new();
    let statement = protocol.outcome().statement;
    let id = Param::new(ParamKind::Int, 0);
    let _ = protocol.execute(statement, &[&id], &mut output);
    let tail = [message(b'C', b"SELECT 1\0"), message(b'Z', b"T")].concat();
    let answer = [message(b'2', b""), row().repeat(100_000), tail].concat();
    assert_eq!(protocol.receive(&answer, &mut output).next, Next::Finished);
    assert_eq!(protocol.outcome().rows, 100_000);
    drop(answer);
    protocol.free_result();
    drop(output);
    let held = BYTES.get() - before;
    assert!(held < 4096, "{held} bytes");
}
