//! The rows of a result, which are kept as the server has sent them, and parsed when they are read.

use std::borrow::Cow;

use dyno_core::db::Row;

use super::values::{self, Column};
use super::wire::{self, HEADER, Malformed, PACKET_MAX, Reader};

/// How much of a connection's result buffer is kept for the next result. Larger buffers are freed,
/// so that thousands of connections do not all keep the largest they ever needed.
const RETAINED_MAX: usize = 16 * 1024;

/// How many columns of a binary result are kept for the next result.
const RETAINED_COLUMNS_MAX: usize = 256;

/// A result set.
#[derive(Clone, Default)]
pub(super) struct ResultSet {
    /// The packets of the rows, with their headers.
    bytes: RetainedBytes,
    /// Where the next row begins.
    cursor: usize,
    rows: u64,
    fetched: u64,
    columns: u32,
    binary: bool,
    /// The columns of a binary result, unless their packets are kept unparsed in front of the rows.
    definitions: Vec<Column>,
    unread: bool,
    /// Where the row of several packets starts that is just arriving.
    long_row: usize,
}

/// Bytes that are kept until the next result. The memory stays initialised between results, so that
/// keeping a small result is only a copy.
#[derive(Clone, Default)]
struct RetainedBytes {
    memory: Vec<u8>,
    len: usize,
}

impl RetainedBytes {
    #[inline(always)]
    fn append(&mut self, bytes: &[u8]) {
        let end = self.len + bytes.len();
        match self.memory.get_mut(self.len..end) {
            Some(room) => room.copy_from_slice(bytes),
            None => self.append_to_more(bytes),
        }
        self.len = end;
    }

    #[cold]
    #[inline(never)]
    fn append_to_more(&mut self, bytes: &[u8]) {
        let room = 2 * self.memory.len();
        self.memory.truncate(self.len);
        self.memory.extend_from_slice(bytes);
        let len = room.max(self.memory.len());
        self.memory.resize(len, 0);
    }

    #[inline]
    fn clear(&mut self) {
        self.len = 0;
        if self.memory.len() > RETAINED_MAX {
            self.memory = Vec::new();
        }
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        &self.memory[..self.len]
    }
}

impl ResultSet {
    /// Starts an empty result.
    #[inline]
    pub(super) fn begin(&mut self, columns: u32, binary: bool) {
        self.clear();
        self.head(columns, binary);
    }

    /// Starts an empty result after a [`Self::clear`].
    #[inline]
    pub(super) fn head(&mut self, columns: u32, binary: bool) {
        self.columns = columns;
        self.binary = binary;
        self.definitions.clear();
    }

    /// Adds the next column definition of a binary result.
    #[inline]
    pub(super) fn define(&mut self, payload: &[u8]) -> Result<(), Malformed> {
        self.definitions.push(Column::parse(payload)?);
        Ok(())
    }

    /// Checks a row against its columns when it arrives, so that reading it later cannot fail. Most
    /// rows are counted and never read.
    #[inline]
    pub(super) fn check(&self, payload: &[u8]) -> Result<(), Malformed> {
        let mut reader = Reader::new(payload);
        if self.binary {
            values::pass_binary_row(&mut reader, &self.definitions)?;
        } else {
            for _ in 0..self.columns {
                if reader.rest().is_empty() {
                    return Err(FEWER);
                }
                reader.nullable_bytes()?;
            }
        }
        if reader.rest().is_empty() {
            return Ok(());
        }
        Err(Malformed("a row has more fields than columns"))
    }

    /// Parses the definitions of all columns, whose packets come first.
    #[cold]
    pub(super) fn define_all(&mut self, packets: &[u8]) -> Result<(), Malformed> {
        let mut rest = packets;
        self.definitions.clear();
        for _ in 0..self.columns {
            let packet = wire::packet(rest).ok_or(FEWER)?;
            self.define(packet.payload)?;
            rest = &rest[HEADER + packet.payload.len()..];
        }
        Ok(())
    }

    /// Whether the columns of a binary result are parsed.
    #[inline]
    pub(super) fn is_defined(&self) -> bool {
        !self.definitions.is_empty()
    }

