//! Servers that echo the request, so that an answer shows which request it belongs to: the only row
//! of `SELECT 7`, and of a prepared statement executed with 7, is `7`. Like the protocols they use
//! no sockets, and they know the statements that [`super::network`] sends.

use crate::mysql::wire::{self, capability as c};

/// What a server needs after its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// More input.
    Input,
    /// Start TLS after the bytes consumed.
    StartTls,
    /// Nothing: the client ended the session, or sent something invalid.
    Close,
}

/// A server's side of a connection.
pub trait Echo: Send {
    /// Appends the server's first message, if any.
    fn greet(&mut self, out: &mut Vec<u8>);

    /// Handles one request at the front of `input` and returns its length, 0 if it is incomplete.
    fn take(&mut self, input: &[u8], out: &mut Vec<u8>) -> (usize, Turn);

    /// Whether the client is logged in.
    fn is_logged_in(&self) -> bool;

    /// The number of operations answered.
    fn answered(&self) -> u64;

    /// Appends an unasked message that ends the connection.
    fn farewell(&self, out: &mut Vec<u8>);

    /// Appends an unasked answer.
    fn stray_answer(&mut self, out: &mut Vec<u8>);
}

/// MySQL's side.
#[derive(Default)]
pub struct MysqlEcho {
    tls: bool,
    logged_in: bool,
    answered: u64,
    /// The number of lines received, while the rows of a LOAD DATA arrive.
    lines: Option<u64>,
}

impl MysqlEcho {
    /// Creates a server that offers TLS or not.
    pub fn new(tls: bool) -> Self {
        Self {
            tls,
            ..Self::default()
        }
    }

    fn log_in(&mut self, payload: &[u8], sequence: u8, out: &mut Vec<u8>) -> Turn {
        if payload.len() == 32 {
            return Turn::StartTls;
        }
        self.logged_in = true;
        mysql_packets(out, sequence.wrapping_add(1), &[MYSQL_OK]);
        Turn::Input
    }

    fn command(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Turn {
        match payload.split_first() {
            Some((0x03, text)) => self.query(text, out),
            Some((0x16, _)) => {
                let column = mysql_column(8);
                let prepared: &[u8] = &[0, 9, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0];
                mysql_packets(out, 1, &[prepared, &column, &column]);
                self.answered += 1;
            }
            Some((0x17, rest)) => {
                let value = rest.last_chunk::<8>().copied().unwrap_or_default();
                let row = [&[0, 0][..], &value].concat();
                mysql_packets(out, 1, &[&[1], &mysql_column(8), &row, MYSQL_END]);
                self.answered += 1;
            }
            // Closing a statement has no answer.
            Some((0x19, _)) => {}
            _ => return Turn::Close,
        }
        Turn::Input
    }

    fn query(&mut self, text: &[u8], out: &mut Vec<u8>) {
        if text.starts_with(b"LOAD DATA") {
            self.lines = Some(0);
            return mysql_packets(out, 1, &[b"\xFBdyno-rows"]);
        }
        // A load's query for settings is not counted as an operation.
        if text.starts_with(b"SELECT @@") {
            let column = mysql_column(253);
            let row = b"\x0816777216\x13STRICT_TRANS_TABLES";
            return mysql_packets(out, 1, &[&[2], &column, &column, row, MYSQL_END]);
        }
        self.answered += 1;
        let numbers = numbers(text);
        let column = mysql_column(253);
        let rows: Vec<Vec<u8>> = numbers.iter().map(|number| text_row(number)).collect();
        let mut payloads: Vec<&[u8]> = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            let last = index + 1 == rows.len();
            let end = if last { MYSQL_END } else { MYSQL_END_MORE };
            payloads.extend([&[1][..], &column, row, end]);
        }
        match payloads.is_empty() {
            true => mysql_packets(out, 1, &[MYSQL_OK]),
            false => mysql_packets(out, 1, &payloads),
        }
    }

    fn file(&mut self, payload: &[u8], sequence: u8, out: &mut Vec<u8>) {
        let Some(lines) = &mut self.lines else {
            return;
        };
        if payload.is_empty() {
            let rows = *lines as u8;
            self.lines = None;
            self.answered += 1;
            let ok: &[u8] = &[0, rows, 0, 2, 0, 0, 0];
            return mysql_packets(out, sequence.wrapping_add(1), &[ok]);
        }
        *lines += payload.iter().filter(|byte| **byte == b'\n').count() as u64;
    }
}

