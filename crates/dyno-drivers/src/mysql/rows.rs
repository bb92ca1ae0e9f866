//! The rows of a result: kept as the server sent them, read when somebody asks.

use dyno_core::db::Row;

use super::values::{self, Column};
use super::wire::{self, HEADER, Malformed, PACKET_MAX, Reader};

/// What a connection keeps of its result buffer from one result to the next. Larger results give
/// their memory back, so that thousands of connections do not each keep their largest.
const RETAINED_MAX: usize = 16 * 1024;

/// A result set.
#[derive(Default)]
pub struct ResultSet {
    /// Packets with their headers: for a binary result the columns' definitions, then the rows.
    bytes: Vec<u8>,
    /// Where the next row begins.
    cursor: usize,
    rows: u64,
    fetched: u64,
    columns: u32,
    binary: bool,
    /// The columns of a binary result, once rows are fetched.
    definitions: Vec<Column>,
}

impl ResultSet {
    /// Starts an empty result.
    #[inline]
    pub fn begin(&mut self, columns: u32, binary: bool) {
        self.clear();
        self.columns = columns;
        self.binary = binary;
    }

    /// Becomes a result that is complete, and that follows a [`Self::clear`].
    #[inline]
    pub fn fill(&mut self, columns: u32, binary: bool, rows: u64, packets: &[u8]) {
        self.columns = columns;
        self.binary = binary;
        self.rows = rows;
        self.bytes.extend_from_slice(packets);
    }

    /// Appends whole packets.
    #[inline]
    pub fn keep(&mut self, packets: &[u8]) {
        self.bytes.extend_from_slice(packets);
    }

    /// One of the packets begins another row.
    #[inline]
    pub fn count_row(&mut self) {
        self.rows += 1;
    }

    /// How many rows there are.
    #[inline]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Forgets everything.
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.cursor = 0;
        self.rows = 0;
        self.fetched = 0;
        self.columns = 0;
        self.definitions.clear();
        if self.bytes.capacity() > RETAINED_MAX {
            self.bytes = Vec::new();
        }
    }

    /// Reads the next row; false after the last.
    ///
    /// # Errors
    /// The row is not what the protocol says a row is.
    pub fn next_row(&mut self, row: &mut Row) -> Result<bool, Malformed> {
        row.clear();
        if self.fetched == self.rows {
            return Ok(false);
        }
        if self.binary && self.definitions.is_empty() {
            self.read_definitions()?;
        }
        let packet = next_packet(&self.bytes, &mut self.cursor)?;
        self.fetched += 1;
        if packet.len() < PACKET_MAX {
            self.read_row(packet, row)?;
            return Ok(true);
        }
        let mut whole = packet.to_vec();
        loop {
            let part = next_packet(&self.bytes, &mut self.cursor)?;
            whole.extend_from_slice(part);
            if part.len() < PACKET_MAX {
                break;
            }
        }
        self.read_row(&whole, row)?;
        Ok(true)
    }

    fn read_definitions(&mut self) -> Result<(), Malformed> {
        for _ in 0..self.columns {
            let packet = next_packet(&self.bytes, &mut self.cursor)?;
            self.definitions.push(Column::parse(packet)?);
        }
        // Without DEPRECATE_EOF, an EOF packet comes before the rows.
        let mut after = self.cursor;
        if next_packet(&self.bytes, &mut after)?.first() == Some(&wire::EOF) {
            self.cursor = after;
        }
        Ok(())
    }

    fn read_row(&self, payload: &[u8], row: &mut Row) -> Result<(), Malformed> {
        let mut reader = Reader::new(payload);
        if self.binary {
            values::read_binary_row(&mut reader, &self.definitions, row)?;
        } else {
            for _ in 0..self.columns {
                row.push(reader.nullable_bytes()?);
            }
        }
        if reader.rest().is_empty() {
            return Ok(());
        }
        Err(Malformed("a row has more fields than columns"))
    }
}

/// The payload of the packet at `cursor`, which moves behind it.
fn next_packet<'a>(bytes: &'a [u8], cursor: &mut usize) -> Result<&'a [u8], Malformed> {
    let rest = bytes.get(*cursor..).unwrap_or_default();
    let packet = wire::packet(rest).ok_or(Malformed("a row is cut short"))?;
    *cursor += HEADER + packet.payload.len();
    Ok(packet.payload)
}
