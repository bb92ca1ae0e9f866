//! Checks 51 to 54: how the run was conducted.

mod gaps;
#[cfg(test)]
mod tests;

use dyno_analysis::bins::ROOM_S;
use dyno_core::catalogue::names;
use dyno_core::finding::{Cause, Outcome};
use dyno_core::interval::Counters;
use dyno_core::record::{Event, EventKind, RunRecord};
use dyno_core::redact;
use dyno_core::summary::{AgentSummary, IntervalSummary};

use crate::check::{Check, CheckResult, doubted, thresholds};
use crate::context::Keeping;
use crate::missing::Missing;
use crate::text;
use crate::view::View;
use gaps::missing;

pub(crate) const CHECKS: &[Check] = &[
    Check {
        number: 51,
        name: "agents",
        title: "Whether all load generators did their part",
        rule: "Refusal if a generator was missing or failed, or if intervals are missing, do not \
               add up or do not align. Doubt if one was lost where that was allowed, started late, \
               did less than its share, or runs another version of Dyno.",
        thresholds: &[],
        make: agents,
    },
    Check {
        number: 52,
        name: "observer-cost",
        title: "CPU cost of the observers",
        rule: "Doubt if observers, metrics exporters and perf used {0} % of a core. Needs {1} s.",
        thresholds: &[COST, ENOUGH],
        make: cost,
    },
    Check {
        number: 52,
        name: "observers",
        title: "Failed or late observers",
        rule: "Doubt if an observer failed, a sample was {0} ms late, or {1} % of the samples are \
               missing. Needs {2} s.",
        thresholds: &[LATE, MISSING, LENGTH],
        make: observers,
    },
    Check {
        number: 52,
        name: "record",
        title: "Completeness of the record",
        rule: "Doubt if part of the record did not reach the results file, or an imported log \
               lacks its end or report lines. Doubt if the events of intervals and grace do not \
               add up to the total, or the intervals have more statements, rows, bytes or errors \
               than the run.",
        thresholds: &[],
        make: record,
    },
    Check {
        number: 53,
        name: "secrets",
        title: "Secrets in arguments, options, facts and settings",
        rule: "Refusal if the record contains a password, by the rules that hide passwords.",
        thresholds: &[],
        make: secrets,
    },
    Check {
        number: 54,
        name: "provenance",
        title: "Tool version, script hash and seed",
        rule: "Doubt if one is missing: the run cannot be repeated.",
        thresholds: &[],
        make: provenance,
    },
];

thresholds! {
    COST = 5.0, "percent of a core", "CPU of the observers": "five times the design budget";
    ENOUGH = 5.0, "s", "length":
        "in a shorter run, the first sample dominates: it discovers what to observe";
    LATE = 1000.0, "ms", "latest sample": "the sample belongs to another second";
    MISSING = 10.0, "percent", "missing samples": "a tenth of the time is then unknown";
    LENGTH = 5.0, "s", "length": "in a shorter run, one sample exceeds that share";
}

/// Events within this time of one another are the beginning and the end of one gap.
const SAME_S: f64 = 1e-3;
/// Rounding error of a quotient of times, in samples.
const ROUNDING: f64 = 1e-6;

fn agents(view: &View) -> CheckResult {
    let summary = view.run.summary.as_ref();
    let Some(summary) = summary.filter(|summary| !summary.agents.is_empty()) else {
        return Missing::Generators.or(view, "The run had one load generator.");
    };
    let found = &summary.agent_findings;
    let with = |outcome: Outcome| {
        let found = found.iter().filter(|finding| finding.outcome == outcome);
        let found = found.map(|finding| text::sentence(&finding.evidence));
        found.collect::<Vec<_>>()
    };
    let advice = "See docs/fleet.md for each finding. The run's messages include the output of \
                  agents at local: and ssh: (agent NAME said: …); an agent that joins prints to \
                  its terminal or journal.";
    let (refused, doubted) = (with(Outcome::Refuse), with(Outcome::Doubt));
    if !refused.is_empty() {
        return CheckResult::refuse(refused.join(" "), advice);
    }
    if !doubted.is_empty() {
        return CheckResult::doubt(doubted.join(" "), advice);
    }
    let agents = &summary.agents;
    let worst =
        |of: &dyn Fn(&AgentSummary) -> Option<f64>| agents.iter().filter_map(of).reduce(f64::max);
    let bound = worst(&|agent| agent.clock.map(|clock| clock.bound_ms));
    let late = worst(&|agent| agent.late_ms);
    CheckResult::pass(format!(
        "{}: their intervals are complete and add up to their totals and the run's; clock \
         offsets are known to within {} ms, and the last one started {} ms late.",
        text::number_of(agents.len(), "load generator"),
        bound.map_or_else(|| "an unknown number of".to_owned(), text::plain),
        late.map_or_else(|| "an unknown number of".to_owned(), text::plain),
    ))
    .with_some("clocks known to", bound, "ms")
    .with_some("latest start", late, "ms")
}

