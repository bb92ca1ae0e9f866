//! PostgreSQL's statistics, by version, and their series.

mod log;
#[cfg(test)]
mod tests;

use dyno_core::catalogue::names;

use crate::sink::{Gauge, Rate, SampleBuffer};

/// One subquery that returns one row.
pub(super) struct Part {
    /// The prefix of its series' names.
    pub what: &'static str,
    pub columns: Vec<Column>,
    /// The text after the columns: `FROM …`.
    from: &'static str,
    /// Whether it is too expensive for every sample.
    pub is_slow: bool,
}

pub(super) struct Column {
    expression: String,
    series: Series,
}

enum Series {
    Gauge(Gauge),
    Rate(Rate),
}

impl Column {
    fn seldom(mut self) -> Self {
        self.series = match self.series {
            Series::Gauge(gauge) => Series::Gauge(gauge.seldom()),
            Series::Rate(rate) => Series::Rate(rate.seldom()),
        };
        self
    }

    pub(super) fn put(&mut self, recorder: &mut SampleBuffer, value: f64) {
        match &mut self.series {
            Series::Gauge(gauge) => gauge.put(recorder, value),
            Series::Rate(rate) => drop(rate.put(recorder, value)),
        }
    }
}

impl Part {
    pub(super) fn sql(&self) -> String {
        let columns = self.columns.iter().enumerate();
        let columns = columns.map(|(index, column)| format!("{} AS c{index}", column.expression));
        let columns: Vec<String> = columns.collect();
        format!("SELECT {} {}", columns.join(", "), self.from)
    }

    pub(super) fn restart(&mut self) {
        for column in &mut self.columns {
            if let Series::Rate(rate) = &mut column.series {
                rate.restart();
            }
        }
    }

    pub(super) fn always_zero(&self) -> impl Iterator<Item = String> {
        self.columns.iter().filter_map(|column| {
            let name = match &column.series {
                Series::Gauge(gauge) => gauge.always_zero(),
                Series::Rate(rate) => rate.always_zero(),
            };
            name.map(str::to_owned)
        })
    }
}

/// The parts that a server supports, given the columns of its views (`pg_stat_wal.wal_bytes`).
pub(super) fn parts(has: &dyn Fn(&str) -> bool) -> Vec<Part> {
    let mut parts = vec![
        database(has),
        backends(),
        locks(),
        oldest(has),
        size(),
        tables(),
    ];
    parts.extend(checkpointer(has));
    parts.extend(background_writer(has));
    parts.extend(log::wal(has));
    parts.extend(log::wal_io(has));
    parts.extend(io(has));
    parts.extend(replication(has));
    parts
}

fn gauge(name: &str, unit: &str, source: &str, expression: &str) -> Column {
    Column {
        expression: expression.to_owned(),
        series: Series::Gauge(Gauge::new(name, unit, source)),
    }
}

fn rate(name: &str, unit: &str, source: &str, expression: &str) -> Column {
    Column {
        expression: expression.to_owned(),
        series: Series::Rate(Rate::new(name, unit, source)),
    }
}

fn database(has: &dyn Fn(&str) -> bool) -> Part {
    let source = "pg_stat_database";
    let counts = [
        "xact_commit",
        "xact_rollback",
        "blks_read",
        "blks_hit",
        "tup_returned",
        "tup_fetched",
        "tup_inserted",
        "tup_updated",
        "tup_deleted",
        "conflicts",
        "temp_files",
        "deadlocks",
    ];
    let count = |name: &&str| rate(&format!("db.database.{name}"), "count/s", source, name);
    let mut columns: Vec<Column> = counts.iter().map(count).collect();
    // Connections made, since PostgreSQL 14.
    if has("pg_stat_database.sessions") {
        columns.push(count(&"sessions"));
        let all = "(SELECT sum(sessions) FROM pg_catalog.pg_stat_database)";
        columns.push(rate(names::DB_SERVER_SESSIONS, "count/s", source, all));
    }
    columns.push(rate(
        names::DB_DATABASE_TEMP_BYTES,
        "bytes/s",
        source,
        "temp_bytes",
    ));
    columns.push(gauge(names::DB_BACKENDS, "count", source, "numbackends"));
    Part {
        what: names::DB_DATABASE,
        columns,
        from: "FROM pg_catalog.pg_stat_database WHERE datname = current_database()",
        is_slow: false,
    }
}

