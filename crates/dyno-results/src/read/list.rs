//! Lists runs, and finds the run that the user means.

use std::collections::BTreeMap;

use dyno_core::factors::Factors;
use dyno_core::finding::Verdict;
use dyno_core::plan::{LoadSchedule, Scheduled};
use dyno_core::record::{RunState, Source};
use dyno_core::text::server_name;
use rusqlite::types::Value;
use rusqlite::{OptionalExtension as _, Row, params_from_iter};
use serde::de::DeserializeOwned;

use crate::error::{Problem, ResultsError};
use crate::open::Results;
use crate::process::Process;

/// Maximum number of names in the error about an ambiguous one.
const NAMES_SHOWN_MAX: usize = 5;

/// The stage of a run, as other processes see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStage {
    /// In progress.
    Running,
    /// Its process died before the run was finished.
    Unfinished,
    /// It reached a limit.
    Completed,
    /// The user interrupted it.
    Interrupted,
    /// It failed.
    Failed,
    /// Imported from another tool's log.
    Imported,
}

impl RunStage {
    /// All stages, in the order of a run's life.
    pub const ALL: [Self; 6] = [
        Self::Running,
        Self::Unfinished,
        Self::Completed,
        Self::Interrupted,
        Self::Failed,
        Self::Imported,
    ];

    /// The stage of a run in this state; `lives` means that its process is alive.
    pub(super) fn of(state: RunState, lives: bool) -> Self {
        match state {
            RunState::Running if lives => Self::Running,
            RunState::Running => Self::Unfinished,
            RunState::Completed => Self::Completed,
            RunState::Interrupted => Self::Interrupted,
            RunState::Failed => Self::Failed,
            RunState::Imported => Self::Imported,
        }
    }

    /// The stage in one word, for display.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Unfinished => "unfinished",
            Self::Completed => "completed",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Imported => "imported",
        }
    }
}

/// Which runs to list. Fields that are `None` or empty match every run.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// A part of the workload's name. Case does not matter.
    pub workload: Option<String>,
    /// A part of the target's URL, or of the server's product and version. Case does not matter.
    pub target: Option<String>,
    /// The verdict.
    pub verdict: Option<Verdict>,
    /// The stage.
    pub stage: Option<RunStage>,
    /// Started at this time or later, in seconds since the Unix epoch. If a run has no start time,
    /// the time when it was recorded counts.
    pub since_unix_s: Option<f64>,
    /// A part of the note. Case does not matter.
    pub note: Option<String>,
    /// These factors at these levels: see [`RunLine::level`].
    pub factors: Factors,
    /// At most this many runs, the latest ones.
    pub limit: Option<usize>,
}

/// A run in one line.
#[derive(Clone, Debug, PartialEq)]
pub struct RunLine {
    /// Its number.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// Its stage.
    pub stage: RunStage,
    /// The verdict. `None` if the run was not judged.
    pub verdict: Option<Verdict>,
    /// Number of checks.
    pub checks: usize,
    /// Number of checks that could run.
    pub checks_made: usize,
    /// Number of doubts and refusals that were waived.
    pub checks_waived: usize,
    /// The tool that produced it.
    pub source: Source,
    /// When the measurement began, or when the run began if it has no measurement, in seconds since
    /// the Unix epoch. `None` if an imported log has no time.
    pub started_unix_s: Option<f64>,
    /// The workload as typed. `None` if an imported log does not name it.
    pub workload: Option<String>,
    /// The command, e.g. `run`.
    pub command: String,
    /// The target's URL.
    pub target: String,
    /// The server's product. Empty if it is unknown.
    pub product: String,
    /// The server's version. Empty if it is unknown.
    pub server_version: String,
    /// Simulated users; `None` if unknown.
    pub sessions: Option<u32>,
    /// The offered load of an open loop; `None` in a closed one.
    pub offered_per_s: Option<f64>,
    /// Events per second. If the run has no end, they come from the saved intervals.
    pub events_per_s: Option<f64>,
    /// Statements per second. If the run has no end, they come from the saved intervals.
    pub queries_per_s: Option<f64>,
    /// The 95th percentile of response times in an open loop, or of service times in a closed one;
    /// `None` if unknown or if there are too few samples.
    pub p95_ms: Option<f64>,
    /// The 99th percentile of the same times. `None` under the same conditions.
    pub p99_ms: Option<f64>,
    /// Errors of all codes; `None` for a run without an end.
    pub errors: Option<u64>,
    /// The user's note.
    pub note: String,
    /// The factors that the user varied, by name.
    pub factors: Factors,
    /// How its load changed over time; `None` if it was constant.
    pub schedule: Option<LoadSchedule>,
}

