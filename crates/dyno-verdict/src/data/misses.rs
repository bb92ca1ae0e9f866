//! Check 19: reads without a result, changes without an effect, and duplicate keys.

use dyno_core::catalogue::names;
use dyno_core::db::ErrorKind;
use dyno_core::finding::Cause;
use dyno_core::reported::WORKLOAD;

use crate::check::{Check, CheckResult, doubt_if, thresholds};
use crate::missing::Missing;
use crate::text;
use crate::view::View;

pub(super) const MISSES: Check = Check {
    number: 19,
    name: "misses",
    title: "Reads without rows, changes without effect, duplicate keys",
    rule: "Doubt if {0} % of the reads found no row, or {1} % of the changing statements (UPDATE, \
           DELETE, INSERT, REPLACE, MERGE, DO) changed none. No doubt if the script reports the \
           fact `misses`; `errors` judges duplicate keys. Needs 50 of either.",
    thresholds: &[EMPTY, UNCHANGED],
    make: misses,
};

thresholds! {
    EMPTY = 10.0, "percent of the reads", "reads without a row":
        "a missing key costs no row page: one in ten shifts throughput noticeably";
    UNCHANGED = 25.0, "percent of the changing statements", "changes without an effect":
        "a statement that changes nothing writes no log; MySQL counts only rows that differ";
}

/// Fewer reads or changes are too few for a share.
const READS_MIN: u64 = 50;

fn misses(view: &View) -> CheckResult {
    if view.imported() || view.family().is_none() {
        return Missing::Found.or(view, "No database was used.");
    }
    let totals = view.totals();
    let duplicates = duplicates(view);
    let reads = (totals.reads >= READS_MIN).then(|| share(view));
    let unchanged = Unchanged::of(view);
    if reads.is_none() && unchanged.is_none() {
        return CheckResult::not_checked(format!(
            "{} asked for rows: too few to judge how many find none{}.",
            text::counted(totals.reads, "statement"),
            existing_keys(duplicates)
        ));
    }
    let empty = reads.map(|share| {
        format!(
            "{} of {} reads ({} %) found no row",
            text::count(totals.reads_empty),
            text::count(totals.reads),
            text::plain(share)
        )
    });
    let is_named = |found: &&Unchanged| found.count > 0 || empty.is_none();
    let changes = unchanged.as_ref().filter(is_named).map(Unchanged::clause);
    let facts: Vec<String> = empty.into_iter().chain(changes).collect();
    let meant = view.run.fact(&format!("{WORKLOAD}misses"));
    let many_empty = reads.is_some_and(|share| share >= EMPTY.value);
    let fault =
        many_empty || (unchanged.as_ref()).is_some_and(|found| found.share >= UNCHANGED.value);
    let why = meant.map_or_else(String::new, |why| {
        format!(", as the workload declares: {why}")
    });
    CheckResult::of(
        doubt_if(fault && meant.is_none()),
        format!(
            "{}{why}{}.",
            text::sentence(&facts.join("; ")).trim_end_matches('.'),
            existing_keys(duplicates)
        ),
        "Load the tables with the run's options, and draw only keys that exist (deletes, \
         interrupted loads and auto_increment_increment leave gaps). If misses are intended, \
         declare them in the script: dyno.fact('misses', 'why').",
    )
    .naming(many_empty.then_some(Cause::EmptyReads))
    .with_some("reads without a row", reads, "percent of the reads")
    .with_some(
        "changes without an effect",
        unchanged.map(|found| found.share),
        "percent of the statements that are to change rows",
    )
    .with("duplicate keys", duplicates as f64, "count")
}

/// Statements that should change rows but changed none.
struct Unchanged {
    count: u64,
    of: u64,
    /// In percent.
    share: f64,
}

impl Unchanged {
    /// `None` if there are too few, or if they were not counted.
    fn of(view: &View) -> Option<Self> {
        let count = view.run.fact(names::CLIENT_STATEMENTS_WITHOUT_EFFECT)?;
        let count: u64 = count.trim().parse().ok()?;
        let of = view.totals().writes.saturating_add(count);
        (of >= READS_MIN).then(|| Self {
            count,
            of,
            share: count as f64 / of as f64 * 100.0,
        })
    }

    fn clause(&self) -> String {
        format!(
            "{} of {} changing statements ({} %) changed no row",
            text::count(self.count),
            text::count(self.of),
            text::plain(self.share)
        )
    }
}

/// Reads without a row, in percent.
fn share(view: &View) -> f64 {
    let totals = view.totals();
    totals.reads_empty as f64 / totals.reads.max(1) as f64 * 100.0
}

/// Whether `misses` reports reads or changes without an effect.
pub(crate) fn missed(view: &View) -> bool {
    let unchanged = Unchanged::of(view).is_some_and(|found| found.share >= UNCHANGED.value);
    unchanged || view.totals().reads >= READS_MIN && share(view) >= EMPTY.value
}

/// Duplicate key errors, and work that scripts skipped because of one.
fn duplicates(view: &View) -> u64 {
    let Some(summary) = view.summary() else {
        return 0;
    };
    let errors = summary.errors.values();
    let errors = errors.filter(|error| error.kind == ErrorKind::Duplicate);
    let passed = summary.operations.iter().map(|one| one.totals.duplicates);
    errors
        .map(|error| error.count)
        .sum::<u64>()
        .max(passed.sum())
}

fn existing_keys(duplicates: u64) -> String {
    match duplicates {
        0 => String::new(),
        1 => "; 1 key already existed".to_owned(),
        many => format!("; {} keys already existed", text::count(many)),
    }
}
