//! The part of the PostgreSQL protocol that load generators use.

mod replies;

use crate::server::{Fed, Protocol};
use crate::sql::{self, Kind, Loaded, newlines};

pub(crate) use replies::Replies;
use replies::{OID_INT4, complete, data_row, message};

const CODE_SSL: u32 = 80_877_103;
const CODE_GSS: u32 = 80_877_104;
const CODE_CANCEL: u32 = 80_877_102;
pub(crate) struct Session {
    phase: Phase,
    /// `I` outside a transaction, `T` inside.
    status: u8,
    statements: Vec<Statement>,
    unnamed_portal: Portal,
    portals: Vec<(Box<[u8]>, Portal)>,
    /// After an error, everything up to the next Sync is skipped.
    failed: bool,
}

struct Statement {
    name: Box<[u8]>,
    portal: Portal,
    parameters: u16,
}

/// What to answer to an execution: the kind of the statement, and the rows of an `INSERT`.
#[derive(Clone, Copy)]
struct Portal {
    kind: Kind,
    rows: u64,
}

#[derive(Clone, Copy)]
enum Phase {
    Startup,
    Messages,
    /// Data are being received: the rows so far, the bytes left in the current message, and whether
    /// the simple protocol is used, whose answer ends with ReadyForQuery.
    Copy {
        rows: u64,
        left: usize,
        simple: bool,
    },
}

/// A message other than data during a COPY.
struct CopyEnd {
    tag: u8,
    rows: u64,
    simple: bool,
}

impl Session {
    /// Creates a connection before its log-in.
    pub(crate) fn new() -> Session {
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
                    return Fed::open(consumed);
                }
                continue;
            }
            let tag_bytes = usize::from(!matches!(self.phase, Phase::Startup));
            let Some(length) = rest
                .get(tag_bytes..)
                .and_then(|rest| rest.first_chunk::<4>())
            else {
                return Fed::open(consumed);
            };
            let length = u32::from_be_bytes(*length) as usize;
            if length < 4 {
                return Fed::close(consumed);
            }
            if let Phase::Copy { left, .. } = &mut self.phase
                && rest[0] == b'd'
            {
                *left = length - 4;
                consumed += 5;
                continue;
            }
            let Some(body) = rest.get(tag_bytes + 4..tag_bytes + length) else {
                return Fed::open(consumed);
            };
            consumed += tag_bytes + length;
            let alive = match self.phase {
                Phase::Startup => self.startup(replies, body, out),
                Phase::Messages => self.message(replies, rest[0], body, out),
                Phase::Copy { rows, simple, .. } => {
                    let end = CopyEnd {
                        tag: rest[0],
                        rows,
                        simple,
                    };
                    self.copy_end(&replies.loaded, end, out)
                }
            };
            if !alive {
                return Fed::close(consumed);
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

    /// Answers one message. Returns false to end the connection.
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
            // Flush: answers are always sent at once. Copy messages after a failed copy are late
            // and ignored.
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
            replies.describe(portal.columns(), out);
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
            replies.describe(portal.columns(), out);
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
                replies.select(portal.columns(), out);
            }
            Kind::Show => {
                out.extend_from_slice(&data_row(b"1"));
                complete("SHOW", out);
            }
            Kind::Count => {
                let count = replies.loaded.count().to_string();
                out.extend_from_slice(&data_row(count.as_bytes()));
                complete("SELECT 1", out);
            }
            Kind::Insert => {
                replies.loaded.add(portal.rows);
                complete(&format!("INSERT 0 {}", portal.rows), out);
            }
            Kind::Table => {
                replies.loaded.reset();
                complete("CREATE TABLE", out);
            }
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

    /// Ends the COPY, or continues it if the message does not matter here.
    fn copy_end(&mut self, loaded: &Loaded, end: CopyEnd, out: &mut Vec<u8>) -> bool {
        match end.tag {
            b'c' => {
                loaded.add(end.rows);
                complete(&format!("COPY {}", end.rows), out);
            }
            b'f' => self.fail("57014", "COPY from stdin failed: the client gave up", out),
            // Flush and Sync are ignored during a COPY.
            b'H' | b'S' => return true,
            _ => return false,
        }
        self.phase = Phase::Messages;
        if end.simple {
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
            Kind::Select => u64::from(sql::narrow_columns(text)),
            _ => 0,
        };
        Portal { kind, rows }
    }

    /// The number of narrow columns in the row.
    fn columns(self) -> u16 {
        match self.kind {
            Kind::Select => self.rows as u16,
            _ => 0,
        }
    }

    fn has_rows(self) -> bool {
        use Kind::{Count, DollarQuote, Select, Show, Variables};
        matches!(self.kind, Select | Variables | Show | Count | DollarQuote)
    }
}

/// The kind and the name in a Describe or Close message.
fn target(body: &[u8]) -> (u8, &[u8]) {
    match body.split_first() {
        Some((kind, name)) => (*kind, name.strip_suffix(b"\0").unwrap_or(name)),
        None => (b'P', b""),
    }
}

#[cfg(test)]
mod tests;
