//! Rows for loading, generated on demand.
//!
//! The content of a row depends only on the seed, the table's number, the row's number and the
//! columns. So a table's rows are the same however many sessions load it, in whatever chunks: rows
//! belong to blocks of [`BLOCK_ROWS`], each block has a separate random stream, and a chunk that
//! starts inside a block generates and discards the rows before it.

use dyno_core::bulk::{BulkFormat, RowSource};
use dyno_core::plan::{RandKind, RandPlan};
use dyno_core::rand::Stream;

use crate::distributions::{Distributions, Pattern};

#[cfg(test)]
mod tests;

/// The number of rows that share a random stream. Blocks are counted from row 1: rows 1 to 1,000
/// are the first, 1,001 to 2,000 the second. Chunks that start at a block's first row have no extra
/// cost.
pub const BLOCK_ROWS: u64 = 1_000;

/// Separates the streams of tables from those of sessions, which use the same seed.
const TABLE_STREAMS: u64 = 0x7461_626c_6520_726f;

/// The contents of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// The row's number.
    Sequence,
    /// The number, from 1, of the row's group of this size, as a parent's number.
    Group(u64),
    /// A random number between two bounds, inclusive.
    Random(RandKind, u64, u64),
    /// A text by a pattern: `#` a digit, `@` a letter, anything else unchanged.
    Pattern(Vec<u8>),
    /// The same text in every row.
    Const(Vec<u8>),
    /// NULL in every row.
    Null,
}

/// How string literals treat a backslash in [`BulkFormat::SqlTuples`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backslash {
    /// It is an ordinary character: standard SQL, PostgreSQL, SQLite.
    #[default]
    Plain,
    /// It escapes, so it is doubled: MySQL and MariaDB by default.
    Escapes,
}

/// A range of rows of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowRange {
    /// The seed of the load.
    pub seed: u64,
    /// The table's number: tables with different numbers have different rows.
    pub table: u64,
    /// The number of the first row.
    pub first: u64,
    /// The number of rows.
    pub count: u64,
}

/// A [`RowSource`] of generated rows.
#[derive(Debug)]
pub struct GeneratedRows {
    range: RowRange,
    columns: Vec<Prepared>,
    distributions: Distributions,
    table_seed: u64,
    backslash: Backslash,
    by_inserts: bool,
    /// The number of rows appended so far.
    done: u64,
    /// Positioned at the next row.
    stream: Stream,
}

impl GeneratedRows {
    /// Rows with these columns. `rand` parameterises the distributions.
    pub fn new(range: RowRange, columns: &[Column], rand: &RandPlan, backslash: Backslash) -> Self {
        let table_seed = Stream::new(range.seed ^ TABLE_STREAMS, range.table).next_u64();
        let mut rows = Self {
            columns: columns
                .iter()
                .map(|column| Prepared::new(column, backslash))
                .collect(),
            distributions: Distributions::new(rand),
            table_seed,
            backslash,
            by_inserts: false,
            done: 0,
            stream: Stream::new(table_seed, 0),
            range,
        };
        rows.rewind();
        rows
    }

    /// The same rows, to be sent as INSERTs; see [`RowSource::by_inserts`].
    pub fn by_inserts(mut self, by_inserts: bool) -> Self {
        self.by_inserts = by_inserts;
        self
    }

    /// The number of the next row.
    fn next_row(&self) -> u64 {
        self.range.first.wrapping_add(self.done)
    }

    #[inline]
    fn append_row(&mut self, out: &mut Vec<u8>, format: BulkFormat) {
        let row = self.next_row();
        let (block, place) = block_of(row);
        if place == 0 {
            self.stream = Stream::new(self.table_seed, block);
        }
        match format {
            BulkFormat::TabText => self.append_tab_text(row, out),
            BulkFormat::SqlTuples => self.append_tuple(row, out),
        }
    }

    fn append_tab_text(&mut self, row: u64, out: &mut Vec<u8>) {
        for (i, column) in self.columns.iter().enumerate() {
            if i > 0 {
                out.push(b'\t');
            }
            match column {
                Prepared::Sequence => append_number(row, out),
                Prepared::Group(size) => append_number(row.saturating_sub(1) / size + 1, out),
                Prepared::Random(kind, a, b) => {
                    let value = self.distributions.draw_u64(*kind, &mut self.stream, *a, *b);
                    append_number(value, out);
                }
                Prepared::Pattern(text) => {
                    let start = out.len();
                    text.pattern.append(&mut self.stream, out);
                    if text.escape_tab_text {
                        escape_from(out, start, tab_text_escape);
                    }
                }
                Prepared::Const { tab_text, .. } => out.extend_from_slice(tab_text),
                Prepared::Null => out.extend_from_slice(b"\\N"),
            }
        }
        out.push(b'\n');
    }

    fn append_tuple(&mut self, row: u64, out: &mut Vec<u8>) {
        out.push(b'(');
        for (i, column) in self.columns.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            match column {
                Prepared::Sequence => append_number(row, out),
                Prepared::Group(size) => append_number(row.saturating_sub(1) / size + 1, out),
                Prepared::Random(kind, a, b) => {
                    let value = self.distributions.draw_u64(*kind, &mut self.stream, *a, *b);
                    append_number(value, out);
                }
                Prepared::Pattern(text) => {
                    out.push(b'\'');
                    let start = out.len();
                    text.pattern.append(&mut self.stream, out);
                    if text.escape_sql {
                        escape_from(out, start, sql_escape(self.backslash));
                    }
                    out.push(b'\'');
                }
                Prepared::Const { sql, .. } => out.extend_from_slice(sql),
                Prepared::Null => out.extend_from_slice(b"NULL"),
            }
        }
        out.push(b')');
    }
}

