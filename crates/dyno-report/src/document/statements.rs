//! Figures per statement shape.

use dyno_core::summary::{
    DigestSummary, DigestsSummary, LatencySummary, Percentile, RunSummary, StatementSummary,
};

use super::{Cell, Table, Value};
use crate::number::{latency, plain, rate, thousands};

/// A row for each shape, by total time, largest first; `full` has the server's statistics below.
pub(crate) fn statements(run: &RunSummary, full: bool) -> Table {
    let served = |one: &StatementSummary| run.digests.as_ref()?.of_shape(&one.shape);
    let server_mean = |one: &StatementSummary| {
        let server = served(one).filter(|server| agrees(one, server));
        server.map(|server| Value::Ms(server.mean_ms()))
    };
    let mut columns = Table::of(&run.statements);
    columns = match full {
        true => columns.below("statement", |one| one.shape.clone()),
        false => columns.text("statement", 0, |one| Value::Code(one.shape.clone())),
    };
    columns = columns
        .figure("time", 0, |one| Value::Share(one.time_share))
        .figure("/s", 0, |one| Value::Rate(one.per_s))
        .figure("rows", 0, |one| Value::Rate(one.rows_mean))
        .mean(0, latencies);
    // The server reports only a mean, so it goes next to ours.
    if run.statements.iter().any(|one| server_mean(one).is_some()) {
        columns = columns.figure("server", 0, server_mean);
    }
    for one in percentiles(run) {
        columns = columns.percentile(one.percent, 0, latencies);
    }
    columns = columns.longest(0, latencies);
    if full {
        columns = columns.below("by the server", |one| {
            served(one).map_or_else(String::new, |server| beside(one, server))
        });
    }
    columns
        .notes(|one| match one.errors {
            0 => String::new(),
            errors => format!("{} failed", thousands(errors)),
        })
        .labelled(9)
        .source(
            "summary, of the measurement and its grace period. Statements that differ only in \
             their values (?), or in the number at the end of a name (N), count as one. The time \
             runs from sending a statement to receiving its answer, as a share of the service \
             time of all events; latencies cover successful statements. The server's mean is \
             that of its own digests.",
        )
}

/// A row for each of the server's execution plans.
pub(crate) fn plans(run: &RunSummary) -> Table {
    Table::of(&run.plans)
        .text("statement", 0, |plan| Value::Code(plan.shape.clone()))
        .text("plan", 0, |plan| {
            Value::Folded(plan.words(), plan.text.clone())
        })
        .figure("rows expected", 0, |plan| plan.rows_words())
        .source(
            "EXPLAIN of the first statement of each shape, after the load. Rows are the server's \
             estimate per table and access: rows examined on MySQL and MariaDB, rows left after \
             filtering on PostgreSQL.",
        )
}

/// The names of the columns of the median and of the highest percentile with enough samples.
pub(crate) fn median_and_tail(run: &RunSummary) -> [String; 2] {
    let all = percentiles(run);
    let tail = all.iter().rfind(|one| one.value_ms.is_some());
    [all.first(), tail.or(all.first())]
        .map(|one| one.map_or_else(String::new, |one| format!("p{}", plain(one.percent))))
}

fn percentiles(run: &RunSummary) -> &[Percentile] {
    let first = run.statements.first();
    first.map_or(&[], |one| &one.latency.percentiles)
}

fn latencies(one: &StatementSummary) -> &LatencySummary {
    &one.latency
}

/// The server's statistics of a shape, and Dyno's count if it differs.
fn beside(one: &StatementSummary, server: &DigestSummary) -> String {
    let mut text = format!("server: {}", of_server(server));
    if !agrees(one, server) {
        text += ", where Dyno counted ";
        text += &thousands(one.latency.count + one.errors);
    }
    text
}

/// Whether both have similar counts; the server's mean over a few executions represents only those.
fn agrees(one: &StatementSummary, server: &DigestSummary) -> bool {
    const APART_MAX: f64 = 0.1;
    let own = (one.latency.count + one.errors) as f64;
    (server.count as f64 - own).abs() <= own * APART_MAX
}

/// A row for each digest of the server, and for those not listed.
pub(crate) fn digests(summary: &DigestsSummary) -> Table {
    let each = |one: &DigestSummary, rows: u64| Value::Rate(rows as f64 / one.count.max(1) as f64);
    let mut table = Table::of(&summary.digests)
        .text("digest", 0, |one| {
            Value::Code(one.shape.as_ref().unwrap_or(&one.text).clone())
        })
        .figure("executions", 0, |one| Value::Count(one.count))
        .figure("server's time", 0, |one| Value::Ms(one.total_ms))
        .figure("mean", 0, |one| Value::Ms(one.mean_ms()))
        .figure("rows", 0, |one| each(one, one.rows))
        .figure("rows examined", 0, |one| {
            one.rows_examined.map(|rows| each(one, rows))
        })
        .figure("without index", 0, |one| one.no_index.map(Value::Count))
        .figure("tables on disk", 0, |one| one.disk_tables.map(Value::Count))
        .source("");
    if summary.others > 0 && !summary.digests.is_empty() {
        let name = format!("{} others", thousands(summary.others));
        let cells = [
            Value::Text(name),
            Value::Count(summary.others_count),
            Value::Ms(summary.others_ms),
        ];
        table.rows.push(cells.map(Cell::from).into());
    }
    table
}

/// Executions outside the digests.
pub(crate) fn elsewhere(summary: &DigestsSummary) -> Vec<String> {
    let each = [
        (summary.elsewhere_count, "in other databases"),
        (
            summary.catalogs_count,
            "on the server's catalogs and settings, as Dyno's observers do",
        ),
    ];
    let each = each.iter().filter(|(count, _)| *count > 0);
    each.map(|(count, place)| format!("{} {place}", executions(*count)))
        .collect()
}

/// A digest in words.
pub(crate) fn of_server(one: &DigestSummary) -> String {
    let mean = latency(one.mean_ms());
    let mut text = format!("{}, mean {mean}", executions(one.count));
    let each = |rows: u64| rate(rows as f64 / (one.count as f64).max(1.0));
    text += &match one.rows_examined {
        Some(rows) => format!(", {} rows examined by each", each(rows)),
        None => format!(", {} rows of each", each(one.rows)),
    };
    for (count, what) in [
        (one.no_index, "without an index"),
        (one.disk_tables, "temporary tables on disk"),
    ] {
        if let Some(count) = count.filter(|count| *count > 0) {
            text += &format!(", {} {what}", thousands(count));
        }
    }
    text
}

pub(crate) fn executions(count: u64) -> String {
    match count {
        1 => "1 execution".to_owned(),
        count => format!("{} executions", thousands(count)),
    }
}
