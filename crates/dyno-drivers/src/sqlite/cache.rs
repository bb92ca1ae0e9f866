//! Text statements that may be repeated (`BEGIN`, `COMMIT`, …).

use super::raw::Statement;

/// The number of statements kept.
const ENTRIES_MAX: usize = 16;
/// Longer texts are not kept: they rarely repeat, and would use much memory.
const TEXT_BYTES_MAX: usize = 1024;

/// The last statements used, most recent first.
#[derive(Default)]
pub(super) struct Cache {
    entries: Vec<(Vec<u8>, Statement)>,
}

impl Cache {
    /// Finds the statement with this text and makes it the most recent.
    pub(super) fn find(&mut self, sql: &[u8]) -> Option<&mut Statement> {
        let index = self.entries.iter().position(|(text, _)| text == sql)?;
        self.entries[..=index].rotate_right(1);
        Some(&mut self.entries[0].1)
    }

    /// Keeps a statement, in place of the least recent.
    pub(super) fn keep(&mut self, sql: &[u8], statement: Statement) {
        if sql.len() > TEXT_BYTES_MAX {
            return;
        }
        if self.entries.len() < ENTRIES_MAX {
            self.entries.push((sql.to_vec(), statement));
        } else if let Some(last) = self.entries.last_mut() {
            last.0.clear();
            last.0.extend_from_slice(sql);
            last.1 = statement;
        }
        self.entries.rotate_right(1);
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }
}
