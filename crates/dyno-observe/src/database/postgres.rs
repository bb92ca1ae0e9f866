//! PostgreSQL.

use std::collections::HashSet;

use dyno_core::Clock;
use dyno_core::catalogue::names;
use dyno_core::db::{DbError, Family};
use dyno_core::tables::tablespace;

use super::moves::Moves;
use super::others::{ACTIVITY, Others};
use super::statistics::{Part, parts};
use super::tables::{Schema, Stores, schema_of_postgres};
use super::{Asking, Collector, end_of, is_lost, pairs, refusal};
use crate::directories::ServerDirectory;
use crate::process::Claim;
use crate::sink::{Gauge, SampleBuffer};
use crate::text::{fraction, whole};

/// Minimum number of samples between queries of sizes and sums over all tables, for servers that
/// answer fast.
const SLOW_MIN: u64 = 2;
/// Maximum number of samples between those queries.
const SLOW_MAX: u64 = 10;
/// The wait grows by one sample for each multiple of this duration that an answer takes.
const SLOW_NS: u64 = 3_000_000;
const SETTINGS: &str = "SELECT name, current_setting(name, true) FROM pg_catalog.pg_settings";
/// Directories below the data directory that every commit needs, and the prefixes of their facts.
const DIRECTORIES: [(&str, &str); 4] = [
    (names::DATA_REDO, "pg_wal"),
    (names::DATA_GLOBAL, "global"),
    (names::DATA_TRANSACTIONS, "pg_xact"),
    (names::DATA_TRANSACTIONS, "pg_multixact"),
];
const NEEDS_MONITOR: &str = "GRANT pg_monitor TO the user of the target";

pub(super) struct Postgres {
    fast: Vec<Part>,
    slow: Vec<Part>,
    /// One statement for all parts.
    fast_sql: String,
    slow_sql: String,
    uptime: Gauge,
    started_unix_s: Option<f64>,
    data_directory: Option<String>,
    elsewhere: Vec<ServerDirectory>,
    others: Others,
    moves: Moves,
    samples: u64,
    /// The next sample with the slow statement.
    slow_at: u64,
    /// Whether this database has pg_stat_statements.
    counts_statements: bool,
    stores: Stores,
    schema: Schema,
}

impl Postgres {
    pub(super) fn new(several: bool) -> Self {
        Self {
            fast: Vec::new(),
            slow: Vec::new(),
            fast_sql: String::new(),
            slow_sql: String::new(),
            uptime: Gauge::new(names::DB_UPTIME, "s", "pg_postmaster_start_time()"),
            started_unix_s: None,
            data_directory: None,
            elsewhere: Vec::new(),
            others: Others::new(&ACTIVITY, several),
            moves: Moves::new(SETTINGS),
            samples: 0,
            slow_at: 0,
            counts_statements: false,
            stores: Stores::default(),
            schema: Schema::default(),
        }
    }

    /// Finds out which statistics this server has and permits.
    fn prepare(&mut self, asking: &mut Asking<'_>) -> Result<(), DbError> {
        let sql = "SELECT c.relname, a.attname FROM pg_catalog.pg_attribute a \
                   JOIN pg_catalog.pg_class c ON c.oid = a.attrelid \
                   WHERE c.relnamespace = 'pg_catalog'::regnamespace AND a.attnum > 0 \
                   AND c.relname LIKE 'pg\\_stat\\_%'";
        let rows = asking.rows_or_gap("db", sql, "")?;
        let mut columns = HashSet::new();
        for row in rows {
            if let [Some(relation), Some(column)] = row.as_slice() {
                columns.insert(format!("{relation}.{column}"));
            }
        }
        let has = |column: &str| columns.contains(column);
        for part in parts(&has) {
            let sql = statement(std::slice::from_ref(&part));
            match asking.control.query(&sql, asking.timeout) {
                Ok(_) if part.is_slow => self.slow.push(part),
                Ok(_) => self.fast.push(part),
                Err(error) if is_lost(&error) => return Err(error),
                Err(error) => asking.sink.gap(part.what, refusal(&error, NEEDS_MONITOR)),
            }
        }
        self.fast_sql = statement(&self.fast);
        self.slow_sql = statement(&self.slow);
        Ok(())
    }