fn cost(view: &View) -> CheckResult {
    let Some(cores) = view.mean(names::OBSERVER_CPU) else {
        return Missing::ObserverCost.or(view, format!("{}.", view.why_not(names::OBSERVER_CPU)));
    };
    let cores_of = |name| {
        view.run
            .fact(name)
            .and_then(|cores| cores.parse::<f64>().ok())
    };
    let (exports, profile) = (
        cores_of(names::OBSERVER_EXPORT_CORES),
        cores_of(names::OBSERVER_PROFILE_CORES),
    );
    let percent = (cores + exports.unwrap_or(0.0) + profile.unwrap_or(0.0)) * 100.0;
    let who = match (exports, profile) {
        (None, None) => "The observers",
        (Some(_), None) => "The observers and metrics exporters",
        (None, Some(_)) => "The observers and perf",
        (Some(_), Some(_)) => "The observers, metrics exporters and perf",
    };
    if view.length_s < ENOUGH.value {
        return CheckResult::not_checked(format!(
            "{who} used {} % of a core in {} s, the first sample included.",
            text::plain(percent),
            text::plain(view.length_s)
        ));
    }
    CheckResult::of(
        doubted(percent, &COST),
        format!("{who} used {} % of a core.", text::plain(percent)),
        match profile {
            Some(_) => "Profile a separate run, not the one whose figures count.",
            None => {
                "Observe less often, or turn observers off: see docs/observers.md for their cost."
            }
        },
    )
    .with("CPU of the observers", percent, "percent of a core")
}

/// At least one of these series is sampled every period, whatever the target.
const EVERY_SECOND: [&str; 3] = [
    names::HOST_CPU_IDLE,
    names::CLIENT_CPU_USER,
    names::OBSERVER_CPU,
];

fn observers(view: &View) -> CheckResult {
    let samples = EVERY_SECOND
        .iter()
        .filter_map(|name| view.run.series(name))
        .max_by_key(|series| series.points.len());
    let Some(series) = samples.filter(|_| !view.imported()) else {
        return Missing::Observers.or(view, format!("{}.", view.why_not("observer")));
    };
    let failures = failures(view);
    let late = view.largest(names::OBSERVER_LATE);
    let missing = missing(view, series);
    let mut outcome = Outcome::Pass;
    if !failures.is_empty() || late.is_some_and(|late| late >= LATE.value) {
        outcome = Outcome::Doubt;
    }
    if missing.is_some_and(|missing| missing.percent >= MISSING.value) {
        outcome = Outcome::Doubt;
    }
    let failed = match failures.is_empty() {
        true => "No observer failed".to_owned(),
        false => format!("Observers failed: {}", text::few(&failures, 3)),
    };
    let late_by = late.map_or_else(String::new, |late| {
        format!("; the latest sample was {} late", text::ms(late))
    });
    let gaps = missing.map_or_else(String::new, |missing| match missing.samples {
        0 => "; no sample is missing".to_owned(),
        samples => format!(
            "; {}{} ({} %) {} missing",
            text::counted(samples, "sample"),
            if missing.there {
                " of the server's host"
            } else {
                ""
            },
            text::plain(missing.percent),
            if samples == 1 { "is" } else { "are" }
        ),
    });
    CheckResult::of(
        outcome,
        format!("{failed}{late_by}{gaps}."),
        "Read the other findings with these gaps in mind: what was not observed cannot cause a \
         doubt. See not_observed for the reasons.",
    )
    .naming((failures.is_empty() && late.is_some()).then_some(Cause::LateSamples))
    .with("failures", failures.len() as f64, "count")
    .with_some("latest sample", late, "ms")
    .with_some("missing samples", missing.map(|m| m.percent), "percent")
}

