//! Statement statistics by digest, read before and after a measurement.

use std::collections::BTreeMap;
use std::time::Duration;

use dyno_core::db::{DbError, Family};
use dyno_core::redact;
use dyno_core::summary::{DigestSummary, DigestsSummary};
use dyno_core::text::sql_string;
use dyno_drivers::Control;

/// The longest digest text kept, in bytes.
const TEXT_MAX: usize = 1_024;

const MYSQL: &str = "performance_schema.events_statements_summary_by_digest";
const POSTGRES: &str = "pg_stat_statements";

/// The counters of a digest.
#[derive(Clone, Debug, Default)]
struct Counted {
    figures: DigestSummary,
    /// When it was first seen, as printed by the server.
    since: String,
}

/// All digests of the target's database at one time.
#[derive(Clone, Debug, Default)]
pub struct Digests {
    source: &'static str,
    by_key: BTreeMap<String, Counted>,
    elsewhere: u64,
    /// Executions not assigned to a digest, for lack of room or privileges.
    nameless: u64,
    /// When all were reset, as printed by the server.
    reset: Option<String>,
    /// The number of times that digests were dropped.
    dropped: Option<u64>,
    /// Executions of prepared statements without a digest: MariaDB's in the binary protocol.
    prepared: Option<u64>,
}

impl Digests {
    /// Reads the digests.
    ///
    /// # Errors
    /// Why they cannot be read, and what to do, as a sentence for the user.
    pub fn read(control: &mut Control, family: Family, timeout: Duration) -> Result<Self, String> {
        match family {
            Family::Mysql => mysql(control, timeout),
            Family::Postgres => postgres(control, timeout),
            Family::Sqlite => Err("SQLite keeps no statement digests.".to_owned()),
        }
    }

    /// The counts since `before`, those with the most time first. Counts are never negative: a
    /// digest that was reset in between counts from the reset, with a note.
    pub fn since(self, before: &Self) -> DigestsSummary {
        let mut summary = DigestsSummary {
            source: self.source.to_owned(),
            elsewhere_count: self.elsewhere.saturating_sub(before.elsewhere),
            ..DigestsSummary::default()
        };
        let is_reset = self.reset != before.reset;
        let lost = before.by_key.keys();
        let lost = lost.filter(|key| !self.by_key.contains_key(*key)).count();
        let mut anew = 0;
        for (key, after) in self.by_key {
            let since = before.by_key.get(&key).filter(|_| !is_reset);
            let whole = since.is_none_or(|since| after.began_after(since));
            anew += usize::from(since.is_some() && whole);
            let figures = match since.filter(|_| !whole) {
                Some(since) => after.less(since),
                None => after.figures,
            };
            if figures.count > 0 {
                summary.digests.push(figures);
            }
        }
        if is_reset || anew > 0 || lost > 0 {
            summary.notes.push(format!(
                "The server's digests were reset or dropped during the run ({source}), so they \
                 count too few executions. Do not reset them during a run, or raise {room}.",
                source = self.source,
                room = room(self.source)
            ));
        } else if self.dropped > before.dropped {
            summary.notes.push(format!(
                "The server dropped digests because their table was full: raise {}.",
                room(self.source)
            ));
        }
        let nameless = self.nameless.saturating_sub(before.nameless);
        if nameless > 0 {
            summary.notes.push(format!(
                "{nameless} executions belong to no digest visible to this user: raise {}, or \
                 grant the user {}.",
                room(self.source),
                privilege(self.source)
            ));
        }
        let prepared = self.prepared.zip(before.prepared);
        let prepared = prepared.map_or(0, |(after, before)| after.saturating_sub(before));
        if prepared > 0 {
            summary.notes.push(format!(
                "{prepared} executions of prepared statements have no digest: MariaDB keeps none \
                 for them. Run with --ps-mode disable to see them as text."
            ));
        }
        if summary.digests.is_empty() && prepared == 0 {
            summary.notes.push(format!(
                "The server counted no statement of this database in {}: check that it is enabled \
                 ({}).",
                self.source,
                switch(self.source)
            ));
        }
        summary
            .digests
            .sort_by(|one, two| two.total_ms.total_cmp(&one.total_ms));
        summary
    }
}

impl Counted {
    fn began_after(&self, before: &Self) -> bool {
        self.since != before.since
            || self.figures.count < before.figures.count
            || self.figures.rows < before.figures.rows
    }

    fn less(self, before: &Self) -> DigestSummary {
        let (after, before) = (self.figures, &before.figures);
        let less = |after: Option<u64>, before: Option<u64>| Some(after?.saturating_sub(before?));
        DigestSummary {
            count: after.count.saturating_sub(before.count),
            total_ms: (after.total_ms - before.total_ms).max(0.0),
            rows: after.rows.saturating_sub(before.rows),
            rows_examined: less(after.rows_examined, before.rows_examined),
            no_index: less(after.no_index, before.no_index),
            disk_tables: less(after.disk_tables, before.disk_tables),
            ..after
        }
    }
}