impl RunLine {
    /// The level of a factor. Every run has the factors `workload`, `server` and `sessions`.
    pub fn level(&self, factor: &str) -> Option<String> {
        let own = self.factors.get(factor).cloned();
        own.or_else(|| match factor {
            "workload" => self.workload.clone(),
            "server" => {
                let server = server_name(&self.product, &self.server_version);
                Some(server).filter(|server| !server.is_empty())
            }
            "sessions" => match &self.schedule {
                Some(schedule) if schedule.of == Scheduled::Sessions => Some(schedule.short()),
                _ => self.sessions.map(|sessions| sessions.to_string()),
            },
            _ => None,
        })
    }
}

impl Results {
    /// The value of the setting with this name at the beginning of each run, by the number of the
    /// run. If a run recorded no such setting, the value is that of the fact with this name.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn settings_named(&self, name: &str) -> Result<BTreeMap<i64, String>, ResultsError> {
        let read = || -> rusqlite::Result<BTreeMap<i64, String>> {
            let mut rows = self.connection.prepare_cached(
                "SELECT run_id, value FROM fact WHERE name = ?1
                 UNION ALL
                 SELECT run_id, at_start FROM setting WHERE name = ?1 AND at_start IS NOT NULL",
            )?;
            rows.query_map([name], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect()
        };
        read().map_err(|error| self.at("read a setting in").sqlite(error))
    }