/// The failures of observers with their times. The beginning and the end of a gap are two events,
/// reported once with its start and length.
fn failures(view: &View) -> Vec<String> {
    let events = view.events(EventKind::Observer);
    let spans = events
        .iter()
        .filter_map(|event| Some((event.at_s, event.until_s?)));
    let spans: Vec<(f64, f64)> = spans.collect();
    let begins_at = |span: &(f64, f64), at_s: f64| (span.0 - at_s).abs() < SAME_S;
    let has_beginning = |at_s: f64| {
        let mut moments = events.iter().filter(|event| event.until_s.is_none());
        moments.any(|event| (event.at_s - at_s).abs() < SAME_S)
    };
    let mut lines = Vec::new();
    for event in &events {
        if event.until_s.is_some() && has_beginning(event.at_s) {
            continue;
        }
        let own = event.until_s.map(|until_s| (event.at_s, until_s));
        let of_it = spans.iter().find(|span| begins_at(span, event.at_s));
        let when = match own.or(of_it.copied()) {
            None => format!("at {}", text::seconds(event.at_s.max(0.0))),
            Some((from_s, until_s)) => {
                let (from_s, until_s) = (from_s.max(0.0), until_s.min(view.length_s));
                let length_s = until_s - from_s;
                format!(
                    "from {} for {}",
                    text::seconds(from_s),
                    text::seconds((length_s * 100.0).round() / 100.0)
                )
            }
        };
        lines.push(format!("{when} ({})", event.text.trim_end_matches('.')));
    }
    lines
}

fn record(view: &View) -> CheckResult {
    if let Some(result) = log_incomplete(view) {
        return result;
    }
    if let Some(result) = sums_differ(view) {
        return result;
    }
    match &view.context.keeping {
        None => CheckResult::not_checked("The run was not written to a results file while it ran."),
        Some(Keeping::Whole) => CheckResult::pass("Everything recorded is in the results file."),
        Some(Keeping::Lost(what)) => CheckResult::doubt(
            format!("The record is incomplete: {}.", what.trim_end_matches('.')),
            "Rates, latencies and errors were counted in memory and are complete. Observed series \
             may end early, and findings based on them may miss the end of the run.",
        ),
    }
}

/// The finding that an imported log lacks its end or report lines.
fn log_incomplete(view: &View) -> Option<CheckResult> {
    let fact = |name| view.run.fact(name).filter(|_| view.imported());
    let (end, gaps) = (fact(names::IMPORT_CUT_OFF), fact(names::IMPORT_GAPS));
    let missing = end.into_iter().chain(gaps);
    let missing: Vec<&str> = missing.map(|what| what.trim_end_matches('.')).collect();
    let advice = match end {
        None if gaps.is_none() => return None,
        Some(_) => {
            "Import the whole log. Without its end it is not known whether the run ended properly, \
             and its last counts are missing."
        }
        None => {
            "Import the whole log; if this is all of it, the tool did not print in time because it \
             was frozen. Rates, latencies and stalls are unknown for the time of the missing lines."
        }
    };
    let evidence = format!("The log is incomplete: {}.", missing.join("; "));
    Some(CheckResult::doubt(evidence, advice))
}

/// The finding that the intervals do not add up to the summary.
fn sums_differ(view: &View) -> Option<CheckResult> {
    let summary = view.summary().filter(|_| !view.imported())?;
    let intervals = &view.run.intervals;
    if intervals.is_empty() {
        return None;
    }
    // A part of a run also keeps the time before it.
    let within = |interval: &&IntervalSummary| interval.at_s - interval.length_s >= -ROOM_S;
    let events = intervals
        .iter()
        .filter(within)
        .map(|interval| interval.counters.events);
    let sum = events.fold(summary.events_in_grace.unwrap_or(0), u64::saturating_add);
    if sum == summary.totals.events {
        return more_than_all(view, &summary.totals);
    }
    let lost = match &view.context.keeping {
        Some(Keeping::Lost(what)) => format!(" {}.", text::sentence(what.trim_end_matches('.'))),
        _ => String::new(),
    };
    let result = CheckResult::doubt(
        format!(
            "The intervals and the grace have {}, the total has {}.{lost}",
            text::counted(sum, "event"),
            text::count(summary.totals.events)
        ),
        "The total was counted separately and is complete; the intervals, and what is based on \
         them, have gaps.",
    );
    let result = result.with("events of the intervals", sum as f64, "count");
    Some(result.with("events in all", summary.totals.events as f64, "count"))
}

