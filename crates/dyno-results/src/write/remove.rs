//! Deletes runs from the file.

use rusqlite::Connection;

use crate::error::ResultsError;
use crate::open::Results;

/// Deletes the rows of runs in all tables.
pub(crate) fn delete(connection: &Connection, ids: &[i64]) -> rusqlite::Result<()> {
    let sql = "SELECT t.name FROM sqlite_schema t, pragma_table_info(t.name) c \
               WHERE t.type = 'table' AND c.name = 'run_id'";
    let mut statement = connection.prepare(sql)?;
    let tables = statement.query_map([], |row| row.get::<_, String>(0))?;
    for table in tables.collect::<rusqlite::Result<Vec<_>>>()? {
        let sql = format!("DELETE FROM \"{table}\" WHERE run_id = ?1");
        let mut delete = connection.prepare(&sql)?;
        for id in ids {
            delete.execute([id])?;
        }
    }
    let mut delete = connection.prepare("DELETE FROM run WHERE id = ?1")?;
    for id in ids {
        delete.execute([id])?;
    }
    Ok(())
}

impl Results {
    /// Deletes runs and everything that belongs to them, and returns their space to the file
    /// system. Their numbers are never used again. Returns by how many bytes the file shrank. That
    /// is 0 if another process has it open, and later runs then use the space.
    ///
    /// # Errors
    /// A run does not exist, in which case nothing is deleted; or the file cannot be written to.
    pub fn remove(&mut self, ids: &[i64]) -> Result<u64, ResultsError> {
        let doing = "remove runs from";
        for id in ids {
            self.check_run(*id, doing)?;
        }
        let before = self.bytes(doing)?;
        self.transact(doing, |connection| delete(connection, ids))?;
        // The runs stay deleted even if the file cannot shrink now.
        let shrunk = self
            .connection
            .execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
        match shrunk {
            Ok(()) => Ok(before.saturating_sub(self.bytes(doing)?)),
            Err(_) => Ok(0),
        }
    }

    /// The size of the database.
    fn bytes(&self, doing: &'static str) -> Result<u64, ResultsError> {
        let number = |pragma: &str| {
            let value = self
                .connection
                .pragma_query_value(None, pragma, |row| row.get(0));
            value.map_err(|error| self.at(doing).sqlite(error))
        };
        let (pages, size): (i64, i64) = (number("page_count")?, number("page_size")?);
        Ok((pages * size).max(0) as u64)
    }
}