/// Active sessions by the type of their wait event.
const SESSIONS: [(&str, &str); 8] = [
    ("no_wait", "wait_event_type IS NULL"),
    ("lock", "wait_event_type = 'Lock'"),
    ("lwlock", "wait_event_type = 'LWLock'"),
    ("buffer", "wait_event_type IN ('BufferPin', 'Buffer')"),
    ("io", "wait_event_type = 'IO'"),
    ("client", "wait_event_type = 'Client'"),
    ("ipc", "wait_event_type = 'IPC'"),
    (
        "other",
        "wait_event_type NOT IN ('Lock', 'LWLock', 'BufferPin', 'Buffer', 'IO', 'Client', 'IPC')",
    ),
];

fn backends() -> Part {
    let count = |name: &str, filter: &str| {
        let expression = format!("count(*) FILTER (WHERE {filter})");
        gauge(
            &format!("db.backends.{name}"),
            "count",
            "pg_stat_activity",
            &expression,
        )
    };
    // Analogous to MySQL's sessions by state.
    let session = |(name, filter): (&str, &str)| {
        let expression = format!("count(*) FILTER (WHERE state = 'active' AND {filter})");
        let name = names::DB_SESSIONS_EACH.of(name);
        gauge(&name, "count", "pg_stat_activity", &expression)
    };
    let mut columns = vec![
        count("active", "state = 'active'"),
        count("waiting", "state = 'active' AND wait_event_type = 'Lock'"),
        count("idle_in_transaction", "state LIKE 'idle in transaction%'"),
    ];
    columns.extend(SESSIONS.map(session));
    Part {
        what: names::DB_BACKENDS,
        columns,
        from: "FROM pg_catalog.pg_stat_activity WHERE pid <> pg_backend_pid() \
               AND backend_type IN ('client backend', 'parallel worker')",
        is_slow: false,
    }
}

fn locks() -> Part {
    let count = |name: &str, filter: &str| {
        let expression = format!("count(*) FILTER (WHERE {filter})");
        gauge(
            &format!("db.locks.{name}"),
            "count",
            "pg_locks",
            &expression,
        )
    };
    Part {
        what: names::DB_LOCKS,
        columns: vec![count("granted", "granted"), count("waiting", "NOT granted")],
        from: "FROM pg_catalog.pg_locks WHERE pid IS DISTINCT FROM pg_backend_pid()",
        is_slow: false,
    }
}

/// Programs that make backups, by the name that they report.
const BACKUPS: &str = "application_name IN ('pg_basebackup', 'pg_dump', 'pg_dumpall') \
                       OR application_name LIKE 'pgBackRest%'";

fn oldest(has: &dyn Fn(&str) -> bool) -> Part {
    let age = "coalesce(max(age(backend_xmin)), 0)";
    let vacuums = "count(*) FILTER (WHERE backend_type = 'autovacuum worker')";
    // Since PostgreSQL 13, it lists base backups for any program.
    let listed = match has("pg_stat_progress_basebackup.pid") {
        true => " OR pid IN (SELECT pid FROM pg_catalog.pg_stat_progress_basebackup)",
        false => "",
    };
    let backups = format!("count(*) FILTER (WHERE {BACKUPS}{listed})");
    let source = "pg_stat_activity";
    Part {
        what: names::DB_OLDEST_XMIN,
        columns: vec![
            gauge(names::DB_OLDEST_XMIN_AGE, "count", source, age),
            gauge(names::DB_BACKENDS_AUTOVACUUM, "count", source, vacuums),
            gauge(names::DB_BACKUPS, "count", source, &backups),
        ],
        from: "FROM pg_catalog.pg_stat_activity WHERE pid <> pg_backend_pid()",
        is_slow: false,
    }
}

