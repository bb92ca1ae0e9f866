//! One cause is told once: what it brings about is no doubt of its own.

use dyno_analysis::stalls::Span;
use dyno_core::finding::{Finding, Outcome};
use dyno_core::record::EventKind;
use dyno_core::summary::RunEnd;

use crate::time::{causes, modes};
use crate::view::View;
use crate::{conduct, errors, server};

/// What another finding brings about: a check, and the words in its evidence by which it is known;
/// without any, whatever it says.
type Symptom = (&'static str, &'static str);

/// What a server that goes away and comes back does to the rate and to who observes it.
const OF_RESTARTS: &[Symptom] = &[
    ("warm-up", ""),
    ("steady-state", ""),
    ("stalls", ""),
    ("length", ""),
    ("idle-sessions", ""),
    ("observers", ""),
    ("work-done", errors::OUTSIDE_EVENTS),
];
/// What sessions that hang do: their server may have fallen silent.
const OF_IDLE_SESSIONS: &[Symptom] = &[
    ("offered-rate", ""),
    ("unserved", ""),
    ("warm-up", ""),
    ("steady-state", ""),
    ("stalls", ""),
    ("length", ""),
    ("restarts", ""),
    ("observers", ""),
    ("fairness", ""),
    ("work-done", errors::OUTSIDE_EVENTS),
];
/// What sessions that all ended with errors do.
const OF_ERRORS: &[Symptom] = &[
    ("offered-rate", ""),
    ("unserved", ""),
    ("client-cpu", ""),
    ("schedule-lag", ""),
];
/// What neighbours on the host do to the rate: nothing else is said of it than how uneven it is,
/// or that they took CPUs then.
const OF_NEIGHBOURS: &[Symptom] = &[
    ("length", "either way"),
    ("length", "its own size"),
    ("warm-up", causes::BY_OTHERS),
    ("steady-state", causes::BY_OTHERS),
];
/// What others' statements, and their locks, do at the server, and to a rate that nothing else
/// explains.
const OF_OTHERS: &[Symptom] = &[
    ("warm-up", causes::NOTHING),
    ("steady-state", causes::NOTHING),
    ("server-warnings", ""),
    ("stalls", causes::LOCKS),
    ("length", "either way"),
    ("length", "its own size"),
];
/// What a server that stands still does to who observes it.
const OF_STALLS: &[Symptom] = &[
    ("restarts", server::ONLY_SILENT),
    ("work-done", errors::OUTSIDE_EVENTS),
    ("steady-state", causes::IDLE_SERVER),
    ("steady-state", causes::SILENT),
];
/// What one does that lies in the first seconds: they are slower than the rest.
const OF_A_FIRST_STALL: &[Symptom] = &[("warm-up", "Before")];
/// What one does that is longer than several events, and lasts to the end.
const OF_A_LAST_STALL: &[Symptom] = &[("unserved", "")];
/// What a generator that was frozen does to its observers and the rate.
const OF_FREEZES: &[Symptom] = &[
    ("observers", conduct::ONLY_LATE),
    ("length", "either way"),
    ("length", "its own size"),
];
/// What connections that are ended do to who observes the server and to the rate.
const OF_LOST_CONNECTIONS: &[Symptom] = &[
    ("observers", ""),
    ("length", "either way"),
    ("length", "its own size"),
];
/// The same, where all errors are lost connections.
const OF_LOST_ALONE: &[Symptom] = &[("errors", "")];
/// What reads that find nothing from some time on do to the rate.
const OF_MISSES: &[Symptom] = &[
    ("warm-up", causes::MISSES),
    ("steady-state", causes::MISSES),
    ("length", "either way"),
    ("length", "its own size"),
];
/// What statements that scan tables from some time on do to the rate.
const OF_SCANS: &[Symptom] = &[
    ("warm-up", causes::SCANS),
    ("steady-state", causes::SCANS),
    ("length", "either way"),
    ("length", "its own size"),
];
/// What transactions that are never committed do to the server's count of them.
const OF_OPEN_TRANSACTIONS: &[Symptom] = &[("server-counters", "")];
/// What statements that fail do: they find nothing, and the server counts them otherwise.
const OF_FAILING: &[Symptom] = &[("work-done", "Not one statement"), ("server-counters", "")];
/// What statements that ask no table for anything do.
const OF_UNTOUCHED: &[Symptom] = &[("misses", "reads")];
/// What events that hold no work do.
const OF_EMPTY_EVENTS: &[Symptom] = &[("clock", "percentile")];
/// What a run that failed, or did nothing but fail, has no more: these are refusals, too.
const OF_FAILURES: &[Symptom] = &[
    ("work-done", ""),
    ("idle-sessions", ""),
    ("samples", ""),
    ("length", ""),
];
/// What a run that is too short has too few of.
const OF_SHORTNESS: &[Symptom] = &[("samples", "")];
/// What sessions that are served unevenly do to the latencies.
const OF_UNFAIRNESS: &[Symptom] = &[("latency-modes", modes::OF_SESSIONS)];

