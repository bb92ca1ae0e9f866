//! The PostgreSQL protocol, as much of it as load generators speak.

use crate::server::{Fed, Protocol};
use crate::sql::{self, CELL, Kind};

const CODE_SSL: u32 = 80_877_103;
const CODE_GSS: u32 = 80_877_104;
const CODE_CANCEL: u32 = 80_877_102;
const OID_INT4: u32 = 23;
const OID_BPCHAR: u32 = 1042;
const PARAMETERS: &[(&str, &str)] = &[
    ("server_version", "15.0"),
    ("server_encoding", "UTF8"),
    ("client_encoding", "UTF8"),
    ("application_name", ""),
    ("is_superuser", "on"),
    ("session_authorization", "postgres"),
    ("DateStyle", "ISO, MDY"),
    ("IntervalStyle", "postgres"),
    ("TimeZone", "UTC"),
    ("integer_datetimes", "on"),
    ("standard_conforming_strings", "on"),
    ("in_hot_standby", "off"),
    ("default_transaction_read_only", "off"),
];

/// Answers that are the same every time.
pub struct Replies {
    login: Vec<u8>,
    description: Vec<u8>,
    /// A row and its command's end.
    row: Vec<u8>,
    copy_in: Vec<u8>,
}

impl Replies {
    /// Builds them.
    pub fn new() -> Replies {
        let mut row = data_row(CELL);
        complete("SELECT 1", &mut row);
        Replies {
            login: login(),
            description: row_description(),
            row,
            copy_in: message(b'G', &[0, 0, 0]),
        }
    }
}

/// One connection.
pub struct Session {
    phase: Phase,
    /// `I` outside of a transaction, `T` inside.
    status: u8,
    statements: Vec<Statement>,
    unnamed_portal: Portal,
    portals: Vec<(Box<[u8]>, Portal)>,
    /// After an error everything up to the next Sync is passed over.
    failed: bool,
}

struct Statement {
    name: Box<[u8]>,
    portal: Portal,
    parameters: u16,
}

/// What executing gives: the statement's kind and, for an `INSERT`, its rows.
#[derive(Clone, Copy)]
struct Portal {
    kind: Kind,
    rows: u64,
}

#[derive(Clone, Copy)]
enum Phase {
    Startup,
    Messages,
    /// Data comes: rows so far, bytes left of the message under way, and whether the simple
    /// protocol asked for it (which ends with ReadyForQuery).
    Copy {
        rows: u64,
        left: usize,
        simple: bool,
    },
}

impl Session {
    /// A connection that has not logged in.
    pub fn new() -> Session {
        Session {
            phase: Phase::Startup,
            status: b'I',
            statements: Vec::new(),
            unnamed_portal: Portal {
                kind: Kind::Empty,
                rows: 0,
            },
            portals: Vec::new(),
            failed: false,
        }
    }
}

impl Protocol for Session {
    type Replies = Replies;

    fn greet(&mut self, _: &Replies, _: &mut Vec<u8>) {}

    #[inline]
    fn feed(&mut self, replies: &Replies, input: &[u8], out: &mut Vec<u8>) -> Fed {
        let mut consumed = 0;
        loop {
            let rest = &input[consumed..];
            if let Phase::Copy { rows, left, .. } = &mut self.phase
                && *left > 0
            {
                let taken = rest.len().min(*left);
                *rows += newlines(&rest[..taken]);
                *left -= taken;
                consumed += taken;
                if *left > 0 {
                    return Fed {
                        consumed,
                        close: false,
                    };
                }
                continue;
            }
            let tag_bytes = usize::from(!matches!(self.phase, Phase::Startup));
            let Some(length) = rest
                .get(tag_bytes..)
                .and_then(|rest| rest.first_chunk::<4>())
            else {
                return Fed {
                    consumed,
                    close: false,
                };
            };
            let length = u32::from_be_bytes(*length) as usize;
            if length < 4 {
                return Fed {
                    consumed,
                    close: true,
                };
            }
            if let Phase::Copy { left, .. } = &mut self.phase
                && rest[0] == b'd'
            {
                *left = length - 4;
                consumed += 5;
                continue;
            }
            let Some(body) = rest.get(tag_bytes + 4..tag_bytes + length) else {
                return Fed {
                    consumed,
                    close: false,
                };
            };
            consumed += tag_bytes + length;
            let alive = match self.phase {
                Phase::Startup => self.startup(replies, body, out),
                Phase::Messages => self.message(replies, rest[0], body, out),
                Phase::Copy { rows, simple, .. } => self.copy_end(rest[0], rows, simple, out),
            };
            if !alive {
                return Fed {
                    consumed,
                    close: true,
                };
            }
        }
    }
}