fn size() -> Part {
    let source = "pg_database_size";
    let expression = "pg_database_size(current_database())";
    Part {
        what: names::DB_DATABASE_SIZE,
        columns: vec![gauge(names::DB_DATABASE_SIZE, "bytes", source, expression).seldom()],
        from: "",
        is_slow: true,
    }
}

fn tables() -> Part {
    let source = "pg_stat_user_tables";
    let sum = |column: &str| format!("coalesce(sum({column}), 0)");
    let count = |name: &str, column: &str| gauge(name, "count", source, &sum(column)).seldom();
    let runs = sum("autovacuum_count");
    let scans = sum("coalesce(seq_scan, 0) + coalesce(idx_scan, 0)");
    Part {
        what: names::DB_TABLES,
        columns: vec![
            count(names::DB_TABLES_LIVE_TUPLES, "n_live_tup"),
            count(names::DB_TABLES_DEAD_TUPLES, "n_dead_tup"),
            rate(names::DB_TABLES_AUTOVACUUMS, "count/s", source, &runs).seldom(),
            rate(names::DB_TABLES_SCANS, "count/s", source, &scans).seldom(),
            rate(
                names::DB_TABLES_SEQ_SCANS,
                "count/s",
                source,
                &sum("seq_scan"),
            )
            .seldom(),
            rate(
                names::DB_TABLES_SEQ_TUPLES,
                "count/s",
                source,
                &sum("seq_tup_read"),
            )
            .seldom(),
        ],
        from: "FROM pg_catalog.pg_stat_user_tables",
        is_slow: true,
    }
}

/// Before PostgreSQL 17 the checkpointer's counters are the background writer's.
fn checkpointer(has: &dyn Fn(&str) -> bool) -> Option<Part> {
    let (source, from, names) = if has("pg_stat_checkpointer.num_timed") {
        let names = [
            "num_timed",
            "num_requested",
            "buffers_written",
            "write_time",
            "sync_time",
        ];
        (
            "pg_stat_checkpointer",
            "FROM pg_catalog.pg_stat_checkpointer",
            names,
        )
    } else if has("pg_stat_bgwriter.checkpoints_timed") {
        let names = [
            "checkpoints_timed",
            "checkpoints_req",
            "buffers_checkpoint",
            "checkpoint_write_time",
            "checkpoint_sync_time",
        ];
        (
            "pg_stat_bgwriter",
            "FROM pg_catalog.pg_stat_bgwriter",
            names,
        )
    } else {
        return None;
    };
    let [timed, requested, buffers, write, sync] = names;
    let count = |name: &str, column: &str| {
        rate(
            &format!("db.checkpointer.{name}"),
            "count/s",
            source,
            column,
        )
    };
    // Milliseconds, reported as seconds per second.
    let time = |name: &str, column: &str| {
        let expression = format!("{column} / 1000");
        rate(
            &format!("db.checkpointer.{name}"),
            "ratio",
            source,
            &expression,
        )
    };
    Some(Part {
        what: names::DB_CHECKPOINTER,
        columns: vec![
            count("timed", timed),
            count("requested", requested),
            count("buffers_written", buffers),
            time("write_time", write),
            time("sync_time", sync),
        ],
        from,
        is_slow: false,
    })
}

fn background_writer(has: &dyn Fn(&str) -> bool) -> Option<Part> {
    let source = "pg_stat_bgwriter";
    let names = [
        "buffers_clean",
        "maxwritten_clean",
        "buffers_alloc",
        // Until PostgreSQL 16.
        "buffers_backend",
        "buffers_backend_fsync",
    ];
    let known = names.iter().filter(|name| has(&format!("{source}.{name}")));
    let columns = known.map(|name| rate(&format!("db.bgwriter.{name}"), "count/s", source, name));
    let columns: Vec<Column> = columns.collect();
    (!columns.is_empty()).then_some(Part {
        what: names::DB_BGWRITER,
        columns,
        from: "FROM pg_catalog.pg_stat_bgwriter",
        is_slow: false,
    })
}