pub(crate) fn apply(view: &View, findings: &mut [Finding]) {
    let causes = found(view, findings);
    let failed = has_failed(view, findings);
    let speaks = |finding: &&mut Finding| {
        let of_failures = failed && OF_FAILURES.iter().any(|(check, _)| finding.check == *check);
        finding.outcome == Outcome::Doubt || finding.outcome == Outcome::Refuse && of_failures
    };
    for finding in findings.iter_mut().filter(speaks) {
        let of = |(symptoms, _): &&(&[Symptom], &str)| {
            let mut symptoms = symptoms.iter();
            symptoms
                .any(|(check, words)| finding.check == *check && finding.evidence.contains(words))
        };
        if let Some((_, why)) = causes.iter().find(of) {
            finding.outcome = Outcome::NotChecked;
            finding.advice.clear();
            finding.evidence = format!("{why} {}", finding.evidence);
        }
    }
}

/// Whether errors refuse the run, and nothing else was done or it ended by them.
fn has_failed(view: &View, findings: &[Finding]) -> bool {
    let by_errors = |one: &Finding| one.check == "errors" && one.outcome == Outcome::Refuse;
    let ended = (view.summary()).is_some_and(|own| matches!(own.end, RunEnd::Failed(_)));
    let totals = view.totals();
    let nothing = totals.events == 0 || totals.queries() == 0;
    (ended || nothing) && findings.iter().any(by_errors)
}

/// Whether a tenth of the first seconds was a stall.
fn stalled_at_first(view: &View) -> bool {
    const FIRST_S: f64 = 3.0;
    view.stalls().is_ok_and(|found| {
        let within = |span: &Span| span.to_s.min(FIRST_S) - span.from_s.max(0.0);
        let spans = found.spans.iter().map(within);
        spans.filter(|length_s| *length_s > 0.0).sum::<f64>() >= FIRST_S / 10.0
    })
}

/// Whether the run ended in a stall. Where all events are as long as the silence between them,
/// they did not end for their length, not for a stall.
fn stalled_at_the_end(view: &View) -> bool {
    const EVENTS: f64 = 3.0;
    const END_S: f64 = 1.0;
    let event = view.run.operations.first();
    let total = event.and_then(|event| event.total.as_ref());
    let median_s = total.filter(|total| total.count > 0).map_or(0.0, |total| {
        total.service.value_at_quantile(0.5) as f64 / 1e9
    });
    view.stalls().is_ok_and(|found| {
        let mut spans = found.spans.iter();
        spans.any(|span| span.to_s >= view.length_s - END_S && span.length_s() >= EVENTS * median_s)
    })
}

/// Findings that bring others about, and how that is told.
fn found(view: &View, findings: &[Finding]) -> Vec<(&'static [Symptom], &'static str)> {
    let outcome = |check: &str| {
        let found = findings.iter().find(|finding| finding.check == check);
        found.map_or(Outcome::NotChecked, |finding| finding.outcome)
    };
    let is_refused = |check: &str| outcome(check) == Outcome::Refuse;
    let is_doubted = |check: &str| outcome(check) == Outcome::Doubt;
    let mut causes = Vec::new();
    if is_doubted("other-load") || is_doubted("other-processes") {
        let told = "Other processes worked on the host, as is told of them.";
        causes.push((OF_NEIGHBOURS, told));
    }
    if server::restarted(view).is_some() {
        let told = "The server was restarted, as `restarts` tells.";
        causes.push((OF_RESTARTS, told));
    } else if is_refused("idle-sessions") {
        causes.push((OF_IDLE_SESSIONS, "Sessions hung, as `idle-sessions` tells."));
    }
    if is_doubted("client-cpu") && !view.events(EventKind::Frozen).is_empty() {
        causes.push((OF_FREEZES, of_freezes(view)));
    }
    if is_doubted("stalls") {
        let told = "The server stood still, as `stalls` tells.";
        causes.push((OF_STALLS, told));
        if stalled_at_first(view) {
            causes.push((OF_A_FIRST_STALL, told));
        }
        if stalled_at_the_end(view) {
            causes.push((OF_A_LAST_STALL, told));
        }
    }
    if has_failed(view, findings) {
        causes.push((OF_FAILURES, "The run failed, as `errors` tells."));
    }
    if is_refused("errors") && view.totals().events == 0 {
        causes.push((OF_ERRORS, "No event succeeded, as `errors` tells."));
    }
    if is_doubted("restarts") && view.totals().reconnects > 0 {
        let told = "Connections ended, as `restarts` tells.";
        causes.push((OF_LOST_CONNECTIONS, told));
        if errors::are_lost_connections(view) {
            causes.push((OF_LOST_ALONE, told));
        }
    }
    if is_doubted("misses") {
        causes.push((OF_MISSES, "Reads found no row, as `misses` tells."));
    }
    if is_doubted("statistics") {
        let told = "Statements scanned tables, as `statistics` tells.";
        causes.push((OF_SCANS, told));
    }
    if is_refused("errors") {
        causes.push((OF_FAILING, "Statements failed, as `errors` tells."));
    }
    if is_doubted("server-counters") && view.largest("db.other_sessions") > Some(0.0) {
        let told = "Others use the server, as `server-counters` tells.";
        causes.push((OF_OTHERS, told));
    }
    if is_doubted("length") {
        causes.push((OF_SHORTNESS, "The run is short, as `length` tells."));
    }
    if is_doubted("fairness") {
        let told = "Sessions were served unevenly, as `fairness` tells.";
        causes.push((OF_UNFAIRNESS, told));
    }
    causes.extend(of_words(findings));
    causes
}