    fn settings(&mut self, asking: &mut Asking<'_>, at_end: bool) -> Result<(), DbError> {
        let rows = asking.rows_or_gap("settings", SETTINGS, NEEDS_MONITOR)?;
        for (name, value) in pairs(rows) {
            self.moves.know(&name, &value);
            asking.setting(&name, &value, at_end);
        }
        Ok(())
    }

    /// The server's statement counts, at one end of the observation.
    fn counts(&mut self, asking: &mut Asking<'_>, at_end: bool) -> Result<(), DbError> {
        let end = end_of(at_end);
        if at_end {
            await_sessions(asking)?;
        }
        if self.counts_statements {
            let sql = "SELECT sum(calls)::bigint FROM pg_stat_statements";
            let count = asking.one_or_gap(names::SERVER_STATEMENTS, sql, NEEDS_MONITOR)?;
            let source = "sum(calls) of pg_stat_statements, all databases";
            asking.fact(&format!("server.statements.{end}"), count, source);
        }
        let sql = "SELECT xact_commit FROM pg_catalog.pg_stat_database \
                   WHERE datname = current_database()";
        let commits = asking.one_or_gap(names::SERVER_COMMITS, sql, "")?;
        let source = "pg_stat_database.xact_commit of this database";
        asking.fact(&format!("server.commits.{end}"), commits, source);
        let sql = "SELECT extract(epoch FROM now() - pg_postmaster_start_time())";
        let uptime = asking.one_or_gap(names::SERVER_UPTIME_S, sql, "")?;
        let source = "pg_postmaster_start_time()";
        asking.fact(&format!("server.uptime_s.{end}"), uptime, source);
        Ok(())
    }

    fn introduce(&mut self, asking: &mut Asking<'_>) -> Result<(), DbError> {
        let version = asking.one("SHOW server_version")?;
        asking.fact(names::SERVER_VERSION, version, "server_version");
        let comment = asking.one("SELECT version()")?;
        asking.fact(names::SERVER_VERSION_COMMENT, comment, "version()");
        let debug = asking.one_or_gap(names::SERVER_BUILD, "SHOW debug_assertions", "")?;
        let build = match debug.as_deref() {
            Some("off") => "release",
            Some("on") => "debug",
            _ => "unknown",
        };
        asking
            .sink
            .fact(names::SERVER_BUILD, build, "debug_assertions");
        let sql = "SELECT current_setting('data_directory')";
        let directory = asking.one_or_gap(names::SERVER_DATA_DIRECTORY, sql, NEEDS_MONITOR)?;
        self.data_directory = directory.clone();
        asking.fact(names::SERVER_DATA_DIRECTORY, directory, "data_directory");
        self.elsewhere = elsewhere(asking)?;
        let sql = "SELECT coalesce(nullif(concat_ws(' ', nullif(current_setting(\
                   'shared_preload_libraries', true), ''), (SELECT string_agg(extname, ' ' ORDER \
                   BY extname) FROM pg_extension)), ''), 'none')";
        let source = "shared_preload_libraries, pg_extension";
        asking.fact_or_gap(names::SERVER_PLUGINS, sql, "", source)?;
        let sql = "SELECT extract(epoch FROM pg_postmaster_start_time())";
        let source = "pg_postmaster_start_time()";
        asking.fact_or_gap(names::SERVER_START_TIME, sql, "", source)?;
        let sql = "SELECT count(*) FROM pg_catalog.pg_stat_activity a \
                   WHERE coalesce(to_jsonb(a) ->> 'backend_type', 'client backend') \
                   = 'client backend' AND pid <> pg_backend_pid()";
        let fact = names::SERVER_THREADS_CONNECTED_START;
        asking.fact_or_gap(fact, sql, NEEDS_MONITOR, "pg_stat_activity")?;
        let sql = "SELECT coalesce(nullif(concat_ws(', ', CASE WHEN pg_is_in_recovery() THEN \
                   'replica' END, CASE count(*) WHEN 0 THEN NULL WHEN 1 THEN 'source of 1 replica' \
                   ELSE format('source of %s replicas', count(*)) END), ''), 'none') \
                   FROM pg_catalog.pg_stat_replication WHERE state IN ('catchup', 'streaming')";
        let source = "pg_is_in_recovery(), pg_stat_replication";
        asking.fact_or_gap(names::SERVER_REPLICATION, sql, NEEDS_MONITOR, source)?;
        let sql = "SELECT count(*) FROM pg_extension WHERE extname = 'pg_stat_statements'";
        self.counts_statements = asking.one(sql)?.as_deref() == Some("1");
        if !self.counts_statements {
            let why = "PostgreSQL counts statements only with the extension pg_stat_statements in \
                       the target's database";
            asking.sink.gap(names::SERVER_STATEMENTS, why);
        }
        let sql = "SELECT pg_has_role(current_user, 'pg_monitor', 'USAGE')";
        if asking.one_or_gap(names::DB_PRIVILEGES, sql, "")?.as_deref() == Some("f") {
            let why = format!(
                "the target's user cannot see other users' session states and some settings: \
                 {NEEDS_MONITOR}"
            );
            asking.sink.gap(names::DB_BACKENDS, why.clone());
            asking.sink.gap("settings.hidden", why);
        }
        Ok(())
    }
}

