//! Loads a recorded run.

use std::fmt;

use dyno_core::finding::{Finding, Verdict};
use dyno_core::interval::Counters;
use dyno_core::record::{
    Event, Fact, IdleSpan, NotObserved, RunHead, RunRecord, RunState, Series, SeriesKey,
    SessionShare, Setting,
};
use dyno_core::states::SessionStates;
use dyno_core::summary::{IntervalSummary, Percentile, PrintedRates, Recorded, RunSummary};
use dyno_core::unknown;
use rusqlite::Row;
use rusqlite::types::Type;
use serde::Deserializer as _;
use serde::de::{DeserializeOwned, Error as _, MapAccess, Visitor};

use super::list::of_word;
use crate::error::ResultsError;
use crate::open::Results;

/// About how many histograms of spans [`Scope::whole`] loads at most. Each takes about 20 KB.
pub const SPANS_HELD_MAX: usize = 6000;

/// Initial capacity for an interval's percentiles.
const PERCENTILES_USUAL: usize = 4;

/// How much of each interval to load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntervalDetail {
    /// No intervals.
    None,
    /// The time of each interval and its number of events. All other figures stay empty.
    Events,
    /// All figures.
    Whole,
}

/// How much of a run to load. The head, summary, totals, facts, settings, events, sessions and
/// findings are always loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Its intervals.
    pub intervals: IntervalDetail,
    /// About how many histograms of spans to load at most, over all operations. Adjacent spans are
    /// merged to stay below this number. 0 loads none.
    pub spans_held_max: usize,
    /// Maximum number of spans per operation after merging.
    pub merged_per_operation_max: usize,
    /// Observed series, including profiles.
    pub series: bool,
}

impl Scope {
    /// Enough for a summary: neither spans nor samples.
    pub fn summary() -> Self {
        Self {
            intervals: IntervalDetail::Whole,
            spans_held_max: 0,
            merged_per_operation_max: usize::MAX,
            series: false,
        }
    }

    /// Enough for a summary in a terminal: only the events of each interval.
    pub fn terminal() -> Self {
        Self {
            intervals: IntervalDetail::Events,
            ..Self::summary()
        }
    }

    /// Everything, with the spans of long runs merged to at most [`SPANS_HELD_MAX`].
    pub fn whole() -> Self {
        Self {
            intervals: IntervalDetail::Whole,
            spans_held_max: SPANS_HELD_MAX,
            merged_per_operation_max: usize::MAX,
            series: true,
        }
    }

    /// Everything for a page whose charts have at most `columns` columns. The spans of a long run
    /// are merged to that number.
    pub fn columns(columns: usize) -> Self {
        Self {
            merged_per_operation_max: columns,
            ..Self::whole()
        }
    }

    /// Everything as stored. A day with ten operations may take 2 GB of memory. [`Results::spans`]
    /// reads one span at a time.
    pub fn every() -> Self {
        Self {
            spans_held_max: usize::MAX,
            ..Self::whole()
        }
    }
}

impl Results {
    /// Loads a run. If it never finished, it has no summary, and the rest is as saved.
    ///
    /// # Errors
    /// The run does not exist, or cannot be read.
    pub fn load(&self, id: i64, scope: &Scope) -> Result<RunRecord, ResultsError> {
        let doing = "load a run from";
        self.check_run(id, doing)?;
        // Use one transaction, so that a run in progress is read in a consistent state.
        let begun = self.connection.unchecked_transaction();
        let _reading = begun.map_err(|error| self.at(doing).sqlite(error))?;
        let operations = self.operations(id, scope, doing)?;
        self.loaded(id, scope)
            .map(|run| RunRecord { operations, ..run })
            .map_err(|error| self.explain(doing, error))
    }

    /// The findings of a run and its verdict.
    pub(crate) fn judgement(
        &self,
        id: i64,
        doing: &str,
    ) -> Result<(Vec<Finding>, Option<Verdict>), ResultsError> {
        self.check_run(id, doing)?;
        let read = || Ok((self.findings(id)?, self.verdict(id)?));
        read().map_err(|error| self.explain(doing, error))
    }

