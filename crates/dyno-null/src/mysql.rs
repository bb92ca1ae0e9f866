//! The part of the MySQL protocol that load generators use.

use crate::server::{Fed, Protocol};
use crate::sql::{self, CELL, Kind, Loaded, NARROW, newlines};

const CLIENT_DEPRECATE_EOF: u32 = 1 << 24;
/// Long password, found rows, long flag, database at connect, local files, protocol 4.1,
/// transactions, secure connection, multi statements, multi results (also prepared), plugins,
/// lenenc authentication data, no EOF packets.
const CAPABILITIES: u32 = 1
    | 2
    | 4
    | 8
    | 1 << 7
    | 1 << 9
    | 1 << 13
    | 1 << 15
    | 7 << 16
    | 1 << 19
    | 1 << 21
    | CLIENT_DEPRECATE_EOF;
const STATUS_AUTOCOMMIT: [u8; 2] = [2, 0];
/// A packet of this length continues in the next packet.
const PACKET_BYTES_MAX: usize = 0xff_ffff;
const TAG_NONE: u8 = 0;
const TAG_ROW: u8 = 1;
const TAG_CHANGE: u8 = 2;
const TAG_COUNT: u8 = 3;
/// Rows of fewer columns than this are built once.
const ROWS_READY: u16 = 33;
const TYPE_LONGLONG: u8 = 8;
const TYPE_VAR_STRING: u8 = 253;
const TYPE_STRING: u8 = 254;

/// Constant answers in pairs, of which the second is without EOF packets.
pub(crate) struct Replies {
    greeting: Vec<u8>,
    ok: Vec<u8>,
    one_changed: Vec<u8>,
    /// By the number of columns. The first is the wide row.
    text_rows: Vec<[Vec<u8>; 2]>,
    binary_rows: Vec<[Vec<u8>; 2]>,
    eof: [Vec<u8>; 2],
    loaded: Loaded,
}

impl Replies {
    pub(crate) fn new() -> Replies {
        Replies {
            greeting: packet(0, &greeting()),
            ok: packet(1, &ok_payload(0, 0)),
            one_changed: packet(1, &ok_payload(0, 1)),
            text_rows: (0..ROWS_READY)
                .map(|columns| [false, true].map(|bare| select_reply(bare, false, columns)))
                .collect(),
            binary_rows: (0..ROWS_READY)
                .map(|columns| [false, true].map(|bare| select_reply(bare, true, columns)))
                .collect(),
            eof: [packet(1, &eof_payload()), packet(1, &ok_payload(0xfe, 0))],
            loaded: Loaded::default(),
        }
    }
}

impl Replies {
    /// The answer to a `SELECT` with this many narrow columns.
    #[inline]
    fn select(&self, bare: bool, binary: bool, columns: u16, out: &mut Vec<u8>) {
        let ready = if binary {
            &self.binary_rows
        } else {
            &self.text_rows
        };
        match ready.get(usize::from(columns)) {
            Some(pair) => out.extend_from_slice(&pair[usize::from(bare)]),
            None => out.extend_from_slice(&select_reply(bare, binary, columns)),
        }
    }
}

pub(crate) struct Session {
    phase: Phase,
    /// Whether the client wants no EOF packets, as an index into the pairs of replies.
    bare: bool,
    statements: u32,
}

#[derive(Clone, Copy)]
enum Phase {
    Login,
    Commands,
    /// A file is being received: the rows so far, the bytes left in the current packet, and whether
    /// the next packet continues it.
    File {
        rows: u64,
        left: usize,
        continued: bool,
    },
}

impl Session {
    /// Creates a connection before its log-in.
    pub(crate) fn new() -> Session {
        Session {
            phase: Phase::Login,
            bare: false,
            statements: 0,
        }
    }
}

impl Protocol for Session {
    type Replies = Replies;

    fn greet(&mut self, replies: &Replies, out: &mut Vec<u8>) {
        out.extend_from_slice(&replies.greeting);
    }

