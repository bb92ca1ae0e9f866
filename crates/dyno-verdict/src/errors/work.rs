//! Check 12: whether work was done.

use dyno_analysis::bins::ROOM_S;
use dyno_core::catalogue::names;
use dyno_core::finding::Cause;
use dyno_core::record::{EventKind, RunState, Source};
use dyno_core::summary::RunSummary;
use dyno_core::unknown::{self, TOTALS_UNKNOWN};

use super::tables;
use crate::check::{Check, CheckResult, thresholds};
use crate::data;
use crate::text;
use crate::view::View;

pub(super) const WORK: Check = Check {
    number: 12,
    name: "work-done",
    title: "Zero work, and figures too good to be true",
    rule: "Refusal if no event ended, the database got no statement, or an imported log \
           contradicts itself. Doubt if statements found or changed fewer than {0} rows each \
           (`misses` judges empty reads), {4} % touch no table, a statement took less than {1} us \
           over a connection, or sessions spent {6} % of their time outside events. Doubt if rate \
           times latency exceeds the sessions by {2} %, or events exceed statements by {5} %. \
           Doubt if an imported log's stated time is off by {3} % and by more than its last events \
           explain, or {7} % of its transactions have no time.",
    thresholds: &[
        ROWS,
        STATEMENT_US,
        LITTLE,
        STATED_TIME,
        UNTOUCHED,
        WITHOUT,
        OUTSIDE,
        UNTIMED,
    ],
    make: work_done,
};

thresholds! {
    ROWS = 0.05, "ratio", "rows per statement":
        "statements that mostly find nothing run on the wrong data";
    STATEMENT_US = 5.0, "us", "mean time of a statement":
        "two system calls and wake-ups on each side take longer";
    LITTLE = 5.0, "percent", "excess of rate times latency over sessions":
        "Little's law forbids more in a closed loop; the rest is rounding";
    STATED_TIME = 2.0, "percent", "stated time against count over rate":
        "both are printed with more digits";
    UNTOUCHED = 50.0, "percent of the statements that read or change rows",
        "statements that touch no table":
        "half of the throughput then consists of round trips only";
    WITHOUT = 5.0, "percent of the statements", "excess of events over statements":
        "at least this share of the events sent no statement";
    OUTSIDE = 20.0, "percent", "session time outside events":
        "Little's law: no latency includes this work or waiting";
    UNTIMED = 1.0, "percent", "transactions without a time": "p99 of the rest is not p99 of all";
}
fn work_done(view: &View) -> CheckResult {
    let totals = view.totals();
    let known =
        |counter: &str, count: u64| unknown::known_count(&view.run.not_observed, counter, count);
    let contradictions = view.run.fact(names::IMPORT_CONTRADICTIONS);
    if let Some(what) = contradictions.filter(|_| view.imported()) {
        return CheckResult::refuse(
            format!(
                "The log's figures cannot all be true: {}.",
                what.trim_end_matches('.')
            ),
            "Trust none of them, and import the log as it was printed.",
        )
        .with("events", known("events", totals.events), "count");
    }
    if totals.events == 0 {
        return nothing_done(view);
    }
    let queries = totals.queries();
    if queries == 0 && database_expected(view) {
        return CheckResult::refuse(
            format!(
                "{} ended, but no statement reached the database.",
                text::counted(totals.events, "event")
            ),
            "Look at the script: its events do nothing.",
        );
    }
    let (causes, faults, try_this) = faults(view);
    let tests_host = (view.summary()).is_some_and(|summary| summary.machine.is_some());
    let mut done = match unknown::has_length(&view.run.not_observed) {
        true => format!("{} ended", text::counted(totals.events, "event")),
        false => "Events ended, but the log does not show how many".to_owned(),
    };
    let statements = known("other", queries);
    if !tests_host && statements.is_finite() {
        done += &format!(" with {}", text::counted(queries, "statement"));
    }
    if !view.imported() && !tests_host {
        done += &format!(
            ", {} and {} received",
            text::counted(totals.rows, "row"),
            text::bytes(totals.bytes_in as f64)
        );
    }
    let result = match faults.is_empty() {
        true => CheckResult::pass(done + "."),
        false => CheckResult::doubt(
            format!("{} {done}.", text::sentence(&text::list(&faults))),
            &try_this.join(" "),
        )
        .naming(causes),
    };
    result
        .with("events", known("events", totals.events), "count")
        .with("statements", statements, "count")
        .with("rows", known("rows", totals.rows), "count")
}

