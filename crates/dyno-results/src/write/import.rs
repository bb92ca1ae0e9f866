//! Imports a whole run that was recorded somewhere else.

use dyno_core::catalogue::names;
use dyno_core::finding::Waiver;
use dyno_core::record::{NotObserved, Operation, RunRecord};
use dyno_core::unknown::{self, Of};

use super::judge::write_judgement;
use super::remove::delete;
use super::rows::insert_run;
use super::{Draft, Ending, Record, SeriesId};
use crate::codec::{Measured, SpanRow};
use crate::error::{Problem, ResultsError};
use crate::open::Results;
use crate::process::Process;

impl Results {
    /// Enters a whole run and returns its number. The number in the record is ignored. Data after
    /// the first hour is consolidated as in a run that was recorded here.
    ///
    /// # Errors
    /// There is already a run with this name, or the file cannot be written to. Nothing is written
    /// in that case.
    pub fn import(&mut self, run: &RunRecord) -> Result<i64, ResultsError> {
        self.import_instead(run, &[])
    }

    /// As [`Self::import`]; on success, also removes these other runs.
    ///
    /// # Errors
    /// See [`Self::import`].
    pub fn import_instead(&mut self, run: &RunRecord, others: &[i64]) -> Result<i64, ResultsError> {
        let doing = "import a run into";
        let mut draft = drafted(run);
        let ending = Ending {
            state: run.state,
            summary: run.summary.clone(),
            totals: totals(&run.operations),
            sessions: run.sessions.clone(),
            finished_unix_s: dyno_core::clock::wall_time().as_secs_f64(),
            why: None,
        };
        let entered = self.transact(doing, |connection| {
            if is_name_used_by_another(connection, &run.head.name, others)? {
                return Ok(None);
            }
            delete(connection, others)?;
            let id = insert_run(connection, &run.head, run.state, &Process::default())?;
            draft.write(connection, id)?;
            ending.write(connection, id, &mut draft)?;
            forget_unknown_intervals(connection, id, &run.not_observed)?;
            write_judgement(connection, id, &run.findings, run.verdict, &waivers(run))?;
            Ok(Some(id))
        })?;
        let name_taken = || Problem::NameTaken(run.head.name.clone());
        entered.ok_or_else(|| self.at(doing).error(name_taken()))
    }

    /// The hashes of all imported logs, with the numbers of their runs.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn imported_logs(&self) -> Result<Vec<(i64, String)>, ResultsError> {
        let query = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT run.id, fact.value FROM run JOIN fact ON fact.run_id = run.id
                 WHERE run.state = 'imported' AND fact.name = ?1 ORDER BY run.id",
            )?;
            let rows = statement
                .query_map([names::IMPORT_SHA256], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        query().map_err(|error| self.at("look for runs in").sqlite(error))
    }

    /// The runs that were imported from the log with this hash, according to the fact
    /// [`names::IMPORT_SHA256`]. Earlier versions did not store that fact. Their runs are
    /// recognised by their names, which end in the first digits of the hash.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn imported_of(&self, digest: &str) -> Result<Vec<i64>, ResultsError> {
        let query = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT id FROM run WHERE state = 'imported'
                 AND substr(name, -9) = '-' || substr(?1, 1, 8)
                 AND coalesce((SELECT value FROM fact WHERE run_id = run.id AND name = ?2), ?1) = ?1
                 ORDER BY id",
            )?;
            let ids = statement.query_map((digest, names::IMPORT_SHA256), |row| row.get(0))?;
            ids.collect::<rusqlite::Result<Vec<i64>>>()
        };
        query().map_err(|error| self.at("look for a run in").sqlite(error))
    }
}

/// Replaces the zeros of the intervals by NULL for counters that the log does not contain.
fn forget_unknown_intervals(
    connection: &rusqlite::Connection,
    id: i64,
    gaps: &[NotObserved],
) -> rusqlite::Result<()> {
    let unknown = unknown::counters(gaps, Of::Intervals);
    if !unknown.is_empty() {
        let columns = unknown.join(" = NULL, ");
        let sql = format!("UPDATE interval SET {columns} = NULL WHERE run_id = ?1");
        connection.execute(&sql, [id])?;
    }
    Ok(())
}

/// Whether a run that is not being replaced has this name.
fn is_name_used_by_another(
    connection: &rusqlite::Connection,
    name: &str,
    others: &[i64],
) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare_cached("SELECT id FROM run WHERE name = ?1")?;
    let ids = statement.query_map([name], |row| row.get::<_, i64>(0))?;
    let ids = ids.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(ids.iter().any(|id| !others.contains(id)))
}

fn drafted(run: &RunRecord) -> Draft {
    let mut draft = Draft::new(usize::MAX);
    // First number the operations, in their order.
    for operation in &run.operations {
        draft.operation(&operation.name);
    }
    for interval in &run.intervals {
        draft.take(Record::Interval(Box::new(interval.clone()), Vec::new()));
    }
    for operation in &run.operations {
        for span in &operation.spans {
            let measured = Measured::from(span);
            draft.span(&operation.name, span.from_s, span.to_s, measured);
        }
    }
    for (series, number) in run.series.iter().zip(0..) {
        let id = SeriesId(number);
        draft.take(Record::Series(id, series.key.clone(), series.kind));
        for &(at_s, value) in &series.points {
            draft.take(Record::Samples(at_s, vec![(id, value)]));
        }
    }
    draft.take(Record::Facts(run.facts.clone()));
    for setting in &run.settings {
        draft.setting(&setting.name, setting.start.as_deref(), false);
        draft.setting(&setting.name, setting.end.as_deref(), true);
    }
    for event in &run.events {
        draft.take(Record::Event(event.clone()));
    }
    for gap in &run.not_observed {
        draft.take(Record::NotObserved(gap.clone()));
    }
    for profile in &run.profiles {
        draft.take(Record::Profile(Box::new(profile.clone())));
    }
    draft
}

fn totals(operations: &[Operation]) -> Vec<(String, SpanRow)> {
    let with_total = operations.iter().filter_map(|operation| {
        let total = operation.total.as_ref()?;
        Some((operation.name.clone(), SpanRow::total(total)))
    });
    with_total.collect()
}

fn waivers(run: &RunRecord) -> Vec<Waiver> {
    let waived = run.findings.iter().filter_map(|finding| {
        let reason = finding.waived.clone()?;
        Some(Waiver {
            check: finding.check.clone(),
            reason,
        })
    });
    waived.collect()
}
