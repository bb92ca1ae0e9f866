//! The states of MySQL's and MariaDB's sessions, as reported by the server.

use dyno_core::catalogue::names;
use dyno_core::db::{DbError, Row};

use super::{Asking, is_lost, refusal};
use crate::sink::{Gauge, SampleBuffer};
use crate::text::fraction;

/// Maximum number of states with a separate series; the rest counts as `other`.
const STATES_MAX: usize = 40;
/// The longest name of a state, in characters.
const NAME_MAX: usize = 48;

const SOURCE: &str = "the list of processes";

/// Sessions that wait for their client or serve the server itself, including replication, are
/// excluded.
const IDLE: [&str; 8] = [
    "Sleep",
    "Daemon",
    "Binlog Dump",
    "Binlog Dump GTID",
    "Connect",
    "Slave_IO",
    "Slave_SQL",
    "Slave_worker",
];

/// The beginnings of statements that mostly programs execute that make backups: mariadb-backup,
/// xtrabackup, mysqldump and mydumper.
const BACKUPS: [&str; 7] = [
    "BACKUP LOCK",
    "BACKUP STAGE",
    "FLUSH NO_WRITE_TO_BINLOG TABLES WITH READ LOCK",
    "FLUSH TABLES WITH READ LOCK",
    "LOCK INSTANCE FOR BACKUP",
    "LOCK TABLES FOR BACKUP",
    "SELECT /*!40001 SQL_NO_CACHE */",
];

/// Reads the process list.
const SHOW: &str = "SHOW PROCESSLIST";

const NEEDS_THREADS: &str = "GRANT SELECT ON performance_schema.threads TO the user of the target; \
                             SHOW PROCESSLIST is read instead, which briefly locks each session \
                             and, without the right PROCESS, shows only this user's sessions";

/// The number of sessions in each state.
pub(super) struct States {
    /// The list that this server permits; `None` once it has refused both.
    list: Option<List>,
    states: Vec<State>,
    other: Gauge,
    backups: Gauge,
    /// The sample in which the first list was read.
    since: Option<usize>,
}

struct State {
    /// The name in the series.
    name: String,
    gauge: Gauge,
    count: f64,
}

#[derive(Clone, Copy, PartialEq)]
enum List {
    /// MySQL's list, which is read without blocking others.
    Threads,
    /// The list that every server has. Reading it locks each session for a moment.
    Processlist,
}

impl List {
    fn sql(self) -> String {
        match self {
            Self::Threads => format!(
                "SELECT PROCESSLIST_STATE, COUNT(*), SUM({}) FROM performance_schema.threads \
                 WHERE TYPE = 'FOREGROUND' AND PROCESSLIST_ID IS NOT NULL \
                 AND PROCESSLIST_ID <> CONNECTION_ID() \
                 AND PROCESSLIST_COMMAND NOT IN ('{}') GROUP BY 1",
                BACKUPS
                    .map(|text| format!("PROCESSLIST_INFO LIKE '{text}%'"))
                    .join(" OR "),
                IDLE.join("', '")
            ),
            // Reading information_schema.PROCESSLIST creates a temporary table on disk each time,
            // which would count as part of the load.
            Self::Processlist => SHOW.to_owned(),
        }
    }

    /// The state in a row, and the number of sessions in it; `None` for idle sessions and the
    /// observer's own.
    fn row(self, row: &Row) -> Option<(&[u8], f64)> {
        if self == Self::Threads {
            return Some((row.field(0).unwrap_or_default(), fraction(row.field(1)?)?));
        }
        let command = row.field(4).unwrap_or_default();
        let asks = row.field(7) == Some(SHOW.as_bytes());
        let idle = IDLE.iter().any(|idle| idle.as_bytes() == command);
        (!asks && !idle).then(|| (row.field(6).unwrap_or_default(), 1.0))
    }

    /// The number of sessions in a row that make a backup.
    fn backups(self, row: &Row) -> f64 {
        match self {
            Self::Threads => row.field(2).and_then(fraction).unwrap_or(0.0),
            Self::Processlist if row.field(7).is_some_and(is_of_backup) => 1.0,
            Self::Processlist => 0.0,
        }
    }
}

impl States {
    pub(super) fn new() -> Self {
        // Important for workloads with many tables, so it is reported from the first sample on,
        // even at 0.
        let opening = State::new("opening_tables".to_owned(), 0);
        Self {
            list: Some(List::Processlist),
            states: vec![opening],
            other: Gauge::new(names::DB_SESSIONS_OTHER, "count", SOURCE),
            backups: Gauge::new(names::DB_BACKUPS, "count", SOURCE),
            since: None,
        }
    }

    /// The server has a list that is read without blocking others.
    pub(super) fn read_threads(&mut self) {
        self.list = Some(List::Threads);
    }

    /// Samples the number of sessions in each state.
    ///
    /// # Errors
    /// The connection is lost. A refusal becomes a gap.
    pub(super) fn sample(
        &mut self,
        asking: &mut Asking<'_>,
        recorder: &mut SampleBuffer,
    ) -> Result<(), DbError> {
        while let Some(list) = self.list {
            match self.read(list, asking, recorder) {
                Ok(()) => break,
                Err(error) if is_lost(&error) => return Err(error),
                Err(error) if list == List::Threads => {
                    let why = refusal(&error, NEEDS_THREADS);
                    asking.sink.gap(names::DB_SESSIONS_THREADS, why);
                    self.list = Some(List::Processlist);
                }
                Err(error) => {
                    asking.sink.gap(names::DB_SESSIONS, refusal(&error, ""));
                    self.list = None;
                }
            }
        }
        Ok(())
    }