    fn loaded(&self, id: i64, scope: &Scope) -> rusqlite::Result<RunRecord> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT state, head, summary FROM run WHERE id = ?1")?;
        let (state, head, summary): (RunState, RunHead, Option<RunSummary>) = statement
            .query_row([id], |row| {
                Ok((of_word(row.get(0)?, 0)?, json(row, 1)?, summary(row, 2)?))
            })?;
        let mut run = RunRecord {
            id,
            state,
            head,
            summary,
            intervals: self.intervals(id, scope.intervals)?,
            operations: Vec::new(),
            series: self.series(id, scope.series)?,
            not_observed: self.not_observed(id)?,
            facts: self.facts(id)?,
            settings: self.settings(id)?,
            events: self.events(id)?,
            sessions: self.sessions(id)?,
            profiles: match scope.series {
                true => self.profiles(id)?,
                false => Vec::new(),
            },
            findings: self.findings(id)?,
            verdict: self.verdict(id)?,
        };
        if let Some(summary) = &mut run.summary {
            summary.verdict = run.verdict;
            summary.findings.clone_from(&run.findings);
            summary.not_observed.clone_from(&run.not_observed);
            summary.note.clone_from(&run.head.note);
            summary.factors.clone_from(&run.head.factors);
            summary.recorded = Some(Recorded {
                file: self.path.display().to_string(),
                id,
                name: run.head.name.clone(),
            });
        }
        Ok(run)
    }

    fn verdict(&self, id: i64) -> rusqlite::Result<Option<Verdict>> {
        let sql = "SELECT verdict FROM run WHERE id = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let word: Option<String> = statement.query_row([id], |row| row.get(0))?;
        word.map(|word| of_word(word, 0)).transpose()
    }

    fn intervals(&self, id: i64, wanted: IntervalDetail) -> rusqlite::Result<Vec<IntervalSummary>> {
        match wanted {
            IntervalDetail::None => Ok(Vec::new()),
            IntervalDetail::Events => {
                let sql =
                    "SELECT at_s, length_s, events, printed_events_per_s, printed_queries_per_s
                           FROM interval WHERE run_id = ?1 ORDER BY number";
                self.rows(sql, id, interval_events)
            }
            IntervalDetail::Whole => {
                let columns = interval_columns();
                let sql =
                    format!("SELECT {columns} FROM interval WHERE run_id = ?1 ORDER BY number");
                self.rows(&sql, id, interval)
            }
        }
    }

    fn series(&self, id: i64, wanted: bool) -> rusqlite::Result<Vec<Series>> {
        let sql = "SELECT number, name, unit, source, kind FROM series
                   WHERE run_id = ?1 ORDER BY number";
        if !wanted {
            return Ok(Vec::new());
        }
        let numbered = self.rows(sql, id, |row| {
            let key = SeriesKey {
                name: row.get(1)?,
                unit: row.get(2)?,
                source: row.get(3)?,
            };
            let series = Series {
                key,
                kind: of_word(row.get(4)?, 4)?,
                points: Vec::new(),
            };
            Ok((row.get::<_, u32>(0)?, series))
        })?;
        let highest = numbered
            .last()
            .map_or(0, |(number, _)| *number as usize + 1);
        let mut points: Vec<Vec<(f64, f64)>> = vec![Vec::new(); highest];
        let sql = "SELECT series, at_s, value FROM sample WHERE run_id = ?1
                   ORDER BY at_s, series";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([id])?;
        while let Some(row) = rows.next()? {
            let number: u32 = row.get(0)?;
            if let Some(points) = points.get_mut(number as usize) {
                points.push((row.get(1)?, row.get(2)?));
            }
        }
        let with_points = numbered.into_iter().map(|(number, series)| Series {
            points: std::mem::take(&mut points[number as usize]),
            ..series
        });
        Ok(with_points.collect())
    }

    fn not_observed(&self, id: i64) -> rusqlite::Result<Vec<NotObserved>> {
        let sql = "SELECT what, why FROM not_observed WHERE run_id = ?1 ORDER BY what";
        self.rows(sql, id, |row| {
            Ok(NotObserved {
                what: row.get(0)?,
                why: row.get(1)?,
            })
        })
    }

    fn facts(&self, id: i64) -> rusqlite::Result<Vec<Fact>> {
        let sql = "SELECT name, value, source FROM fact WHERE run_id = ?1 ORDER BY name";
        self.rows(sql, id, |row| {
            Ok(Fact {
                name: row.get(0)?,
                value: row.get(1)?,
                source: row.get(2)?,
            })
        })
    }

    fn settings(&self, id: i64) -> rusqlite::Result<Vec<Setting>> {
        let sql = "SELECT name, at_start, at_end FROM setting WHERE run_id = ?1 ORDER BY name";
        self.rows(sql, id, |row| {
            Ok(Setting {
                name: row.get(0)?,
                start: row.get(1)?,
                end: row.get(2)?,
            })
        })
    }

    fn events(&self, id: i64) -> rusqlite::Result<Vec<Event>> {
        let sql = "SELECT at_s, until_s, kind, text, detail FROM event WHERE run_id = ?1
                   ORDER BY number";
        self.rows(sql, id, super::progress::event)
    }

    fn sessions(&self, id: i64) -> rusqlite::Result<Vec<SessionShare>> {
        let sql = "SELECT session, worker, events, busy_s, state, idle_from_s, idle_to_s, idle_in,
                       connect_attempts
                   FROM session WHERE run_id = ?1 ORDER BY session";
        self.rows(sql, id, |row| {
            Ok(SessionShare {
                session: row.get(0)?,
                worker: row.get(1)?,
                events: count(row, 2)?,
                busy_s: row.get(3)?,
                state: row
                    .get::<_, Option<String>>(4)?
                    .map(|word| of_word(word, 4))
                    .transpose()?,
                idle: idle(row)?,
            })
        })
    }

    fn findings(&self, id: i64) -> rusqlite::Result<Vec<Finding>> {
        let sql = "SELECT check_name, check_no, outcome, evidence, rule, numbers, advice, waived,
                          causes, durability, stalls
                   FROM finding WHERE run_id = ?1 ORDER BY number";
        self.rows(sql, id, |row| {
            Ok(Finding {
                check: row.get(0)?,
                number: row.get(1)?,
                outcome: of_word(row.get(2)?, 2)?,
                evidence: row.get(3)?,
                rule: row.get(4)?,
                numbers: json(row, 5)?,
                advice: row.get(6)?,
                waived: row.get(7)?,
                causes: json(row, 8)?,
                durability: optional_json(row, 9)?,
                stalls: optional_json(row, 10)?,
            })
        })
    }

    fn rows<T>(
        &self,
        sql: &str,
        id: i64,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map([id], read)?;
        rows.collect()
    }

    /// Explains a value that cannot be read, because SQLite's own error would not.
    pub(super) fn explain(&self, doing: &str, error: rusqlite::Error) -> ResultsError {
        let at = self.at(doing);
        match error {
            rusqlite::Error::FromSqlConversionFailure(_, _, why) => {
                at.unreadable("a stored value", why)
            }
            error => at.sqlite(error),
        }
    }
}

