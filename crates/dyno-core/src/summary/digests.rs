//! The server's own statement statistics, by digest.

use serde::{Deserialize, Serialize};

/// The server's digests: differences over the measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DigestsSummary {
    /// The source table or view; empty if none was readable.
    pub source: String,
    /// The digests, by server time, largest first.
    pub digests: Vec<DigestSummary>,
    /// Number of other digests.
    pub others: u64,
    /// Executions of the other digests.
    pub others_count: u64,
    /// Server time of the other digests, in milliseconds.
    pub others_ms: f64,
    /// Executions in other databases during the measurement.
    pub elsewhere_count: u64,
    /// Executions on the server's catalogs and settings, as by observers; not among the digests.
    pub catalogs_count: u64,
    /// Why there are no digests, or why they are inexact; whole sentences.
    pub notes: Vec<String>,
}

/// Statistics of one digest over the measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DigestSummary {
    /// The statement as normalised by the server, without values; may be truncated.
    pub text: String,
    /// The matching statement shape of the run; `None` if not certain.
    pub shape: Option<String>,
    /// Number of the server's digests merged into this one, because they have the same shape.
    pub merged: u64,
    /// Executions.
    pub count: u64,
    /// Total server time, in milliseconds.
    pub total_ms: f64,
    /// Rows returned or changed.
    pub rows: u64,
    /// Rows examined; `None` if the server does not report it.
    pub rows_examined: Option<u64>,
    /// Executions without an index; `None` if the server does not report it.
    pub no_index: Option<u64>,
    /// Temporary tables on disk; `None` if the server does not report it.
    pub disk_tables: Option<u64>,
}

impl DigestSummary {
    /// Mean server time of an execution, in milliseconds.
    pub fn mean_ms(&self) -> f64 {
        self.total_ms / (self.count as f64).max(1.0)
    }

    /// Adds another digest of the same shape.
    pub fn add(&mut self, other: &Self) {
        let sum = |one: Option<u64>, two: Option<u64>| Some(one? + two?);
        self.merged += other.merged;
        self.count += other.count;
        self.total_ms += other.total_ms;
        self.rows += other.rows;
        self.rows_examined = sum(self.rows_examined, other.rows_examined);
        self.no_index = sum(self.no_index, other.no_index);
        self.disk_tables = sum(self.disk_tables, other.disk_tables);
    }
}

impl DigestsSummary {
    /// The digest of a shape.
    pub fn of_shape(&self, shape: &str) -> Option<&DigestSummary> {
        let mut own = self.digests.iter();
        own.find(|one| one.shape.as_deref() == Some(shape))
    }
}
