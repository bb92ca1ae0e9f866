//! Properties that hold for anything a server sends. Fuzz targets and property tests call the same
//! functions, so that a fuzzer's findings become tests.
//!
//! A script of bytes is read as a conversation: requests, and the server's answers, either as raw
//! bytes or as well-framed messages with arbitrary content, so that the fuzzer gets past framing.

pub mod echo;
mod unasked;

use std::sync::Arc;

use dyno_core::bulk::{BulkFormat, BulkLoad, RowSource};
use dyno_core::db::{OutcomeKind, Param, ParamKind, Row, Submitted};
use dyno_core::target::TlsMode;

use crate::channel::{Next, Protocol};
use crate::credentials;
use crate::mysql::{Mysql, MysqlOptions};
use crate::postgres::{Postgres, PostgresOptions};

pub use unasked::unasked;

/// Maximum number of rows that are read of one result: a server may send any number.
const ROWS_MAX: usize = 10_000;

/// A conversation with a server that claims to be MySQL, before or after the login.
///
/// # Panics
/// When the decoder panics or breaks its contract.
pub fn mysql(script: &[u8]) {
    let mut script = Script(script);
    let logged_in = script.byte() & 1 == 1;
    hold(&script.exchanges(frame_mysql), || talk_mysql(logged_in));
}

/// A conversation with a server that claims to be PostgreSQL, before or after the login.
///
/// # Panics
/// When the decoder panics or breaks its contract.
pub fn postgres(script: &[u8]) {
    let mut script = Script(script);
    let logged_in = script.byte() & 1 == 1;
    let exchanges = script.exchanges(frame_postgres);
    hold(&exchanges, || talk_postgres(logged_in));
}

/// An option file of MySQL.
///
/// # Panics
/// When its parser panics, or a section other than `[client]` counts.
pub fn option_file(text: &str) {
    credentials::fuzzing::option_file(text);
}

/// A password file of PostgreSQL.
///
/// # Panics
/// When its parser panics, or a matching line does not count.
pub fn password_file(text: &str) {
    credentials::fuzzing::password_file(text);
}

fn talk_mysql(logged_in: bool) -> Talk<Mysql> {
    let options = MysqlOptions {
        user: "u".to_owned(),
        tls: TlsMode::Disable,
        ..MysqlOptions::default()
    };
    let mut talk = Talk::new(Mysql::new(&Arc::new(options)));
    if logged_in {
        talk.hear(&frame_mysql(&[&[0, 81], &GREETING[..]].concat()));
        talk.hear(&frame_mysql(&[2, 7, 0, 0, 0, 2, 0, 0, 0]));
    }
    talk
}

fn talk_postgres(logged_in: bool) -> Talk<Postgres> {
    let options = PostgresOptions {
        user: "u".to_owned(),
        password: Some(dyno_core::Secret::new("secret".to_owned())),
        database: String::new(),
        tls: TlsMode::Disable,
        unix_socket: false,
        disclosure: crate::Disclosure::default(),
        application_name: String::new(),
    };
    #[allow(clippy::expect_used)] // constant options, which are valid
    let mut talk = Talk::new(Postgres::new(&options).expect("constant options"));
    if logged_in {
        talk.hear(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I");
    }
    talk
}

/// MySQL's first packet: version 10, the usual capabilities except TLS, `mysql_native_password`.
const GREETING: [u8; 81] = *b"\x0a8.4.0-made-up\0\x07\0\0\0abcdefgh\0\x81\x82\x2d\x02\0\x2b\x01\
    \x15\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0mysql_native_password\0";

/// The request of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ask {
    Query,
    Prepare,
    Execute,
    Close,
    NextResult,
    Load,
    /// None: the server sends unasked.
    Nothing,
}

struct Exchange {
    ask: Ask,
    answer: Vec<u8>,
    piece: usize,
}

/// Bytes that decide what happens; zeros after their end.
struct Script<'a>(&'a [u8]);

impl<'a> Script<'a> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (head, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        head
    }

    fn exchanges(&mut self, frame: fn(&[u8]) -> Vec<u8>) -> Vec<Exchange> {
        let mut exchanges = Vec::new();
        while !self.0.is_empty() {
            let what = self.byte();
            let ask = match what & 7 {
                0 | 1 => Ask::Query,
                2 => Ask::Prepare,
                3 => Ask::Execute,
                4 => Ask::Close,
                5 => Ask::NextResult,
                6 => Ask::Load,
                _ => Ask::Nothing,
            };
            let piece = usize::from(self.byte()) + 1;
            let len = usize::from(self.byte());
            let body = self.bytes(len);
            let answer = match what & 8 {
                0 => frame(body),
                _ => body.to_vec(),
            };
            exchanges.push(Exchange { ask, answer, piece });
        }
        exchanges
    }
}

/// Frames `[number, (length, payload)…]` as packets numbered from `number`.
fn frame_mysql(body: &[u8]) -> Vec<u8> {
    let mut script = Script(body);
    let mut number = script.byte();
    let mut packets = Vec::new();
    while !script.0.is_empty() {
        let len = usize::from(script.byte());
        let payload = script.bytes(len);
        packets.extend_from_slice(&(payload.len() as u32).to_le_bytes()[..3]);
        packets.push(number);
        packets.extend_from_slice(payload);
        number = number.wrapping_add(1);
    }
    packets
}

/// Frames `[(tag, length, payload)…]` as messages.
fn frame_postgres(body: &[u8]) -> Vec<u8> {
    let mut script = Script(body);
    let mut messages = Vec::new();
    while !script.0.is_empty() {
        messages.push(script.byte());
        let len = usize::from(script.byte());
        let payload = script.bytes(len);
        messages.extend_from_slice(&(payload.len() as u32 + 4).to_be_bytes());
        messages.extend_from_slice(payload);
    }
    messages
}

