//! The rows of one result, as text, in reusable buffers.

use dyno_core::db::Row;

use super::raw::{Statement, Value};

/// Larger buffers are freed with their result.
const KEPT_BYTES_MAX: usize = 1 << 20;
/// The length that marks NULL; SQLite's fields stay below 2^31 bytes.
const NULL: u32 = u32::MAX;

/// The fields' bytes and lengths, row after row.
#[derive(Default)]
pub(super) struct RowBuffer {
    bytes: Vec<u8>,
    lengths: Vec<u32>,
    columns: usize,
    /// The position of [`Self::next`].
    byte: usize,
    field: usize,
}

impl RowBuffer {
    pub(super) fn clear(&mut self) {
        if self.bytes.capacity() > KEPT_BYTES_MAX || self.lengths.capacity() > KEPT_BYTES_MAX / 4 {
            *self = Self::default();
        }
        self.bytes.clear();
        self.lengths.clear();
        self.columns = 0;
        self.byte = 0;
        self.field = 0;
    }

    /// Appends the statement's current row.
    #[inline]
    pub(super) fn push(&mut self, statement: &Statement, columns: usize) {
        self.columns = columns;
        for column in 0..columns {
            let length = match statement.column(column) {
                Value::Null => NULL,
                Value::Int(value) => self.append(itoa::Buffer::new().format(value).as_bytes()),
                Value::Bytes(bytes) => self.append(bytes),
            };
            self.lengths.push(length);
        }
    }

    /// The size of the rows so far.
    #[inline]
    pub(super) fn len(&self) -> u64 {
        (self.bytes.len() + size_of::<u32>() * self.lengths.len()) as u64
    }

    #[inline]
    fn append(&mut self, bytes: &[u8]) -> u32 {
        self.bytes.extend_from_slice(bytes);
        bytes.len() as u32
    }

    /// Copies the next row out; false after the last.
    pub(super) fn next(&mut self, row: &mut Row) -> bool {
        row.clear();
        if self.columns == 0 || self.field >= self.lengths.len() {
            return false;
        }
        for &length in &self.lengths[self.field..self.field + self.columns] {
            if length == NULL {
                row.push(None);
                continue;
            }
            let end = self.byte + length as usize;
            row.push(Some(&self.bytes[self.byte..end]));
            self.byte = end;
        }
        self.field += self.columns;
        true
    }
}