impl Session {
    fn startup(&mut self, replies: &Replies, body: &[u8], out: &mut Vec<u8>) -> bool {
        let Some(code) = body.first_chunk::<4>() else {
            return false;
        };
        match u32::from_be_bytes(*code) {
            CODE_SSL | CODE_GSS => out.push(b'N'),
            CODE_CANCEL => return false,
            _ => {
                self.phase = Phase::Messages;
                out.extend_from_slice(&replies.login);
            }
        }
        true
    }

    /// Answers one message; false ends the connection.
    #[inline]
    fn message(&mut self, replies: &Replies, tag: u8, body: &[u8], out: &mut Vec<u8>) -> bool {
        if self.failed && !matches!(tag, b'S' | b'X') {
            return true;
        }
        match tag {
            b'B' => self.bind(body, out),
            b'E' => self.execute(replies, body, out),
            b'S' => {
                self.failed = false;
                self.ready(out);
            }
            b'D' => self.describe(replies, body, out),
            b'Q' => self.query(replies, body, out),
            b'P' => self.parse(body, out),
            b'C' => self.close(body, out),
            // Flush: answers leave at once anyway. Copy messages after a failed copy are late.
            b'H' | b'd' | b'c' | b'f' => {}
            b'X' => return false,
            _ => self.fail("08P01", "null-server does not know this message", out),
        }
        true
    }

    fn query(&mut self, replies: &Replies, body: &[u8], out: &mut Vec<u8>) {
        let text = body.strip_suffix(b"\0").unwrap_or(body);
        let portal = Portal::of(text);
        if portal.has_rows() {
            out.extend_from_slice(&replies.description);
        }
        if portal.kind == Kind::Load {
            self.copy_begin(replies, true, out);
            return;
        }
        self.run(replies, portal, out);
        self.ready(out);
    }

    fn parse(&mut self, body: &[u8], out: &mut Vec<u8>) {
        let mut parts = body.splitn(3, |byte| *byte == 0);
        let (Some(name), Some(text)) = (parts.next(), parts.next()) else {
            return self.fail("08P01", "a Parse message without a statement", out);
        };
        self.statements.retain(|statement| *statement.name != *name);
        self.statements.push(Statement {
            name: name.into(),
            portal: Portal::of(text),
            parameters: sql::highest_dollar(text),
        });
        out.extend_from_slice(&[b'1', 0, 0, 0, 4]);
    }

    #[inline]
    fn bind(&mut self, body: &[u8], out: &mut Vec<u8>) {
        let mut parts = body.splitn(3, |byte| *byte == 0);
        let (Some(portal), Some(name)) = (parts.next(), parts.next()) else {
            return self.fail("08P01", "a Bind message without names", out);
        };
        let Some(statement) = self.statement(name) else {
            return self.fail("26000", "no prepared statement has this name", out);
        };
        let bound = statement.portal;
        if portal.is_empty() {
            self.unnamed_portal = bound;
        } else {
            self.portals.retain(|(name, _)| **name != *portal);
            self.portals.push((portal.into(), bound));
        }
        out.extend_from_slice(&[b'2', 0, 0, 0, 4]);
    }

    fn describe(&mut self, replies: &Replies, body: &[u8], out: &mut Vec<u8>) {
        let (kind, name) = target(body);
        let portal = if kind == b'S' {
            let Some(statement) = self.statement(name) else {
                return self.fail("26000", "no prepared statement has this name", out);
            };
            out.push(b't');
            out.extend_from_slice(&(6 + 4 * u32::from(statement.parameters)).to_be_bytes());
            out.extend_from_slice(&statement.parameters.to_be_bytes());
            for _ in 0..statement.parameters {
                out.extend_from_slice(&OID_INT4.to_be_bytes());
            }
            statement.portal
        } else {
            let Some(portal) = self.portal(name) else {
                return self.fail("34000", "no portal has this name", out);
            };
            portal
        };
        if portal.has_rows() {
            out.extend_from_slice(&replies.description);
        } else {
            out.extend_from_slice(&[b'n', 0, 0, 0, 4]);
        }
    }

    #[inline]
    fn execute(&mut self, replies: &Replies, body: &[u8], out: &mut Vec<u8>) {
        let name = body.split(|byte| *byte == 0).next().unwrap_or_default();
        let Some(portal) = self.portal(name) else {
            return self.fail("34000", "no portal has this name", out);
        };
        if portal.kind == Kind::Load {
            return self.copy_begin(replies, false, out);
        }
        self.run(replies, portal, out);
    }

