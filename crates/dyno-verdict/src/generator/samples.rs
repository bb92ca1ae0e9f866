//! Checks 8 and 9: events not served or not recorded, and the number of samples behind percentiles.

use dyno_core::finding::Outcome;
use dyno_core::interval::carries;
use dyno_core::record::{RunState, SessionShare};
use dyno_core::summary::{LatencySummary, RunSummary};

use super::open_loop::overloaded;
use super::sessions::LAST_LOOK_S;
use crate::check::{Check, CheckResult, advice, doubt_if, graded, thresholds};
use crate::missing::Missing;
use crate::text;
use crate::view::View;

pub(super) const UNSERVED: Check = Check {
    number: 8,
    name: "unserved",
    title: "Events late, dropped, unserved or in flight at the end",
    rule: "Doubt if {0} % of the events never ended (0.5 % if the run has too few events for \
           p99.9, 2.5 % if too few for p99). Doubt if the run never finished, or {1} % of the \
           sessions had an event that did not end within a grace of {2} times the median event. \
           Events that an overloaded target did not take are reported only by `offered-rate`.",
    thresholds: &[MISSING, HUNG, HUNG_EVENTS],
    make: unserved,
};

pub(super) const SAMPLES: Check = Check {
    number: 9,
    name: "samples",
    title: "Clipped latencies, and samples behind each percentile",
    rule: "Doubt if a latency is beyond the histogram's bound, refusal from {0} %. Doubt below {1} \
           events, or if a percentile has fewer than {2} samples on either side.",
    thresholds: &[CLIPPED, EVENTS_FEW, BEYOND],
    make: samples,
};

thresholds! {
    MISSING = 0.1, "percent", "unfinished events": "the slowest thousandth would change p99.9";
    HUNG = 50.0, "percent", "sessions with an unfinished event":
        "half of the sessions no longer got answers";
    HUNG_EVENTS = 20.0, "times the median event", "grace, in events":
        "events rarely differ by more";
    CLIPPED = 1.0, "percent", "latencies beyond the bound":
        "p99 is then the bound, not a measurement";
    EVENTS_FEW = 100.0, "count", "events": "p95 needs five samples beyond it";
    BEYOND = 5.0, "count", "samples on either side of a percentile":
        "a binomial's normal approximation needs five on either side";
}

fn unserved_advice(hung: bool, unfinished: u64, missing: u64) -> String {
    advice(&[
        (
            hung,
            "Check whether the server still answered when the time was over: see its log, its list \
             of sessions, the network.",
        ),
        (
            !hung && unfinished > 0,
            "Let events in flight end with a longer --grace.",
        ),
        (
            !hung && missing > unfinished,
            "Offer less, or use more sessions: those events never started.",
        ),
    ])
}

/// The percentage beyond the highest percentile that this many events support.
fn beyond(events: u64) -> f64 {
    let highest = [99.9, 99.0]
        .into_iter()
        .find(|percent| carries(events, *percent));
    100.0 - highest.unwrap_or(95.0)
}

fn not_taken(missing: u64) -> CheckResult {
    CheckResult::not_checked(format!(
        "{} never ended: the target served less than was offered (see `offered-rate`).",
        text::counted(missing, "event")
    ))
}

/// A log shows at most the number of events omitted as too late.
fn unserved_of_log(summary: &RunSummary, view: &View) -> CheckResult {
    let skipped = summary.latency_limit.map_or(0, |limit| limit.skipped);
    let all = summary.totals.events.saturating_add(skipped);
    if skipped == 0 {
        return Missing::InFlight.result();
    }
    let share = skipped as f64 / all as f64 * 100.0;
    if share < MISSING.value.max(beyond(all) / 2.0) {
        return CheckResult::not_checked(format!(
            "{} skipped as too late, too few to matter ({} %); the log does not say what was in \
             flight at the end.",
            were(skipped),
            text::plain(share)
        ));
    }
    if overloaded(view) {
        return not_taken(skipped);
    }
    CheckResult::doubt(
        format!(
            "{} ended, and {} skipped as too late to start within the limit ({} %): their \
             latencies are missing.",
            text::counted(summary.totals.events, "event"),
            were(skipped),
            text::plain(share)
        ),
        "Offer less, or use more clients: the target, or this number of clients, cannot serve this \
         rate.",
    )
    .with("skipped", skipped as f64, "count")
    .with("without an end", share, "percent")
}

/// Events that were due but not begun.
fn backlog(summary: &RunSummary) -> u64 {
    let open = summary.open_loop.as_ref();
    open.and_then(|open| open.backlog).unwrap_or(0)
}

fn were(count: u64) -> String {
    let verb = if count == 1 { "was" } else { "were" };
    format!("{} {verb}", text::count(count))
}

