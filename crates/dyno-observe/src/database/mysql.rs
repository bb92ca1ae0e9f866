//! MySQL and MariaDB.

use std::collections::HashMap;

use dyno_core::Clock;
use dyno_core::catalogue::names;
use dyno_core::clock::Nanos;
use dyno_core::db::{DbError, Family, Row, ServerInfo};

use super::build::build;
use super::moves::{Moves, STATES, VARIABLES};
use super::others::{Others, PROCESSLIST};
use super::replication::Replication;
use super::states::States;
use super::status::{class_of, metric_class, rocksdb_class};
use super::tables::{Schema, Stores, schema_of_mysql};
use super::variables::Table;
use super::{Asking, Collector, elsewhere, end_of, is_lost, pairs, refusal};
use crate::directories::ServerDirectory;
use crate::process::Claim;
use crate::sink::{Gauge, SampleBuffer};
use crate::text::fraction;

const STATUS: &str = "SHOW GLOBAL STATUS";
const METRICS: &str = "information_schema.INNODB_METRICS";
const SCHEMA: &str = "information_schema.STATISTICS, information_schema.COLUMNS";
/// The server opens each binary log file to list it. After a list, pause for this many times as
/// long as it took, so that lists take a hundredth of the time.
const LIST_PAUSES: u64 = 100;
const NEEDS_PROCESS: &str = "GRANT PROCESS ON *.* TO the user of the target";

pub(super) struct Mysql {
    is_mariadb: bool,
    status: Table,
    metrics: Option<Table>,
    history: Gauge,
    has_binlog: bool,
    binlog: Gauge,
    data_directory: Option<String>,
    elsewhere: Vec<ServerDirectory>,
    age_s: Option<f64>,
    uptime: Gauge,
    states: States,
    others: Others,
    /// When to list the binary log's files again.
    binlog_at: Nanos,
    moves: Moves,
    replication: Replication,
    stores: Stores,
    schema: Schema,
}

impl Mysql {
    pub(super) fn new(server: &ServerInfo, several: bool) -> Self {
        Self {
            is_mariadb: server.product == "MariaDB",
            status: Table::default(),
            metrics: Some(Table::default()),
            history: Gauge::new(names::DB_INNODB_HISTORY_LIST_LENGTH, "count", STATUS),
            has_binlog: false,
            binlog: Gauge::new(names::DB_BINLOG_SIZE, "bytes", "SHOW BINARY LOGS").seldom(),
            data_directory: None,
            elsewhere: Vec::new(),
            age_s: None,
            uptime: Gauge::new(names::DB_UPTIME, "s", STATUS),
            states: States::new(),
            others: Others::new(&PROCESSLIST, several),
            binlog_at: 0,
            moves: Moves::new(VARIABLES),
            replication: Replication::new(server.product == "MariaDB"),
            stores: Stores::default(),
            schema: Schema::default(),
        }
    }

    fn settings(&mut self, asking: &mut Asking<'_>, at_end: bool) -> Result<(), DbError> {
        let mut rows = asking.rows_or_gap("settings", VARIABLES, "")?;
        if !self.is_mariadb {
            rows.extend(states(asking)?);
        }
        let mut found = HashMap::new();
        for (name, value) in pairs(rows) {
            asking.setting(&name, &value, at_end);
            self.moves.know(&name, &value);
            found.insert(name, value);
        }
        if at_end {
            return Ok(());
        }
        let variable = |name: &str| found.get(name).cloned();
        self.data_directory = variable("datadir");
        self.elsewhere = elsewhere::of_settings(variable);
        let is_on = |name: &str| variable(name).as_deref() == Some("ON");
        self.has_binlog = is_on("log_bin");
        // If it is off, its tables exist but are empty.
        if is_on("performance_schema") && !self.is_mariadb {
            self.states.read_threads();
        }
        for (fact, name) in [
            (names::SERVER_VERSION, "version"),
            (names::SERVER_VERSION_COMMENT, "version_comment"),
            (names::SERVER_DATA_DIRECTORY, "datadir"),
        ] {
            asking.fact(fact, variable(name), &format!("@@{name}"));
        }
        let version = variable("version").unwrap_or_default();
        let comment = variable("version_comment").unwrap_or_default();
        // The variable `debug` exists only in debug builds.
        let build = build(&version, &comment, found.contains_key("debug"));
        let source = "@@version, @@version_comment, @@debug";
        asking.sink.fact(names::SERVER_BUILD, build, source);
        Ok(())
    }

