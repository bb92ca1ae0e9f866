//! One cause is told once: what it brings about is no doubt of its own.

use dyno_core::finding::{Finding, Outcome};

use crate::server;
use crate::time::causes;
use crate::view::View;

/// What a server that goes away and comes back does to the rate and to who observes it.
const OF_RESTARTS: &[&str] = &[
    "warm-up",
    "steady-state",
    "stalls",
    "length",
    "idle-sessions",
    "observers",
];
/// What sessions that hang do: their server may have fallen silent.
const OF_IDLE_SESSIONS: &[&str] = &[
    "offered-rate",
    "unserved",
    "warm-up",
    "steady-state",
    "stalls",
    "length",
    "restarts",
    "observers",
];
/// What sessions that all ended with errors do.
const OF_ERRORS: &[&str] = &["offered-rate", "unserved", "client-cpu", "schedule-lag"];
/// What neighbours on the host do to the rate: nothing else is said of it than how uneven it is,
/// or that they took CPUs then.
const OF_NEIGHBOURS: &[(&str, &str)] = &[
    ("length", "either way"),
    ("length", "its own size"),
    ("warm-up", causes::BY_OTHERS),
    ("steady-state", causes::BY_OTHERS),
];
/// What others' statements do at the server.
const OF_OTHERS: &[&str] = &["server-warnings"];

pub(crate) fn apply(view: &View, findings: &mut [Finding]) {
    let outcome = |check: &str| {
        let found = findings.iter().find(|finding| finding.check == check);
        found.map_or(Outcome::NotChecked, |finding| finding.outcome)
    };
    let is_refused = |check: &str| outcome(check) == Outcome::Refuse;
    let mut causes = Vec::new();
    if server::restarted(view).is_some() {
        causes.push((
            OF_RESTARTS,
            "The server was restarted, as `restarts` tells.",
        ));
    } else if is_refused("idle-sessions") {
        causes.push((OF_IDLE_SESSIONS, "Sessions hung, as `idle-sessions` tells."));
    }
    if is_refused("errors") && view.totals().events == 0 {
        causes.push((OF_ERRORS, "No event succeeded, as `errors` tells."));
    }
    if outcome("server-counters") == Outcome::Doubt && view.largest("db.other_sessions") > Some(0.0)
    {
        causes.push((
            OF_OTHERS,
            "Others use the server, as `server-counters` tells.",
        ));
    }
    let neighbours = ["other-load", "other-processes"].map(outcome);
    let neighbours = neighbours.contains(&Outcome::Doubt);
    for finding in findings {
        let of = |(symptoms, _): &&(&[&str], &str)| symptoms.contains(&finding.check.as_str());
        if finding.outcome != Outcome::Doubt {
            continue;
        }
        let by_neighbours = OF_NEIGHBOURS.iter().any(|(check, words)| {
            neighbours && finding.check == *check && finding.evidence.contains(words)
        });
        let why = match by_neighbours {
            true => Some("Other processes worked on the host, as is told of them."),
            false => causes.iter().find(of).map(|(_, why)| *why),
        };
        if let Some(why) = why {
            finding.outcome = Outcome::NotChecked;
            finding.advice.clear();
            finding.evidence = format!("{why} {}", finding.evidence);
        }
    }
}

#[cfg(test)]
mod tests {
    use dyno_core::finding::Outcome::{Doubt, NotChecked};

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
