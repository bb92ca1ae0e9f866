//! MySQL and MariaDB.

use std::collections::HashMap;

use dyno_core::Clock;
use dyno_core::db::{DbError, Family, Row, ServerInfo};

use super::others::{Others, PROCESSLIST};
use super::states::States;
use super::status::{Class, class_of, metric_class, rocksdb_class};
use super::{Asking, Collector, end_of, is_lost, refusal, secrets};
use crate::process::Claim;
use crate::sink::{Gauge, Rate, Recorder};
use crate::text::fraction;

const STATUS: &str = "SHOW GLOBAL STATUS";
const METRICS: &str = "information_schema.INNODB_METRICS";
/// Files of the binary log are listed once in so many samples: the server opens each.
const SLOW: u64 = 10;
/// Beyond this a value is -1 without its sign, which says that there is none.
const UNKNOWN_MIN: f64 = 9e18;
const NEEDS_PROCESS: &str = "GRANT PROCESS ON *.* TO the user of the target";

pub(super) struct Mysql {
    is_mariadb: bool,
    status: Table,
    metrics: Option<Table>,
    history: Gauge,
    has_binlog: bool,
    binlog: Gauge,
    data_directory: Option<String>,
    age_s: Option<f64>,
    uptime: Gauge,
    states: States,
    others: Others,
    samples: u64,
}

/// So many names of a table are recorded: a server has some hundreds.
const NAMES_MAX: usize = 4_000;
/// And none that is longer.
const NAME_BYTES_MAX: usize = 256;

/// Series by the names that the server gives them, in the order of its rows.
#[derive(Default)]
struct Table {
    entries: Vec<Entry>,
    /// Where the row after the last one is expected.
    next: usize,
    by_name: HashMap<Vec<u8>, usize>,
    /// There were more names than are recorded.
    is_full: bool,
}

struct Entry {
    name: Vec<u8>,
    series: Option<Series>,
}

enum Series {
    Gauge(Gauge),
    Rate(Rate),
}

impl Mysql {
    pub(super) fn new(server: &ServerInfo) -> Self {
        Self {
            is_mariadb: server.product == "MariaDB",
            status: Table::default(),
            metrics: Some(Table::default()),
            history: Gauge::new("db.innodb.history_list_length", "count", STATUS),
            has_binlog: false,
            binlog: Gauge::new("db.binlog.size", "bytes", "SHOW BINARY LOGS").seldom(),
            data_directory: None,
            age_s: None,
            uptime: Gauge::new("db.uptime", "s", STATUS),
            states: States::new(),
            others: Others::new(&PROCESSLIST),
            samples: 0,
        }
    }

    fn settings(&mut self, asking: &mut Asking<'_>, at_end: bool) -> Result<(), DbError> {
        let sql = "SHOW GLOBAL VARIABLES";
        let rows = asking.rows_or_gap("settings", sql, "")?;
        let mut found = HashMap::new();
        for row in rows {
            let mut fields = row.into_iter().flatten();
            let (Some(name), Some(value)) = (fields.next(), fields.next()) else {
                continue;
            };
            asking.sink.send(crate::Observation::Setting {
                value: secrets::shown(&name, &value),
                at_end,
                name: name.clone(),
            });
            found.insert(name, value);
        }
        if at_end {
            return Ok(());
        }
        let variable = |name: &str| found.get(name).cloned();
        self.data_directory = variable("datadir");
        let is_on = |name: &str| variable(name).as_deref() == Some("ON");
        self.has_binlog = is_on("log_bin");
        // Where it is off its tables are there and empty.
        if is_on("performance_schema") && !self.is_mariadb {
            self.states.read_threads();
        }
        asking.fact("server.version", variable("version"), "@@version");
        asking.fact(
            "server.version_comment",
            variable("version_comment"),
            "@@version_comment",
        );
        asking.fact("server.data_directory", variable("datadir"), "@@datadir");
        let version = variable("version").unwrap_or_default();
        let comment = variable("version_comment").unwrap_or_default();
        // The variable `debug` is there in debug builds only.
        let build = build(&version, &comment, found.contains_key("debug"));
        asking.fact(
            "server.build",
            Some(build.to_owned()),
            "@@version, @@version_comment, @@debug",
        );
        Ok(())
    }

    fn plugins(asking: &mut Asking<'_>) -> Result<(), DbError> {
        let sql = "SELECT PLUGIN_NAME FROM information_schema.PLUGINS \
                   WHERE PLUGIN_STATUS = 'ACTIVE' AND PLUGIN_LIBRARY IS NOT NULL ORDER BY 1";
        let rows = asking.rows_or_gap("server.plugins", sql, "")?;
        let names: Vec<String> = rows.into_iter().flatten().flatten().collect();
        let names = if names.is_empty() {
            "none loaded".to_owned()
        } else {
            names.join(" ")
        };
        asking.fact("server.plugins", Some(names), "information_schema.PLUGINS");
        Ok(())
    }

