//! Check 19: reads that found nothing, and keys that were there already.

use dyno_core::db::ErrorKind;
use dyno_core::finding::Outcome;
use dyno_core::reported::WORKLOAD;

use crate::check::{Check, Made, Threshold};
use crate::text;
use crate::view::View;

pub(super) const MISSES: Check = Check {
    number: 19,
    name: "misses",
    title: "Reads that found no row, and duplicate keys",
    rule: "Doubt if {0} % of the reads or more found no row, unless the script tells the fact \
           `misses`: then some are meant to. Duplicate keys are told, and judged by `errors`.",
    thresholds: &[EMPTY],
    make: misses,
};

const EMPTY: Threshold = Threshold {
    name: "reads without a row",
    value: 10.0,
    unit: "percent of the reads",
    why: "a key that is not there costs no page of its row and no bytes: at one in ten the rate is \
          off by what is looked for in comparisons",
};

/// Of fewer reads one is a large share.
const READS_MIN: u64 = 50;

fn misses(view: &View) -> Made {
    if view.imported() || view.family().is_none() {
        return Made::not_checked(match view.imported() {
            true => "The log does not tell what statements found.",
            false => "The script used no database.",
        });
    }
    let totals = view.totals();
    let duplicates = duplicates(view);
    if totals.reads < READS_MIN {
        return Made::not_checked(format!(
            "{} statement{} asked for rows: too few to tell how many find none{}.",
            text::count(totals.reads),
            text::plural(totals.reads),
            told(duplicates)
        ));
    }
    let share = share(view);
    let meant = view.run.fact(&format!("{WORKLOAD}misses"));
    let fault = share >= EMPTY.value && meant.is_none();
    let why = meant.map_or_else(String::new, |why| format!(", as the workload says: {why}"));
    Made::of(
        if fault { Outcome::Doubt } else { Outcome::Pass },
        format!(
            "{} of {} reads ({} %) found no row{why}{}.",
            text::count(totals.reads_empty),
            text::count(totals.reads),
            text::plain(share),
            told(duplicates)
        ),
        "Load the tables with the options that the run has: keys must be drawn from those that are \
         there (gaps in them come from deletes, from loads that were stopped, and from \
         auto_increment_increment). If keys are meant to be missed, have the script tell it: \
         dyno.fact('misses', 'why').",
    )
    .with("reads without a row", share, "percent of the reads")
    .with("duplicate keys", duplicates as f64, "count")
}

/// Reads that found no row, in percent.
fn share(view: &View) -> f64 {
    let totals = view.totals();
    totals.reads_empty as f64 / totals.reads.max(1) as f64 * 100.0
}

/// Whether so many reads found nothing that this is told by `misses`.
pub(crate) fn missed(view: &View) -> bool {
    view.totals().reads >= READS_MIN && share(view) >= EMPTY.value
}

/// Errors of a key that was there, and work that scripts pass over for one.
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

fn told(duplicates: u64) -> String {
    match duplicates {
        0 => String::new(),
        1 => "; 1 key was there already".to_owned(),
        many => format!("; {} keys were there already", text::count(many)),
    }
}