impl Collector for Postgres {
    fn report(&mut self, asking: &mut Asking<'_>, at_end: bool) -> Result<(), DbError> {
        if !at_end {
            self.introduce(asking)?;
        }
        self.counts(asking, at_end)?;
        if at_end {
            self.others.report(asking);
        }
        self.settings(asking, at_end)?;
        if at_end {
            self.stores
                .compare(asking, super::tables::STORES_OF_POSTGRES)?;
            let source = "pg_index, pg_attribute";
            self.schema.compare(asking, &schema_of_postgres(), source)?;
        }
        if !at_end {
            (self.fast, self.slow) = (Vec::new(), Vec::new());
            self.prepare(asking)?;
        }
        Ok(())
    }

    fn tables(&mut self, asking: &mut Asking<'_>) -> Result<Vec<ServerDirectory>, DbError> {
        self.stores = super::tables::of_postgres(asking)?;
        self.schema = Schema::of(asking, &self.stores, &schema_of_postgres())?;
        Ok(Vec::new())
    }

    fn sample(
        &mut self,
        asking: &mut Asking<'_>,
        recorder: &mut SampleBuffer,
    ) -> Result<(), DbError> {
        let asked_at = Clock.now();
        asking.control.ask(&self.fast_sql, asking.timeout)?;
        let answered_at = Clock.now();
        recorder.begin(asked_at + (answered_at - asked_at) / 2);
        let fast = &mut self.fast;
        asking.control.take(asking.timeout, |row| {
            put_all(fast, recorder, |index| row.field(index).and_then(fraction));
        })?;
        if let Some(started) = self.started_unix_s {
            let now_s = dyno_core::clock::wall_time().as_secs_f64();
            self.uptime.put(recorder, now_s - started);
        }
        self.others.sample(asking, recorder)?;
        // Global settings are read from files.
        let sql = "SELECT extract(epoch FROM pg_conf_load_time())";
        if let Some(loaded) = asking.one(sql)?.and_then(|text| fraction(text.as_bytes())) {
            self.moves.mark(loaded);
        }
        self.moves.sample(asking)?;
        if self.samples >= self.slow_at && !self.slow.is_empty() {
            let asked_at = Clock.now();
            let slow = &mut self.slow;
            asking.control.read(&self.slow_sql, asking.timeout, |row| {
                put_all(slow, recorder, |index| row.field(index).and_then(fraction));
            })?;
            let answers = (Clock.now() - asked_at) / SLOW_NS;
            self.slow_at = self.samples + (SLOW_MIN + answers).min(SLOW_MAX);
        }
        self.samples += 1;
        Ok(())
    }

    fn claim(&mut self, asking: &mut Asking<'_>) -> Result<Claim, DbError> {
        // A process that crashes takes down all others except the postmaster. Users without
        // privileges do not see the checkpointer's start. The view has this column since version
        // 10.
        let sql = "SELECT pg_backend_pid(), \
                   extract(epoch FROM now() - pg_postmaster_start_time()), \
                   (SELECT extract(epoch FROM now() - min(backend_start)) \
                   FROM pg_catalog.pg_stat_activity a \
                   WHERE to_jsonb(a) ->> 'backend_type' = 'checkpointer')";
        let rows = asking.control.query(sql, asking.timeout)?;
        let row = rows.into_iter().next().unwrap_or_default();
        let field = |index: usize| row.get(index).and_then(Option::as_deref).map(str::as_bytes);
        let age_s = field(1).and_then(fraction);
        let now_s = dyno_core::clock::wall_time().as_secs_f64();
        self.started_unix_s = age_s.map(|age_s| now_s - age_s);
        Ok(Claim {
            family: Family::Postgres,
            backend: field(0).and_then(whole).and_then(|pid| pid.try_into().ok()),
            age_s,
            sound_s: field(2).and_then(fraction),
            data_directory: self.data_directory.clone(),
            elsewhere: self.elsewhere.clone(),
        })
    }