fn unserved(view: &View) -> CheckResult {
    let Some(summary) = view.summary() else {
        if view.imported() {
            return Missing::Whole.result();
        }
        return CheckResult::doubt(
            "The run never finished: what was in flight when it ended is not known.",
            "Find out why the process ended; the figures cover what was saved before.",
        );
    };
    if view.imported() {
        return unserved_of_log(summary, view);
    }
    let backlog = backlog(summary);
    let (in_grace, unfinished) = (
        summary.events_in_grace.unwrap_or(0),
        summary.events_unfinished.unwrap_or(0),
    );
    let skipped = summary.latency_limit.map_or(0, |limit| limit.skipped);
    let missing = backlog.saturating_add(unfinished).saturating_add(skipped);
    let events = summary.totals.events;
    let all = events.saturating_add(missing);
    if all == 0 {
        return CheckResult::not_checked("No event started.");
    }
    let share = missing as f64 / all as f64 * 100.0;
    // A user who ends a run by hand cuts off the last events knowingly.
    let stopped = view.run.state == RunState::Interrupted;
    let hung = hung_sessions(view, unfinished);
    let too_many = share >= MISSING.value.max(beyond(all) / 2.0) && !stopped;
    if too_many && !hung && overloaded(view) {
        return not_taken(missing);
    }
    let outcome = doubt_if(hung || too_many);
    let by_hand = match stopped {
        true => "; the user ended the run",
        false => "",
    };
    let too_late = match skipped {
        0 => String::new(),
        _ => format!(", {} skipped as too late", text::count(skipped)),
    };
    CheckResult::of(
        outcome,
        format!(
            "{} ended, {} of them after the time limit; {} started but did not end, and {} were \
             due but did not start{too_late}{by_hand}.",
            text::counted(events, "event"),
            text::count(in_grace),
            text::count(unfinished),
            text::count(backlog)
        ),
        &unserved_advice(hung, unfinished, missing),
    )
    .with("ended in the grace", in_grace as f64, "count")
    .with("begun and not ended", unfinished as f64, "count")
    .with("due and not begun", backlog as f64, "count")
    .with("skipped", skipped as f64, "count")
    .with("without an end", share, "percent")
}

/// Whether enough sessions had an event without an end that the server cannot have answered.
fn hung_sessions(view: &View, unfinished: u64) -> bool {
    let event = view.run.operations.first();
    let total = event.and_then(|event| event.total.as_ref());
    let Some(total) = total.filter(|total| total.count > 0) else {
        return false;
    };
    let Some(drive) = view.drive() else {
        return false;
    };
    let median_s = total.service.value_at_quantile(0.5) as f64 / 1e9;
    let long_s = median_s * HUNG_EVENTS.value;
    let of_sessions = |hung: f64| hung / f64::from(drive.sessions.max(1)) * 100.0 >= HUNG.value;
    if view.run.state != RunState::Interrupted {
        return of_sessions(unfinished as f64) && drive.grace.as_secs_f64() >= long_s;
    }
    // It is unknown whether there was a grace period: the waiting time up to then decides.
    let waited = |session: &&SessionShare| {
        let idle = session
            .idle
            .filter(|idle| idle.to_s + LAST_LOOK_S >= view.length_s);
        idle.is_some_and(|idle| idle.length_s() >= long_s.max(2.0 * LAST_LOOK_S))
    };
    of_sessions(view.run.sessions.iter().filter(waited).count() as f64)
}

fn samples(view: &View) -> CheckResult {
    let Some(latency) = view.latency() else {
        return Missing::Whole.or(
            view,
            "A run that never finished has no overall distribution.",
        );
    };
    let service = view.summary().map(|summary| &summary.service);
    let clipped = service
        .into_iter()
        .chain([latency])
        .map(|latency| latency.clipped)
        .max()
        .unwrap_or(0);
    if latency.count == 0 {
        return Missing::Latencies.or(view, "No latency was recorded.");
    }
    let share = clipped as f64 / latency.count as f64 * 100.0;
    let thin = thin(latency);
    let few = (latency.count as f64) < EVENTS_FEW.value;
    let mut outcome = graded(share, &ANY_CLIPPED, &CLIPPED);
    if few || !thin.is_empty() {
        outcome = outcome.max(Outcome::Doubt);
    }
    CheckResult::of(
        outcome,
        evidence(latency, clipped, &thin),
        &advice(&[
            (few, "Measure longer."),
            (
                !few && !thin.is_empty(),
                "Measure longer, or show lower percentiles.",
            ),
            (
                clipped > 0,
                "Latencies of an hour or more exceed this histogram: the true mean and maximum are \
                 higher than shown.",
            ),
        ]),
    )
    .with("samples", latency.count as f64, "count")
    .with("beyond the bound", clipped as f64, "count")
    .with("beyond the bound, share", share, "percent")
}

thresholds! {
    /// A single one is enough for a doubt.
    ANY_CLIPPED = f64::MIN_POSITIVE, "percent", "any latency beyond the bound":
        "the mean and the maximum are wrong";
}

fn evidence(latency: &LatencySummary, clipped: u64, thin: &[String]) -> String {
    let withheld: Vec<String> = latency
        .percentiles
        .iter()
        .filter(|percentile| percentile.value_ms.is_none())
        .map(|percentile| percentile.percent.to_string())
        .collect();
    let mut evidence = match latency.count {
        1 => "1 latency was recorded".to_owned(),
        count => format!("{} latencies were recorded", text::count(count)),
    };
    if clipped > 0 {
        evidence += &format!(", {} beyond the histogram's bound", text::count(clipped));
    }
    if !thin.is_empty() {
        evidence += &format!(", too few for p{}, which is shown", thin.join(" and p"));
    }
    if !withheld.is_empty() {
        evidence += &format!(
            ", too few for p{}, which is omitted",
            withheld.join(" and p")
        );
    }
    evidence + "."
}

fn thin(latency: &LatencySummary) -> Vec<String> {
    latency
        .percentiles
        .iter()
        .filter(|percentile| percentile.value_ms.is_some())
        .filter(|percentile| percentile.percent > 0.0 && percentile.percent < 100.0)
        .filter(|percentile| {
            let above = latency.count as f64 * (1.0 - percentile.percent / 100.0);
            let below = latency.count as f64 * percentile.percent / 100.0;
            // A small tolerance for rounding: 5,000 samples support p99.9.
            above.min(below) < BEYOND.value - 1e-6
        })
        .map(|percentile| percentile.percent.to_string())
        .collect()
}
