//! The server's side of conversations, for tests, and a client that takes the other side.

use std::sync::Arc;

use dyno_core::bulk::{BulkFormat, BulkLoad, RowSource};
use dyno_core::db::{OutcomeKind, Param, Row, Submitted};
use dyno_core::target::TlsMode;

use super::wire::{self, capability as c};
use super::{Mysql, MysqlOptions};
use crate::channel::{Next, Protocol};

pub(super) const CAPABILITIES: u32 = c::LONG_PASSWORD
    | c::PROTOCOL_41
    | c::SECURE_CONNECTION
    | c::PLUGIN_AUTH
    | c::PLUGIN_AUTH_LENENC
    | c::MULTI_RESULTS
    | c::LOCAL_FILES
    | c::DEPRECATE_EOF;

pub(super) const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
pub(super) const END: &[u8] = &[0xFE, 0, 0, 2, 0, 0, 0];
pub(super) const END_MORE: &[u8] = &[0xFE, 0, 0, 10, 0, 0, 0];
pub(super) const EOF: &[u8] = &[0xFE, 0, 0, 2, 0];
pub(super) const EOF_MORE: &[u8] = &[0xFE, 0, 0, 10, 0];
pub(super) const ERROR: &[u8] = b"\xFF\x28\x04#42000You have an error in your SQL syntax";

pub(super) fn options() -> MysqlOptions {
    MysqlOptions {
        user: "user".to_owned(),
        password: Some(dyno_core::Secret::new("secret".to_owned())),
        tls: TlsMode::Disable,
        ..MysqlOptions::default()
    }
}

/// Packets with these payloads, numbered from `sequence`.
pub(super) fn packets(sequence: u8, payloads: &[&[u8]]) -> Vec<u8> {
    let mut output = Vec::new();
    let mut sequence = sequence;
    for payload in payloads {
        let start = wire::begin(&mut output);
        output.extend_from_slice(payload);
        sequence = wire::finish(&mut output, start, sequence);
    }
    output
}

/// The greeting's payload.
pub(super) fn greeting(capabilities: u32, plugin: &str) -> Vec<u8> {
    let low = (capabilities as u16).to_le_bytes();
    let high = ((capabilities >> 16) as u16).to_le_bytes();
    [
        b"\x0a8.4.0-canned\0\x07\0\0\0abcdefgh\0",
        &low[..],
        &[45, 2, 0],
        &high[..],
        &[21],
        &[0; 10],
        b"ijklmnopqrst\0",
        plugin.as_bytes(),
        &[0],
    ]
    .concat()
}

/// A column's definition.
pub(super) fn column(kind: u8) -> Vec<u8> {
    let names = b"\x03def\x01s\x01t\x01t\x01c\x01c";
    let fixed = [12, 45, 0, 20, 0, 0, 0, kind, 0, 0, 0, 0, 0];
    [&names[..], &fixed].concat()
}

/// A connection that is driven as by a channel.
pub(super) struct Client {
    pub protocol: Mysql,
    pub partial: Vec<u8>,
    pub output: Vec<u8>,
}

impl Client {
    pub(super) fn new(options: MysqlOptions) -> Self {
        let mut protocol = Mysql::new(&Arc::new(options));
        let mut output = Vec::new();
        protocol.connected(&mut output);
        Self {
            protocol,
            partial: Vec::new(),
            output,
        }
    }

    /// A connection that is ready.
    pub(super) fn ready(capabilities: u32) -> Self {
        let mut client = Self::new(options());
        client.feed(&packets(
            0,
            &[&greeting(capabilities, "mysql_native_password")],
        ));
        client.feed(&packets(2, &[OK]));
        assert_eq!(client.protocol.outcome().kind, OutcomeKind::Connected);
        client.output.clear();
        client
    }

    pub(super) fn feed(&mut self, input: &[u8]) -> Next {
        self.partial.extend_from_slice(input);
        let received = self.protocol.receive(&self.partial, &mut self.output);
        assert!(received.consumed <= self.partial.len());
        self.partial.drain(..received.consumed);
        received.next
    }

    /// Performs an operation. The answer arrives in pieces of these lengths in turn. Returns
    /// everything that a caller can see.
    pub(super) fn perform(
        &mut self,
        operation: &Request,
        answer: &[u8],
        pieces: &[usize],
    ) -> String {
        self.output.clear();
        let outcome = self.protocol.outcome_mut();
        (outcome.error, outcome.more) = (None, false);
        let mut submitted = self.submit(operation);
        let mut rest = answer;
        let mut pieces = pieces.iter().cycle();
        if submitted == Submitted::Pending && self.feed(&[]) == Next::Finished {
            submitted = Submitted::Ready;
        }
        while submitted == Submitted::Pending && !rest.is_empty() {
            self.protocol.produce(&mut self.output);
            let len = pieces
                .next()
                .map_or(rest.len(), |len| *len)
                .clamp(1, rest.len());
            let (piece, after) = rest.split_at(len);
            rest = after;
            match self.feed(piece) {
                Next::Input => {}
                Next::Finished => submitted = Submitted::Ready,
                Next::StartTls => self
                    .protocol
                    .tls_established("TLSv1.3", None, &mut self.output),
            }
        }
        // Bytes after the answer are kept for the next operation.
        self.partial.extend_from_slice(rest);
        self.describe(submitted)
    }

