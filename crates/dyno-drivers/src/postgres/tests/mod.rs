//! Conversations with fake servers.

mod greeting;
mod pipeline;
mod properties;
mod statements;
mod transactions;

use dyno_core::Secret;
use dyno_core::db::{DbError, ErrorKind, Outcome, OutcomeKind, Row};
use dyno_core::target::TlsMode;

use super::{Postgres, PostgresOptions};
use crate::channel::{Next, Protocol};

/// A protocol between its caller and a fake server, driven as the channel drives it.
struct Talk {
    protocol: Postgres,
    partial: Vec<u8>,
    sent: Vec<u8>,
}

impl Talk {
    fn new(options: &PostgresOptions) -> Self {
        let mut talk = Self {
            protocol: Postgres::new(options).unwrap(),
            partial: Vec::new(),
            sent: Vec::new(),
        };
        talk.protocol.connected(&mut talk.sent);
        talk
    }

    /// Ready for statements.
    fn ready() -> Self {
        let mut talk = Self::new(&options(TlsMode::Disable));
        assert_eq!(talk.hear(&greeting()), Next::Finished);
        assert_eq!(talk.outcome().kind, OutcomeKind::Connected);
        talk.sent.clear();
        talk
    }

    /// With `INSERT … VALUES ($1, $2)` and `SELECT … WHERE id = $1` prepared as 0 and 1.
    fn prepared() -> Self {
        let mut talk = Self::ready();
        for (params, columns) in [(2, None), (1, Some(1))] {
            let sql = b"?,".repeat(params);
            let _ = talk.protocol.prepare(&sql, &[], &mut talk.sent);
            let answer = preparation(params as u16, columns);
            assert_eq!(talk.hear(&answer), Next::Finished);
        }
        talk.sent.clear();
        talk
    }

    fn hear(&mut self, bytes: &[u8]) -> Next {
        self.partial.extend_from_slice(bytes);
        let received = self.protocol.receive(&self.partial, &mut self.sent);
        assert!(received.consumed <= self.partial.len());
        self.partial.drain(..received.consumed);
        received.next
    }

    fn query(&mut self, sql: &str, answer: &[u8]) -> Next {
        let _ = self.protocol.query(sql.as_bytes(), &mut self.sent);
        self.hear(answer)
    }

    fn outcome(&self) -> &Outcome {
        self.protocol.outcome()
    }

    fn error(&self) -> &DbError {
        assert_eq!(self.outcome().kind, OutcomeKind::Failed);
        self.outcome().error.as_ref().unwrap()
    }

    fn rows(&mut self) -> Vec<Vec<Option<Vec<u8>>>> {
        let (mut rows, mut row) = (Vec::new(), Row::default());
        while self.protocol.next_row(&mut row) {
            let fields = 0..row.ends.len();
            rows.push(fields.map(|at| row.field(at).map(<[u8]>::to_vec)).collect());
        }
        rows
    }

    fn assert_malformed(&mut self, answer: &[u8]) {
        assert_eq!(self.hear(answer), Next::Finished, "{answer:?}");
        assert_eq!(self.error().kind, ErrorKind::Protocol, "{answer:?}");
    }
}

fn options(tls: TlsMode) -> PostgresOptions {
    PostgresOptions {
        user: "anna".to_owned(),
        password: Some(Secret::new("secret".to_owned())),
        database: "shop".to_owned(),
        tls,
        application_name: "test".to_owned(),
        unix_socket: false,
        disclosure: crate::Disclosure::default(),
    }
}

fn message(tag: u8, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let mut message = vec![tag];
    message.extend((body.len() as u32 + 4).to_be_bytes());
    message.extend(body);
    message
}

fn auth(request: u32, rest: &[u8]) -> Vec<u8> {
    message(b'R', [&request.to_be_bytes(), rest].concat())
}

fn ready(status: u8) -> Vec<u8> {
    message(b'Z', [status])
}

fn complete(tag: &str) -> Vec<u8> {
    message(b'C', format!("{tag}\0"))
}

fn error(severity: &str, state: &str, text: &str) -> Vec<u8> {
    let body = format!("S{severity}\0V{severity}\0C{state}\0M{text}\0\0");
    message(b'E', body)
}

fn description(columns: u16) -> Vec<u8> {
    let mut body = columns.to_be_bytes().to_vec();
    for _ in 0..columns {
        body.extend(b"name\0");
        body.extend([0; 18]);
    }
    message(b'T', body)
}

fn row(fields: &[Option<&str>]) -> Vec<u8> {
    let mut body = (fields.len() as u16).to_be_bytes().to_vec();
    for field in fields {
        let length = field.map_or(-1, |field| field.len() as i32);
        body.extend(length.to_be_bytes());
        body.extend(field.unwrap_or_default().bytes());
    }
    message(b'D', body)
}

fn preparation(params: u16, columns: Option<u16>) -> Vec<u8> {
    let oids = vec![0; 4 * usize::from(params)];
    let description = columns.map_or_else(|| message(b'n', []), description);
    [
        message(b'1', []),
        message(b't', [&params.to_be_bytes()[..], &oids].concat()),
        description,
        ready(b'I'),
    ]
    .concat()
}

fn greeting() -> Vec<u8> {
    [
        auth(0, b""),
        message(b'S', b"server_version\x0016.3 (made up)\0"),
        message(b'S', b"client_encoding\0UTF8\0"),
        message(b'K', [0; 8]),
        message(b'v', b"\0\x03\0\0\0\0\0\0"),
        ready(b'I'),
    ]
    .concat()
}
