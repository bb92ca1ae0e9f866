//! The SQL statements for a run's rows.

use std::sync::LazyLock;

use dyno_core::cpu_profile::CpuProfile;
use dyno_core::interval::Counters;
use dyno_core::record::{Event, Fact, NotObserved, RunHead, RunState, SeriesKey, SeriesKind};
use dyno_core::summary::{IntervalSummary, Percentile, TargetSummary};
use rusqlite::types::Value;
use rusqlite::{Connection, ToSql, params, params_from_iter};
use serde::Serialize;

use super::samples::SampleRow;
use super::spans::NumberedSpan;
use crate::codec::SpanRow;
use crate::process::Process;

/// zlib's default level.
const DEFLATE_LEVEL: u8 = 6;

/// A row, or an update of one.
#[derive(Debug)]
pub(crate) enum Row {
    Started(f64),
    Target(TargetSummary),
    Interval(u32, Box<IntervalSummary>),
    Operation(u32, String),
    Span(NumberedSpan),
    Series(u32, SeriesKey, SeriesKind),
    Sample(SampleRow),
    Fact(Fact),
    Setting(String, Option<String>, bool),
    Event(u32, Event),
    NotObserved(NotObserved),
    Profile(Box<CpuProfile>),
}

impl Row {
    pub(crate) fn write(&self, connection: &Connection, run_id: i64) -> rusqlite::Result<()> {
        let run = |sql: &str, values: &[&dyn rusqlite::ToSql]| {
            connection.prepare_cached(sql)?.execute(values).map(drop)
        };
        match self {
            Self::Started(unix_s) => run(
                "UPDATE run SET started_unix_s = ?2 WHERE id = ?1",
                params![run_id, unix_s],
            ),
            Self::Target(target) => write_target(connection, run_id, target),
            Self::Interval(number, summary) => write_interval(connection, run_id, *number, summary),
            Self::Operation(number, name) => run(
                "INSERT OR REPLACE INTO operation (run_id, number, name) VALUES (?1, ?2, ?3)",
                params![run_id, number, name],
            ),
            Self::Span(span) => write_span(connection, run_id, span),
            Self::Series(number, key, kind) => run(
                "INSERT OR REPLACE INTO series (run_id, number, name, unit, source, kind)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![run_id, number, key.name, key.unit, key.source, word(kind)?],
            ),
            Self::Sample(sample) => write_sample(connection, run_id, sample),
            Self::Fact(fact) => run(
                "INSERT OR REPLACE INTO fact (run_id, name, value, source)
                 VALUES (?1, ?2, ?3, ?4)",
                params![run_id, fact.name, fact.value, fact.source],
            ),
            Self::Setting(name, value, at_end) => run(
                if *at_end {
                    "INSERT INTO setting (run_id, name, at_end) VALUES (?1, ?2, ?3)
                     ON CONFLICT DO UPDATE SET at_end = excluded.at_end"
                } else {
                    "INSERT INTO setting (run_id, name, at_start) VALUES (?1, ?2, ?3)
                     ON CONFLICT DO UPDATE SET at_start = excluded.at_start"
                },
                params![run_id, name, value],
            ),
            Self::Event(number, event) => run(
                "INSERT OR REPLACE INTO event (run_id, number, at_s, until_s, kind, text, detail)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    run_id,
                    number,
                    event.at_s,
                    event.until_s,
                    word(event.kind)?,
                    event.text,
                    (!event.detail.is_empty())
                        .then(|| json(&event.detail))
                        .transpose()?
                ],
            ),
            Self::NotObserved(gap) => run(
                "INSERT OR REPLACE INTO not_observed (run_id, what, why) VALUES (?1, ?2, ?3)",
                params![run_id, gap.what, gap.why],
            ),
            Self::Profile(profile) => write_profile(connection, run_id, profile),
        }
    }
}

fn write_profile(
    connection: &Connection,
    run_id: i64,
    profile: &CpuProfile,
) -> rusqlite::Result<()> {
    let folded = profile.stacks.folded();
    let packed = miniz_oxide::deflate::compress_to_vec_zlib(folded.as_bytes(), DEFLATE_LEVEL);
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO cpu_profile (run_id, process, frequency_hz, samples, lost,
                 cut, stacks)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            run_id,
            profile.process.name(),
            profile.frequency_hz,
            whole(profile.samples),
            whole(profile.lost),
            profile.cut,
            packed
        ])
        .map(drop)
}