    fn submit(&mut self, operation: &Request) -> Submitted {
        let Self {
            protocol, output, ..
        } = self;
        match operation {
            Request::Connect => Submitted::Pending,
            Request::Query => protocol.query(b"SELECT", output),
            Request::Prepare => protocol.prepare(b"SELECT ?", &[], output),
            Request::Execute => protocol.execute(0, &[&Param::int(0)], output),
            Request::ExecuteWithout => protocol.execute(0, &[], output),
            Request::NextResult => protocol.next_result(output),
            Request::Load => protocol.bulk_load(load(3), output),
        }
    }

    fn describe(&mut self, submitted: Submitted) -> String {
        let mut rows = Vec::new();
        let mut row = Row::default();
        while self.protocol.next_row(&mut row) {
            rows.push(format!("{:?}{:?}", row.bytes, row.ends));
        }
        format!("{submitted:?} {:?} {rows:?}", self.protocol.outcome())
    }
}

/// What a client can do.
#[derive(Clone, Copy, Debug)]
pub(super) enum Request {
    Connect,
    Query,
    Prepare,
    Execute,
    /// Without parameters.
    ExecuteWithout,
    NextResult,
    Load,
}

/// A valid conversation with a server that has these capabilities: operations and their answers.
pub(super) fn conversation(capabilities: u32) -> Vec<(Request, Vec<u8>)> {
    let columns = [column(8), column(253), column(12)];
    let [a, b, c] = columns.each_ref().map(|column| &column[..]);
    let text: &[u8] = b"\x017\x03abc\x132024-02-29 00:00:00";
    let nulls: &[u8] = &[0xFB, 0xFB, 0xFB];
    let binary: &[u8] = b"\0\0\x07\0\0\0\0\0\0\0\x03abc\x04\xE8\x07\x02\x1D";
    let all_null: &[u8] = &[0, 0x1C];
    let prepared: &[u8] = &[0, 9, 0, 0, 0, 3, 0, 1, 0, 0, 0, 0];
    let deprecated = capabilities & c::DEPRECATE_EOF != 0;
    let answer = |parts: &[&[u8]]| {
        // A server without DEPRECATE_EOF ends definitions and rows with EOF packets.
        let mut all = Vec::new();
        for part in parts {
            match *part {
                EOF if deprecated => {}
                END if !deprecated => all.push(EOF),
                END_MORE if !deprecated => all.push(EOF_MORE),
                part => all.push(part),
            }
        }
        packets(1, &all)
    };
    let greeting = packets(0, &[&greeting(capabilities, "caching_sha2_password")]);
    let more = answer(&[
        &[3],
        a,
        b,
        c,
        EOF,
        text,
        END_MORE,
        &[1],
        a,
        EOF,
        b"\x018",
        END,
    ]);
    vec![
        (
            Request::Connect,
            [greeting, packets(2, &[b"\x01\x03", OK])].concat(),
        ),
        (Request::Query, answer(&[OK])),
        (
            Request::Query,
            answer(&[&[3], a, b, c, EOF, text, nulls, text, END]),
        ),
        (Request::Query, answer(&[ERROR])),
        (Request::Prepare, answer(&[prepared, a, EOF, a, b, c, EOF])),
        (Request::Execute, answer(&[&[3], a, b, c, EOF, binary, END])),
        (
            Request::Execute,
            answer(&[&[3], a, b, c, EOF, binary, all_null, END]),
        ),
        (
            Request::Execute,
            answer(&[&[3], a, b, c, EOF, binary, ERROR]),
        ),
        (Request::Query, more),
        (Request::NextResult, Vec::new()),
        (Request::Query, answer(&[OK])),
    ]
}

/// Rows `1` to `end` for a bulk load.
pub(super) fn load(end: u64) -> BulkLoad {
    BulkLoad {
        table: "t".to_owned(),
        columns: Vec::new(),
        rows: Box::new(Count { next: 1, end }),
    }
}

struct Count {
    next: u64,
    end: u64,
}

impl RowSource for Count {
    fn fill(&mut self, out: &mut Vec<u8>, format: BulkFormat, max_bytes: usize) -> u64 {
        let (start, first) = (out.len(), self.next);
        while self.next <= self.end && (self.next == first || out.len() - start < max_bytes) {
            let text = match format {
                BulkFormat::TabText => format!("{}\n", self.next),
                BulkFormat::SqlTuples if self.next == first => format!("({})", self.next),
                BulkFormat::SqlTuples => format!(",({})", self.next),
            };
            out.extend_from_slice(text.as_bytes());
            self.next += 1;
        }
        self.next - first
    }

    fn rewind(&mut self) {
        self.next = 1;
    }
}
