//! Check 21: whole tables that statements scan for want of an index or of statistics.

use dyno_core::finding::Outcome;
use dyno_core::tables::{TableGroup, groups};

use crate::check::{Check, Made, Threshold};
use crate::errors::OBSERVERS_ROWS;
use crate::text;
use crate::view::View;

pub(super) const STATISTICS: Check = Check {
    number: 21,
    name: "statistics",
    title: "Full table scans for lack of an index or of optimiser statistics",
    rule: "Doubt if statements that read or change rows scan {0} rows of whole tables each or more \
           while a table that the run used has no index or is not analysed, or {1} rows and {2} \
           times as many as they return or change. Tables without an index, those not analysed \
           and those without a primary key are reported in any case. SQLite does not count what it \
           scans.",
    thresholds: &[SCANNED, MANY, FOUND],
    make: statistics,
};

const SCANNED: Threshold = Threshold {
    name: "rows scanned by a statement",
    value: 200.0,
    unit: "count",
    why: "a table of so few rows is read as fast without its index, and optimisers do so",
};

const MANY: Threshold = Threshold {
    name: "rows scanned though there are indexes",
    value: 1000.0,
    unit: "count",
    why: "an index that the statements lack stands beside others",
};
const FOUND: Threshold = Threshold {
    name: "rows scanned for one that is returned or changed",
    value: 100.0,
    unit: "count",
    why: "a hundredth of a table is found by an index, not by a scan",
};

fn statistics(view: &View) -> Made {
    let mut tables = groups(&view.run.facts);
    tables.retain(TableGroup::counts);
    if tables.is_empty() {
        return Made::not_checked("The definitions of the tables that the run used are not known.");
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
    let told: Vec<String> = faults.iter().cloned().chain(no_key).collect();
    let told = match told.is_empty() {
        true => String::new(),
        false => format!(" {}", text::sentence(&told.join("; "))),
    };
    let Some(scanned) = scanned(view) else {
        return Made::not_checked(format!(
            "How many rows of whole tables statements scanned is not known.{told}"
        ));
    };
    let needless = needless(view, scanned);
    let bad = scanned >= SCANNED.value && !faults.is_empty() || needless;
    Made::of(
        if bad { Outcome::Doubt } else { Outcome::Pass },
        format!(
            "A statement scanned {} row{} of whole tables on average{}.{told}",
            text::rate(scanned),
            if scanned == 1.0 { "" } else { "s" },
            match needless {
                true => format!(", for {} that it returned or changed", found(view)),
                false => String::new(),
            }
        ),
        "Look at the plans (EXPLAIN) of the statements: make the index that they lack, and have \
         the tables analysed (ANALYZE) after loading. If whole tables are meant to be read, say so \
         (--waive statistics=WHY).",
    )
    .with("rows scanned by a statement", scanned, "count")
}

/// Whether it is for few rows that whole tables are scanned: an index would find them.
fn needless(view: &View, scanned: f64) -> bool {
    scanned >= MANY.value && scanned >= rows_found(view) * FOUND.value
}

/// Rows that a statement returned or changed, on average.
fn rows_found(view: &View) -> f64 {
    let totals = view.totals();
    let statements = totals.reads + totals.writes;
    totals.rows as f64 / statements.max(1) as f64
}

/// The same in words.
fn found(view: &View) -> String {
    let rows = rows_found(view);
    let plural = if rows == 1.0 { "" } else { "s" };
    format!("{} row{plural}", text::plain(rows))
}

/// Rows of whole tables that the server read for a statement that reads or changes rows.
fn scanned(view: &View) -> Option<f64> {
    let endpoints = view.summary().map_or(0, |summary| summary.endpoints.len());
    if view.imported() || view.embedded() || view.is_shared() || endpoints > 1 {
        return None;
    }
    let (series, observers) = match view.postgres() {
        true => ("db.tables.seq_tuples", 0.0),
        false => ("db.status.handler_read_rnd_next", OBSERVERS_ROWS),
    };
    // The count of the tables' rows before the run may be told late, in one sample.
    let rows = dyno_stats::median(&view.values(series))?;
    let rows = (rows - observers).max(0.0);
    let (_, statements) = view.rates_while(series)?;
    let totals = view.totals();
    let share = (totals.reads + totals.writes) as f64 / totals.queries().max(1) as f64;
    let statements = statements * share;
    (statements > 0.0).then(|| rows / statements)
}