    /// The runs that match the filter, oldest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn runs(&self, filter: &Filter) -> Result<Vec<RunLine>, ResultsError> {
        let at = self.at("list the runs in");
        let (conditions, values) = conditions(filter);
        // Apply the limit here, because SQLite cannot check whether a process is running.
        let sql = format!("SELECT {COLUMNS} FROM run WHERE {conditions} ORDER BY id DESC");
        let read = || -> rusqlite::Result<Vec<RunLine>> {
            let mut statement = self.connection.prepare(&sql)?;
            let mut rows = statement.query(params_from_iter(values))?;
            let mut lines = Vec::new();
            while let Some(row) = rows.next()? {
                let line = line(row)?;
                let has = |(name, level): (&String, &String)| {
                    line.level(name).is_some_and(|own| own == *level)
                };
                let is_wanted = filter.stage.is_none_or(|stage| stage == line.stage)
                    && filter.factors.iter().all(has);
                if is_wanted {
                    lines.push(line);
                }
                if filter.limit.is_some_and(|limit| lines.len() >= limit) {
                    lines.truncate(filter.limit.unwrap_or_default());
                    break;
                }
            }
            lines.reverse();
            Ok(lines)
        };
        read().map_err(|error| at.sqlite(error))
    }

    /// The runs with this fact, oldest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn with_fact(&self, name: &str, value: &str) -> Result<Vec<i64>, ResultsError> {
        let read = || -> rusqlite::Result<Vec<i64>> {
            let sql = "SELECT run_id FROM fact WHERE name = ?1 AND value = ?2 ORDER BY run_id";
            let mut statement = self.connection.prepare_cached(sql)?;
            let ids = statement.query_map((name, value), |row| row.get(0))?;
            ids.collect()
        };
        read().map_err(|error| self.at("look for a run in").sqlite(error))
    }

    /// The value of a fact about a run, if it has the fact.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn fact(&self, run: i64, name: &str) -> Result<Option<String>, ResultsError> {
        let sql = "SELECT value FROM fact WHERE run_id = ?1 AND name = ?2";
        let read = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            statement
                .query_row((run, name), |row| row.get(0))
                .optional()
        };
        read().map_err(|error| self.at("read a fact in").sqlite(error))
    }

    /// The run named by `last`, by its number, or by an unambiguous beginning of its name.
    ///
    /// # Errors
    /// No run or several runs match.
    pub fn find(&self, wanted: &str) -> Result<i64, ResultsError> {
        let at = self.at("find a run in");
        let id = |sql: &str, value: Value| {
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query([value])?;
            let row = rows.next()?;
            row.map(|row| row.get::<_, i64>(0)).transpose()
        };
        let id = |sql, value| id(sql, value).map_err(|error| at.sqlite(error));
        if wanted == "last" {
            let last = id("SELECT max(id) FROM run HAVING max(id) >= ?1", 0.into())?;
            return last.ok_or_else(|| at.error(Problem::NoRuns));
        }
        if let Ok(number) = wanted.parse::<i64>()
            && let Some(id) = id("SELECT id FROM run WHERE id = ?1", number.into())?
        {
            return Ok(id);
        }
        let text = || Value::from(wanted.to_owned());
        if let Some(id) = id("SELECT id FROM run WHERE name = ?1", text())? {
            return Ok(id);
        }
        let mut begun = match is_number(wanted) {
            true => Vec::new(),
            false => self.begun_with(wanted).map_err(|error| at.sqlite(error))?,
        };
        match begun.len() {
            1 => Ok(begun.remove(0).0),
            0 => Err(at.error(Problem::NoSuchRun(wanted.to_owned()))),
            _ => Err(at.error(Problem::Ambiguous {
                wanted: wanted.to_owned(),
                names: begun.into_iter().map(|(_, name)| name).collect(),
            })),
        }
    }

    /// The runs of a sequence in order. The sequence is named by the beginning of its name, or by
    /// one of its runs as in [`Results::find`].
    ///
    /// # Errors
    /// The run does not exist, it is not a phase of a sequence, or the file cannot be read.
    pub fn sequence(&self, wanted: &str) -> Result<Vec<i64>, ResultsError> {
        let at = self.at("find a sequence in");
        let begun = self.sequences_begun_with(wanted);
        let mut names = begun.map_err(|error| at.sqlite(error))?;
        if names.len() > 1 {
            return Err(at.error(Problem::Ambiguous {
                wanted: wanted.to_owned(),
                names,
            }));
        }
        let name = match names.pop() {
            Some(name) => name,
            None => {
                let id = self.find(wanted)?;
                let sql = "SELECT json_extract(head, '$.phase.sequence') FROM run WHERE id = ?1";
                let name = self.connection.query_row(sql, [id], |row| row.get(0));
                let name: Option<String> = name.map_err(|error| at.sqlite(error))?;
                name.ok_or_else(|| at.error(Problem::NoSequence(wanted.to_owned())))?
            }
        };
        self.of_sequence(&name).map_err(|error| at.sqlite(error))
    }

    fn of_sequence(&self, name: &str) -> rusqlite::Result<Vec<i64>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT id FROM run WHERE json_extract(head, '$.phase.sequence') = ?1 ORDER BY id",
        )?;
        let rows = statement.query_map([name], |row| row.get(0))?;
        rows.collect()
    }

    fn sequences_begun_with(&self, beginning: &str) -> rusqlite::Result<Vec<String>> {
        // A short number means a run, even if a year starts with it.
        let number = beginning.parse::<i64>().is_ok() && self.find(beginning).is_ok();
        if beginning.is_empty() || number {
            return Ok(Vec::new());
        }
        let mut statement = self.connection.prepare_cached(
            "SELECT DISTINCT json_extract(head, '$.phase.sequence') AS sequence FROM run
             WHERE substr(sequence, 1, length(?1)) = ?1 LIMIT ?2",
        )?;
        let rows = statement.query_map((beginning, NAMES_SHOWN_MAX as i64), |row| row.get(0))?;
        rows.collect()
    }

    fn begun_with(&self, beginning: &str) -> rusqlite::Result<Vec<(i64, String)>> {
        if beginning.is_empty() {
            return Ok(Vec::new());
        }
        let mut statement = self.connection.prepare_cached(
            "SELECT id, name FROM run WHERE substr(name, 1, length(?1)) = ?1 LIMIT ?2",
        )?;
        let rows = statement.query_map((beginning, NAMES_SHOWN_MAX as i64), |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
        rows.collect()
    }
}