    fn begin(&mut self) {
        self.moves.begin();
    }

    fn restart(&mut self) {
        self.moves.restart();
        for part in self.fast.iter_mut().chain(&mut self.slow) {
            part.restart();
        }
    }

    fn always_zero(&self) -> Vec<String> {
        let parts = self.fast.iter().chain(&self.slow);
        let mut names: Vec<String> = parts.flat_map(Part::always_zero).collect();
        names.sort();
        names
    }
}

/// The directories of the log, of the database and of the files that all databases share, which may
/// be links, and those of tablespaces. The database may be in a tablespace.
fn elsewhere(asking: &mut Asking<'_>) -> Result<Vec<ServerDirectory>, DbError> {
    let sql = "SELECT t.spcname, pg_tablespace_location(t.oid), EXISTS (\
               SELECT FROM pg_catalog.pg_database d WHERE d.datname = current_database() \
               AND d.dattablespace = t.oid) FROM pg_catalog.pg_tablespace t \
               WHERE pg_tablespace_location(t.oid) <> ''";
    let place = |what: String, path: &str| ServerDirectory {
        what,
        path: path.into(),
    };
    let mut places: Vec<ServerDirectory> = DIRECTORIES
        .iter()
        .map(|(what, path)| place((*what).to_owned(), path))
        .collect();
    // A path below the data directory: `base/5/1259`.
    let file = "SELECT pg_relation_filepath('pg_catalog.pg_class')";
    let file = asking.one_or_gap(names::DATA_DATABASE, file, "")?;
    if let Some((folder, _)) = file.as_deref().and_then(|file| file.rsplit_once('/')) {
        places.push(place(names::DATA_DATABASE.to_owned(), folder));
    }
    for row in asking.rows_or_gap(names::DATA_TABLESPACES, sql, "")? {
        let [Some(name), Some(path), Some(is_default)] = row.as_slice() else {
            continue;
        };
        places.push(place(tablespace(name), path));
        if is_default == "t" {
            places.push(place(names::DATA_DATABASE.to_owned(), path));
        }
    }
    Ok(places)
}

/// Waits until the server has ended the run's sessions, which takes a few milliseconds and
/// completes their statistics. Other sessions with the same name may stay, so there is a timeout.
fn await_sessions(asking: &mut Asking<'_>) -> Result<(), DbError> {
    const ATTEMPTS: u32 = 25;
    const PAUSE: std::time::Duration = std::time::Duration::from_millis(20);
    let sql = "SELECT count(*) FROM pg_catalog.pg_stat_activity \
               WHERE datname = current_database() AND pid <> pg_backend_pid() \
               AND application_name = current_setting('application_name')";
    for _ in 0..ATTEMPTS {
        match asking
            .one_or_gap(names::SERVER_SESSIONS, sql, "")?
            .as_deref()
        {
            Some("0") | None => break,
            Some(_) => std::thread::sleep(PAUSE),
        }
    }
    Ok(())
}

/// A query for one row with the columns of all parts.
fn statement(parts: &[Part]) -> String {
    let mut columns = Vec::new();
    let mut joins = String::new();
    for (index, part) in parts.iter().enumerate() {
        columns.extend((0..part.columns.len()).map(|column| format!("p{index}.c{column}")));
        joins.push_str(&format!(" LEFT JOIN ({}) p{index} ON true", part.sql()));
    }
    if columns.is_empty() {
        columns.push("1".to_owned());
    }
    format!("SELECT {} FROM (SELECT 1) base{joins}", columns.join(", "))
}

fn put_all(parts: &mut [Part], recorder: &mut SampleBuffer, field: impl Fn(usize) -> Option<f64>) {
    let mut index = 0;
    for part in parts {
        for column in &mut part.columns {
            if let Some(value) = field(index) {
                column.put(recorder, value);
            }
            index += 1;
        }
    }
}