/// The name. If it is taken, the first number that is free is appended.
pub(crate) fn free_name(connection: &Connection, name: &str) -> rusqlite::Result<String> {
    let mut free = name.to_owned();
    let mut number = 1;
    while is_name_taken(connection, &free)? {
        number += 1;
        free = format!("{name}-{number}");
    }
    Ok(free)
}

pub(crate) fn is_name_taken(connection: &Connection, name: &str) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM run WHERE name = ?1")?
        .exists([name])
}

/// Inserts a run and returns its number.
pub(crate) fn insert_run(
    connection: &Connection,
    head: &RunHead,
    state: RunState,
    process: &Process,
) -> rusqlite::Result<i64> {
    let drive = head.drive.as_ref();
    connection.execute(
        "INSERT INTO run (name, state, source, profile, tool, created_unix_s, workload, command,
             target_url, product, server_version, sessions, offered_per_s, note, head,
             pid, boot_id, process_start_ticks, pid_namespace, trial)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15,
             ?16, ?17, ?18, ?19, ?20)",
        params![
            head.name,
            word(state)?,
            word(head.source)?,
            word(head.profile)?,
            head.tool,
            head.created_unix_s,
            head.workload.name,
            head.workload.command,
            head.target.url,
            head.target.product,
            head.target.version,
            drive.map(|drive| drive.sessions),
            drive
                .and_then(|drive| drive.open_loop)
                .map(|open_loop| open_loop.per_second),
            head.note,
            json(head)?,
            process.pid,
            process.boot_id,
            process.start_ticks,
            process.namespace,
            head.trial,
        ],
    )?;
    Ok(connection.last_insert_rowid())
}

/// Stores the identity of the target in the columns and in the head.
pub(crate) fn write_target(
    connection: &Connection,
    run_id: i64,
    target: &TargetSummary,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE run SET target_url = ?2, product = ?3, server_version = ?4,
                 head = json_set(head, '$.target', json(?5))
             WHERE id = ?1",
        )?
        .execute(params![
            run_id,
            target.url,
            target.product,
            target.version,
            json(target)?
        ])
        .map(drop)
}

fn write_interval(
    connection: &Connection,
    run_id: i64,
    number: u32,
    interval: &IntervalSummary,
) -> rusqlite::Result<()> {
    let own = params![
        run_id,
        number,
        interval.at_s,
        interval.length_s,
        interval.sessions,
        whole(interval.errors_seen),
        interval.max_ms,
        interval.backlog.map(whole),
        interval.concurrency,
        percentiles(&interval.percentiles)?,
        interval.states.map(|states| states.working),
        interval.states.map(|states| states.waiting),
        interval.states.map(|states| states.connecting),
        interval.states.map(|states| states.lost),
        interval.states.map(|states| states.finished),
        interval.printed.and_then(|printed| printed.events_per_s),
        interval.printed.and_then(|printed| printed.queries_per_s),
    ];
    let counts = interval.counters.values().map(whole);
    let counts = counts.iter().map(|count| count as &dyn ToSql);
    connection
        .prepare_cached(&INSERT_INTERVAL)?
        .execute(params_from_iter(own.iter().copied().chain(counts)))
        .map(drop)
}

/// Inserts a row of `interval`, which has its own columns and one for each counter.
static INSERT_INTERVAL: LazyLock<String> = LazyLock::new(|| {
    let own = "run_id, number, at_s, length_s, sessions, errors_seen, max_ms, backlog,
               concurrency, percentiles, working, waiting, connecting, lost, finished,
               printed_events_per_s, printed_queries_per_s";
    let counters = Counters::NAMES;
    let columns = own.split(',').count() + counters.len();
    format!(
        "INSERT OR REPLACE INTO interval ({own}, {}) VALUES (?{})",
        counters.join(", "),
        ", ?".repeat(columns - 1)
    )
});

/// An object of milliseconds by percent, e.g. `{"95":4.1,"99.9":null}`.
fn percentiles(percentiles: &[Percentile]) -> rusqlite::Result<String> {
    let object: serde_json::Map<_, _> = percentiles
        .iter()
        .map(|own| (own.percent.to_string(), own.value_ms.into()))
        .collect();
    json(&object)
}

