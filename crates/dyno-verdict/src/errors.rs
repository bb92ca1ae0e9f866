//! Checks 11 to 15: errors and answers.

mod company;
mod conflicts;
mod counters;
mod ledger;
mod locked;
mod tables;
mod warnings;
mod work;

#[cfg(test)]
mod logs_tests;
#[cfg(test)]
mod tests;

pub(crate) use counters::{did_work_elsewhere, has_other_clients};
pub(crate) use tables::OBSERVERS_ROWS;
pub(crate) use work::{changes_out_of_sight, untouched};

use dyno_analysis::errors::{self, KindCount};
use dyno_core::db::ErrorKind;
use dyno_core::finding::Cause;
use dyno_core::interval::ErrorsByCode;
use dyno_core::record::RunState;
use dyno_core::summary::RunEnd;
use dyno_core::unknown::{self, TOTALS_UNKNOWN};

use crate::check::{Check, CheckResult, graded, thresholds};
use crate::missing::Missing;
use crate::text;
use crate::view::View;

pub(crate) const CHECKS: &[Check] = &[
    Check {
        number: 11,
        name: "errors",
        title: "Errors, retries and failed sessions",
        rule: "Doubt if {0} % of all attempts failed, {2} % of all events ended without their work \
               done, or the run failed. Refusal from {1} % of either.",
        thresholds: &[ERRORS_DOUBT, ERRORS_REFUSE, NOT_DONE],
        make: errors,
    },
    work::WORK,
    ledger::CONSISTENCY,
    warnings::SERVER_WARNINGS,
    counters::SERVER_COUNTERS,
];

thresholds! {
    ERRORS_DOUBT = 1.0, "percent of all attempts", "errors, doubt": "one in a hundred affects p99";
    ERRORS_REFUSE = 10.0, "percent of all attempts", "errors, refusal":
        "the run measures failures as much as work";
    NOT_DONE = 0.1, "percent of all events", "events not done, doubt":
        "no latency includes these events; one in a thousand affects p99.9";
}

/// Whether most errors are those of a SQLite file that stayed locked.
pub(crate) fn is_locked(view: &View) -> bool {
    let codes = view.summary().map(|summary| &summary.errors);
    codes.is_some_and(|codes| locked::cause(view, codes).is_some())
}

/// The retries and reconnects, as far as they are counted.
fn repeated(view: &View) -> String {
    let totals = view.totals();
    let rates = view.summary().map(|summary| summary.rates);
    let retries = view.run.not_observed("counters.retries").is_none();
    let reconnects = rates.is_none_or(|rates| rates.reconnects_per_s.is_some());
    [
        (retries, totals.retries, "retries"),
        (reconnects, totals.reconnects, "reconnects"),
    ]
    .into_iter()
    .filter(|(known, ..)| *known)
    .map(|(_, count, of)| format!(", {} {of}", text::count(count)))
    .collect()
}

fn counted(codes: &ErrorsByCode) -> u64 {
    let counts = codes.values().map(|error| error.count);
    counts.fold(0, u64::saturating_add)
}

fn errors(view: &View) -> CheckResult {
    let totals = view.totals();
    let codes = view.summary().map(|summary| &summary.errors);
    let errors = totals.errors.max(codes.map_or(0, counted));
    let not_done = not_done(view);
    let attempts = view.attempts(&totals, errors);
    let cause = codes.and_then(|codes| locked::cause(view, codes));
    let gaps = &view.run.not_observed;
    if let Some(why) = failure(view) {
        let errors = match errors {
            0 => unknown::known_count(gaps, "errors", 0),
            errors => errors as f64,
        };
        return failed(why, cause).with("errors", errors, "count");
    }
    if attempts == 0 {
        return match view.run.not_observed(TOTALS_UNKNOWN) {
            Some(_) => Missing::Attempts.result(),
            None => CheckResult::not_checked("Nothing was attempted."),
        };
    }
    if let Some(why) = view.run.not_observed("errors").filter(|_| errors == 0) {
        return CheckResult::not_checked(text::sentence(why));
    }
    if !unknown::has_length(gaps) {
        return Missing::Attempts.result();
    }
    // An event may have several errors.
    let share = (errors as f64 / attempts as f64 * 100.0).min(100.0);
    let all = totals.events.saturating_add(not_done).max(1);
    let missing = not_done as f64 / all as f64 * 100.0;
    let of_missing = graded(missing, &NOT_DONE, &ERRORS_REFUSE);
    let of_errors = graded(share, &ERRORS_DOUBT, &ERRORS_REFUSE);
    let outcome = of_errors.max(of_missing);
    let named = codes.map_or_else(String::new, named);
    let refused = refused(totals.connects_failed);
    let others = warnings::OtherLocks::of(view);
    let of_others = others.as_ref().map_or(0, |others| others.count);
    let locks = others.map_or_else(String::new, |others| others.sentence());
    let (before, after) = placed(left(not_done, missing), of_missing > of_errors);
    let judged = CheckResult::of(
        outcome,
        format!(
            "{before}{} in {} attempts ({} %){}{named}.{locks}{after}{refused}",
            text::counted(errors, "error"),
            text::count(attempts),
            text::plain(share),
            repeated(view)
        ),
        match cause {
            Some(_) => locked::ADVICE,
            None if of_others * 2 > errors => CHANGES,
            None => codes.map_or(LOOK, |codes| errors_advice(view, codes)),
        },
    )
    .naming(cause)
    .with("errors", errors as f64, "count")
    .with("errors, share", share, "percent of all attempts")
    .with("events not done", not_done as f64, "count")
    .with("events not done, share", missing, "percent of all events")
    .with_some(
        OTHER_LOCKS,
        (of_others > 0).then_some(of_others as f64),
        "count",
    );
    let counts = known_counts(view).into_iter();
    counts.fold(judged, |all, (name, count)| all.with(name, count, "count"))
}