/// A run that has no end has no summary, so its figures come from the saved intervals. If a run was
/// interrupted, its measurement may have been planned for a later time than its end.
const COLUMNS: &str = "id, name, state, verdict, source,
    CASE WHEN source = 'dyno' AND state = 'interrupted'
         THEN min(coalesce(started_unix_s, created_unix_s),
                  coalesce(finished_unix_s, created_unix_s))
         WHEN source = 'dyno' THEN coalesce(started_unix_s, created_unix_s)
         ELSE started_unix_s END,
    workload, command, target_url, product, server_version, sessions, offered_per_s,
    CASE WHEN state <> 'running' THEN events_per_s ELSE (
        SELECT sum(i.events) / nullif(sum(length_s), 0) FROM interval i WHERE run_id = run.id) END,
    CASE WHEN state <> 'running' THEN queries_per_s ELSE (
        SELECT sum(reads + writes + other) / nullif(sum(length_s), 0)
        FROM interval i WHERE run_id = run.id) END,
    p95_ms, p99_ms, errors, note, pid, boot_id, process_start_ticks, pid_namespace,
    (SELECT count(*) FROM finding f WHERE f.run_id = run.id),
    (SELECT count(*) FROM finding f WHERE f.run_id = run.id AND f.outcome <> 'not_checked'),
    (SELECT count(*) FROM finding f WHERE f.run_id = run.id AND f.waived IS NOT NULL
        AND f.outcome IN ('doubt', 'refuse')),
    json_extract(head, '$.factors'), json_extract(head, '$.drive.schedule')";

/// Whether a word is the number of a run. Names begin with a date of eight digits.
fn is_number(word: &str) -> bool {
    word.len() < 8 && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn line(row: &Row<'_>) -> rusqlite::Result<RunLine> {
    let process = || -> rusqlite::Result<Process> {
        Ok(Process {
            pid: row.get(19)?,
            boot_id: row.get(20)?,
            start_ticks: row.get(21)?,
            namespace: row.get(22)?,
        })
    };
    let state = of_word(row.get(2)?, 2)?;
    let lives = state == RunState::Running && process()?.lives();
    let stage = RunStage::of(state, lives);
    let verdict: Option<String> = row.get(3)?;
    Ok(RunLine {
        id: row.get(0)?,
        name: row.get(1)?,
        stage,
        verdict: verdict.map(|word| of_word(word, 3)).transpose()?,
        checks: row.get::<_, u32>(23)? as usize,
        checks_made: row.get::<_, u32>(24)? as usize,
        checks_waived: row.get::<_, u32>(25)? as usize,
        source: of_word(row.get(4)?, 4)?,
        started_unix_s: row.get(5)?,
        workload: row
            .get::<_, Option<String>>(6)?
            .filter(|name| !name.is_empty()),
        command: row.get(7)?,
        target: row.get(8)?,
        product: row.get(9)?,
        server_version: row.get(10)?,
        sessions: row.get(11)?,
        offered_per_s: row.get(12)?,
        events_per_s: row.get(13)?,
        queries_per_s: row.get(14)?,
        p95_ms: row.get(15)?,
        p99_ms: row.get(16)?,
        errors: row
            .get::<_, Option<i64>>(17)?
            .map(|count| count.max(0) as u64),
        note: row.get(18)?,
        factors: match row.get::<_, Option<String>>(26)? {
            Some(text) => serde_json::from_str(&text).unwrap_or_default(),
            None => Factors::new(),
        },
        schedule: (row.get::<_, Option<String>>(27)?)
            .and_then(|text| serde_json::from_str(&text).ok()),
    })
}

fn conditions(filter: &Filter) -> (String, Vec<Value>) {
    let mut conditions = vec!["1".to_owned()];
    let mut values: Vec<Value> = Vec::new();
    let mut and = |condition: &str, value: Value| {
        values.push(value);
        conditions.push(condition.replace('?', &format!("?{}", values.len())));
    };
    if let Some(workload) = &filter.workload {
        and(
            "instr(lower(workload), lower(?)) > 0",
            workload.clone().into(),
        );
    }
    if let Some(target) = &filter.target {
        and(
            "instr(lower(target_url || ' ' || product || ' ' || server_version), lower(?)) > 0",
            target.clone().into(),
        );
    }
    if let Some(verdict) = filter.verdict {
        and("verdict = ?", verdict.word().to_owned().into());
    }
    if let Some(since_s) = filter.since_unix_s {
        and(
            "coalesce(started_unix_s, created_unix_s) >= ?",
            since_s.into(),
        );
    }
    if let Some(note) = &filter.note {
        and("instr(lower(note), lower(?)) > 0", note.clone().into());
    }
    (conditions.join(" AND "), values)
}

/// Parses a word of the vocabulary.
pub(crate) fn of_word<T: DeserializeOwned>(word: String, column: usize) -> rusqlite::Result<T> {
    serde_json::from_value(serde_json::Value::String(word)).map_err(|error| {
        let kind = rusqlite::types::Type::Text;
        rusqlite::Error::FromSqlConversionFailure(column, kind, Box::new(error))
    })
}