fn room(source: &str) -> &'static str {
    match source {
        MYSQL => "performance_schema_digests_size",
        _ => "pg_stat_statements.max",
    }
}

fn privilege(source: &str) -> &'static str {
    match source {
        MYSQL => "SELECT on performance_schema.*",
        _ => "the role pg_read_all_stats",
    }
}

fn switch(source: &str) -> &'static str {
    match source {
        MYSQL => "the consumer statements_digest in performance_schema.setup_consumers",
        _ => "pg_stat_statements.track",
    }
}

fn mysql(control: &mut Control, timeout: Duration) -> Result<Digests, String> {
    let ask = |control: &mut Control, sql: &str| {
        (control.query(sql, timeout)).map_err(|error| refused(&error, MYSQL))
    };
    let on = ask(control, "SELECT @@performance_schema")?;
    if first(&on).as_deref() != Some("1") {
        return Err(
            "The server keeps no statement digests because performance_schema is OFF: start it \
             with performance_schema=ON."
                .to_owned(),
        );
    }
    // In picoseconds.
    let sql = format!(
        "SELECT DIGEST, COALESCE(SCHEMA_NAME <=> DATABASE(), 0), LEFT(DIGEST_TEXT, {TEXT_MAX}), \
         COUNT_STAR, SUM_TIMER_WAIT / 1e9, SUM_ROWS_SENT + SUM_ROWS_AFFECTED, SUM_ROWS_EXAMINED, \
         SUM_NO_INDEX_USED, SUM_CREATED_TMP_DISK_TABLES, FIRST_SEEN FROM {MYSQL}"
    );
    let mut found = Digests {
        source: MYSQL,
        ..Digests::default()
    };
    for row in ask(control, &sql)? {
        let count = whole(&row, 3).unwrap_or(0);
        match (text(&row, 0), whole(&row, 1)) {
            (None, _) => found.nameless += count,
            (Some(_), Some(0)) => found.elsewhere += count,
            (Some(key), _) => found.put(key, &row, text(&row, 9).unwrap_or_default()),
        }
    }
    // Executions by a text EXECUTE have a digest.
    let sql = "SELECT SUM(CASE VARIABLE_NAME WHEN 'COM_STMT_EXECUTE' THEN VARIABLE_VALUE ELSE \
               -VARIABLE_VALUE END) FROM information_schema.GLOBAL_STATUS \
               WHERE VARIABLE_NAME IN ('COM_STMT_EXECUTE', 'COM_EXECUTE_SQL')";
    let version = first(&ask(control, "SELECT VERSION()")?);
    if version.is_some_and(|version| version.contains("MariaDB")) {
        let count = first(&ask(control, sql)?).and_then(|count| count.parse::<f64>().ok());
        found.prepared = count.map(|count| count.max(0.0) as u64);
    }
    Ok(found)
}

fn postgres(control: &mut Control, timeout: Duration) -> Result<Digests, String> {
    let ask = |control: &mut Control, sql: &str| {
        (control.query(sql, timeout)).map_err(|error| refused(&error, POSTGRES))
    };
    let sql = "SELECT quote_ident(n.nspname) FROM pg_catalog.pg_extension e \
               JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace \
               WHERE e.extname = 'pg_stat_statements'";
    let Some(schema) = first(&ask(control, sql)?) else {
        return Err(
            "The server keeps no statement digests here because the target's database lacks the \
             extension pg_stat_statements: add it to shared_preload_libraries, and run CREATE \
             EXTENSION pg_stat_statements there."
                .to_owned(),
        );
    };
    let view = format!("{schema}.pg_stat_statements");
    let sql = format!(
        "SELECT attname FROM pg_catalog.pg_attribute WHERE attnum > 0 \
         AND attrelid = {}::regclass",
        sql_string(&view)
    );
    let rows = ask(control, &sql)?;
    let has = |name: &str| rows.iter().any(|row| text(row, 0).as_deref() == Some(name));
    // Planning has a separate time since version 13.
    let time = ["total_time", "total_exec_time"][usize::from(has("total_exec_time"))];
    let since = ["''", "min(stats_since)"][usize::from(has("stats_since"))];
    let sql = format!(
        "SELECT queryid, (dbid = (SELECT oid FROM pg_catalog.pg_database \
         WHERE datname = current_database()))::int, left(max(query), {TEXT_MAX}), sum(calls), \
         sum({time}), sum(rows), NULL, NULL, NULL, {since} FROM {view} GROUP BY 1, 2"
    );
    let mut found = Digests {
        source: POSTGRES,
        ..Digests::default()
    };
    for row in ask(control, &sql)? {
        let count = whole(&row, 3).unwrap_or(0);
        match (text(&row, 0), whole(&row, 1)) {
            (_, Some(0)) => found.elsewhere += count,
            (None, _) => found.nameless += count,
            (Some(key), _) => found.put(key, &row, text(&row, 9).unwrap_or_default()),
        }
    }
    // Since version 14.
    let sql = format!("SELECT stats_reset, dealloc FROM {schema}.pg_stat_statements_info");
    if let Ok(rows) = control.query(&sql, timeout)
        && let Some(row) = rows.first()
    {
        found.reset = text(row, 0);
        found.dropped = whole(row, 1);
    }
    Ok(found)
}