impl Echo for MysqlEcho {
    fn greet(&mut self, out: &mut Vec<u8>) {
        let ssl = if self.tls { c::SSL } else { 0 };
        let greeting = mysql_greeting(MYSQL_CAPABILITIES | ssl, "mysql_native_password");
        mysql_packets(out, 0, &[&greeting]);
    }

    fn take(&mut self, input: &[u8], out: &mut Vec<u8>) -> (usize, Turn) {
        let Some(packet) = wire::packet(input) else {
            return (0, Turn::Input);
        };
        let turn = if !self.logged_in {
            self.log_in(packet.payload, packet.sequence, out)
        } else if self.lines.is_some() {
            self.file(packet.payload, packet.sequence, out);
            Turn::Input
        } else {
            self.command(packet.payload, out)
        };
        (wire::HEADER + packet.payload.len(), turn)
    }

    fn is_logged_in(&self) -> bool {
        self.logged_in
    }

    fn answered(&self) -> u64 {
        self.answered
    }

    fn farewell(&self, out: &mut Vec<u8>) {
        mysql_packets(out, 0, &[b"\xFF\xBF\x0F#HY000disconnected by the server"]);
    }

    fn stray_answer(&mut self, out: &mut Vec<u8>) {
        self.query(b"SELECT 999999", out);
        self.answered -= 1;
    }
}

/// PostgreSQL's side.
#[derive(Default)]
pub struct PostgresEcho {
    tls: bool,
    started: bool,
    answered: u64,
    /// The number of lines received, while the rows of a COPY arrive.
    lines: Option<u64>,
    /// Sent at the next Sync.
    pending: Vec<u8>,
}

impl PostgresEcho {
    /// Creates a server that offers TLS or not.
    pub fn new(tls: bool) -> Self {
        Self {
            tls,
            ..Self::default()
        }
    }

    fn start(&mut self, body: &[u8], out: &mut Vec<u8>) -> Turn {
        if body.starts_with(&80_877_103_u32.to_be_bytes()) {
            out.push(if self.tls { b'S' } else { b'N' });
            return if self.tls {
                Turn::StartTls
            } else {
                Turn::Input
            };
        }
        self.started = true;
        message(out, b'R', &[0; 4]);
        message(out, b'S', b"server_version\x0015.0\0");
        message(out, b'K', &[0; 8]);
        message(out, b'Z', b"I");
        Turn::Input
    }

    fn message(&mut self, tag: u8, body: &[u8], out: &mut Vec<u8>) -> Turn {
        match tag {
            b'Q' if body.starts_with(b"COPY") => {
                self.lines = Some(0);
                message(out, b'G', &[0, 0, 1, 0, 0]);
            }
            b'Q' => {
                for number in numbers(body) {
                    message(out, b'T', &description());
                    put_result(out, number);
                }
                self.end(out);
            }
            b'd' => {
                let lines = body.iter().filter(|byte| **byte == b'\n').count() as u64;
                self.lines = self.lines.map(|before| before + lines);
            }
            b'c' => {
                let rows = self.lines.take().unwrap_or_default();
                message(out, b'C', format!("COPY {rows}\0").as_bytes());
                self.end(out);
            }
            b'P' => message(&mut self.pending, b'1', &[]),
            b'D' => {
                message(&mut self.pending, b't', &[0, 1, 0, 0, 0, 20]);
                message(&mut self.pending, b'T', &description());
            }
            b'B' => {
                // One parameter of eight bytes, followed by the result formats.
                let value = body.get(..body.len().saturating_sub(2));
                let value = value.and_then(<[u8]>::last_chunk::<8>).copied();
                let number = i64::from_be_bytes(value.unwrap_or_default()).to_string();
                message(&mut self.pending, b'2', &[]);
                put_result(&mut self.pending, number.as_bytes());
            }
            b'E' => {}
            b'C' => message(&mut self.pending, b'3', &[]),
            b'S' => {
                out.append(&mut self.pending);
                self.end(out);
            }
            _ => return Turn::Close,
        }
        Turn::Input
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.answered += 1;
        message(out, b'Z', b"I");
    }
}

