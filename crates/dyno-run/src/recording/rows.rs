//! Checks that the tables have the expected rows, which are counted before the run if that is
//! cheap.

use std::time::Duration;

use dyno_core::Clock;
use dyno_core::clock::Nanos;
use dyno_core::db::{DbError, ErrorKind};
use dyno_core::plan::OptionValue;
use dyno_drivers::control::Control;
use dyno_load::StopLevel;
use dyno_verdict::{Claim, RowCount};

use crate::error::Result;
use crate::job::Ready;
use crate::request::RunRequest;

/// Counting reads every row. If all tables together have more rows than this, samples are looked up
/// instead, which takes less time and does not warm the caches.
const ROWS_MAX: f64 = 1_000_000.0;
/// How many ids to look up in each table in that case, spread up to the highest one.
const PROBES: u64 = 64;
/// If a table has less than this share of the expected rows according to the samples, it has too
/// few. Gaps in the ids make a sample inexact by a few percent.
const PROBED_MIN: f64 = 0.8;
/// How long all tables together may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Workloads that leave the number of rows unchanged.
const CONSTANT: &[&str] = &[
    "oltp_read_write",
    "oltp_read_only",
    "oltp_write_only",
    "oltp_point_select",
    "oltp_update_index",
    "oltp_update_non_index",
    "select_random_points",
    "select_random_ranges",
];

/// Workloads on the same tables that do change the number of rows.
const CHANGING: &[&str] = &["oltp_insert", "oltp_delete"];

/// The rows in each table of a built-in workload that does not change their number. Empty for other
/// workloads, for too many rows to count, and for caches that must stay cold.
///
/// # Errors
/// A table is missing, so no session could begin.
pub(super) fn count(
    ready: &Ready,
    request: &RunRequest,
    claim: Option<Claim>,
) -> Result<Vec<RowCount>> {
    let option = |name: &str| option(ready, name);
    let constant = CONSTANT.contains(&bare(request));
    let (Some(tables), Some(size)) = (option("tables"), option("table_size")) else {
        return Ok(Vec::new());
    };
    if !knows(ready, request) || matches!(claim, Some(Claim::Cold)) {
        return Ok(Vec::new());
    }
    let Some(connector) = &ready.connector else {
        return Ok(Vec::new());
    };
    let Ok(mut control) = Control::connect(connector.as_ref(), TIMEOUT) else {
        return Ok(Vec::new());
    };
    let mut counts = Vec::new();
    let until = Clock.now() + TIMEOUT.as_nanos() as Nanos;
    for number in 1..=tables as u64 {
        let left = Duration::from_nanos(until.saturating_sub(Clock.now()));
        if left.is_zero() || ready.stop.level() != StopLevel::None {
            break;
        }
        let table = format!("sbtest{number}");
        let probed = tables * size > ROWS_MAX;
        let found = match (constant, probed) {
            (false, _) => {
                let sql = format!("SELECT 1 FROM {table} WHERE 1 = 0");
                ask(&mut control, &sql, left)
            }
            (true, true) => probe(&mut control, &table, left),
            (true, false) => ask(&mut control, &format!("SELECT count(*) FROM {table}"), left),
        };
        let found = match found {
            Err(error) if error.kind == ErrorKind::NoTable => {
                control.close();
                return Err(error.into());
            }
            found => found.ok().flatten(),
        };
        // If the table may be complete, its exact number of rows is not known.
        let enough = |found: &u64| *found as f64 >= size * PROBED_MIN;
        if found.is_some() && !(probed && found.as_ref().is_some_and(enough)) {
            counts.push(RowCount {
                table,
                expected: size as u64,
                found,
                probed,
            });
        }
    }
    control.close();
    Ok(counts)
}

/// How many tables the options ask for.
pub(super) fn tables(ready: &Ready) -> u64 {
    option(ready, "tables").map_or(0, |tables| tables as u64)
}

/// The value of an option that is a number of at least 1.
fn option(ready: &Ready, name: &str) -> Option<f64> {
    match ready.job.options.iter().find(|(own, _)| own == name) {
        Some((_, OptionValue::Number(value))) if *value >= 1.0 => Some(*value),
        _ => None,
    }
}

/// Whether this module knows the tables of the workload.
pub(super) fn knows(ready: &Ready, request: &RunRequest) -> bool {
    let own = bare(request);
    ready.job.work.is_builtin() && (CONSTANT.contains(&own) || CHANGING.contains(&own))
}

/// The workload's name.
pub(super) fn bare(request: &RunRequest) -> &str {
    let workload = request.plan.workload.as_str();
    workload.strip_suffix(".lua").unwrap_or(workload)
}

/// Estimates the rows of a table from its highest id, and from the share of the sampled ids that
/// exist.
fn probe(control: &mut Control, table: &str, left: Duration) -> Result<Option<u64>, DbError> {
    let Some(highest) = ask(control, &format!("SELECT max(id) FROM {table}"), left)? else {
        return Ok(None);
    };
    let step = (highest / PROBES).max(1);
    // The ids avoid a regular pattern, in case every second or third id is missing.
    let ids = (0..PROBES).map(|n| (1 + n * step + n * 7919 % step).min(highest).to_string());
    let ids: Vec<String> = ids.collect();
    let sql = format!(
        "SELECT count(*) FROM {table} WHERE id IN ({})",
        ids.join(",")
    );
    let there = ask(control, &sql, left)?;
    let of = |there| (u128::from(highest) * u128::from(there) / u128::from(PROBES)) as u64;
    Ok(there.map(of))
}

/// The number that a statement returns. `None` if it returns no row.
fn ask(control: &mut Control, sql: &str, left: Duration) -> Result<Option<u64>, DbError> {
    let rows = control.query(sql, left)?;
    let first = rows.first().and_then(|row| row.first());
    Ok(first.and_then(|value| value.as_ref()?.parse().ok()))
}