/// Runs the conversation twice, with the answers in pieces and whole. The results must be equal,
/// unless rows are loaded: how far a load was when the server answered depends on the pieces.
fn hold<P: Protocol>(exchanges: &[Exchange], new: impl Fn() -> Talk<P>) {
    let cut = new().all(exchanges, |exchange| exchange.piece);
    let whole = new().all(exchanges, |_| usize::MAX);
    if exchanges.iter().all(|exchange| exchange.ask != Ask::Load) {
        assert_eq!(cut, whole);
    }
}

/// A protocol between its caller and a fake server, driven as the channel drives it.
struct Talk<P> {
    protocol: P,
    /// Received and not consumed.
    partial: Vec<u8>,
    output: Vec<u8>,
}

impl<P: Protocol> Talk<P> {
    fn new(mut protocol: P) -> Self {
        let mut output = Vec::new();
        protocol.connected(&mut output);
        Self {
            protocol,
            partial: Vec::new(),
            output,
        }
    }

    fn hear(&mut self, bytes: &[u8]) -> Next {
        self.partial.extend_from_slice(bytes);
        let received = self.protocol.receive(&self.partial, &mut self.output);
        assert!(received.consumed <= self.partial.len());
        self.partial.drain(..received.consumed);
        received.next
    }

    fn all(mut self, exchanges: &[Exchange], piece: impl Fn(&Exchange) -> usize) -> Vec<String> {
        let mut trace = Vec::new();
        let mut pending = self.protocol.outcome().kind == OutcomeKind::None;
        for exchange in exchanges {
            // A caller starts nothing before the last operation has ended.
            if !pending && exchange.ask != Ask::Nothing {
                pending = self.ask(exchange.ask) == Submitted::Pending;
                if !pending {
                    trace.push(self.describe());
                    continue;
                }
            }
            if !pending {
                // Bytes that arrive between operations wait for the next one, as in a socket.
                self.partial.extend_from_slice(&exchange.answer);
                continue;
            }
            match self.answered(exchange, piece(exchange)) {
                Next::Input => {}
                Next::Finished => {
                    pending = false;
                    trace.push(self.describe());
                }
                Next::StartTls => unreachable!("TLS is disabled"),
            }
        }
        trace
    }

    /// Feeds the answer; surplus bytes stay for the next operation.
    fn answered(&mut self, exchange: &Exchange, piece: usize) -> Next {
        let mut rest = &exchange.answer[..];
        let mut next = self.hear(&[]);
        while next == Next::Input && !rest.is_empty() {
            if exchange.ask == Ask::Load {
                self.protocol.produce(&mut self.output);
            }
            let (head, tail) = rest.split_at(piece.min(rest.len()));
            next = self.hear(head);
            rest = tail;
        }
        self.partial.extend_from_slice(rest);
        next
    }

    fn ask(&mut self, ask: Ask) -> Submitted {
        self.output.clear();
        let outcome = self.protocol.outcome_mut();
        (outcome.error, outcome.more) = (None, false);
        let param = Param::new(ParamKind::Int, 0);
        let (protocol, output) = (&mut self.protocol, &mut self.output);
        match ask {
            Ask::Query => protocol.query(b"SELECT 1", output),
            Ask::Prepare => protocol.prepare(b"SELECT ?", &[ParamKind::Int], output),
            Ask::Execute => protocol.execute(0, &[&param], output),
            Ask::Close => protocol.close_statement(0, output),
            Ask::NextResult => protocol.next_result(output),
            Ask::Load => protocol.bulk_load(load(), output),
            Ask::Nothing => Submitted::Ready,
        }
    }

    /// Everything a caller can see. Also checks that failures and errors go together.
    fn describe(&mut self) -> String {
        let outcome = self.protocol.outcome();
        let failed = outcome.kind == OutcomeKind::Failed;
        assert_eq!(failed, outcome.error.is_some(), "{outcome:?}");
        let mut text = format!("{outcome:?}");
        let mut row = Row::default();
        for _ in 0..ROWS_MAX {
            if !self.protocol.next_row(&mut row) {
                break;
            }
            text += &format!("{:?}{:?}", row.bytes, row.ends);
        }
        text
    }
}

/// Three rows.
fn load() -> BulkLoad {
    BulkLoad {
        table: "t".to_owned(),
        columns: Vec::new(),
        rows: Box::new(Three(0)),
    }
}

struct Three(u64);

impl RowSource for Three {
    fn fill(&mut self, out: &mut Vec<u8>, format: BulkFormat, _max_bytes: usize) -> u64 {
        if self.0 == 3 {
            return 0;
        }
        self.0 += 1;
        out.extend_from_slice(match format {
            BulkFormat::TabText => b"1\n",
            BulkFormat::SqlTuples => b"(1)",
        });
        1
    }

    fn rewind(&mut self) {
        self.0 = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn simulated_logins_succeed() {
        for logged_in in [false, true] {
            let kind = match logged_in {
                true => OutcomeKind::Connected,
                false => OutcomeKind::None,
            };
            assert_eq!(talk_mysql(logged_in).protocol.outcome().kind, kind);
            assert_eq!(talk_postgres(logged_in).protocol.outcome().kind, kind);
        }
    }

    proptest! {
        #[test]
        fn any_conversation_is_survived(script in vec(any::<u8>(), 0..400)) {
            mysql(&script);
            postgres(&script);
        }

        #[test]
        fn any_file_of_credentials_is_read(text in "(\\PC|[\n=:\\\\\\[\\]!#'\"]){0,60}") {
            option_file(&text);
            password_file(&text);
        }
    }
}