impl RowSource for GeneratedRows {
    fn fill(&mut self, out: &mut Vec<u8>, format: BulkFormat, max_bytes: usize) -> u64 {
        let start = out.len();
        let before = self.done;
        while self.done < self.range.count {
            if self.done > before {
                if out.len() - start >= max_bytes {
                    break;
                }
                if format == BulkFormat::SqlTuples {
                    out.push(b',');
                }
            }
            self.append_row(out, format);
            self.done += 1;
        }
        self.done - before
    }

    fn by_inserts(&self) -> bool {
        self.by_inserts
    }

    fn rewind(&mut self) {
        let (block, place) = block_of(self.range.first);
        self.stream = Stream::new(self.table_seed, block);
        // Distributions may take any number of draws, so the rows before are generated and
        // discarded.
        let mut dropped = Vec::new();
        for _ in 0..place {
            dropped.clear();
            self.append_tab_text(0, &mut dropped);
        }
        self.done = 0;
    }
}

/// A column with everything precomputed that does not change between rows.
#[derive(Debug)]
enum Prepared {
    Sequence,
    Group(u64),
    Random(RandKind, u64, u64),
    Pattern(PreparedText),
    Const { tab_text: Vec<u8>, sql: Vec<u8> },
    Null,
}

#[derive(Debug)]
struct PreparedText {
    pattern: Pattern,
    /// Digits and letters need no escapes, so the pattern's own bytes decide for all rows.
    escape_tab_text: bool,
    escape_sql: bool,
}

impl Prepared {
    fn new(column: &Column, backslash: Backslash) -> Self {
        match column {
            Column::Sequence => Self::Sequence,
            Column::Group(size) => Self::Group((*size).max(1)),
            Column::Random(kind, a, b) => Self::Random(*kind, *a, *b),
            Column::Null => Self::Null,
            Column::Pattern(source) => Self::Pattern(PreparedText {
                pattern: Pattern::new(source),
                escape_tab_text: source.iter().any(|&b| tab_text_escape(b).is_some()),
                escape_sql: source.iter().any(|&b| sql_escape(backslash)(b).is_some()),
            }),
            Column::Const(text) => {
                let mut tab_text = text.clone();
                escape_from(&mut tab_text, 0, tab_text_escape);
                let mut sql = text.clone();
                escape_from(&mut sql, 0, sql_escape(backslash));
                sql.insert(0, b'\'');
                sql.push(b'\'');
                Self::Const { tab_text, sql }
            }
        }
    }
}

/// The block of a row, and its position there.
fn block_of(row: u64) -> (u64, u64) {
    // Row 1 opens block 1; row 0, if ever used, is the last of block 0.
    let shifted = u128::from(row) + u128::from(BLOCK_ROWS - 1);
    let blocks = u128::from(BLOCK_ROWS);
    // The quotient is below 2^64, the remainder below BLOCK_ROWS.
    ((shifted / blocks) as u64, (shifted % blocks) as u64)
}

fn append_number(number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// The replacement of a byte that must be escaped.
type Escape = fn(u8) -> Option<[u8; 2]>;

/// The escapes shared by PostgreSQL's COPY and MySQL's LOAD DATA.
fn tab_text_escape(byte: u8) -> Option<[u8; 2]> {
    match byte {
        b'\\' => Some(*b"\\\\"),
        b'\t' => Some(*b"\\t"),
        b'\n' => Some(*b"\\n"),
        b'\r' => Some(*b"\\r"),
        _ => None,
    }
}

fn sql_escape(backslash: Backslash) -> Escape {
    match backslash {
        Backslash::Plain => |byte| (byte == b'\'').then_some(*b"''"),
        Backslash::Escapes => |byte| match byte {
            b'\'' => Some(*b"''"),
            b'\\' => Some(*b"\\\\"),
            _ => None,
        },
    }
}

/// Appends a text in tab-separated format.
pub(crate) fn escape_tab_text(text: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(text);
    if text.iter().any(|&byte| tab_text_escape(byte).is_some()) {
        escape_from(out, start, tab_text_escape);
    }
}

/// Appends a text as an SQL literal.
pub(crate) fn escape_sql(text: &[u8], backslash: Backslash, out: &mut Vec<u8>) {
    let escape = sql_escape(backslash);
    out.push(b'\'');
    let start = out.len();
    out.extend_from_slice(text);
    if text.iter().any(|&byte| escape(byte).is_some()) {
        escape_from(out, start, escape);
    }
    out.push(b'\'');
}

/// Escapes `text` from `start` on.
fn escape_from(text: &mut Vec<u8>, start: usize, escape: Escape) {
    let plain = text.split_off(start);
    for byte in plain {
        match escape(byte) {
            Some(pair) => text.extend_from_slice(&pair),
            None => text.push(byte),
        }
    }
}