    #[inline]
    fn feed(&mut self, replies: &Replies, input: &[u8], out: &mut Vec<u8>) -> Fed {
        let mut consumed = 0;
        loop {
            let rest = &input[consumed..];
            if let Phase::File { left, rows, .. } = &mut self.phase
                && *left > 0
            {
                let taken = rest.len().min(*left);
                *rows += newlines(&rest[..taken]);
                *left -= taken;
                consumed += taken;
                if *left > 0 {
                    return Fed::open(consumed);
                }
                continue;
            }
            let Some((header, body)) = rest.split_at_checked(4) else {
                return Fed::open(consumed);
            };
            let length =
                usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
            if let Phase::File {
                rows, continued, ..
            } = self.phase
            {
                consumed += 4;
                self.file_packet(&replies.loaded, rows, length, continued, header[3], out);
                continue;
            }
            if length == PACKET_BYTES_MAX {
                error(
                    1153,
                    "Got a packet bigger than 'max_allowed_packet' bytes",
                    out,
                );
                return Fed::close(consumed);
            }
            let Some(body) = body.get(..length) else {
                return Fed::open(consumed);
            };
            consumed += 4 + length;
            if !self.packet(replies, body, out) {
                return Fed::close(consumed);
            }
        }
    }
}

impl Session {
    /// Answers one packet. Returns false to end the connection.
    #[inline]
    fn packet(&mut self, replies: &Replies, body: &[u8], out: &mut Vec<u8>) -> bool {
        if let Phase::Login = self.phase {
            let Some(capabilities) = body.first_chunk::<4>() else {
                return false;
            };
            self.bare = u32::from_le_bytes(*capabilities) & CLIENT_DEPRECATE_EOF != 0;
            self.phase = Phase::Commands;
            out.extend_from_slice(&packet(2, &ok_payload(0, 0)));
            return true;
        }
        let Some((&command, argument)) = body.split_first() else {
            return false;
        };
        match command {
            0x01 => return false,
            0x03 => self.query(replies, argument, out),
            // Init database, ping, change user, reset statement, reset connection.
            0x02 | 0x0e | 0x11 | 0x1a | 0x1f => out.extend_from_slice(&replies.ok),
            0x16 => self.prepare(argument, out),
            0x17 => self.execute(replies, argument, out),
            // Long data and closing a statement have no answer.
            0x18 | 0x19 => {}
            0x1b => out.extend_from_slice(&replies.eof[usize::from(self.bare)]),
            _ => error(1047, "null-server does not know this command", out),
        }
        true
    }

    fn query(&mut self, replies: &Replies, text: &[u8], out: &mut Vec<u8>) {
        match sql::kind_of(text) {
            Kind::Select => {
                replies.select(self.bare, false, sql::narrow_columns(text), out);
            }
            Kind::Count => count_reply(self.bare, false, &replies.loaded, out),
            Kind::Variables => variables_reply(self.bare, text, out),
            Kind::Insert => {
                let rows = sql::inserted_rows(text);
                replies.loaded.add(rows);
                out.extend_from_slice(&packet(1, &ok_payload(0, rows)));
            }
            Kind::Table => {
                replies.loaded.reset();
                out.extend_from_slice(&replies.ok);
            }
            Kind::Change => out.extend_from_slice(&replies.one_changed),
            Kind::Load => {
                self.phase = Phase::File {
                    rows: 0,
                    left: 0,
                    continued: false,
                };
                let request = [b"\xfb".as_slice(), sql::file_name(text)].concat();
                out.extend_from_slice(&packet(1, &request));
            }
            Kind::DollarQuote => error(1054, "Unknown column '$$' in 'field list'", out),
            Kind::Empty => error(1065, "Query was empty", out),
            Kind::Begin | Kind::End | Kind::Show | Kind::Other => {
                out.extend_from_slice(&replies.ok);
            }
        }
    }

