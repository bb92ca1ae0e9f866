//! The memory of a connection, and that an execution allocates nothing.

use std::sync::Arc;

use crate::{ALLOCATIONS, BYTES};
use dyno_core::db::{OutcomeKind, Param};
use dyno_core::target::TlsMode;
use dyno_drivers::channel::{Next, Protocol};
use dyno_drivers::mysql::{Mysql, MysqlOptions};

fn packets(sequence: u8, payloads: &[&[u8]]) -> Vec<u8> {
    let mut output = Vec::new();
    for (number, payload) in payloads.iter().enumerate() {
        let len = (payload.len() as u32).to_le_bytes();
        output.extend_from_slice(&[len[0], len[1], len[2], sequence + number as u8]);
        output.extend_from_slice(payload);
    }
    output
}

const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const END: &[u8] = &[0xFE, 0, 0, 2, 0, 0, 0];
const GREETING: &[u8] = b"\x0a8.4.0-canned\0\x07\0\0\0abcdefgh\0\x00\x82\x2d\x02\0\x38\x01\x15\
    \0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0mysql_native_password\0";
const COLUMN: &[u8] = b"\x03def\x06sbtest\x07sbtest1\x07sbtest1\x01c\x01c\
    \x0c\x2d\0\x78\0\0\0\xFE\0\0\0\0\0";

fn feed(protocol: &mut Mysql, input: &[u8], output: &mut Vec<u8>) -> Next {
    let received = protocol.receive(input, output);
    assert_eq!(received.consumed, input.len());
    received.next
}

fn connected(options: &Arc<MysqlOptions>, output: &mut Vec<u8>) -> Mysql {
    let mut protocol = Mysql::new(options);
    protocol.connected(output);
    let greeting = packets(0, &[GREETING]);
    assert_eq!(feed(&mut protocol, &greeting, output), Next::Input);
    let ok = packets(2, &[OK]);
    assert_eq!(feed(&mut protocol, &ok, output), Next::Finished);
    assert_eq!(protocol.outcome().kind, OutcomeKind::Connected);
    protocol
}

fn options() -> Arc<MysqlOptions> {
    Arc::new(MysqlOptions {
        user: "user".to_owned(),
        tls: TlsMode::Disable,
        ..MysqlOptions::default()
    })
}

#[test]
fn an_execution_with_one_row_allocates_nothing() {
    let mut output = Vec::with_capacity(4096);
    let mut protocol = connected(&options(), &mut output);
    let _ = protocol.prepare(b"SELECT c FROM sbtest1 WHERE id=?", &[], &mut output);
    let prepared = packets(1, &[&[0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0], COLUMN, COLUMN]);
    assert_eq!(feed(&mut protocol, &prepared, &mut output), Next::Finished);
    let row = [&[0, 0, 120][..], &[b'x'; 120]].concat();
    let answer = packets(1, &[&[1], COLUMN, &row, END]);
    let mut param = Param::int(0);
    let mut fields = dyno_core::db::Row::default();
    let mut before = 0;
    for round in 0..1_000 {
        if round == 10 {
            before = ALLOCATIONS.get();
        }
        output.clear();
        param.int = round;
        let _ = protocol.execute(0, &[&param], &mut output);
        assert_eq!(feed(&mut protocol, &answer, &mut output), Next::Finished);
        assert_eq!(protocol.outcome().rows, 1);
        assert!(protocol.next_row(&mut fields));
        assert_eq!(fields.field(0).map(<[u8]>::len), Some(120));
        protocol.free_result();
    }
    assert_eq!(ALLOCATIONS.get(), before);
}

#[test]
fn an_idle_connection_is_small() {
    let mut output = Vec::with_capacity(4096);
    let options = options();
    let before = BYTES.get();
    let protocol = Box::new(connected(&options, &mut output));
    let held = BYTES.get() - before;
    assert!(held < 512, "{held} bytes are held by an idle connection");
    drop(protocol);
    assert_eq!(BYTES.get(), before);
}