impl Echo for PostgresEcho {
    fn greet(&mut self, _: &mut Vec<u8>) {}

    fn take(&mut self, input: &[u8], out: &mut Vec<u8>) -> (usize, Turn) {
        let head = usize::from(self.started);
        let Some(length) = input.get(head..).and_then(<[u8]>::first_chunk::<4>) else {
            return (0, Turn::Input);
        };
        let end = head + u32::from_be_bytes(*length) as usize;
        if end < head + 4 {
            return (0, Turn::Close);
        }
        let Some(body) = input.get(head + 4..end) else {
            return (0, Turn::Input);
        };
        let turn = match self.started {
            true => self.message(input[0], body, out),
            false => self.start(body, out),
        };
        (end, turn)
    }

    fn is_logged_in(&self) -> bool {
        self.started
    }

    fn answered(&self) -> u64 {
        self.answered
    }

    fn farewell(&self, out: &mut Vec<u8>) {
        let body = b"SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0";
        message(out, b'E', body);
    }

    fn stray_answer(&mut self, out: &mut Vec<u8>) {
        message(out, b'T', &description());
        put_result(out, b"999999");
        message(out, b'Z', b"I");
    }
}

const MYSQL_CAPABILITIES: u32 = c::LONG_PASSWORD
    | c::PROTOCOL_41
    | c::SECURE_CONNECTION
    | c::PLUGIN_AUTH
    | c::PLUGIN_AUTH_LENENC
    | c::MULTI_STATEMENTS
    | c::MULTI_RESULTS
    | c::LOCAL_FILES
    | c::DEPRECATE_EOF;
const MYSQL_OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const MYSQL_END: &[u8] = &[0xFE, 0, 0, 2, 0, 0, 0];
const MYSQL_END_MORE: &[u8] = &[0xFE, 0, 0, 10, 0, 0, 0];

/// Appends packets with these payloads, numbered from `sequence`.
fn mysql_packets(out: &mut Vec<u8>, sequence: u8, payloads: &[&[u8]]) {
    let mut sequence = sequence;
    for payload in payloads {
        let start = wire::begin(out);
        out.extend_from_slice(payload);
        sequence = wire::finish(out, start, sequence);
    }
}

fn mysql_greeting(capabilities: u32, plugin: &str) -> Vec<u8> {
    let [a, b, high @ ..] = capabilities.to_le_bytes();
    let mut greeting = b"\x0a8.4.0-echo\0\x07\0\0\0abcdefgh\0".to_vec();
    greeting.extend([a, b, 45, 2, 0]);
    greeting.extend(high);
    greeting.extend([21]);
    greeting.extend([0; 10]);
    greeting.extend(b"ijklmnopqrst\0");
    greeting.extend(plugin.as_bytes());
    greeting.push(0);
    greeting
}

fn mysql_column(kind: u8) -> Vec<u8> {
    let names = b"\x03def\x01s\x01t\x01t\x01c\x01c";
    let fixed = [12, 45, 0, 20, 0, 0, 0, kind, 0, 0, 0, 0, 0];
    [&names[..], &fixed].concat()
}

fn text_row(text: &[u8]) -> Vec<u8> {
    [&[text.len() as u8], text].concat()
}

/// The numbers of `SELECT 1; SELECT 2`, up to the padding.
fn numbers(text: &[u8]) -> Vec<&[u8]> {
    text.split(|byte| *byte == b';')
        .filter_map(|statement| {
            let number = statement.trim_ascii().strip_prefix(b"SELECT ")?;
            let end = number.iter().position(|byte| !byte.is_ascii_digit());
            Some(&number[..end.unwrap_or(number.len())])
        })
        .collect()
}

fn message(out: &mut Vec<u8>, tag: u8, body: &[u8]) {
    out.push(tag);
    out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    out.extend_from_slice(body);
}

fn description() -> Vec<u8> {
    let fixed = [
        0, 0, 0, 0, 0, 0, 0, 0, 0, 20, 0, 8, 255, 255, 255, 255, 0, 0,
    ];
    [&[0, 1][..], b"c\0", &fixed].concat()
}

fn put_result(out: &mut Vec<u8>, text: &[u8]) {
    let row = [&[0, 1][..], &(text.len() as u32).to_be_bytes(), text].concat();
    message(out, b'D', &row);
    message(out, b'C', b"SELECT 1\0");
}
