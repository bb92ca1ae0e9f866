//! Background work of PostgreSQL.

use std::time::Duration;

use dyno_core::units::human_size;
use dyno_drivers::Control;

use super::{Look, Work, counted};
use crate::contract::ANSWER;

/// Bytes of WAL since the last checkpoint on an idle server.
const WAL_MAX: u64 = 16 << 20;
/// Bytes of WAL per second that count as idle.
const WAL_MOVES: u64 = 1 << 20;

/// The queries that the server's version supports.
pub(super) struct Counters {
    version: u32,
    /// Timeout of a checkpoint.
    limit: Duration,
    /// Why the checkpoint failed, if it did.
    refused: Option<String>,
    /// WAL since the last checkpoint at the previous sample.
    last_wal: u64,
}

impl Counters {
    /// Makes the server write a checkpoint, within `limit`.
    pub(super) fn begin(control: &mut Control, limit: Duration) -> Self {
        let version = one(control, "SELECT current_setting('server_version_num')");
        let version = version.ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        let limit = limit.max(ANSWER);
        let done = control.query("CHECKPOINT", limit);
        Self {
            version,
            limit,
            refused: done.err().map(|error| error.to_string()),
            last_wal: 0,
        }
    }
}

impl Look for Counters {
    fn look(&mut self, control: &mut Control) -> std::result::Result<Vec<Work>, String> {
        let workers = number(control, vacuum_workers(self.version))?;
        let due = number(control, &due_tables(self.version))?;
        let mut wal = number(control, wal_since_checkpoint(self.version))?;
        let is_written = wal.saturating_sub(self.last_wal) > WAL_MOVES;
        if wal > WAL_MAX && workers + due == 0 && !is_written && self.refused.is_none() {
            // For the writes of vacuum since then.
            let done = control.query("CHECKPOINT", self.limit);
            self.refused = done.err().map(|error| error.to_string());
            wal = number(control, wal_since_checkpoint(self.version))?;
        }
        self.last_wal = wal;
        let mut what = format!("{} of WAL since the last checkpoint", human_size(wal));
        if let Some(why) = &self.refused {
            what += &format!(", and requesting one failed: {why}");
        }
        let works = format!(
            "{} at work",
            counted(workers, "worker of autovacuum", "workers of autovacuum")
        );
        let tables = counted(due, "table of this database", "tables of this database");
        Ok(vec![
            Work::amount(wal, WAL_MAX, what),
            Work::activity(workers, 0, works),
            // They wait for autovacuum_naptime, which must not count as permanent.
            Work::activity(due, 0, format!("{tables} due for autovacuum")),
        ])
    }
}

fn wal_since_checkpoint(version: u32) -> &'static str {
    match version {
        100_000.. => {
            "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), redo_lsn)::bigint \
             FROM pg_control_checkpoint()"
        }
        // SQL cannot read the control file before 9.6.
        90_600.. => {
            "SELECT pg_xlog_location_diff(pg_current_xlog_location(), redo_location)::bigint \
             FROM pg_control_checkpoint()"
        }
        _ => "SELECT 0",
    }
}

fn vacuum_workers(version: u32) -> &'static str {
    match version {
        100_000.. => {
            "SELECT count(*) FROM pg_catalog.pg_stat_activity \
             WHERE backend_type = 'autovacuum worker'"
        }
        _ => {
            "SELECT count(*) FROM pg_catalog.pg_stat_activity \
             WHERE query LIKE 'autovacuum:%' AND pid <> pg_backend_pid()"
        }
    }
}

/// Tables whose dead, inserted or changed rows exceed the server's thresholds. Ignores thresholds
/// of single tables.
fn due_tables(version: u32) -> String {
    let limit = |what: &str, share: &str| {
        format!(
            "current_setting('autovacuum_{what}_threshold')::float8 + \
             current_setting('autovacuum_{share}_scale_factor')::float8 * \
             greatest(c.reltuples, 0)"
        )
    };
    let mut due = format!(
        "s.n_dead_tup > {} OR s.n_mod_since_analyze > {}",
        limit("vacuum", "vacuum"),
        limit("analyze", "analyze")
    );
    if version >= 130_000 {
        due += &format!(
            " OR (current_setting('autovacuum_vacuum_insert_threshold')::int >= 0 AND \
             s.n_ins_since_vacuum > {})",
            limit("vacuum_insert", "vacuum_insert")
        );
    }
    format!(
        "SELECT count(*) FROM pg_catalog.pg_stat_user_tables s \
         JOIN pg_catalog.pg_class c ON c.oid = s.relid \
         WHERE current_setting('autovacuum')::bool AND ({due})"
    )
}

fn one(control: &mut Control, sql: &str) -> std::result::Result<String, String> {
    let rows = control
        .query(sql, ANSWER)
        .map_err(|error| error.to_string())?;
    let first = rows
        .into_iter()
        .next()
        .and_then(|row| row.into_iter().next());
    Ok(first.flatten().unwrap_or_default())
}

/// A count; negative values become 0.
fn number(control: &mut Control, sql: &str) -> std::result::Result<u64, String> {
    let text = one(control, sql)?;
    match text.parse::<i64>() {
        Ok(number) => Ok(u64::try_from(number).unwrap_or(0)),
        Err(_) => Err(format!("the server answers '{text}' instead of a count")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_use_only_what_a_version_has() {
        assert!(wal_since_checkpoint(150_000).contains("pg_current_wal_lsn"));
        assert!(wal_since_checkpoint(90_624).contains("xlog"));
        assert!(!due_tables(120_000).contains("n_ins_since_vacuum"));
        assert!(due_tables(130_000).contains("n_ins_since_vacuum"));
        assert!(vacuum_workers(90_624).contains("autovacuum:%"));
    }
}
