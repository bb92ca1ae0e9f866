//! The ledger of a run.

use serde::{Deserialize, Serialize};

/// One sum that the database holds against what the server acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// The script's name for the sum.
    pub sum: String,
    /// The script's name for its counterpart in the database.
    pub database: String,
    /// The least that the database may have changed by: what was acknowledged, and the worst of
    /// what nobody knows.
    pub expected_low: i64,
    /// The most.
    pub expected_high: i64,
    /// What it changed by; `None` where it could not be read.
    pub found: Option<i64>,
}

impl LedgerEntry {
    /// Bounds of a sum of which it is not known what was acknowledged.
    pub const OPEN: (i64, i64) = (i64::MIN, i64::MAX);

    /// Whether it is not known what the server acknowledged: a worker did not respond at the end
    /// of the run.
    pub fn is_open(&self) -> bool {
        (self.expected_low, self.expected_high) == Self::OPEN
    }

    /// What the database should have changed by, in words.
    pub fn expected(&self) -> String {
        match (self.expected_low, self.expected_high) {
            _ if self.is_open() => "not known".to_owned(),
            (low, high) if low == high => low.to_string(),
            (low, high) => format!("{low} to {high}"),
        }
    }

    /// Whether the database holds what was acknowledged; `None` where it could not be read, or
    /// where it is not known what that is.
    pub fn agrees(&self) -> Option<bool> {
        let found = self.found.filter(|_| !self.is_open())?;
        Some((self.expected_low..=self.expected_high).contains(&found))
    }
}