    fn close(&mut self, body: &[u8], out: &mut Vec<u8>) {
        let (kind, name) = target(body);
        if kind == b'S' {
            self.statements.retain(|statement| *statement.name != *name);
        } else {
            self.portals.retain(|(portal, _)| **portal != *name);
        }
        out.extend_from_slice(&[b'3', 0, 0, 0, 4]);
    }

    #[inline]
    fn run(&mut self, replies: &Replies, portal: Portal, out: &mut Vec<u8>) {
        match portal.kind {
            Kind::Select | Kind::Variables | Kind::DollarQuote => {
                out.extend_from_slice(&replies.row)
            }
            Kind::Show | Kind::Count => {
                out.extend_from_slice(&data_row(b"1"));
                complete("SELECT 1", out);
            }
            Kind::Insert => complete(&format!("INSERT 0 {}", portal.rows), out),
            Kind::Change => complete("UPDATE 1", out),
            Kind::Begin => {
                self.status = b'T';
                complete("BEGIN", out);
            }
            Kind::End => {
                self.status = b'I';
                complete("COMMIT", out);
            }
            Kind::Empty => out.extend_from_slice(&[b'I', 0, 0, 0, 4]),
            Kind::Load | Kind::Other => complete("SET", out),
        }
    }

    fn copy_begin(&mut self, replies: &Replies, simple: bool, out: &mut Vec<u8>) {
        self.phase = Phase::Copy {
            rows: 0,
            left: 0,
            simple,
        };
        out.extend_from_slice(&replies.copy_in);
    }

    /// A message that is no data, while data was expected.
    fn copy_end(&mut self, tag: u8, rows: u64, simple: bool, out: &mut Vec<u8>) -> bool {
        match tag {
            b'c' => complete(&format!("COPY {rows}"), out),
            b'f' => self.fail("57014", "COPY from stdin failed: the client gave up", out),
            // Flush and Sync are passed over while data comes.
            b'H' | b'S' => return true,
            _ => return false,
        }
        self.phase = Phase::Messages;
        if simple {
            self.failed = false;
            self.ready(out);
        }
        true
    }

    #[inline]
    fn ready(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[b'Z', 0, 0, 0, 5, self.status]);
    }

    #[inline]
    fn statement(&self, name: &[u8]) -> Option<&Statement> {
        self.statements
            .iter()
            .find(|statement| *statement.name == *name)
    }

    #[inline]
    fn portal(&self, name: &[u8]) -> Option<Portal> {
        if name.is_empty() {
            return Some(self.unnamed_portal);
        }
        let mut portals = self.portals.iter();
        portals
            .find(|(portal, _)| **portal == *name)
            .map(|(_, portal)| *portal)
    }

    fn fail(&mut self, code: &str, text: &str, out: &mut Vec<u8>) {
        self.failed = true;
        let fields = format!("SERROR\0VERROR\0C{code}\0M{text}\0\0");
        out.extend_from_slice(&message(b'E', fields.as_bytes()));
    }
}

impl Portal {
    fn of(text: &[u8]) -> Portal {
        let kind = sql::kind_of(text);
        let rows = match kind {
            Kind::Insert => sql::inserted_rows(text),
            _ => 0,
        };
        Portal { kind, rows }
    }

    fn has_rows(self) -> bool {
        use Kind::{Count, DollarQuote, Select, Show, Variables};
        matches!(self.kind, Select | Variables | Show | Count | DollarQuote)
    }
}

/// The kind and name in a Describe or Close message.
fn target(body: &[u8]) -> (u8, &[u8]) {
    match body.split_first() {
        Some((kind, name)) => (*kind, name.strip_suffix(b"\0").unwrap_or(name)),
        None => (b'P', b""),
    }
}

fn newlines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

fn login() -> Vec<u8> {
    let mut bytes = message(b'R', &[0; 4]);
    for (name, value) in PARAMETERS {
        bytes.extend_from_slice(&message(b'S', format!("{name}\0{value}\0").as_bytes()));
    }
    bytes.extend_from_slice(&message(b'K', &[0, 0, 0, 1, 0, 0, 0, 1]));
    bytes.extend_from_slice(&[b'Z', 0, 0, 0, 5, b'I']);
    bytes
}

