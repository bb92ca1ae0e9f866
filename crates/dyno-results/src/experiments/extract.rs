//! Copies one experiment into a results file that contains nothing else.

use std::path::Path;

use rusqlite::{Connection, params};

use crate::error::{Problem, ResultsError};
use crate::open::Results;
use crate::write::delete;

use super::ExperimentHead;

/// The action in error messages.
const DOING: &str = "copy an experiment of";

impl Results {
    /// Writes a new results file that contains only the experiment of this name and the runs of its
    /// planned trials. The file, question, source and definition in it are those of `head`. Returns
    /// the number of runs.
    ///
    /// Until the other runs are deleted from it, the new file contains all of them. Write it to a
    /// folder that nobody else can read.
    ///
    /// # Errors
    /// There is no such experiment, the new file already exists, or it cannot be written.
    pub fn extract(&self, head: &ExperimentHead, into: &Path) -> Result<usize, ResultsError> {
        let at = self.at(DOING);
        let Some(path) = into.to_str() else {
            let why = format!("the path of the copy is not UTF-8: {}", into.display());
            return Err(at.error(Problem::Other(why)));
        };
        // Unlike a copy of the file, this includes the log, and other processes may keep writing.
        self.connection
            .execute("VACUUM INTO ?1", [path])
            .map_err(|error| at.sqlite(error))?;
        let mut copy = Self::open(into)?;
        let runs = copy.transact(DOING, |connection| keep_only(connection, head))?;
        // Deleted rows are still in free pages, so vacuum the file. Without a log the file is
        // complete, and can be read where nothing can be written.
        copy.connection
            .execute_batch("VACUUM; PRAGMA journal_mode = DELETE")
            .map_err(|error| copy.at(DOING).sqlite(error))?;
        Ok(runs)
    }
}

/// Deletes everything that is not about this experiment. Returns the number of runs left.
fn keep_only(connection: &Connection, head: &ExperimentHead) -> rusqlite::Result<usize> {
    let id: i64 = connection.query_row(
        "UPDATE experiment SET file = ?2, question = ?3, cite = ?4, definition = ?5
         WHERE name = ?1 RETURNING id",
        params![
            head.name,
            head.file,
            head.question,
            head.cite,
            head.definition
        ],
        |row| row.get(0),
    )?;
    let mut others = connection.prepare(
        "SELECT id FROM run WHERE trial IS NULL
         OR trial NOT IN (SELECT identity FROM trial WHERE experiment_id = ?1)",
    )?;
    let others = others.query_map([id], |row| row.get(0))?;
    let others: Vec<i64> = others.collect::<rusqlite::Result<_>>()?;
    delete(connection, &others)?;
    // Trials may have run as trials of another experiment, whose attempts then count here.
    for sql in [
        "DELETE FROM attempt
         WHERE trial NOT IN (SELECT identity FROM trial WHERE experiment_id = ?1)",
        "UPDATE attempt SET experiment_id = ?1",
        "DELETE FROM trial WHERE experiment_id <> ?1",
        "DELETE FROM experiment WHERE id <> ?1",
    ] {
        connection.execute(sql, [id])?;
    }
    connection.query_row("SELECT count(*) FROM run", [], |row| {
        row.get::<_, i64>(0).map(|count| count as usize)
    })
}