/// The faults in the work: each with its cause and advice.
fn faults(view: &View) -> (Vec<Cause>, Vec<String>, Vec<&'static str>) {
    let signs = [
        (Cause::NoRows, empty_results(view), EMPTY),
        (Cause::NoTable, untouched(view), tables::ADVICE),
        (Cause::TooFast, too_fast(view), TOO_FAST),
        (Cause::Contradiction, against_little(view), AGAINST_ITSELF),
        (
            Cause::EventsWithoutStatements,
            without_statements(view),
            WITHOUT_WORK,
        ),
        (Cause::TimeOutsideEvents, outside_events(view), OUTSIDE_WORK),
        (Cause::Contradiction, stated_time(view), AGAINST_ITSELF),
        (Cause::Contradiction, untimed(view), NO_TIMES),
    ];
    let mut causes = Vec::new();
    let mut faults = Vec::new();
    let mut try_this = Vec::new();
    for (cause, sign, what) in signs {
        let Some(sign) = sign else { continue };
        causes.push(cause);
        faults.push(sign);
        try_this.push(what);
    }
    try_this.dedup();
    (causes, faults, try_this)
}

const EMPTY: &str = "Look at what the statements return, and whether the tables hold what the \
                     workload expects.";
const TOO_FAST: &str =
    "Look at what answers: a cache, a proxy, or something other than the database.";
const AGAINST_ITSELF: &str =
    "Trust none of the figures: they contradict each other, so one of them is not from this run.";

const NO_TIMES: &str = "pgbench sometimes measures no time for scripts without a backslash \
                        command: add one (`\\set x 1`), or take the latencies from its report.";
const WITHOUT_WORK: &str = "Look at what the script counts as an event: one without a statement \
                            raises the rate and lowers the latencies.";
const OUTSIDE_WORK: &str = "Move the script's work between events (sb_event_stop and \
                            sb_event_start, waits) into them, or treat it as think time: offer a \
                            rate.";

/// Whether the script used a database or named a target.
fn database_expected(view: &View) -> bool {
    let plan = view.run.head.plan.as_ref();
    let target = plan.and_then(|plan| plan.target.as_ref());
    let named = target.is_some_and(|target| !target.temporary);
    let tests_host = (view.summary()).is_some_and(|summary| summary.machine.is_some());
    (view.family().is_some() || named) && !view.imported() && !tests_host
}

/// Statements that access no table, as text.
pub(crate) fn untouched(view: &View) -> Option<String> {
    tables::untouched(view, UNTOUCHED.value)
}

fn nothing_done(view: &View) -> CheckResult {
    let totals = view.totals();
    let open = view
        .summary()
        .and_then(|summary| summary.open_loop.as_ref());
    let failed = view
        .summary()
        .is_some_and(|summary| !summary.errors.is_empty());
    let waiting = open.and_then(|open| open.backlog);
    if let Some(waiting) = waiting.filter(|waiting| *waiting > 0 && !failed) {
        return CheckResult::refuse(
            format!(
                "No event that was due within the measurement started: {} {} waiting at its end, \
                 behind those of the warm-up.",
                text::count(waiting),
                text::verb(waiting, "was", "were")
            ),
            "Offer less: the target, or this number of sessions, cannot serve this rate.",
        );
    }
    if totals.not_done > 0 {
        return CheckResult::refuse(
            format!(
                "No event did its work: {} ended without it.",
                text::count(totals.not_done)
            ),
            "Look at the errors: which sessions change the same rows, and how long they wait \
             for locks.",
        );
    }
    if view.run.state == RunState::Interrupted && view.length_s <= 0.0 {
        return CheckResult::refuse(
            "The run was stopped before its measurement began: nothing was measured.",
            "Let the run continue until its time is up.",
        );
    }
    if view
        .run
        .not_observed
        .iter()
        .any(|gap| gap.what == TOTALS_UNKNOWN)
    {
        return CheckResult::refuse(
            "The log shows neither totals nor the time they took.",
            "Import the whole output, with the totals at its end.",
        );
    }
    CheckResult::refuse(
        "No event ended within the measurement: nothing was measured.",
        "Look at the errors, and whether the target answers at all; measure longer than one \
         event takes.",
    )
}

fn empty_results(view: &View) -> Option<String> {
    let totals = view.totals();
    // Logs of other tools do not count rows.
    if view.imported() || totals.queries() == 0 || data::missed(view) {
        return None;
    }
    // A change without matching rows counts as neither a read nor a write.
    if totals.rows == 0 && !in_routines(view) {
        return Some("no statement found or changed a row".to_owned());
    }
    let statements = totals.reads.saturating_add(totals.writes);
    let rows = totals.rows as f64 / statements.max(1) as f64;
    (statements > 0 && rows < ROWS.value).then(|| {
        format!(
            "statements found or changed {} rows on average",
            text::plain(rows)
        )
    })
}