    fn read(
        &mut self,
        list: List,
        asking: &mut Asking<'_>,
        recorder: &mut SampleBuffer,
    ) -> Result<(), DbError> {
        let since = *self.since.get_or_insert(recorder.number());
        let (mut others, mut backups) = (0.0, 0.0);
        for state in &mut self.states {
            state.count = 0.0;
        }
        let states = &mut self.states;
        asking.control.read(&list.sql(), asking.timeout, |row| {
            backups += list.backups(row);
            let Some((state, count)) = list.row(row) else {
                return;
            };
            let name = name_of(state);
            let known = states.iter().position(|state| state.name == name);
            match known {
                Some(index) => states[index].count += count,
                None if states.len() < STATES_MAX => {
                    let mut state = State::new(name, since);
                    state.count = count;
                    states.push(state);
                }
                None => others += count,
            }
        })?;
        for state in &mut self.states {
            state.gauge.put(recorder, state.count);
        }
        self.other.put(recorder, others);
        self.backups.put(recorder, backups);
        Ok(())
    }

    pub(super) fn always_zero(&self) -> impl Iterator<Item = String> {
        let gauges = self.states.iter().map(|state| &state.gauge);
        let zero = gauges
            .chain([&self.other, &self.backups])
            .filter_map(Gauge::always_zero);
        zero.map(str::to_owned)
    }
}

impl State {
    /// A state without sessions since that sample.
    fn new(name: String, since: usize) -> Self {
        let series = names::DB_SESSIONS_EACH.of(&name);
        Self {
            gauge: Gauge::new(&series, "count", SOURCE).zero_since(since),
            name,
            count: 0.0,
        }
    }
}

/// Whether a statement is part of a backup.
fn is_of_backup(statement: &[u8]) -> bool {
    BACKUPS.iter().any(|text| {
        let start = statement.get(..text.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(text.as_bytes()))
    })
}

/// The name of a state in the series: lower case, with `_` for everything except letters and
/// digits.
fn name_of(state: &[u8]) -> String {
    let text = String::from_utf8_lossy(state);
    let mut name = String::new();
    for character in text.trim().chars().take(NAME_MAX) {
        match character.is_alphanumeric() {
            true => name.extend(character.to_lowercase()),
            false if name.ends_with('_') => {}
            false => name.push('_'),
        }
    }
    let name = name.trim_matches('_');
    match name {
        "" => "no_state".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use dyno_core::Target;
    use dyno_drivers::Control;

    use super::*;
    use crate::Observation;
    use crate::sink::Sink;

    /// SQLite refuses both lists.
    #[test]
    fn each_refused_list_is_reported_once() {
        const PATIENCE: Duration = Duration::from_secs(30);
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("refuses.db").display());
        let connector = dyno_drivers::connector(&Target::parse(&url).unwrap()).unwrap();
        let mut control = Control::connect(connector.as_ref(), PATIENCE).unwrap();
        let (sender, observations) = std::sync::mpsc::sync_channel(100);
        let sink = Sink::new(sender);
        let mut recorder = SampleBuffer::new(sink.clone(), false);
        let mut states = States::new();
        states.read_threads();
        for _ in 0..2 {
            let mut asking = Asking {
                control: &mut control,
                timeout: PATIENCE,
                sink: &sink,
            };
            states.sample(&mut asking, &mut recorder).unwrap();
        }
        let gaps = observations.try_iter().filter_map(|seen| match seen {
            Observation::NotObserved(gap) => Some((gap.what, gap.why)),
            _ => None,
        });
        let gaps: Vec<(String, String)> = gaps.collect();
        let [(first, why), (second, _)] = &gaps[..] else {
            panic!("{gaps:?}");
        };
        assert_eq!(
            (first.as_str(), second.as_str()),
            ("db.sessions.threads", names::DB_SESSIONS)
        );
        for part in [
            "performance_schema.threads",
            "SHOW PROCESSLIST is read instead",
        ] {
            assert!(why.contains(part), "{why}");
        }
    }

    #[test]
    fn statements_of_backups_are_recognised() {
        for statement in [
            "SELECT /*!40001 SQL_NO_CACHE */ `id`, `c` FROM `sbtest1`",
            "BACKUP STAGE BLOCK_COMMIT",
            "flush tables with read lock",
            "LOCK INSTANCE FOR BACKUP",
        ] {
            assert!(is_of_backup(statement.as_bytes()), "{statement}");
        }
        for statement in [
            "",
            "SELECT c FROM sbtest1",
            "FLUSH TABLES",
            "LOCK TABLES t READ",
        ] {
            assert!(!is_of_backup(statement.as_bytes()), "{statement}");
        }
        let sql = List::Threads.sql();
        let counted = "SUM(PROCESSLIST_INFO LIKE 'BACKUP LOCK%' OR ";
        assert!(sql.contains(counted), "{sql}");
        assert!(
            sql.contains("SQL_NO_CACHE */%') FROM performance_schema"),
            "{sql}"
        );
    }

    #[test]
    fn states_are_named_as_series_are() {
        assert_eq!(name_of(b"Opening tables"), "opening_tables");
        assert_eq!(name_of(b""), "no_state");
        assert_eq!(
            name_of(b"Waiting for table metadata lock"),
            "waiting_for_table_metadata_lock"
        );
        let long = "x]".repeat(60);
        assert!(name_of(long.as_bytes()).chars().count() <= NAME_MAX);
        assert!(!name_of(long.as_bytes()).contains(']'));
    }
}