    /// The server's own counts, at one end of the observation.
    fn counts(&mut self, asking: &mut Asking<'_>, at_end: bool) -> Result<(), DbError> {
        let sql = "SHOW GLOBAL STATUS WHERE Variable_name IN \
                   ('Queries', 'Com_commit', 'Uptime', 'Threads_connected')";
        let rows = asking.rows_or_gap("server.statements", sql, "")?;
        for row in rows {
            let mut fields = row.into_iter().flatten();
            let (Some(name), Some(value)) = (fields.next(), fields.next()) else {
                continue;
            };
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
                    asking.fact("server.threads_connected.start", others, source);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn sample_metrics(
        &mut self,
        asking: &mut Asking<'_>,
        recorder: &mut Recorder,
    ) -> Result<(), DbError> {
        let Some(table) = &mut self.metrics else {
            return Ok(());
        };
        // MariaDB and MySQL say differently that a metric is on.
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
                    format!("db.innodb.{name}"),
                    metric_class(name, &kind),
                    METRICS,
                )
            });
        });
        match read {
            Err(error) if !is_lost(&error) => {
                asking.sink.gap("db.innodb", refusal(&error, NEEDS_PROCESS));
                self.metrics = None;
                Ok(())
            }
            other => other,
        }
    }

    fn sample_binlog(
        &mut self,
        asking: &mut Asking<'_>,
        recorder: &mut Recorder,
    ) -> Result<(), DbError> {
        if !self.has_binlog || !self.samples.is_multiple_of(SLOW) {
            return Ok(());
        }
        let mut size = 0.0;
        let read = asking
            .control
            .read("SHOW BINARY LOGS", asking.timeout, |row| {
                size += row.field(1).and_then(fraction).unwrap_or(0.0);
            });
        match read {
            Ok(()) => self.binlog.put(recorder, size),
            Err(error) if is_lost(&error) => return Err(error),
            Err(error) => {
                let needed = "GRANT REPLICATION CLIENT (MariaDB: BINLOG MONITOR) ON *.* TO the \
                              user of the target";
                asking.sink.gap("db.binlog", refusal(&error, needed));
                self.has_binlog = false;
            }
        }
        Ok(())
    }
}

impl Collector for Mysql {
    fn tell(&mut self, asking: &mut Asking<'_>, at_end: bool) -> Result<(), DbError> {
        // Counts first: what is asked here counts there too.
        self.counts(asking, at_end)?;
        self.settings(asking, at_end)?;
        if !at_end {
            return Self::plugins(asking);
        }
        self.others.tell(asking);
        // Who may not read these sees no sessions of others either.
        if self.metrics.is_none() {
            let why = format!("sessions of other users are hidden: {NEEDS_PROCESS}");
            asking.sink.gap("server.other_sessions", why);
        }
        Ok(())
    }

    fn sample(&mut self, asking: &mut Asking<'_>, recorder: &mut Recorder) -> Result<(), DbError> {
        let asked_at = Clock.now();
        asking.control.ask(STATUS, asking.timeout)?;
        let answered_at = Clock.now();
        recorder.begin(asked_at + (answered_at - asked_at) / 2);
        let (status, uptime, history) = (&mut self.status, &mut self.uptime, &mut self.history);
        asking.control.take(asking.timeout, |row| {
            sample_status(row, recorder, status, uptime, history);
        })?;
        self.states.sample(asking, recorder)?;
        self.others.sample(asking, recorder)?;
        self.sample_metrics(asking, recorder)?;
        self.sample_binlog(asking, recorder)?;
        self.samples += 1;
        Ok(())
    }

    fn claim(&mut self, asking: &mut Asking<'_>) -> Result<Claim, DbError> {
        let sql = "SHOW GLOBAL STATUS LIKE 'Uptime'";
        let rows = asking.control.query(sql, asking.timeout)?;
        let value = rows
            .into_iter()
            .next()
            .and_then(|row| row.into_iter().nth(1)?);
        self.age_s = value.and_then(|text| fraction(text.as_bytes()));
        Ok(Claim {
            family: Family::Mysql,
            backend: None,
            age_s: self.age_s,
            sound_s: None,
            data_directory: self.data_directory.clone(),
        })
    }

    fn restart(&mut self) {
        self.status.restart();
        if let Some(metrics) = &mut self.metrics {
            metrics.restart();
        }
    }

    fn always_zero(&self) -> Vec<String> {
        let metrics = self.metrics.iter().flat_map(Table::always_zero);
        let mut names: Vec<String> = self.status.always_zero().chain(metrics).collect();
        names.extend(self.history.always_zero().map(str::to_owned));
        names.extend(self.states.always_zero());
        names.sort();
        names
    }
}

fn sample_status(
    row: &Row,
    recorder: &mut Recorder,
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
                Some(rest) => (format!("db.rocksdb.{rest}"), rocksdb_class(rest), STATUS),
                None => (format!("db.status.{lower}"), class_of(&lower), STATUS),
            }
        }),
    }
}

