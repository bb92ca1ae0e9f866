//! The end of a run.

use dyno_core::clock;
use dyno_core::interval::Latencies;
use dyno_core::record::{EventKind, RunState, SessionShare};
use dyno_core::summary::RunSummary;
use dyno_core::unknown::{self, Of};
use rusqlite::{Connection, params};

use super::draft::Draft;
use super::rows::{as_sqlite, json, whole, word, write_target, write_total};
use crate::codec::SpanRow;

/// The final results of a run.
#[derive(Clone, Debug)]
pub struct Ending {
    pub(super) state: RunState,
    pub(super) summary: Option<RunSummary>,
    pub(super) totals: Vec<(String, SpanRow)>,
    pub(super) sessions: Vec<SessionShare>,
    pub(super) finished_unix_s: f64,
    pub(super) why: Option<String>,
}

impl Ending {
    /// The ending of a run with a summary; `totals` as for [`super::RunWriter::finish`].
    pub fn new(
        summary: &RunSummary,
        state: RunState,
        totals: &[(&str, &Latencies)],
        sessions: &[SessionShare],
    ) -> Self {
        let to_s = summary.elapsed_s;
        let totals = totals
            .iter()
            .map(|(name, total)| ((*name).to_owned(), SpanRow::total_of(total, 0.0, to_s)));
        Self {
            state,
            totals: totals.collect(),
            summary: Some(summary.clone()),
            sessions: sessions.to_vec(),
            finished_unix_s: clock::wall_time().as_secs_f64(),
            why: None,
        }
    }

    /// The ending of a run without results, for this reason.
    pub fn without_results(state: RunState, why: &str) -> Self {
        Self {
            state,
            summary: None,
            totals: Vec::new(),
            sessions: Vec::new(),
            finished_unix_s: clock::wall_time().as_secs_f64(),
            why: Some(why.to_owned()),
        }
    }

    /// Writes the ending. Call this within a transaction, after the draft was written.
    pub(super) fn write(
        &self,
        connection: &Connection,
        run_id: i64,
        draft: &mut Draft,
    ) -> rusqlite::Result<()> {
        connection.execute(
            "UPDATE run SET state = ?2, finished_unix_s = ?3 WHERE id = ?1",
            params![run_id, word(self.state)?, self.finished_unix_s],
        )?;
        if let Some(why) = &self.why {
            note_failure(connection, run_id, why)?;
        }
        for (name, row) in &self.totals {
            let operation = draft.operation(name);
            connection.execute(
                "INSERT OR REPLACE INTO operation (run_id, number, name) VALUES (?1, ?2, ?3)",
                params![run_id, operation, name],
            )?;
            write_total(connection, run_id, operation, row)?;
        }
        for share in &self.sessions {
            connection
                .prepare_cached(
                    "INSERT OR REPLACE INTO session (run_id, session, worker, events, busy_s,
                         state, idle_from_s, idle_to_s, idle_in, connect_attempts)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                )?
                .execute(params![
                    run_id,
                    share.session,
                    share.worker,
                    whole(share.events),
                    share.busy_s,
                    share.state.map(word).transpose()?,
                    share.idle.map(|idle| idle.from_s),
                    share.idle.map(|idle| idle.to_s),
                    share.idle.map(|idle| word(idle.idle_in)).transpose()?,
                    share.idle.map(|idle| idle.attempts),
                ])?;
        }
        if let Some(summary) = &self.summary {
            write_summary(connection, run_id, summary)?;
        }
        Ok(())
    }
}

/// The summary without the parts that have their own tables.
fn stripped(summary: &RunSummary) -> RunSummary {
    RunSummary {
        verdict: None,
        findings: Vec::new(),
        tables: Vec::new(),
        not_observed: Vec::new(),
        note: String::new(),
        recorded: None,
        intervals: Vec::new(),
        ..summary.clone()
    }
}

/// Writes the summary and its columns.
pub(super) fn write_summary(
    connection: &Connection,
    run_id: i64,
    summary: &RunSummary,
) -> rusqlite::Result<()> {
    let latency = summary.latency();
    // Counters that an imported log does not contain are NULL.
    let unknown = unknown::counters(&summary.not_observed, Of::Run);
    let known = |name: &str| !unknown.contains(&name);
    let errors = known("errors_seen").then(|| summary.errors_seen());
    let mut value = serde_json::to_value(stripped(summary)).map_err(as_sqlite)?;
    unknown::forget_reversibly(&mut value, &summary.not_observed);
    connection.execute(
        "UPDATE run SET summary = ?2, started_unix_s = ?3, events = ?4, events_per_s = ?5,
             queries_per_s = ?6, errors = ?7, sessions = ?8,
             p95_ms = coalesce(?9, (SELECT coalesce(response_p95_ms, p95_ms) FROM total
                                    WHERE run_id = ?1 ORDER BY operation LIMIT 1)),
             p99_ms = coalesce(?10, (SELECT coalesce(response_p99_ms, p99_ms) FROM total
                                     WHERE run_id = ?1 ORDER BY operation LIMIT 1))
         WHERE id = ?1",
        params![
            run_id,
            json(&value)?,
            summary.started_unix_s,
            value["totals"]["events"].as_u64().map(whole),
            value["rates"]["events_per_s"].as_f64(),
            summary.rates.queries_per_s,
            errors.map(whole),
            summary.drive.as_ref().map(|drive| drive.sessions),
            latency.percentile_ms(95.0),
            latency.percentile_ms(99.0),
        ],
    )?;
    if !summary.target.product.is_empty() {
        write_target(connection, run_id, &summary.target)?;
    }
    connection.execute("DELETE FROM error WHERE run_id = ?1", [run_id])?;
    for (code, error) in &summary.errors {
        connection.execute(
            "INSERT INTO error (run_id, code, kind, count, sample) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                run_id,
                code,
                error.kind.name(),
                whole(error.count),
                error.sample
            ],
        )?;
    }
    for gap in &summary.not_observed {
        connection.execute(
            "INSERT OR REPLACE INTO not_observed (run_id, what, why) VALUES (?1, ?2, ?3)",
            params![run_id, gap.what, gap.why],
        )?;
    }
    Ok(())
}

fn note_failure(connection: &Connection, run_id: i64, why: &str) -> rusqlite::Result<()> {
    connection
        .execute(
            "INSERT INTO event (run_id, number, at_s, kind, text)
             SELECT ?1, coalesce(max(number) + 1, 0), 0, ?2, ?3 FROM event WHERE run_id = ?1",
            params![run_id, word(EventKind::Note)?, why],
        )
        .map(drop)
}