/// Who stood still.
fn of_freezes(view: &View) -> &'static str {
    match view.agents().is_empty() {
        true => "The generator stood still, as `client-cpu` tells.",
        false => "A load generator stood still, as `client-cpu` tells.",
    }
}

/// Those that are one of several things that their check looks for.
fn of_words(
    findings: &[Finding],
) -> impl Iterator<Item = (&'static [Symptom], &'static str)> + use<'_> {
    const ALL: [(&str, &str, &[Symptom], &str); 3] = [
        (
            "durability",
            "ended within a transaction",
            OF_OPEN_TRANSACTIONS,
            "Transactions stayed open, as `durability` tells.",
        ),
        (
            "work-done",
            "touch no table",
            OF_UNTOUCHED,
            "The statements asked no table, as `work-done` tells.",
        ),
        (
            "work-done",
            "sent no statement",
            OF_EMPTY_EVENTS,
            "Events hold no work, as `work-done` tells.",
        ),
    ];
    let says = |check: &str, words: &str| {
        findings.iter().any(|one| {
            one.check == check && one.outcome == Outcome::Doubt && one.evidence.contains(words)
        })
    };
    let there = ALL
        .into_iter()
        .filter(move |(check, words, ..)| says(check, words));
    there.map(|(_, _, symptoms, told)| (symptoms, told))
}

#[cfg(test)]
mod tests {
    use dyno_core::finding::Outcome::{Doubt, NotChecked};

    use super::*;
    use crate::samples::series;
    use crate::tests::{expect, summary};

    #[test]
    fn neighbours_are_told_by_their_own_checks() {
        let mut busy = vec![0.0; 30];
        busy[15..].fill(1.6);
        let uneven = |run: &mut dyno_core::record::RunRecord| {
            for interval in &mut run.intervals[15..] {
                interval.counters.events = interval.counters.events * 55 / 100;
            }
        };
        expect("steady-state", Doubt, uneven);
        expect("other-load", Doubt, |run| {
            series(run, "host.others.cpu", &busy)
        });
        let slower = expect("steady-state", NotChecked, |run| {
            uneven(run);
            series(run, "host.others.cpu", &busy);
        });
        let told = "Other processes worked on the host, as is told of them. It";
        assert!(slower.evidence.starts_with(told), "{}", slower.evidence);
    }

    #[test]
    fn sessions_that_are_served_unevenly_have_latencies_of_their_own() {
        let mut findings =
            crate::judge(&crate::samples::good(), &crate::context::Context::default());
        let set = |findings: &mut Vec<Finding>, check: &str, evidence: &str| {
            let found = findings.iter_mut().find(|one| one.check == check).unwrap();
            (found.outcome, found.evidence) = (Doubt, evidence.to_owned());
        };
        let run = crate::samples::good();
        let context = crate::context::Context::default();
        let view = View::new(&run, &context);
        let theirs = "two modes: they are those of 4 of 8 sessions.";
        let outcome = |findings: &[Finding]| {
            let one = findings.iter().find(|one| one.check == "latency-modes");
            one.unwrap().outcome
        };
        set(&mut findings, "latency-modes", theirs);
        apply(&view, &mut findings);
        assert_eq!(outcome(&findings), Doubt);
        set(&mut findings, "fairness", "unevenly");
        set(
            &mut findings,
            "latency-modes",
            "two modes: nothing explains them.",
        );
        apply(&view, &mut findings);
        assert_eq!(outcome(&findings), Doubt);
        set(&mut findings, "latency-modes", theirs);
        apply(&view, &mut findings);
        assert_eq!(outcome(&findings), NotChecked);
    }

