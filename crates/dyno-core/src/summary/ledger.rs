//! The ledger of a run.

use serde::{Deserialize, Serialize};

/// A sum in the database against what the server acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// The script's name for the sum.
    pub sum: String,
    /// The script's name for its counterpart in the database.
    pub database: String,
    /// The least change of the database: the acknowledged changes, with the worst case of unknown
    /// ones.
    pub expected_low: i64,
    /// The largest change.
    pub expected_high: i64,
    /// The actual change; `None` if it could not be read.
    pub found: Option<i64>,
}

impl LedgerEntry {
    /// Bounds of a sum with unknown acknowledgements.
    pub const OPEN: (i64, i64) = (i64::MIN, i64::MAX);

    /// Whether the acknowledged changes are unknown, because a worker did not respond at the end of
    /// the run.
    pub fn is_open(&self) -> bool {
        (self.expected_low, self.expected_high) == Self::OPEN
    }

    /// The expected change, in words.
    pub fn expected(&self) -> String {
        match (self.expected_low, self.expected_high) {
            _ if self.is_open() => "not known".to_owned(),
            (low, high) if low == high => low.to_string(),
            (low, high) => format!("{low} to {high}"),
        }
    }

    /// Whether the database contains the acknowledged changes; `None` if unknown.
    pub fn agrees(&self) -> Option<bool> {
        let found = self.found.filter(|_| !self.is_open())?;
        Some((self.expected_low..=self.expected_high).contains(&found))
    }
}