/// Whether procedures or blocks of code did the work: the client sees neither reads nor writes, and
/// the server counts changed rows that no other session can have changed.
fn in_routines(view: &View) -> bool {
    view.totals().reads == 0 && changes_out_of_sight(view).is_some()
}

/// Changed rows per second by the server's count, if the client saw no statement change any and no
/// other session can have changed them: functions, procedures or blocks of code did.
pub(crate) fn changes_out_of_sight(view: &View) -> Option<f64> {
    let alone = view
        .largest(names::DB_OTHER_SESSIONS)
        .is_none_or(|most| most == 0.0);
    if view.totals().writes > 0 || !alone || view.is_shared() {
        return None;
    }
    let events = view.events_per_s()?;
    changed_rows(view).filter(|rows| *rows >= ROWS.value * events)
}

/// Inserted, changed or removed rows per second by the server's count.
fn changed_rows(view: &View) -> Option<f64> {
    view.mean_sum(match view.postgres() {
        true => &[
            names::DB_DATABASE_TUP_INSERTED,
            names::DB_DATABASE_TUP_UPDATED,
            names::DB_DATABASE_TUP_DELETED,
        ],
        false => &[
            names::DB_STATUS_INNODB_ROWS_INSERTED,
            names::DB_STATUS_INNODB_ROWS_UPDATED,
            names::DB_STATUS_INNODB_ROWS_DELETED,
        ],
    })
}

fn too_fast(view: &View) -> Option<String> {
    if view.embedded() || view.family().is_none() {
        return None;
    }
    let totals = view.totals();
    let each_us = view.summary()?.service.sum_ms? * 1e3 / totals.queries() as f64;
    (totals.queries() > 0 && each_us > 0.0 && each_us < STATEMENT_US.value)
        .then(|| format!("a statement took {} us on average", text::plain(each_us)))
}

/// The share of the events whose latencies stand for all of them.
const WHOLE: f64 = 0.99;

fn against_little(view: &View) -> Option<String> {
    let summary = view.summary()?;
    let drive = view.drive().filter(|drive| drive.open_loop.is_none())?;
    let machine = summary.machine.as_ref();
    let depth = machine.map_or(1, |machine| machine.depth.max(1));
    let sessions = f64::from(drive.sessions) * f64::from(depth);
    // Up to the last event that counts: a slow one that ended in the grace period is in the mean,
    // but in no rate.
    let time_s = summary.elapsed_s.max(summary.measured_s);
    // The latencies of a sample have another mean than those of all events.
    let whole = summary.service.count as f64 >= summary.totals.events as f64 * WHOLE;
    if view.imported() && !whole {
        return None;
    }
    let inside = in_events_ms(view, summary)? / 1e3 / time_s;
    // A log may include events that began in the warm-up.
    let rounds = summary.totals.events as f64 / sessions;
    let bound = sessions * (1.0 + LITTLE.value / 100.0 + 2.0 / rounds.max(1.0));
    (inside > bound).then(|| {
        format!(
            "rate times latency is {}, more than {} allow",
            text::plain(inside),
            match depth {
                1 => text::number_of(sessions, "session"),
                depth => format!(
                    "{} with {depth} each",
                    text::number_of(drive.sessions, "session")
                ),
            }
        )
    })
}

/// A lower bound of the total time that sessions spent in events. Logs round means, and rarely
/// print sums.
fn in_events_ms(view: &View, summary: &RunSummary) -> Option<f64> {
    let (service, events) = (&summary.service, summary.totals.events as f64);
    let rounding_ms = match view.run.head.source {
        Source::Sysbench if service.sum_ms.is_some() => return service.sum_ms,
        Source::Sysbench => 0.005,
        Source::Pgbench => 0.0005,
        _ => 0.0,
    };
    Some((service.mean_ms? - rounding_ms).max(0.0) * events)
}

fn without_statements(view: &View) -> Option<String> {
    let totals = view.totals();
    let queries = totals.queries() as f64;
    let beyond = totals.events as f64 - queries;
    let in_flight = 2.0 * view.drive().map_or(1.0, |drive| f64::from(drive.sessions));
    let many = beyond > in_flight && beyond * 100.0 >= WITHOUT.value * queries;
    (database_expected(view) && totals.errors == 0 && many).then(|| {
        format!(
            "at least {} % of the events sent no statement",
            text::plain(beyond / totals.events as f64 * 100.0)
        )
    })
}