/// Counts, as far as an imported log has them.
fn known_counts(view: &View) -> [(&'static str, f64); 3] {
    let (gaps, totals) = (&view.run.not_observed, view.totals());
    [
        (
            "attempts to connect that failed",
            "connects_failed",
            totals.connects_failed,
        ),
        ("retries", "retries", totals.retries),
        ("reconnects", "reconnects", totals.reconnects),
    ]
    .map(|(name, counter, count)| (name, unknown::known_count(gaps, counter, count)))
}

/// The name of the number of deadlocks that were not of row locks, in the finding of `errors`.
pub const OTHER_LOCKS: &str = "deadlocks of other than row locks";

fn failed(why: &str, cause: Option<Cause>) -> CheckResult {
    CheckResult::refuse(
        format!("The run failed: {}.", why.trim_end_matches('.')),
        cause.map_or(AGAIN, |_| locked::ADVICE),
    )
    .naming(cause)
}

fn refused(failed: u64) -> String {
    match failed {
        0 => String::new(),
        failed => format!(" {} to connect failed.", text::counted(failed, "attempt")),
    }
}

fn left(not_done: u64, missing: f64) -> String {
    match not_done {
        0 => String::new(),
        not_done => format!(
            " {} ended without {} work being done ({} %).",
            text::counted(not_done, "event"),
            if not_done == 1 { "its" } else { "their" },
            text::plain(missing)
        ),
    }
}

/// A sentence before or after the others: the reason for the outcome comes first.
fn placed(sentence: String, decides: bool) -> (String, String) {
    match decides {
        true => (format!("{} ", sentence.trim_start()), String::new()),
        false => (String::new(), sentence),
    }
}

/// Events of all roles that did not do their work; background roles are not in the totals.
fn not_done(view: &View) -> u64 {
    let roles = view.summary().map_or(&[][..], |summary| &summary.roles);
    let sum = roles.iter().map(|role| role.not_done).sum();
    view.totals().not_done.max(sum)
}

fn failure<'a>(view: &View<'a>) -> Option<&'a str> {
    match view.summary().map(|summary| &summary.end) {
        Some(RunEnd::Failed(why)) => Some(why),
        _ if view.run.state == RunState::Failed => Some("its record gives no reason"),
        _ => None,
    }
}

const AGAIN: &str = "Find the cause and run again; the figures cover the time before the failure.";
const CHANGES: &str = "Find who changed tables during the run, such as a migration (ALTER TABLE, \
                       OPTIMIZE TABLE), and run again without it.";
const LOOK: &str = "Read the error messages in the summary, and remove their cause.";

fn errors_advice(view: &View, codes: &ErrorsByCode) -> &'static str {
    match errors::by_kind(codes).first().map(|most| most.kind) {
        Some(ErrorKind::Conflict) => conflicts::advice(view, codes),
        Some(ErrorKind::Lost) => {
            "Look for what ended the connections: see the server's log, timeouts, a proxy."
        }
        Some(ErrorKind::Connections) => {
            "Use fewer sessions, or raise the server's limit (max_connections)."
        }
        Some(ErrorKind::Timeout) => {
            "Look at what the statements waited for and at the server's timeouts, or offer less."
        }
        Some(ErrorKind::Full) => "Free space on the server's disk, and load the tables again.",
        Some(ErrorKind::Refused) => {
            "Grant the user the privileges that the statements need; the error messages are in the \
             summary."
        }
        Some(ErrorKind::NoTable) => "Prepare the tables with the run's options.",
        _ => LOOK,
    }
}

pub(crate) fn are_lost_connections(view: &View) -> bool {
    let codes = view.summary().map(|summary| &summary.errors);
    let kinds = codes.map_or_else(Vec::new, errors::by_kind);
    matches!(kinds.as_slice(), [only] if only.kind == ErrorKind::Lost)
}

/// `: 3 conflicts (1213)`, or nothing.
fn named(codes: &ErrorsByCode) -> String {
    let line = |sum: &KindCount<'_>| {
        let (count, noun) = (text::count(sum.count), sum.kind.noun(sum.count));
        format!("{count} {noun} ({})", sum.codes.join(", "))
    };
    let kinds: Vec<String> = errors::by_kind(codes).iter().map(line).collect();
    match kinds.is_empty() {
        true => String::new(),
        false => format!(": {}", text::few(&kinds, 4)),
    }
}
