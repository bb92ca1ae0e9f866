//! Loading many rows: the contract between who generates rows and who sends them.

/// How the driver wants rows written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkFormat {
    /// `a\tb\tc\n`, NULL as `\N`, backslash escapes: what both PostgreSQL's COPY and MySQL's
    /// LOAD DATA read by default.
    TabText,
    /// `('a',1),('b',2)` without a leading or trailing comma: the tail of a multi-row INSERT.
    SqlTuples,
}

/// Produces rows on demand. Rows come in a fixed order that does not depend on the format, on how
/// often it is called or on `max_bytes`.
pub trait RowSource: Send {
    /// Appends whole rows to `out`: at least one if any is left, and then as long as what it
    /// appended is under `max_bytes`. Returns how many rows it appended; 0 means no row is left.
    fn fill(&mut self, out: &mut Vec<u8>, format: BulkFormat, max_bytes: usize) -> u64;

    /// Whether the user has stopped the load. Connections that block while they load ask between
    /// chunks, and then fail; others are dropped by their workers.
    fn stopped(&self) -> bool {
        false
    }

    /// Whether the rows are to go in by INSERTs even where the server has a faster way, because
    /// that way would keep other sessions from loading the same table meanwhile.
    fn by_inserts(&self) -> bool {
        false
    }

    /// Back to the first row, so that a refused transfer can be repeated another way.
    fn rewind(&mut self);
}

/// A table to load.
pub struct BulkLoad {
    /// Table name, already quoted as the target needs it (or a bare identifier).
    pub table: String,
    /// Column names, likewise.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Box<dyn RowSource>,
}
