//! Whether the tables hold what the workload believes, counted before the run where that is cheap.

use std::time::Duration;

use dyno_core::Clock;
use dyno_core::clock::Nanos;
use dyno_core::plan::OptionValue;
use dyno_drivers::control::Control;
use dyno_load::StopLevel;
use dyno_verdict::{Claim, RowCount};

use crate::job::Ready;
use crate::summary::Asked;

/// Counting reads every row: more than these would take seconds and warm the caches.
const ROWS_MAX: f64 = 1_000_000.0;
/// A server that takes longer for all tables together is left alone.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Workloads that leave as many rows as they find.
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

/// The rows of each table of a built-in workload that neither adds nor takes away; none where it
/// is another workload, too many rows to count, or caches that must stay cold.
pub fn count(ready: &Ready, asked: &Asked, claim: Option<Claim>) -> Vec<RowCount> {
    let option = |name: &str| match ready.job.options.iter().find(|(own, _)| own == name) {
        Some((_, OptionValue::Number(value))) if *value >= 1.0 => Some(*value),
        _ => None,
    };
    let workload = asked.plan.workload.as_str();
    let bare = workload.strip_suffix(".lua").unwrap_or(workload);
    let known = ready.job.work.is_builtin() && CONSTANT.contains(&bare);
    let (Some(tables), Some(size)) = (option("tables"), option("table_size")) else {
        return Vec::new();
    };
    if !known || tables * size > ROWS_MAX || matches!(claim, Some(Claim::Cold)) {
        return Vec::new();
    }
    let Some(connector) = &ready.connector else {
        return Vec::new();
    };
    let Ok(mut control) = Control::connect(connector.as_ref(), TIMEOUT) else {
        return Vec::new();
    };
    let mut counts = Vec::new();
    let until = Clock.now() + TIMEOUT.as_nanos() as Nanos;
    for number in 1..=tables as u64 {
        let left = Duration::from_nanos(until.saturating_sub(Clock.now()));
        if left.is_zero() || ready.stop.level() != StopLevel::None {
            break;
        }
        let table = format!("sbtest{number}");
        let rows = control.query(&format!("SELECT count(*) FROM {table}"), left);
        let found = rows
            .ok()
            .and_then(|rows| rows.first()?.first()?.as_ref()?.parse().ok());
        // A table that is not there is the run's to complain about.
        if found.is_some() {
            counts.push(RowCount {
                table,
                expected: size as u64,
                found,
            });
        }
    }
    control.close();
    counts
}
