//! What the server itself counted of statements, by its digests.

use serde::{Deserialize, Serialize};

/// The server's digests before and after the measurement, as differences.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DigestsSummary {
    /// The table or view that they are from; empty where none could be read.
    pub source: String,
    /// Those that took most of the server's time first.
    pub digests: Vec<DigestSummary>,
    /// How many more there were.
    pub others: u64,
    /// What those executed.
    pub others_count: u64,
    /// The server's time for those, in milliseconds.
    pub others_ms: f64,
    /// Executed in other databases meanwhile.
    pub elsewhere_count: u64,
    /// Executed on the server's catalogs and settings, as observers do: not among the digests.
    pub catalogs_count: u64,
    /// Why there are none, and what makes them inexact; whole sentences.
    pub notes: Vec<String>,
}

/// What the server counted of one digest within the measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DigestSummary {
    /// The statement as the server normalised it, without values, perhaps cut.
    pub text: String,
    /// The shape of the run's statements that it belongs to; `None` where that is not certain.
    pub shape: Option<String>,
    /// So many of the server's digests are of that shape, and summed up here.
    pub merged: u64,
    /// Executions.
    pub count: u64,
    /// The server's time for all of them, in milliseconds.
    pub total_ms: f64,
    /// Rows that were returned or changed.
    pub rows: u64,
    /// Rows that the server read for it; `None` where it does not tell.
    pub rows_examined: Option<u64>,
    /// Executions without an index; `None` where the server does not tell.
    pub no_index: Option<u64>,
    /// Temporary tables on disk; `None` where the server does not tell.
    pub disk_tables: Option<u64>,
}

impl DigestSummary {
    /// Milliseconds of the server for one execution.
    pub fn mean_ms(&self) -> f64 {
        self.total_ms / (self.count as f64).max(1.0)
    }

    /// Takes another digest of the same shape.
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
    /// What the server counted of a shape.
    pub fn of_shape(&self, shape: &str) -> Option<&DigestSummary> {
        let mut own = self.digests.iter();
        own.find(|one| one.shape.as_deref() == Some(shape))
    }
}