impl Digests {
    fn put(&mut self, key: String, row: &[Option<String>], since: String) {
        let figures = DigestSummary {
            text: redact::text(&text(row, 2).unwrap_or_default()),
            shape: None,
            merged: 1,
            count: whole(row, 3).unwrap_or(0),
            total_ms: text(row, 4).and_then(|ms| ms.parse().ok()).unwrap_or(0.0),
            rows: whole(row, 5).unwrap_or(0),
            rows_examined: whole(row, 6),
            no_index: whole(row, 7),
            disk_tables: whole(row, 8),
        };
        self.by_key.insert(key, Counted { figures, since });
    }
}

fn refused(error: &DbError, source: &str) -> String {
    format!(
        "Cannot read the server's statement digests: {error}; the user needs {}.",
        privilege(source)
    )
}

fn first(rows: &[Vec<Option<String>>]) -> Option<String> {
    text(rows.first()?, 0)
}

fn text(row: &[Option<String>], field: usize) -> Option<String> {
    row.get(field)?.clone()
}

fn whole(row: &[Option<String>], field: usize) -> Option<u64> {
    row.get(field)?.as_deref()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digests(reset: &str, rows: &[(&str, u64, &str)]) -> Digests {
        let mut found = Digests {
            source: POSTGRES,
            reset: Some(reset.to_owned()),
            ..Digests::default()
        };
        for (key, count, since) in rows {
            let some = |text: String| Some(text);
            let row = vec![
                None,
                None,
                some(format!("SELECT {key}")),
                some(count.to_string()),
                some(format!("{}.5", count * 2)),
                some(count.to_string()),
            ];
            found.put((*key).to_owned(), &row, (*since).to_owned());
        }
        found
    }

    fn counts(summary: &DigestsSummary) -> Vec<(&str, u64)> {
        let digests = summary.digests.iter();
        digests.map(|one| (one.text.as_str(), one.count)).collect()
    }

    #[test]
    fn reports_counts_since_the_first_reading() {
        let before = digests("", &[("a", 5, "t"), ("b", 7, "t")]);
        let after = digests("", &[("a", 25, "t"), ("b", 7, "t"), ("c", 30, "t")]);
        let summary = after.since(&before);
        assert_eq!(counts(&summary), [("SELECT c", 30), ("SELECT a", 20)]);
        assert_eq!(summary.digests[1].total_ms, 40.0);
        assert_eq!(summary.notes, [""; 0]);
    }

    #[test]
    fn prepared_executions_without_a_digest_are_counted() {
        let with = |prepared, rows: &[(&str, u64, &str)]| Digests {
            source: MYSQL,
            prepared: Some(prepared),
            ..digests("", rows)
        };
        let summary = with(1_040, &[]).since(&with(40, &[]));
        assert_eq!(summary.notes.len(), 1, "{summary:?}");
        assert!(
            summary.notes[0].starts_with("1000 executions of prepared"),
            "{summary:?}"
        );
        // Nothing was executed: the digests may be switched off.
        let summary = with(40, &[]).since(&with(40, &[]));
        assert!(
            summary.notes[0].contains("statements_digest"),
            "{summary:?}"
        );
    }

    #[test]
    fn reports_a_reset_and_no_negative_counts() {
        let before = digests("", &[("a", 5, "t"), ("b", 7, "t")]);
        for after in [
            digests("today", &[("a", 6, "t"), ("b", 9, "t")]),
            digests("", &[("a", 6, "u"), ("b", 9, "u")]),
        ] {
            let summary = after.since(&before);
            assert_eq!(counts(&summary), [("SELECT b", 9), ("SELECT a", 6)]);
            assert!(summary.notes[0].contains("reset or dropped"), "{summary:?}");
        }
        let summary = digests("", &[("b", 3, "t")]).since(&before);
        assert_eq!(counts(&summary), [("SELECT b", 3)]);
        assert!(summary.notes[0].contains("reset or dropped"), "{summary:?}");
        // If nothing was counted, the note says how to switch it on.
        let summary = before.clone().since(&before);
        assert!(summary.notes[0].contains("pg_stat_statements.track"));
    }
}
