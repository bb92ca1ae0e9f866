//! Check 21: table scans because of missing indexes or statistics.

#[cfg(test)]
mod tests;

use dyno_core::catalogue::names;
use dyno_core::tables::{TableGroup, groups};

use crate::check::{Check, CheckResult, doubt_if, thresholds};
use crate::errors::{OBSERVERS_ROWS, did_work_elsewhere};
use crate::missing::Missing;
use crate::text;
use crate::view::{Span, View};

pub(super) const STATISTICS: Check = Check {
    number: 21,
    name: "statistics",
    title: "Full table scans from missing indexes or statistics",
    rule: "Doubt if statements scan {0} rows of whole tables each while a table of the run has no \
           index or statistics, or {1} rows and {2} times as many as they return or change. \
           Samples, ranges of `ctid`, tables that the server creates, and runs without WHERE, ON \
           or LIMIT do not count. Tables without index, statistics or primary key are always \
           reported.",
    thresholds: &[SCANNED, MANY, FOUND],
    make: statistics,
};

thresholds! {
    SCANNED = 200.0, "count", "rows scanned by a statement":
        "so few rows are read as fast without an index";
    MANY = 1000.0, "count", "rows scanned despite indexes":
        "a table may have indexes and lack the needed one";
    FOUND = 100.0, "count", "rows scanned per row returned or changed":
        "an index finds a hundredth of a table without a scan";
}

const TOGETHER: usize = 3;

fn statistics(view: &View) -> CheckResult {
    let mut tables = groups(&view.run.facts);
    tables.retain(TableGroup::counts);
    if tables.is_empty() && view.imported() {
        return Missing::Tables.result();
    }
    if tables.is_empty() {
        return CheckResult::not_checked(
            "The definitions of the tables that the run used are not known.",
        );
    }
    let named = |what: &str, has: &dyn Fn(&TableGroup) -> bool| {
        let with = tables.iter().filter(|table| has(table));
        let labels: Vec<String> = with.map(|table| table.label.clone()).collect();
        (!labels.is_empty()).then(|| format!("{what}: {}", text::few(&labels, 3)))
    };
    let bare = named("without any index", &|table| table.indexes == Some(0));
    let unknown = named("not analysed", &|table| table.analysed == Some(0));
    let no_key = named("without a primary key", &|table| {
        table.primary_key == Some(false) && table.indexes != Some(0)
    });
    let faults: Vec<String> = [bare, unknown].into_iter().flatten().collect();
    let remarks: Vec<String> = faults.iter().cloned().chain(no_key).collect();
    let remarks = match remarks.is_empty() {
        true => String::new(),
        false => format!(" {}", text::sentence(&remarks.join("; "))),
    };
    let Some(scanned) = scanned(view) else {
        return CheckResult::not_checked(format!(
            "The number of rows scanned in whole tables is not known.{remarks}"
        ));
    };
    let needless = needless(view, scanned);
    let bad = scanned >= SCANNED.value && !faults.is_empty() || needless;
    let meant = bad && view.run.fact(names::CLIENT_STATEMENTS_RESTRICT) == Some("no");
    let why = match (meant, needless) {
        (true, _) => ", and no statement restricts the rows that it reads".to_owned(),
        (false, true) => format!(
            ", for {} that it returned or changed",
            rows_found_text(view)
        ),
        (false, false) => String::new(),
    };
    CheckResult::of(
        doubt_if(bad && !meant),
        format!(
            "A statement scanned {} row{} of whole tables on average{why}.{remarks}",
            text::rate(scanned),
            text::plural(scanned),
        ),
        "Look at the statements' plans (EXPLAIN), create the missing index, and analyse the tables \
         (ANALYZE) after loading. If the workload should read whole tables, say so (--waive \
         statistics=WHY).",
    )
    .with("rows scanned by a statement", scanned, "count")
}

/// Whether table scans are for few rows, which an index would find.
fn needless(view: &View, scanned: f64) -> bool {
    scanned >= MANY.value && scanned >= rows_found(view) * FOUND.value
}