    /// Encodes the answer in the statement's id, so that executing it needs no look-up. The lowest
    /// two bits are a `TAG_`; the next sixteen are the rows of an `INSERT` or the columns of a
    /// `SELECT`.
    fn prepare(&mut self, text: &[u8], out: &mut Vec<u8>) {
        let (tag, rows) = match sql::kind_of(text) {
            Kind::Select => (TAG_ROW, u32::from(sql::narrow_columns(text))),
            Kind::Variables => (TAG_ROW, 0),
            Kind::Count => (TAG_COUNT, 0),
            Kind::Insert => (TAG_CHANGE, sql::inserted_rows(text).min(0xffff) as u32),
            Kind::Change => (TAG_CHANGE, 0),
            _ => (TAG_NONE, 0),
        };
        self.statements += 1;
        let id = self.statements << 18 | rows << 2 | u32::from(tag);
        let columns = match tag {
            TAG_ROW => (rows as u16).max(1),
            TAG_COUNT => 1,
            _ => 0,
        };
        let parameters = sql::question_marks(text);
        let mut head = vec![0];
        head.extend_from_slice(&id.to_le_bytes());
        head.extend_from_slice(&columns.to_le_bytes());
        head.extend_from_slice(&parameters.to_le_bytes());
        head.extend_from_slice(&[0, 0, 0]);
        let mut packets = vec![head];
        let result = if tag == TAG_COUNT {
            TYPE_LONGLONG
        } else {
            TYPE_STRING
        };
        let definitions = [
            (parameters, column(b"?", TYPE_LONGLONG)),
            (columns, column(b"c", result)),
        ];
        for (count, definition) in definitions {
            packets.extend((0..count).map(|_| definition.clone()));
            if count > 0 && !self.bare {
                packets.push(eof_payload());
            }
        }
        extend_packets(&packets, out);
    }

    #[inline]
    fn execute(&mut self, replies: &Replies, argument: &[u8], out: &mut Vec<u8>) {
        let Some(id) = argument.first_chunk::<4>() else {
            return error(1835, "Malformed communication packet", out);
        };
        let id = u32::from_le_bytes(*id);
        match (id & 3) as u8 {
            TAG_ROW => replies.select(self.bare, true, (id >> 2 & 0xffff) as u16, out),
            TAG_CHANGE => {
                let rows = u64::from(id >> 2 & 0xffff);
                replies.loaded.add(rows);
                match rows {
                    0 | 1 => out.extend_from_slice(&replies.one_changed),
                    _ => out.extend_from_slice(&packet(1, &ok_payload(0, rows))),
                }
            }
            TAG_COUNT => count_reply(self.bare, true, &replies.loaded, out),
            _ => out.extend_from_slice(&replies.ok),
        }
    }

    /// Handles the header of a packet of a file. An empty packet ends the file.
    fn file_packet(
        &mut self,
        loaded: &Loaded,
        rows: u64,
        length: usize,
        continued: bool,
        seq: u8,
        out: &mut Vec<u8>,
    ) {
        if length == 0 && !continued {
            self.phase = Phase::Commands;
            loaded.add(rows);
            out.extend_from_slice(&packet(seq.wrapping_add(1), &ok_payload(0, rows)));
            return;
        }
        self.phase = Phase::File {
            rows,
            left: length,
            continued: length == PACKET_BYTES_MAX,
        };
    }
}

fn greeting() -> Vec<u8> {
    let [low0, low1, high0, high1] = CAPABILITIES.to_le_bytes();
    let mut bytes = vec![10];
    // MariaDB servers put 5.5.5- in front of their version, and clients remove it.
    bytes.extend_from_slice(b"5.5.5-10.11.0-MariaDB-null\0");
    bytes.extend_from_slice(&[1, 0, 0, 0]);
    bytes.extend_from_slice(b"abcdefgh\0");
    bytes.extend_from_slice(&[low0, low1, 45, 2, 0, high0, high1, 21]);
    bytes.extend_from_slice(&[0; 10]);
    bytes.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
    bytes
}

