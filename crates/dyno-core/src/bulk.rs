//! Bulk loading: the contract between the generator of rows and the driver that sends them.

/// The row format that the driver wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkFormat {
    /// `a\tb\tc\n`, NULL as `\N`, backslash escapes: what both PostgreSQL's COPY and MySQL's
    /// LOAD DATA read by default.
    TabText,
    /// `('a',1),('b',2)` without a leading or trailing comma: the tail of a multi-row INSERT.
    SqlTuples,
}

/// Produces rows on demand. The order of rows does not depend on the format, the number of calls or
/// `max_bytes`.
pub trait RowSource: Send {
    /// Appends whole rows to `out`: at least one if any is left, then more until the appended bytes
    /// reach `max_bytes`. Returns the number of rows appended; 0 means no row is left.
    fn fill(&mut self, out: &mut Vec<u8>, format: BulkFormat, max_bytes: usize) -> u64;

    /// Whether the user has stopped the load. Connections that block while loading check this
    /// between chunks and then fail; workers drop the others.
    fn stopped(&self) -> bool {
        false
    }

    /// Whether to use INSERT statements even if the server has a faster way, because that way would
    /// block other sessions that load the same table.
    fn by_inserts(&self) -> bool {
        false
    }

    /// Returns to the first row, so that a refused transfer can be repeated another way.
    fn rewind(&mut self);
}

/// A table to load.
pub struct BulkLoad {
    /// Table name, already quoted as the target needs it (or a bare identifier).
    pub table: String,
    /// Column names, also quoted if needed.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Box<dyn RowSource>,
}