fn row_description() -> Vec<u8> {
    let mut body = vec![0, 1, b'c', 0];
    body.extend_from_slice(&[0; 6]);
    body.extend_from_slice(&OID_BPCHAR.to_be_bytes());
    // Variable width, CHAR(120) with its four bytes of length, text format.
    body.extend_from_slice(&(-1i16).to_be_bytes());
    body.extend_from_slice(&124i32.to_be_bytes());
    body.extend_from_slice(&[0, 0]);
    message(b'T', &body)
}

fn data_row(cell: &[u8]) -> Vec<u8> {
    let mut body = vec![0, 1];
    body.extend_from_slice(&(cell.len() as u32).to_be_bytes());
    body.extend_from_slice(cell);
    message(b'D', &body)
}

fn complete(tag: &str, out: &mut Vec<u8>) {
    out.push(b'C');
    out.extend_from_slice(&(tag.len() as u32 + 5).to_be_bytes());
    out.extend_from_slice(tag.as_bytes());
    out.push(0);
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logged_in() -> (Session, Replies) {
        let (mut session, replies) = (Session::new(), Replies::new());
        let mut out = Vec::new();
        let startup = [0, 0, 0, 9, 0, 3, 0, 0, 0];
        for end in 0..startup.len() {
            assert_eq!(
                session.feed(&replies, &startup[..end], &mut out).consumed,
                0
            );
        }
        assert_eq!(session.feed(&replies, &startup, &mut out).consumed, 9);
        assert_eq!(out, replies.login);
        (session, replies)
    }

    fn tags(mut bytes: &[u8]) -> String {
        let mut tags = String::new();
        while let Some((head, rest)) = bytes.split_first_chunk::<5>() {
            let [tag, length @ ..] = *head;
            tags.push(char::from(tag));
            bytes = &rest[u32::from_be_bytes(length) as usize - 4..];
        }
        tags
    }

    fn ask(session: &mut Session, replies: &Replies, request: &[u8]) -> String {
        let mut out = Vec::new();
        let fed = session.feed(replies, request, &mut out);
        assert_eq!((fed.consumed, fed.close), (request.len(), false));
        tags(&out)
    }

    #[test]
    fn a_prepared_select_gives_one_row() {
        let (mut session, replies) = logged_in();
        let mut request = message(b'P', b"s1\0SELECT c FROM t WHERE id=$1\0\0\0");
        request.extend_from_slice(&message(b'D', b"Ss1\0"));
        request.extend_from_slice(&message(b'S', b""));
        assert_eq!(ask(&mut session, &replies, &request), "1tTZ");
        let mut request = message(b'B', b"\0s1\0\0\0\0\x01\0\0\0\x0242\0\0");
        request.extend_from_slice(&message(b'E', b"\0\0\0\0\0"));
        request.extend_from_slice(&message(b'S', b""));
        assert_eq!(ask(&mut session, &replies, &request), "2DCZ");
    }

    #[test]
    fn an_error_passes_over_everything_up_to_sync() {
        let (mut session, replies) = logged_in();
        let mut request = message(b'B', b"\0none\0\0\0\0\0\0\0");
        request.extend_from_slice(&message(b'E', b"\0\0\0\0\0"));
        request.extend_from_slice(&message(b'S', b""));
        assert_eq!(ask(&mut session, &replies, &request), "EZ");
        assert_eq!(
            ask(&mut session, &replies, &message(b'Q', b"SELECT 1\0")),
            "TDCZ"
        );
    }

    #[test]
    fn copied_rows_are_counted_across_reads() {
        let (mut session, replies) = logged_in();
        let copy = message(b'Q', b"COPY t FROM STDIN\0");
        assert_eq!(ask(&mut session, &replies, &copy), "G");
        let mut data = message(b'd', b"1\t2\n3\t4\n");
        data.extend_from_slice(&message(b'd', b""));
        data.extend_from_slice(&message(b'c', b""));
        let (mut out, mut at) = (Vec::new(), 0);
        for end in 1..=data.len() {
            at += session.feed(&replies, &data[at..end], &mut out).consumed;
        }
        let mut expected = message(b'C', b"COPY 2\0");
        expected.extend_from_slice(&[b'Z', 0, 0, 0, 5, b'I']);
        assert_eq!((at, out), (data.len(), expected));
    }

    #[test]
    fn a_transaction_shows_in_the_status() {
        let (mut session, replies) = logged_in();
        let mut out = Vec::new();
        session.feed(&replies, &message(b'Q', b"BEGIN\0"), &mut out);
        assert_eq!(out.last(), Some(&b'T'));
        session.feed(&replies, &message(b'Q', b"COMMIT\0"), &mut out);
        assert_eq!(out.last(), Some(&b'I'));
    }
}