    /// Takes over a complete result after a [`Self::head`]: `packets` contains the packets of the
    /// columns, `columns` bytes of them, and of the rows. A binary result's columns are parsed with
    /// its rows, if these are read.
    // Once per result, called at one place.
    #[inline(always)]
    pub(super) fn fill(&mut self, rows: u64, packets: &[u8], columns: usize) {
        self.rows = rows;
        self.unread = self.binary && !self.is_defined();
        let before = if self.unread { 0 } else { columns };
        self.cursor = columns - before;
        self.bytes.append(&packets[before..]);
    }

    /// Appends whole packets.
    #[inline]
    pub(super) fn keep(&mut self, packets: &[u8]) {
        self.bytes.append(packets);
    }

    /// Counts a row, which starts with one of the packets.
    #[inline]
    pub(super) fn count_row(&mut self) {
        self.rows += 1;
    }

    /// A row of several packets starts this many bytes after those that are kept.
    #[cold]
    pub(super) fn begin_long_row(&mut self, more: usize) {
        self.long_row = self.bytes.len + more;
    }

    /// Checks that row, of which all packets are kept by now.
    #[cold]
    pub(super) fn check_long_row(&self) -> Result<(), Malformed> {
        let mut at = self.long_row;
        let row = self.row_at(&mut at).ok_or(FEWER)?;
        self.check(&row)
    }

    /// The number of rows.
    #[inline]
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Forgets everything.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.cursor = 0;
        self.rows = 0;
        self.fetched = 0;
        self.columns = 0;
        self.unread = false;
        self.definitions.clear();
        if self.definitions.capacity() > RETAINED_COLUMNS_MAX {
            self.definitions = Vec::new();
        }
    }

    /// Reads the next row. Returns false after the last one.
    pub(super) fn next_row(&mut self, row: &mut Row) -> bool {
        row.clear();
        if self.fetched == self.rows {
            return false;
        }
        self.fetched += 1;
        if std::mem::take(&mut self.unread) {
            let packets = std::mem::take(&mut self.bytes);
            // They were checked when they arrived.
            let _ = self.define_all(packets.bytes());
            self.bytes = packets;
        }
        let mut cursor = self.cursor;
        let whole = self.row_at(&mut cursor);
        let read = whole.is_some_and(|whole| self.read_row(&whole, row).is_ok());
        self.cursor = cursor;
        read
    }

    /// Parses the row at `cursor`, and moves the cursor behind it.
    #[inline]
    fn row_at(&self, cursor: &mut usize) -> Option<Cow<'_, [u8]>> {
        let packet = self.packet_at(cursor)?;
        if packet.len() < PACKET_MAX {
            return Some(Cow::Borrowed(packet));
        }
        let mut whole = packet.to_vec();
        loop {
            let part = self.packet_at(cursor)?;
            whole.extend_from_slice(part);
            if part.len() < PACKET_MAX {
                return Some(Cow::Owned(whole));
            }
        }
    }

    #[inline]
    fn packet_at(&self, cursor: &mut usize) -> Option<&[u8]> {
        let packet = wire::packet(self.bytes.bytes().get(*cursor..)?)?;
        *cursor += HEADER + packet.payload.len();
        Some(packet.payload)
    }

    fn read_row(&self, payload: &[u8], row: &mut Row) -> Result<(), Malformed> {
        let mut reader = Reader::new(payload);
        if self.binary {
            return values::read_binary_row(&mut reader, &self.definitions, row);
        }
        for _ in 0..self.columns {
            row.push(reader.nullable_bytes()?);
        }
        Ok(())
    }
}

/// The error for a row that ends too early.
pub(super) const FEWER: Malformed = Malformed("a row has fewer fields than columns");

#[cfg(test)]
mod tests {
    use dyno_core::db::{ErrorKind, OutcomeKind, Row};

    use super::super::canned::{CAPABILITIES, Client, END, EOF, Request, column, packets};
    use super::super::wire::{PACKET_MAX, capability};
    use crate::channel::Protocol;