    /// A finding with its outcome and what it says, and one that it brings about.
    const CAUSED: &[(&str, Outcome, &str, &str, &str)] = &[
        (
            "stalls",
            Doubt,
            "",
            "restarts",
            "no reconnects, and 2 seconds",
        ),
        ("stalls", Doubt, "", "work-done", errors::OUTSIDE_EVENTS),
        ("idle-sessions", Outcome::Refuse, "", "fairness", ""),
        (
            "misses",
            Doubt,
            "",
            "steady-state",
            "From then on: reads found no row in 90 % instead of 0 %.",
        ),
        (
            "statistics",
            Doubt,
            "",
            "warm-up",
            "From then on: rows of whole tables were scanned: 9 instead of 1 per second.",
        ),
        (
            "stalls",
            Doubt,
            "",
            "steady-state",
            "From then on: the server used no CPU.",
        ),
        (
            "durability",
            Doubt,
            "4 ended within a transaction",
            "server-counters",
            "",
        ),
        ("errors", Outcome::Refuse, "", "server-counters", ""),
        (
            "work-done",
            Doubt,
            "touch no table",
            "misses",
            "9 of 9 reads found none",
        ),
        (
            "work-done",
            Doubt,
            "sent no statement",
            "clock",
            "shortest percentile",
        ),
    ];

    #[test]
    fn what_a_cause_brings_about_is_reported_by_the_cause_alone() {
        let run = crate::samples::good();
        let context = crate::context::Context::default();
        let view = View::new(&run, &context);
        for (cause, outcome, says, symptom, evidence) in CAUSED.iter().copied() {
            let judged = |is_caused: bool| {
                let mut findings = crate::judge(&run, &context);
                let mut set = |check: &str, outcome, says: &str| {
                    let found = findings.iter_mut().find(|one| one.check == check).unwrap();
                    (found.outcome, found.evidence) = (outcome, says.to_owned());
                };
                set(symptom, Doubt, evidence);
                if is_caused {
                    set(cause, outcome, says);
                }
                apply(&view, &mut findings);
                let one = findings.iter().find(|one| one.check == symptom);
                one.unwrap().outcome
            };
            assert_eq!(judged(false), Doubt, "{symptom} alone");
            assert_eq!(judged(true), NotChecked, "{symptom} of {cause}");
        }
    }

    #[test]
    fn what_was_not_served_is_a_stalls_only_where_it_lasted_to_the_end() {
        let stall = |from_s: f64, to_s: f64| {
            let mut run = crate::samples::good();
            run.events.push(dyno_core::record::Event {
                kind: EventKind::Stall,
                at_s: from_s,
                until_s: Some(to_s),
                text: String::new(),
            });
            let context = crate::context::Context::default();
            let view = View::new(&run, &context);
            (stalled_at_first(&view), stalled_at_the_end(&view))
        };
        assert_eq!(stall(12.0, 13.0), (false, false));
        assert_eq!(stall(28.5, 30.0), (false, true));
        assert_eq!(stall(2.5, 4.0), (true, false));
    }

    #[test]
    fn a_run_that_failed_is_refused_once() {
        let told = expect("work-done", NotChecked, |run| {
            let own = summary(run);
            own.totals = Default::default();
            own.end = dyno_core::summary::RunEnd::Failed("session 3: no such table".to_owned());
        });
        let why = "The run failed, as `errors` tells. No event ended";
        assert!(told.evidence.starts_with(why), "{}", told.evidence);
    }

    #[test]
    fn a_script_that_fails_at_once_is_no_fault_of_the_generator() {
        expect("client-cpu", Doubt, |run| {
            let client = summary(run).client.as_mut().unwrap();
            client.worker_busy.fill(0.95);
        });
        expect("client-cpu", NotChecked, |run| {
            let own = summary(run);
            own.client.as_mut().unwrap().worker_busy.fill(0.95);
            own.totals.events = 0;
            let error = dyno_core::interval::ErrorCount {
                count: 4,
                kind: dyno_core::db::ErrorKind::Other,
                sample: "PROCEDURE pay does not exist".to_owned(),
            };
            own.errors.insert("1305".to_owned(), error);
            own.totals.errors = 4;
        });
    }
}
