//! The findings, verdicts and waivers of stored runs.

use dyno_core::finding::{Finding, Verdict, Waiver};
use dyno_core::record::Fact;
use dyno_core::summary::RunSummary;
use rusqlite::{Connection, params};

use super::ending::write_summary;
use super::rows::{Row, json, word};
use crate::error::ResultsError;
use crate::open::Results;

impl Results {
    /// Replaces the findings of a run.
    ///
    /// # Errors
    /// The run does not exist, or the file cannot be written to.
    pub fn judge(
        &mut self,
        id: i64,
        findings: &[Finding],
        verdict: Verdict,
        waivers: &[Waiver],
    ) -> Result<(), ResultsError> {
        let doing = "store the verdict in";
        self.check_run(id, doing)?;
        self.transact(doing, |connection| {
            write_judgement(connection, id, findings, Some(verdict), waivers)
        })
    }

    /// Stores results that became known after the run had finished, such as its costs. The verdict,
    /// findings and intervals in the summary are ignored, because they have their own tables.
    ///
    /// # Errors
    /// The run does not exist, or the file cannot be written to.
    pub fn set_summary(&mut self, id: i64, summary: &RunSummary) -> Result<(), ResultsError> {
        let doing = "store the summary in";
        self.check_run(id, doing)?;
        self.transact(doing, |connection| write_summary(connection, id, summary))
    }

    /// Stores facts that became known after the runs had finished, such as the answer of the search
    /// they belong to.
    ///
    /// # Errors
    /// A run does not exist, or the file cannot be written to.
    pub fn add_facts(&mut self, ids: &[i64], facts: &[Fact]) -> Result<(), ResultsError> {
        let doing = "store facts in";
        for id in ids {
            self.check_run(*id, doing)?;
        }
        self.transact(doing, |connection| {
            for id in ids {
                for fact in facts {
                    Row::Fact(fact.clone()).write(connection, *id)?;
                }
            }
            Ok(())
        })
    }

    /// The waivers of a run, by check.
    ///
    /// # Errors
    /// The run does not exist, or the file cannot be read.
    pub fn waivers(&self, id: i64) -> Result<Vec<Waiver>, ResultsError> {
        let doing = "read the waivers in";
        self.check_run(id, doing)?;
        let read = || -> rusqlite::Result<Vec<Waiver>> {
            let sql = "SELECT check_name, reason FROM waiver WHERE run_id = ?1";
            let mut statement = self.connection.prepare_cached(sql)?;
            let rows = statement.query_map([id], |row| {
                Ok(Waiver {
                    check: row.get(0)?,
                    reason: row.get(1)?,
                })
            })?;
            rows.collect()
        };
        read().map_err(|error| self.at(doing).sqlite(error))
    }

    /// Waives findings of a run with a reason, and returns the verdict of the others. `None` if the
    /// run was not judged yet. To keep the waivers when the run is judged again, pass
    /// [`Results::waivers`] to the judge.
    ///
    /// # Errors
    /// The run does not exist, or the file cannot be written to.
    pub fn waive(&mut self, id: i64, waiver: &Waiver) -> Result<Option<Verdict>, ResultsError> {
        let doing = "store the waiver in";
        let (mut findings, judged) = self.judgement(id, doing)?;
        for finding in &mut findings {
            if finding.check == waiver.check {
                finding.waived = Some(waiver.reason.clone());
            }
        }
        let verdict = judged.map(|_| dyno_core::finding::verdict(&findings));
        let mut waivers = self.waivers(id)?;
        waivers.retain(|own| own.check != waiver.check);
        waivers.push(waiver.clone());
        self.transact(doing, |connection| {
            write_judgement(connection, id, &findings, verdict, &waivers)
        })?;
        Ok(verdict)
    }
}

/// Writes the findings. Call this within a transaction.
pub(super) fn write_judgement(
    connection: &Connection,
    id: i64,
    findings: &[Finding],
    verdict: Option<Verdict>,
    waivers: &[Waiver],
) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM finding WHERE run_id = ?1", [id])?;
    connection.execute("DELETE FROM waiver WHERE run_id = ?1", [id])?;
    for (number, finding) in findings.iter().enumerate() {
        connection
            .prepare_cached(
                "INSERT INTO finding (run_id, number, check_name, check_no, outcome, evidence,
                     rule, numbers, advice, waived, causes, durability, stalls)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
            )?
            .execute(params![
                id,
                number as i64,
                finding.check,
                finding.number,
                word(finding.outcome)?,
                finding.evidence,
                finding.rule,
                json(&finding.numbers)?,
                finding.advice,
                finding.waived,
                json(&finding.causes)?,
                finding.durability.as_ref().map(json).transpose()?,
                finding.stalls.as_ref().map(json).transpose()?,
            ])?;
    }
    for waiver in waivers {
        connection.execute(
            "INSERT OR REPLACE INTO waiver (run_id, check_name, reason) VALUES (?1, ?2, ?3)",
            params![id, waiver.check, waiver.reason],
        )?;
    }
    let verdict = verdict.map(word).transpose()?;
    connection
        .execute(
            "UPDATE run SET verdict = ?2 WHERE id = ?1",
            params![id, verdict],
        )
        .map(drop)
}