    const KINDS: [u8; 3] = [8, 253, 12];
    const TEXT: &[u8] = b"\x017\x03abc\x0a2024-02-29";
    const BINARY: &[u8] = b"\0\0\x07\0\0\0\0\0\0\0\x03abc\x04\xE8\x07\x02\x1D";

    /// Sends rows of three columns, in text or in binary, in pieces of this length.
    fn answer(binary: bool, eof: bool, rows: &[&[u8]], piece: usize) -> Client {
        let flags = if eof { capability::DEPRECATE_EOF } else { 0 };
        let mut client = Client::ready(CAPABILITIES & !flags);
        let (columns, end) = (KINDS.map(column), if eof { EOF } else { END });
        let with_columns = |head: &[u8], rows: &[&[u8]]| {
            let mut payloads = vec![head];
            payloads.extend(columns.iter().map(|column| &column[..]));
            payloads.extend(eof.then_some(EOF));
            payloads.extend(rows);
            packets(1, &payloads)
        };
        let mut operation = Request::Query;
        if binary {
            let prepared = &[0, 9, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0];
            client.perform(
                &Request::Prepare,
                &with_columns(prepared, &[]),
                &[usize::MAX],
            );
            operation = Request::ExecuteWithout;
        }
        let rows = [rows, &[end]].concat();
        client.perform(&operation, &with_columns(&[3], &rows), &[piece]);
        client
    }

    #[test]
    fn rows_of_other_fields_than_their_columns_end_the_connection() {
        let many = |row: &[u8]| [row, b"\x01x"].concat();
        let bad = [
            // Fewer fields (down to zero), more fields, a truncated field.
            (false, b"\x017\x03abc".to_vec()),
            (false, b"\xFB".to_vec()),
            (false, Vec::new()),
            (false, many(TEXT)),
            (false, TEXT[..TEXT.len() - 1].to_vec()),
            (true, BINARY[..BINARY.len() - 5].to_vec()),
            (true, BINARY[..2].to_vec()),
            (true, b"\0".to_vec()),
            (true, many(BINARY)),
            (true, BINARY[..BINARY.len() - 1].to_vec()),
            // A NULL that has a value, another first byte, a date of length 0.
            (true, [b"\0\x10", &BINARY[2..]].concat()),
            (true, [b"\x01\0", &BINARY[2..]].concat()),
            (
                true,
                [&BINARY[..BINARY.len() - 5], b"\x03\xE8\x07\x02"].concat(),
            ),
        ];
        for (binary, row) in &bad {
            let good = if *binary { BINARY } else { TEXT };
            for (eof, piece) in [
                (false, usize::MAX),
                (true, usize::MAX),
                (false, 1),
                (true, 7),
            ] {
                let client = answer(*binary, eof, &[good, good], piece);
                assert_eq!(client.protocol.outcome().kind, OutcomeKind::Rows);
                assert_eq!(client.protocol.outcome().rows, 2);
                let mut client = answer(*binary, eof, &[good, row], piece);
                let error = client.protocol.outcome().error.as_ref();
                let error = error.map(|error| (error.kind, error.code));
                assert_eq!(error, Some((ErrorKind::Protocol, 2027)), "{row:?}");
                assert!(!client.protocol.next_row(&mut Row::default()));
            }
        }
    }

    #[test]
    fn rows_of_several_packets_are_looked_at_too() {
        let field = |more: &[u8]| [b"\xFD\xFF\xFF\xFF", &vec![b'x'; PACKET_MAX][..], more].concat();
        for (more, good) in [
            (&b"\xFB\xFB"[..], true),
            (b"\xFB", false),
            (b"\xFB\xFB\xFB", false),
        ] {
            let row = field(more);
            let client = answer(false, false, &[TEXT, &row, TEXT], 1 << 22);
            let outcome = client.protocol.outcome();
            if !good {
                let error = outcome.error.as_ref().unwrap();
                assert_eq!(error.kind, ErrorKind::Protocol);
                continue;
            }
            assert_eq!((outcome.kind, outcome.rows), (OutcomeKind::Rows, 3));
        }
    }
}