fn idle(row: &Row<'_>) -> rusqlite::Result<Option<IdleSpan>> {
    let Some(from_s) = row.get(5)? else {
        return Ok(None);
    };
    Ok(Some(IdleSpan {
        from_s,
        to_s: row.get(6)?,
        idle_in: of_word(row.get(7)?, 7)?,
        attempts: row.get(8)?,
    }))
}

fn interval_events(row: &Row<'_>) -> rusqlite::Result<IntervalSummary> {
    Ok(IntervalSummary {
        at_s: row.get(0)?,
        length_s: row.get(1)?,
        counters: Counters {
            events: count(row, 2)?,
            ..Counters::default()
        },
        printed: printed(row, 3)?,
        ..IntervalSummary::default()
    })
}

/// The columns that [`interval`] reads.
pub(super) fn interval_columns() -> String {
    format!(
        "at_s, length_s, sessions, errors_seen, max_ms, backlog, concurrency, percentiles,
         working, waiting, connecting, lost, finished, printed_events_per_s,
         printed_queries_per_s, {}",
        Counters::NAMES.join(", ")
    )
}

pub(super) fn interval(row: &Row<'_>) -> rusqlite::Result<IntervalSummary> {
    let mut counters = Counters::default();
    for (index, counter) in counters.values_mut().into_iter().enumerate() {
        // They follow the interval's own columns.
        *counter = count(row, 15 + index)?;
    }
    Ok(IntervalSummary {
        at_s: row.get(0)?,
        length_s: row.get(1)?,
        sessions: row.get(2)?,
        states: states(row)?,
        counters,
        printed: printed(row, 13)?,
        errors_seen: count(row, 3)?,
        max_ms: row.get(4)?,
        backlog: optional_count(row, 5)?,
        concurrency: row.get(6)?,
        percentiles: percentiles(row, 7)?,
    })
}