/// The finding that the intervals have more than the whole run. Statements in the grace period are
/// in the totals only, so the totals may be larger.
fn more_than_all(view: &View, totals: &Counters) -> Option<CheckResult> {
    let mut sums = Counters::default();
    for interval in &view.run.intervals {
        sums.merge(&interval.counters);
    }
    let both = sums.values().into_iter().zip(totals.values());
    let mut named = Counters::NAMES.iter().zip(both);
    let (name, (sum, total)) = named.find(|(_, (sum, total))| sum > total)?;
    Some(CheckResult::doubt(
        format!(
            "The intervals have {} of `{name}`, and the total has {}.",
            text::count(sum),
            text::count(total)
        ),
        "The file was changed after the run, or its writing failed: measure again.",
    ))
}

fn secrets(view: &View) -> CheckResult {
    let mut found = exposed(view.run);
    let looked = [
        "arguments",
        "URL",
        "options",
        "note",
        "events",
        "facts",
        "settings",
    ];
    let mut places = looked.map(str::to_owned).to_vec();
    if let Some(scan) = &view.context.secret_scan {
        found.extend(scan.found.iter().cloned());
        let more = |place: &&String| !looked.contains(&place.as_str());
        places.extend(scan.places.iter().filter(more).cloned());
    }
    found.dedup();
    let scan = view.context.secret_scan.as_ref();
    let hidden = scan.map_or(&[][..], |scan| &scan.hidden[..]);
    let result = match found.is_empty() {
        true if !hidden.is_empty() => CheckResult::pass(format!(
            "The target's password was hidden in {}; no password was found in {}.",
            text::list(hidden),
            text::list(&places)
        )),
        true => CheckResult::pass(format!("No password was found in {}.", text::list(&places))),
        false => CheckResult::refuse(
            format!("A password was found in {}.", text::few(&found, 5)),
            "Change the password, remove the run from its results file, and give passwords by \
             environment or file (see docs/targets.md).",
        ),
    };
    result.with("places", found.len() as f64, "count")
}

/// The places with a password, found by the rules that hide passwords; never the password.
fn exposed(run: &RunRecord) -> Vec<String> {
    let head = &run.head;
    let options = &head.workload.options;
    let in_events = |event: &Event| redact::text(&event.text) != event.text;
    let parts = [
        ("the arguments", redact::argv(&head.argv) != head.argv),
        (
            "the target's URL",
            redact::text(&head.target.url) != head.target.url,
        ),
        ("the options", redact::options(options) != *options),
        ("the note", redact::text(&head.note) != head.note),
        ("the events", run.events.iter().any(in_events)),
    ];
    let shows = |name: &str, value: &str| redact::setting(name, value) != value;
    let exposing = parts.into_iter().filter(|(_, shows)| *shows);
    let mut found: Vec<String> = exposing.map(|(place, _)| place.to_owned()).collect();
    let facts = run
        .facts
        .iter()
        .filter(|fact| shows(&fact.name, &fact.value));
    found.extend(facts.map(|fact| format!("the fact {}", fact.name)));
    let settings = run.settings.iter().filter(|setting| {
        let mut values = [&setting.start, &setting.end].into_iter().flatten();
        values.any(|value| shows(&setting.name, value))
    });
    found.extend(settings.map(|setting| format!("the setting {}", setting.name)));
    found.dedup();
    found
}

fn provenance(view: &View) -> CheckResult {
    if view.imported() {
        return CheckResult::not_checked(
            "The log contains neither the script's text nor its seed.",
        );
    }
    let head = &view.run.head;
    let mut missing = Vec::new();
    if head.tool.trim().is_empty() {
        missing.push("the tool's version".to_owned());
    }
    if head.script_sha256.trim().is_empty() {
        missing.push("the script's hash".to_owned());
    }
    if view.drive().is_none() {
        missing.push("the seed".to_owned());
    }
    let seed = view
        .drive()
        .map_or_else(String::new, |drive| drive.seed.to_string());
    match missing.is_empty() {
        true => CheckResult::pass(format!(
            "Made by {}; script {} with the hash {}; seed {seed}.",
            head.tool,
            head.workload.shown(),
            head.script_sha256.get(..12).unwrap_or(&head.script_sha256)
        )),
        false => CheckResult::doubt(
            text::sentence(&format!("{} is not recorded", text::list(&missing))),
            "Record the run with a tool that stores them.",
        ),
    }
}