fn rows_found(view: &View) -> f64 {
    let totals = view.totals();
    let statements = totals.reads + totals.writes;
    totals.rows as f64 / statements.max(1) as f64
}

fn rows_found_text(view: &View) -> String {
    let rows = rows_found(view);
    format!("{} row{}", text::plain(rows), text::plural(rows))
}

/// Rows that the server read in table scans per statement that reads or changes rows.
fn scanned(view: &View) -> Option<f64> {
    let endpoints = view.summary().map_or(0, |summary| summary.endpoints.len());
    if view.imported() || view.embedded() || view.is_shared() || endpoints > 1 {
        return None;
    }
    if did_work_elsewhere(view) {
        return None;
    }
    let (series, share) = match view.postgres() {
        true => (names::DB_TABLES_SEQ_TUPLES, of_whole_tables(view)),
        false => (
            names::DB_STATUS_HANDLER_READ_RND_NEXT,
            of_lasting_tables(view),
        ),
    };
    let spans = view.spans(series)?;
    // The first sample may include the count of the tables' rows before the run, which arrives
    // late.
    let spans = match spans.as_slice() {
        [_, later @ ..] if !later.is_empty() => later,
        all => all,
    };
    let each = |spans: &[Span]| {
        let sum = |of: fn(&Span) -> f64| spans.iter().map(of).sum::<f64>();
        sum(|span| span.counted) / sum(|span| span.statements)
    };
    // PostgreSQL sessions report their counts up to a second late, so that statements and their
    // rows may fall into different samples. A window of several samples has both.
    let each: Vec<f64> = spans
        .windows(TOGETHER.min(spans.len()).max(1))
        .map(each)
        .collect();
    let each: Vec<f64> = each.into_iter().filter(|each| each.is_finite()).collect();
    let totals = view.totals();
    let (statements, all) = (totals.reads + totals.writes, totals.queries());
    let rows = dyno_stats::median(&each)? * share * all as f64 / statements as f64;
    rows.is_finite().then_some(rows)
}

/// The share of PostgreSQL's scanned rows that table scans can have read. TABLESAMPLE and ranges of
/// `ctid` read rows in the same way, but do not count as scans of a table.
fn of_whole_tables(view: &View) -> f64 {
    let (Some(rows), Some(scans)) = (
        view.mean(names::DB_TABLES_SEQ_TUPLES),
        view.mean(names::DB_TABLES_SEQ_SCANS),
    ) else {
        return 1.0;
    };
    // The server does not know the rows of a restored table that was not analysed.
    let live = view
        .mean(names::DB_TABLES_LIVE_TUPLES)
        .filter(|live| *live > 0.0);
    let most = match live {
        Some(live) => scans * live,
        None if scans > 0.0 => rows,
        None => 0.0,
    };
    if rows > 0.0 {
        (most / rows).min(1.0)
    } else {
        1.0
    }
}

/// The share of MySQL's and MariaDB's scanned rows that are not in tables that the server creates
/// itself for a statement or an observer. The server reads those rows about once.
pub(super) fn of_lasting_tables(view: &View) -> f64 {
    let rows = view
        .mean(names::DB_STATUS_HANDLER_READ_RND_NEXT)
        .unwrap_or(0.0);
    let (created, observers) = match view.mean(names::DB_STATUS_HANDLER_TMP_WRITE) {
        Some(created) => (created, 0.0),
        // MySQL counts them with the inserted rows.
        None => {
            let written = view.mean(names::DB_STATUS_HANDLER_WRITE).unwrap_or(0.0);
            let inserted = view
                .mean(names::DB_STATUS_INNODB_ROWS_INSERTED)
                .unwrap_or(0.0);
            ((written - inserted).max(0.0), OBSERVERS_ROWS)
        }
    };
    if rows > 0.0 {
        ((rows - created - observers) / rows).max(0.0)
    } else {
        1.0
    }
}