    fn plugins(asking: &mut Asking<'_>) -> Result<(), DbError> {
        let sql = "SELECT PLUGIN_NAME FROM information_schema.PLUGINS \
                   WHERE PLUGIN_STATUS = 'ACTIVE' AND PLUGIN_LIBRARY IS NOT NULL ORDER BY 1";
        let rows = asking.rows_or_gap(names::SERVER_PLUGINS, sql, "")?;
        let names: Vec<String> = rows.into_iter().flatten().flatten().collect();
        let names = match names.is_empty() {
            true => "none loaded".to_owned(),
            false => names.join(" "),
        };
        let source = "information_schema.PLUGINS";
        asking.sink.fact(names::SERVER_PLUGINS, names, source);
        Ok(())
    }

    /// The server's statement counts, at one end of the observation.
    fn counts(&mut self, asking: &mut Asking<'_>, at_end: bool) -> Result<(), DbError> {
        let sql = "SHOW GLOBAL STATUS WHERE Variable_name IN \
                   ('Queries', 'Com_commit', 'Uptime', 'Threads_connected')";
        let rows = asking.rows_or_gap(names::SERVER_STATEMENTS, sql, "")?;
        for (name, value) in pairs(rows) {
            let end = end_of(at_end);
            match name.as_str() {
                "Queries" => {
                    let name = format!("server.statements.{end}");
                    asking.fact(&name, Some(value), "Queries");
                }
                "Com_commit" => {
                    let source = "Com_commit: COMMIT statements";
                    asking.fact(&format!("server.commits.{end}"), Some(value), source);
                }
                "Uptime" => {
                    self.age_s = fraction(value.as_bytes());
                    asking.fact(&format!("server.uptime_s.{end}"), Some(value), "Uptime");
                }
                "Threads_connected" if !at_end => {
                    let others = fraction(value.as_bytes()).map(|all| format!("{:.0}", all - 1.0));
                    let source = "Threads_connected, without the observer's";
                    asking.fact(names::SERVER_THREADS_CONNECTED_START, others, source);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn sample_metrics(
        &mut self,
        asking: &mut Asking<'_>,
        recorder: &mut SampleBuffer,
    ) -> Result<(), DbError> {
        let Some(table) = &mut self.metrics else {
            return Ok(());
        };
        // MariaDB and MySQL report differently whether a metric is on.
        let sql = match self.is_mariadb {
            true => {
                "SELECT NAME, COUNT, TYPE FROM information_schema.INNODB_METRICS WHERE ENABLED = 1"
            }
            false => {
                "SELECT NAME, COUNT, TYPE FROM information_schema.INNODB_METRICS \
                 WHERE STATUS = 'enabled'"
            }
        };
        let history = &mut self.history;
        let read = asking.control.read(sql, asking.timeout, |row| {
            let (Some(name), Some(count)) = (row.field(0), row.field(1).and_then(fraction)) else {
                return;
            };
            if name == b"trx_rseg_history_len" {
                history.put(recorder, count);
                return;
            }
            let kind = row.field(2).unwrap_or_default();
            table.put(recorder, name, count, |name| {
                let kind = String::from_utf8_lossy(kind);
                (
                    names::DB_INNODB_EACH.of(name),
                    metric_class(name, &kind),
                    METRICS,
                )
            });
        });
        match read {
            Err(error) if !is_lost(&error) => {
                asking
                    .sink
                    .gap(names::DB_INNODB, refusal(&error, NEEDS_PROCESS));
                self.metrics = None;
                Ok(())
            }
            other => other,
        }
    }

    fn sample_binlog(
        &mut self,
        asking: &mut Asking<'_>,
        recorder: &mut SampleBuffer,
    ) -> Result<(), DbError> {
        let asked_at = Clock.now();
        if !self.has_binlog || asked_at < self.binlog_at {
            return Ok(());
        }
        let mut size = 0.0;
        let read = asking
            .control
            .read("SHOW BINARY LOGS", asking.timeout, |row| {
                size += row.field(1).and_then(fraction).unwrap_or(0.0);
            });
        let answered_at = Clock.now();
        self.binlog_at = answered_at + (answered_at - asked_at) * LIST_PAUSES;
        match read {
            Ok(()) => self.binlog.put(recorder, size),
            Err(error) if is_lost(&error) => return Err(error),
            Err(error) => {
                let needed = "GRANT REPLICATION CLIENT (MariaDB: BINLOG MONITOR) ON *.* TO the \
                              user of the target";
                asking.sink.gap(names::DB_BINLOG, refusal(&error, needed));
                self.has_binlog = false;
            }
        }
        Ok(())
    }
}

impl Collector for Mysql {
    fn report(&mut self, asking: &mut Asking<'_>, at_end: bool) -> Result<(), DbError> {
        // Counts first: the queries below are counted there too.
        self.counts(asking, at_end)?;
        self.settings(asking, at_end)?;
        if !at_end {
            self.replication.report(asking)?;
            return Self::plugins(asking);
        }
        self.others.report(asking);
        let stores = super::tables::stores_of_mysql(self.is_mariadb);
        self.stores.compare(asking, &stores)?;
        let queries = schema_of_mysql(self.is_mariadb);
        self.schema.compare(asking, &queries, SCHEMA)?;
        // A user who may not read these does not see others' sessions either.
        if self.metrics.is_none() {
            let why = format!("sessions of other users are hidden: {NEEDS_PROCESS}");
            asking.sink.gap(names::SERVER_OTHER_SESSIONS, why);
        }
        Ok(())
    }

    fn tables(&mut self, asking: &mut Asking<'_>) -> Result<Vec<ServerDirectory>, DbError> {
        let (stores, named) = super::tables::of_mysql(asking, self.is_mariadb)?;
        self.stores = stores;
        let queries = schema_of_mysql(self.is_mariadb);
        self.schema = Schema::of(asking, &self.stores, &queries)?;
        elsewhere::of_tables(asking, &named)
    }

    fn sample(
        &mut self,
        asking: &mut Asking<'_>,
        recorder: &mut SampleBuffer,
    ) -> Result<(), DbError> {
        let asked_at = Clock.now();
        asking.control.ask(STATUS, asking.timeout)?;
        let answered_at = Clock.now();
        recorder.begin(asked_at + (answered_at - asked_at) / 2);
        let (status, uptime, history) = (&mut self.status, &mut self.uptime, &mut self.history);
        let moves = &mut self.moves;
        asking.control.take(asking.timeout, |row| {
            moves.see(row);
            sample_status(row, recorder, status, uptime, history);
        })?;
        self.moves.sample(asking)?;
        self.replication.sample(asking, recorder)?;
        self.states.sample(asking, recorder)?;
        self.others.sample(asking, recorder)?;
        self.sample_metrics(asking, recorder)?;
        self.sample_binlog(asking, recorder)
    }

    fn claim(&mut self, asking: &mut Asking<'_>) -> Result<Claim, DbError> {
        let sql = "SHOW GLOBAL STATUS LIKE 'Uptime'";
        let rows = asking.control.query(sql, asking.timeout)?;
        let uptime = pairs(rows).next();
        self.age_s = uptime.and_then(|(_, text)| fraction(text.as_bytes()));
        Ok(Claim {
            family: Family::Mysql,
            backend: None,
            age_s: self.age_s,
            sound_s: None,
            data_directory: self.data_directory.clone(),
            elsewhere: self.elsewhere.clone(),
        })
    }

    fn begin(&mut self) {
        self.moves.begin();
    }

    fn restart(&mut self) {
        self.status.restart();
        self.moves.restart();
        if let Some(metrics) = &mut self.metrics {
            metrics.restart();
        }
    }

    fn always_zero(&self) -> Vec<String> {
        let metrics = self.metrics.iter().flat_map(Table::always_zero);
        let mut names: Vec<String> = self.status.always_zero().chain(metrics).collect();
        names.extend(self.history.always_zero().map(str::to_owned));
        names.extend(
            self.states
                .always_zero()
                .chain(self.replication.always_zero()),
        );
        names.sort();
        names
    }
}

/// States that can be set like settings.
fn states(asking: &mut Asking<'_>) -> Result<Vec<Vec<Option<String>>>, DbError> {
    let names = STATES.map(|name| format!("'{name}'")).join(", ");
    let sql = format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({names})");
    let mut rows = asking.rows_or_gap("settings", &sql, "")?;
    for name in rows.iter_mut().filter_map(|row| row.first_mut()?.as_mut()) {
        name.make_ascii_lowercase();
    }
    Ok(rows)
}

fn sample_status(
    row: &Row,
    recorder: &mut SampleBuffer,
    status: &mut Table,
    uptime: &mut Gauge,
    history: &mut Gauge,
) {
    let (Some(name), Some(value)) = (row.field(0), row.field(1).and_then(fraction)) else {
        return;
    };
    match name {
        b"Uptime" => uptime.put(recorder, value),
        b"Innodb_history_list_length" => history.put(recorder, value),
        _ => status.put(recorder, name, value, |name| {
            let lower = name.to_ascii_lowercase().replace(' ', "_");
            match lower.strip_prefix("rocksdb_") {
                Some(rest) => (names::DB_ROCKSDB_EACH.of(rest), rocksdb_class(rest), STATUS),
                None => (names::DB_STATUS_EACH.of(&lower), class_of(&lower), STATUS),
            }
        }),
    }
}