fn write_span(connection: &Connection, run_id: i64, span: &NumberedSpan) -> rusqlite::Result<()> {
    let row = &span.row;
    connection
        .prepare_cached(
            "INSERT INTO span (run_id, number, operation, from_s, to_s, count, sum_ns, min_ns,
                 max_ns, p50_ns, p95_ns, p99_ns, p999_ns, response_p50_ns, response_p95_ns,
                 response_p99_ns, response_p999_ns, service, response)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
                 ?18, ?19)
             ON CONFLICT (run_id, number) DO UPDATE SET to_s = excluded.to_s,
                 count = excluded.count, sum_ns = excluded.sum_ns, min_ns = excluded.min_ns,
                 max_ns = excluded.max_ns, p50_ns = excluded.p50_ns, p95_ns = excluded.p95_ns,
                 p99_ns = excluded.p99_ns, p999_ns = excluded.p999_ns,
                 response_p50_ns = excluded.response_p50_ns,
                 response_p95_ns = excluded.response_p95_ns,
                 response_p99_ns = excluded.response_p99_ns,
                 response_p999_ns = excluded.response_p999_ns,
                 service = excluded.service, response = excluded.response",
        )?
        .execute(params![
            run_id,
            span.number,
            span.operation,
            row.from_s,
            row.to_s,
            whole(row.count),
            whole(row.sum_ns),
            whole(row.min_ns),
            whole(row.max_ns),
            row.service_ns[0].map(whole),
            row.service_ns[1].map(whole),
            row.service_ns[2].map(whole),
            row.service_ns[3].map(whole),
            row.response_ns[0].map(whole),
            row.response_ns[1].map(whole),
            row.response_ns[2].map(whole),
            row.response_ns[3].map(whole),
            row.service,
            row.response,
        ])
        .map(drop)
}

/// Writes the latencies of an operation over the whole run.
pub(crate) fn write_total(
    connection: &Connection,
    run_id: i64,
    operation: u32,
    row: &SpanRow,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO total (run_id, operation, from_s, to_s, count, sum_ns, min_ns,
                 max_ns, p50_ns, p95_ns, p99_ns, p999_ns, response_p50_ns, response_p95_ns,
                 response_p99_ns, response_p999_ns, service, response)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
                 ?18)",
        )?
        .execute(params![
            run_id,
            operation,
            row.from_s,
            row.to_s,
            whole(row.count),
            whole(row.sum_ns),
            whole(row.min_ns),
            whole(row.max_ns),
            row.service_ns[0].map(whole),
            row.service_ns[1].map(whole),
            row.service_ns[2].map(whole),
            row.service_ns[3].map(whole),
            row.response_ns[0].map(whole),
            row.response_ns[1].map(whole),
            row.response_ns[2].map(whole),
            row.response_ns[3].map(whole),
            row.service,
            row.response,
        ])
        .map(drop)
}

fn write_sample(connection: &Connection, run_id: i64, sample: &SampleRow) -> rusqlite::Result<()> {
    if let Some(earlier_s) = sample.instead_of_s {
        connection
            .prepare_cached("DELETE FROM sample WHERE run_id = ?1 AND at_s = ?2 AND series = ?3")?
            .execute(params![run_id, earlier_s, sample.series])?;
    }
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO sample (run_id, at_s, series, value) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![
            run_id,
            short(sample.at_s),
            sample.series,
            short(sample.value)
        ])
        .map(drop)
}

/// Stores a whole number as an integer, which takes fewer bytes.
pub(crate) fn short(value: f64) -> Value {
    // SQLite itself does so up to this value, and no digit is lost.
    const SHORT_MAX: f64 = 140_737_488_355_328.0;
    // A negative zero would lose its sign.
    let whole = value.fract() == 0.0 && value.abs() < SHORT_MAX && value.to_bits() != NEGATIVE_ZERO;
    if whole {
        Value::Integer(value as i64)
    } else {
        Value::Real(value)
    }
}

const NEGATIVE_ZERO: u64 = (-0.0_f64).to_bits();

/// SQLite's integers end at 2^63, which no sum of a run reaches.
pub(crate) fn whole(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The word for a value of the vocabulary.
pub(crate) fn word<T: Serialize>(value: T) -> rusqlite::Result<String> {
    let value = serde_json::to_value(value).map_err(as_sqlite)?;
    Ok(value.as_str().unwrap_or_default().to_owned())
}

pub(crate) fn json<T: Serialize>(value: &T) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(as_sqlite)
}

pub(super) fn as_sqlite(error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}