/// The printed rates, from this column and the next.
fn printed(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<PrintedRates>> {
    let printed = PrintedRates {
        events_per_s: row.get(column)?,
        queries_per_s: row.get(column + 1)?,
    };
    Ok((printed != PrintedRates::default()).then_some(printed))
}

fn states(row: &Row<'_>) -> rusqlite::Result<Option<SessionStates>> {
    let Some(working) = row.get(8)? else {
        return Ok(None);
    };
    Ok(Some(SessionStates {
        working,
        waiting: row.get(9)?,
        connecting: row.get(10)?,
        lost: row.get(11)?,
        finished: row.get(12)?,
        idle: 0,
    }))
}

fn percentiles(row: &Row<'_>, index: usize) -> rusqlite::Result<Vec<Percentile>> {
    let text = text(row, index)?;
    let mut from = serde_json::Deserializer::from_str(text);
    let read = from.deserialize_map(Percentiles);
    read.and_then(|read| from.end().map(|()| read))
        .map_err(|error| failure(index, Type::Text, error))
}

/// Parses an object of milliseconds by percent. Every interval has one, so it is parsed directly
/// and not through a map of strings.
struct Percentiles;

impl<'de> Visitor<'de> for Percentiles {
    type Value = Vec<Percentile>;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("an object of milliseconds by percent")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut percentiles = Vec::with_capacity(PERCENTILES_USUAL);
        while let Some((percent, value_ms)) = map.next_entry::<&str, Option<f64>>()? {
            let percent = percent.parse().map_err(A::Error::custom)?;
            percentiles.push(Percentile { percent, value_ms });
        }
        Ok(percentiles)
    }
}

/// A count, or 0 if it is unknown. The type has no other value for that, and `not_observed` lists
/// it.
fn count(row: &Row<'_>, index: usize) -> rusqlite::Result<u64> {
    Ok(optional_count(row, index)?.unwrap_or_default())
}

fn optional_count(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<u64>> {
    let count: Option<i64> = row.get(index)?;
    Ok(count.map(|count| count.max(0) as u64))
}

fn text<'a>(row: &'a Row<'_>, index: usize) -> rusqlite::Result<&'a str> {
    let text = row.get_ref(index)?.as_str();
    text.map_err(rusqlite::Error::from)
}

fn json<T: DeserializeOwned>(row: &Row<'_>, index: usize) -> rusqlite::Result<T> {
    serde_json::from_str(text(row, index)?).map_err(|error| failure(index, Type::Text, error))
}

pub(super) fn optional_json<T: DeserializeOwned>(
    row: &Row<'_>,
    index: usize,
) -> rusqlite::Result<Option<T>> {
    match row.get_ref(index)? {
        rusqlite::types::ValueRef::Null => Ok(None),
        _ => json(row, index).map(Some),
    }
}

/// A summary. Figures that an imported log lacks are null.
fn summary(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<RunSummary>> {
    if let Ok(summary) = optional_json(row, index) {
        return Ok(summary);
    }
    let mut value: serde_json::Value = json(row, index)?;
    unknown::restore(&mut value);
    let summary = serde_json::from_value(value);
    summary.map_err(|error| failure(index, Type::Text, error))
}

pub(super) fn failure(
    index: usize,
    kind: Type,
    error: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(index, kind, Box::new(error))
}