/// Time of a closed loop's sessions outside of any latency.
fn outside_events(view: &View) -> Option<String> {
    let summary = view.summary()?;
    let drive = view.drive().filter(|drive| drive.open_loop.is_none())?;
    let totals = &summary.totals;
    // The time of failed or abandoned events is in no latency; nor is think time, or the time of
    // other loads of the same run.
    let timed = timed_by_sysbench(view, summary);
    // sysbench repeats an event with an error within the same latency.
    let errors = if timed { 0 } else { totals.errors };
    let counted_elsewhere = errors + totals.not_done > 0
        || !drive.roles.is_empty()
        || !view.events(EventKind::Frozen).is_empty()
        // Its sessions did nothing after that, as the agents' own finding reports.
        || view.agents().iter().any(|agent| agent.lost);
    let thinks = view.run.intervals.iter().any(|interval| {
        let states = interval.states.as_ref();
        states.is_some_and(|states| interval.at_s > ROOM_S && states.waiting > 0)
    });
    // Sessions of an embedded database wait for each other between events.
    let apart = timed || (database_expected(view) && !view.embedded());
    if counted_elsewhere || thinks || !apart || drive.ramp_up > drive.warmup {
        return None;
    }
    let sessions = f64::from(drive.sessions);
    let time_s = summary.elapsed_s.max(summary.measured_s);
    let inside_ms = match timed {
        true => in_events_most_ms(summary)?,
        false => summary.service.mean_ms? * totals.events as f64,
    };
    let inside = inside_ms / 1e3 / time_s / sessions;
    // Each session may have a truncated event at either end.
    let cut_off = 2.0 * sessions / totals.events as f64;
    let outside = (1.0 - inside - cut_off) * 100.0;
    (outside >= OUTSIDE.value).then(|| {
        format!(
            "the sessions spent {} % of their time outside events, which no latency includes",
            text::plain((1.0 - inside) * 100.0)
        )
    })
}

/// Whether the run is sysbench's test of a database, and its latencies cover its whole time: a
/// forced shutdown leaves out events in progress.
fn timed_by_sysbench(view: &View, summary: &RunSummary) -> bool {
    let known = summary.service.sum_ms.or(summary.service.mean_ms).is_some();
    let whole = summary.events_unfinished.unwrap_or(0) == 0
        && view.drive().is_some_and(|drive| drive.warmup.is_zero());
    let of_database = summary.machine.is_none() && summary.totals.queries() > 0;
    view.run.head.source == Source::Sysbench && known && whole && of_database
}

/// An upper bound of the total time that sysbench's sessions spent in events: it rounds means.
fn in_events_most_ms(summary: &RunSummary) -> Option<f64> {
    const ROUNDING_MS: f64 = 0.005;
    let rounded = || Some((summary.service.mean_ms? + ROUNDING_MS) * summary.totals.events as f64);
    summary.service.sum_ms.or_else(rounded)
}

/// A tool may notice the end of the time, or connect its sessions, this late.
const LATE_S: f64 = 0.5;
/// The rate of fewer events is not known well enough to imply a time.
const FEW_EVENTS: f64 = 10.0;

/// The importer's finding about the log's stated time.
fn stated_time(view: &View) -> Option<String> {
    let number = |name: &str| -> Option<f64> { view.run.fact(name)?.trim().parse().ok() };
    let stated = number(names::IMPORT_STATED_TIME_S)?;
    let implied = number(names::IMPORT_IMPLIED_TIME_S).filter(|implied| *implied > 0.0)?;
    // No event begins after the time is up, but running events finish.
    let late_s = (implied - stated).max(0.0);
    let differ = (stated / implied - 1.0).abs() * 100.0;
    // pgbench waits for its last transactions, and the importer knows how long they can take.
    let waits_s = match view.run.head.source {
        Source::Pgbench => stated,
        _ => 0.0,
    };
    let may_be_late_s = long_event_s(view).max(LATE_S).max(waits_s);
    let few = (view.totals().events as f64) < FEW_EVENTS;
    (!few && differ >= STATED_TIME.value && (late_s == 0.0 || late_s > may_be_late_s)).then(|| {
        format!(
            "the log states {}, but its count divided by its rate is {}",
            text::seconds(stated),
            text::seconds(implied)
        )
    })
}

/// The duration of a long event at the end of the time: the maximum, or the mean plus three
/// standard deviations.
fn long_event_s(view: &View) -> f64 {
    let long_ms = view.latency().and_then(|latency| {
        let usual_ms = || Some(latency.mean_ms? + 3.0 * latency.stddev_ms.unwrap_or(0.0));
        latency.max_ms.or_else(usual_ms)
    });
    long_ms.unwrap_or(0.0) / 1e3
}

/// The number of transactions without a time in a log, and their share in percent.
fn untimed(view: &View) -> Option<String> {
    let untimed: f64 = view.run.fact(names::IMPORT_UNTIMED)?.parse().ok()?;
    let share = untimed / view.totals().events.max(1) as f64 * 100.0;
    (share >= UNTIMED.value).then(|| {
        format!(
            "{} % of the transactions have a time of 0 us in the log",
            text::plain(share.min(100.0))
        )
    })
}