/// Since PostgreSQL 16. Before 18, a read, write or extension covered one block, whose size is a
/// column. From 18 on it may cover several, bytes are counted, and there are rows for the WAL.
fn io(has: &dyn Fn(&str) -> bool) -> Option<Part> {
    let source = "pg_stat_io";
    if !has("pg_stat_io.reads") {
        return None;
    }
    let sum = |what: &str| format!("coalesce(sum({what}), 0)");
    let of_blocks = has("pg_stat_io.op_bytes");
    let names = [
        ("reads", ["reads", "read_blocks"]),
        ("writes", ["writes", "written_blocks"]),
        ("extends", ["extends", "extended_blocks"]),
        ("hits", ["hits"; 2]),
        ("evictions", ["evictions"; 2]),
        ("fsyncs", ["fsyncs"; 2]),
        ("writebacks", ["writebacks"; 2]),
    ];
    let known = (names.iter()).filter(|(column, _)| has(&format!("{source}.{column}")));
    let count = |(column, names): &(&str, [&str; 2])| {
        let name = format!("db.io.{}", names[usize::from(of_blocks)]);
        rate(&name, "count/s", source, &sum(column))
    };
    let mut columns: Vec<Column> = known.map(count).collect();
    for (name, bytes, count) in [
        (names::DB_IO_READ_BYTES, "read_bytes", "reads"),
        (names::DB_IO_WRITE_BYTES, "write_bytes", "writes"),
        (names::DB_IO_EXTEND_BYTES, "extend_bytes", "extends"),
    ] {
        let expression = match (has(&format!("{source}.{bytes}")), of_blocks) {
            (true, _) => sum(bytes),
            (false, true) => sum(&format!("{count} * op_bytes")),
            (false, false) => continue,
        };
        columns.push(rate(name, "bytes/s", source, &expression));
    }
    Some(Part {
        what: names::DB_IO,
        columns,
        from: "FROM pg_catalog.pg_stat_io WHERE object <> 'wal'",
        is_slow: false,
    })
}

/// A replica's lag behind its source, and a source's largest lag of a replica. Backups also read
/// the log, but do not lag.
fn replication(has: &dyn Fn(&str) -> bool) -> Option<Part> {
    if !has("pg_stat_replication.replay_lag") {
        return None;
    }
    let source = "pg_stat_replication, pg_last_wal_replay_lsn()";
    // With a log shipped in files, the remaining amount is unknown. A replica that has received
    // nothing since it started has replayed more than it received.
    let lag = "CASE WHEN NOT pg_is_in_recovery() \
               THEN coalesce(extract(epoch FROM max(replay_lag)), 0) \
               WHEN pg_last_wal_receive_lsn() IS NULL THEN NULL \
               WHEN pg_last_wal_receive_lsn() <= pg_last_wal_replay_lsn() THEN 0 \
               ELSE extract(epoch FROM now() - pg_last_xact_replay_timestamp()) END";
    let behind = "CASE WHEN NOT pg_is_in_recovery() THEN coalesce(max(pg_wal_lsn_diff(\
                  CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_lsn() END, replay_lsn)), 0\
                  ) ELSE greatest(0, pg_wal_lsn_diff(pg_last_wal_receive_lsn(), \
                  pg_last_wal_replay_lsn())) END";
    Some(Part {
        what: names::DB_REPLICATION,
        columns: vec![
            gauge(names::DB_REPLICATION_LAG, "s", source, lag),
            gauge(names::DB_REPLICATION_BEHIND, "bytes", source, behind),
            gauge(names::DB_REPLICATION_REPLICAS, "count", source, "count(*)"),
        ],
        from: "FROM pg_catalog.pg_stat_replication WHERE state IN ('catchup', 'streaming')",
        is_slow: false,
    })
}
