//! The contract between the generator of rows and the driver that sends them in bulk.

/// The row format that the driver wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkFormat {
    /// `a\tb\tc\n`, with NULL as `\N` and backslash escapes. Both PostgreSQL's COPY and MySQL's
    /// LOAD DATA read this by default.
    TabText,
    /// `('a',1),('b',2)` without a leading or trailing comma: the tail of a multi-row INSERT.
    SqlTuples,
}

/// Produces rows on demand. The order of rows does not depend on the format, the number of calls or
/// `max_bytes`.
pub trait RowSource: Send {
    /// Appends whole rows to `out`: at least one if any are left, and more until `max_bytes` were
    /// appended. Returns the number of appended rows; 0 means that no row is left.
    fn fill(&mut self, out: &mut Vec<u8>, format: BulkFormat, max_bytes: usize) -> u64;

    /// Whether the user has stopped the load. Connections that block while they load check this
    /// between chunks, and fail then. Workers drop the others.
    fn stopped(&self) -> bool {
        false
    }

    /// Whether to use INSERT statements even if the server has a faster way, because that way would
    /// block other sessions that load the same table.
    fn by_inserts(&self) -> bool {
        false
    }

    /// Returns to the first row, so that a transfer that was refused can be repeated in another
    /// way.
    fn rewind(&mut self);
}

/// A table to load.
pub struct BulkLoad {
    /// The name of the table, quoted as the target needs it (or a bare identifier).
    pub table: String,
    /// The names of the columns, also quoted if needed.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Box<dyn RowSource>,
}