impl Table {
    /// `describe` tells a name's series when it is seen for the first time.
    fn put(
        &mut self,
        recorder: &mut Recorder,
        name: &[u8],
        value: f64,
        describe: impl FnOnce(&str) -> (String, Class, &'static str),
    ) {
        let expected = self.next % self.entries.len().max(1);
        let index = match self.entries.get(expected) {
            Some(entry) if entry.name == name => expected,
            _ => match self.by_name.get(name).copied() {
                Some(index) => index,
                None if self.refuses(recorder, name) => return,
                None => self.add(name, describe),
            },
        };
        self.next = index + 1;
        if value >= UNKNOWN_MIN {
            return;
        }
        match self.entries[index].series.as_mut() {
            Some(Series::Gauge(gauge)) => gauge.put(recorder, value),
            Some(Series::Rate(rate)) => drop(rate.put(recorder, value)),
            None => {}
        }
    }

    /// Whether a new name is not taken; the first one is told.
    fn refuses(&mut self, recorder: &Recorder, name: &[u8]) -> bool {
        let refuses = self.entries.len() >= NAMES_MAX || name.len() > NAME_BYTES_MAX;
        if refuses && !std::mem::replace(&mut self.is_full, true) {
            let why = format!(
                "the server names more than {NAMES_MAX} variables, or some with more than \
                 {NAME_BYTES_MAX} bytes: those are left out"
            );
            recorder.sink().gap("db.status", why);
        }
        refuses
    }

    fn add(
        &mut self,
        name: &[u8],
        describe: impl FnOnce(&str) -> (String, Class, &'static str),
    ) -> usize {
        let (full, class, source) = describe(&String::from_utf8_lossy(name));
        let series = match class {
            Class::Ignored => None,
            Class::Gauge(unit) => Some(Series::Gauge(Gauge::new(&full, unit, source))),
            Class::Rate(unit, scale) => {
                Some(Series::Rate(Rate::scaled(&full, unit, source, scale)))
            }
        };
        self.entries.push(Entry {
            name: name.to_vec(),
            series,
        });
        self.by_name.insert(name.to_vec(), self.entries.len() - 1);
        self.entries.len() - 1
    }

    fn restart(&mut self) {
        for entry in &mut self.entries {
            if let Some(Series::Rate(rate)) = &mut entry.series {
                rate.restart();
            }
        }
    }

    fn always_zero(&self) -> impl Iterator<Item = String> {
        self.entries.iter().filter_map(|entry| {
            let name = match entry.series.as_ref()? {
                Series::Gauge(gauge) => gauge.always_zero(),
                Series::Rate(rate) => rate.always_zero(),
            };
            name.map(str::to_owned)
        })
    }
}

/// How the server was built, by what its version says and by what only such builds have.
fn build(version: &str, comment: &str, has_debug: bool) -> &'static str {
    let text = format!("{version} {comment}").to_ascii_lowercase();
    let sanitizers = [
        "-asan",
        "-ubsan",
        "-msan",
        "-tsan",
        "sanitizer",
        "-valgrind",
    ];
    if sanitizers.iter().any(|name| text.contains(name)) {
        return "sanitizer";
    }
    if has_debug || text.contains("-debug") {
        return "debug";
    }
    if version.is_empty() {
        "unknown"
    } else {
        "release"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Observation;
    use crate::sink::Sink;

    #[test]
    fn names_beyond_the_bound_are_left_out_and_told_once() {
        let (sender, observations) = std::sync::mpsc::sync_channel(4 * NAMES_MAX);
        let mut recorder = Recorder::new(Sink::new(sender), false);
        let mut table = Table::default();
        let mut put = |name: &str| {
            let describe = |name: &str| (name.to_owned(), Class::Gauge("count"), STATUS);
            table.put(&mut recorder, name.as_bytes(), 1.0, describe);
        };
        put(&"x".repeat(NAME_BYTES_MAX + 1));
        for _ in 0..2 {
            (0..NAMES_MAX + 100).for_each(|number| put(&format!("made_up_{number}")));
        }
        assert_eq!(table.entries.len(), NAMES_MAX);
        assert_eq!(table.by_name.len(), NAMES_MAX);
        let seen: Vec<Observation> = observations.try_iter().collect();
        let gaps = (seen.iter()).filter(|seen| matches!(seen, Observation::NotObserved(_)));
        assert_eq!((gaps.count(), seen.len()), (1, NAMES_MAX + 1));
    }

    #[test]
    fn builds_are_told_apart() {
        assert_eq!(
            build("10.11.19-MariaDB-0+deb12u1", "Debian 12", false),
            "release"
        );
        assert_eq!(build("8.4.0-debug", "Source distribution", false), "debug");
        assert_eq!(build("9.7.4", "MySQL Community Server", true), "debug");
        assert_eq!(build("9.7.4-asan", "MySQL", true), "sanitizer");
        assert_eq!(build("", "", false), "unknown");
    }
}
