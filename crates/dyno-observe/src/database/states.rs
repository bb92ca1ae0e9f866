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

/// Reads the process list.
const SHOW: &str = "SHOW PROCESSLIST";

/// The number of sessions in each state.
pub(super) struct States {
    /// The list that this server permits; `None` once it has refused both.
    list: Option<List>,
    states: Vec<State>,
    other: Gauge,
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
                "SELECT PROCESSLIST_STATE, COUNT(*) FROM performance_schema.threads \
                 WHERE TYPE = 'FOREGROUND' AND PROCESSLIST_ID IS NOT NULL \
                 AND PROCESSLIST_ID <> CONNECTION_ID() \
                 AND PROCESSLIST_COMMAND NOT IN ('{}') GROUP BY 1",
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
                Err(_) if list == List::Threads => self.list = Some(List::Processlist),
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
        let mut others = 0.0;
        for state in &mut self.states {
            state.count = 0.0;
        }
        let states = &mut self.states;
        asking.control.read(&list.sql(), asking.timeout, |row| {
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
        Ok(())
    }

    pub(super) fn always_zero(&self) -> impl Iterator<Item = String> {
        let gauges = self.states.iter().map(|state| &state.gauge);
        let zero = gauges.chain([&self.other]).filter_map(Gauge::always_zero);
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
    use super::*;

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