/// A row with this many narrow columns, or the wide row for 0.
fn select_reply(bare: bool, binary: bool, columns: u16) -> Vec<u8> {
    let cell = if columns == 0 { CELL } else { NARROW };
    let count = usize::from(columns.max(1));
    let mut row = Vec::new();
    if binary {
        // A header, and a bitmap of NULLs that starts at bit 2, all clear.
        row.resize(1 + (count + 9) / 8, 0);
    }
    for _ in 0..count {
        text(cell, &mut row);
    }
    rows_reply(bare, &vec![column(b"c", TYPE_STRING); count], row)
}

fn count_reply(bare: bool, binary: bool, loaded: &Loaded, out: &mut Vec<u8>) {
    let count = loaded.count();
    let mut row = Vec::new();
    if binary {
        row.extend_from_slice(&[0, 0]);
        row.extend_from_slice(&count.to_le_bytes());
    } else {
        text(count.to_string().as_bytes(), &mut row);
    }
    let columns = [column(b"count(*)", TYPE_LONGLONG)];
    out.extend_from_slice(&rows_reply(bare, &columns, row));
}

fn variables_reply(bare: bool, query: &[u8], out: &mut Vec<u8>) {
    let (mut columns, mut row) = (Vec::new(), Vec::new());
    for (name, value) in sql::variables(query).take(200) {
        columns.push(column(&name[..name.len().min(200)], TYPE_VAR_STRING));
        text(value, &mut row);
    }
    out.extend_from_slice(&rows_reply(bare, &columns, row));
}

fn rows_reply(bare: bool, columns: &[Vec<u8>], row: Vec<u8>) -> Vec<u8> {
    let mut packets = vec![vec![columns.len() as u8]];
    packets.extend_from_slice(columns);
    if !bare {
        packets.push(eof_payload());
    }
    packets.push(row);
    packets.push(if bare {
        ok_payload(0xfe, 0)
    } else {
        eof_payload()
    });
    let mut bytes = Vec::new();
    extend_packets(&packets, &mut bytes);
    bytes
}

fn column(name: &[u8], type_code: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in [
        b"def".as_slice(),
        b"sbtest",
        b"sbtest1",
        b"sbtest1",
        name,
        name,
    ] {
        text(part, &mut bytes);
    }
    let width: u32 = if type_code == TYPE_LONGLONG { 20 } else { 480 };
    bytes.extend_from_slice(&[12, 45, 0]);
    bytes.extend_from_slice(&width.to_le_bytes());
    bytes.extend_from_slice(&[type_code, 0, 0, 0, 0, 0]);
    bytes
}

fn text(bytes: &[u8], out: &mut Vec<u8>) {
    length(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn length(value: u64, out: &mut Vec<u8>) {
    match value {
        0..251 => out.push(value as u8),
        251..0x1_0000 => {
            out.push(0xfc);
            out.extend_from_slice(&(value as u16).to_le_bytes());
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
}

fn ok_payload(header: u8, affected: u64) -> Vec<u8> {
    let mut bytes = vec![header];
    length(affected, &mut bytes);
    bytes.push(0);
    bytes.extend_from_slice(&STATUS_AUTOCOMMIT);
    bytes.extend_from_slice(&[0, 0]);
    bytes
}

fn eof_payload() -> Vec<u8> {
    let [low, high] = STATUS_AUTOCOMMIT;
    vec![0xfe, 0, 0, low, high]
}

fn error(code: u16, message: &str, out: &mut Vec<u8>) {
    let mut bytes = vec![0xff];
    bytes.extend_from_slice(&code.to_le_bytes());
    bytes.extend_from_slice(b"#HY000");
    bytes.extend_from_slice(message.as_bytes());
    out.extend_from_slice(&packet(1, &bytes));
}

fn extend_packets(payloads: &[Vec<u8>], out: &mut Vec<u8>) {
    let mut sequence = 1u8;
    for payload in payloads {
        out.extend_from_slice(&packet(sequence, payload));
        sequence = sequence.wrapping_add(1);
    }
}

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_le_bytes()[..3].to_vec();
    bytes.push(sequence);
    bytes.extend_from_slice(payload);
    bytes
}

#[cfg(test)]
mod tests;
