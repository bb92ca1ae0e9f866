//! Which finding explains which.

use dyno_core::finding::Outcome::{Doubt, NotChecked, Refuse};
use dyno_core::record::EventKind;
use dyno_samples::{good, series, values};

use super::*;
use crate::context::Context;
use crate::tests::{expect, summary};

#[test]
fn a_drift_of_a_busy_host_is_reported_by_the_neighbours_alone() {
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
    assert!(slower.names(Cause::OtherProcesses), "{slower:?}");
}

/// A finding that explains: its check, outcome and causes. Then a doubt that it explains, with its
/// causes.
type Case = (
    (&'static str, Outcome, &'static [Cause]),
    (&'static str, &'static [Cause]),
);

/// Findings that explain another without further conditions.
const EXPLAINED: &[Case] = {
    use Cause::*;
    &[
        (
            ("stalls", Doubt, &[]),
            ("restarts", &[SilentWithoutReconnects]),
        ),
        (("stalls", Doubt, &[]), ("work-done", &[TimeOutsideEvents])),
        (("stalls", Doubt, &[]), ("steady-state", &[ServerIdle])),
        (
            ("stalls", Doubt, &[]),
            ("steady-state", &[Disk, ServerSilent]),
        ),
        (("idle-sessions", Refuse, &[]), ("fairness", &[])),
        (("idle-sessions", Doubt, &[]), ("warm-up", &[IdleSessions])),
        (
            ("idle-sessions", Doubt, &[]),
            ("steady-state", &[IdleSessions]),
        ),
        (("misses", Doubt, &[]), ("steady-state", &[EmptyReads])),
        (("misses", Doubt, &[]), ("length", &[UncertainMean])),
        (("statistics", Doubt, &[]), ("warm-up", &[TableScans])),
        (("schema", Doubt, &[]), ("steady-state", &[TableScans])),
        (
            ("durability", Doubt, &[OpenTransactions]),
            ("server-counters", &[]),
        ),
        (("errors", Refuse, &[]), ("server-counters", &[])),
        (("server-counters", Doubt, &[]), ("warm-up", &[Unexplained])),
        (
            ("errors", Doubt, &[DatabaseLocked]),
            ("stalls", &[DatabaseLocked, CpusIdle]),
        ),
        (("errors", Refuse, &[]), ("work-done", &[NoRows])),
        (("work-done", Doubt, &[NoTable]), ("misses", &[EmptyReads])),
        (
            ("work-done", Doubt, &[EventsWithoutStatements]),
            ("clock", &[ShortEvents]),
        ),
        (("fairness", Doubt, &[]), ("latency-modes", &[SessionModes])),
        (("length", Doubt, &[]), ("samples", &[])),
        (
            ("client-cpu", Doubt, &[StalledWorker]),
            ("stalls", &[Unexplained]),
        ),
        (("client-cpu", Doubt, &[StalledWorker]), ("fairness", &[])),
        (
            ("host-resources", Doubt, &[Throttled]),
            ("stalls", &[Throttled]),
        ),
        (
            ("host-resources", Doubt, &[Throttled]),
            ("latency-modes", &[Throttled]),
        ),
        (
            ("other-processes", Doubt, &[]),
            ("client-cpu", &[StarvedWorker]),
        ),
        (
            ("other-load", Doubt, &[]),
            ("client-cpu", &[StarvedWorker, Frozen]),
        ),
        (
            ("other-processes", Doubt, &[]),
            ("stalls", &[OtherProcesses]),
        ),
        (
            ("client-cpu", Doubt, &[StarvedWorker]),
            ("observers", &[LateSamples]),
        ),
        (("stalls", Doubt, &[LockWaits]), ("warm-up", &[LockWaits])),
        (
            ("stalls", Doubt, &[LockWaits, ServerIdle]),
            ("steady-state", &[LockWaits]),
        ),
        (
            ("stalls", Doubt, &[LockWaits]),
            ("steady-state", &[Backup, LockWaits]),
        ),
        (("stalls", Doubt, &[Backup]), ("whole-cycles", &[Backup])),
        (
            ("steady-state", Doubt, &[Backup]),
            ("whole-cycles", &[Backup]),
        ),
        (("warm-up", Doubt, &[Backup]), ("whole-cycles", &[Backup])),
    ]
};

/// The same for pairs in which the first must not explain the second.
const NOT_EXPLAINED: &[Case] = {
    use Cause::*;
    &[
        (("stalls", Doubt, &[]), ("steady-state", &[Checkpoint])),
        // A different fault in the same finding is not explained.
        (
            ("stalls", Doubt, &[]),
            ("work-done", &[TimeOutsideEvents, NoTable]),
        ),
        (("errors", Refuse, &[]), ("work-done", &[NoTable])),
        (("durability", Doubt, &[]), ("server-counters", &[])),
        (("work-done", Doubt, &[NoRows]), ("misses", &[EmptyReads])),
        (("fairness", Doubt, &[]), ("latency-modes", &[])),
        (("misses", Doubt, &[]), ("length", &[])),
        (("stalls", Doubt, &[Backup]), ("steady-state", &[Backup])),
        (("steady-state", Doubt, &[Backup]), ("whole-cycles", &[])),
        (
            ("other-processes", Doubt, &[]),
            ("stalls", &[OtherProcesses, Backup]),
        ),
        (("schema", Doubt, &[]), ("stalls", &[AlterTable])),
        // Another client may hold the lock, but the stall is what users notice.
        (("server-counters", Doubt, &[]), ("stalls", &[LockWaits])),
        // A search depends on it.
        (
            ("host-resources", Doubt, &[Throttled]),
            ("client-cpu", &[StarvedWorker]),
        ),
        (
            ("client-cpu", Doubt, &[StalledWorker]),
            ("stalls", &[LockWaits]),
        ),
        (("client-cpu", Doubt, &[BusyWorker]), ("fairness", &[])),
        // Other processes are not the cause if the generator was stopped or has too few workers.
        (("other-processes", Doubt, &[]), ("client-cpu", &[Frozen])),
        (
            ("other-processes", Doubt, &[]),
            ("client-cpu", &[StarvedWorker, BusyWorker]),
        ),
        (
            ("other-processes", Doubt, &[]),
            ("stalls", &[ServerSilent, OtherProcesses]),
        ),
        (("stalls", Doubt, &[Disk]), ("steady-state", &[LockWaits])),
        (
            ("stalls", Doubt, &[LockWaits]),
            ("steady-state", &[LockWaits, Disk]),
        ),
        (
            ("host-resources", Doubt, &[Throttled]),
            ("latency-modes", &[SessionModes, Throttled]),
        ),
        (
            ("host-resources", Doubt, &[Steal]),
            ("stalls", &[Throttled]),
        ),
    ]
};

/// The outcome of a case's second finding, with or without the first.
fn second(case: &Case, with_first: bool) -> Outcome {
    let (first, (check, causes)) = *case;
    let (mut run, context) = (good(), Context::default());
    series(&mut run, names::DB_OTHER_SESSIONS, &[1.0; 30]);
    let mut findings = crate::judge(&run, &context);
    let mut set = |check: &str, outcome: Outcome, causes: &[Cause]| {
        let found = findings.iter_mut().find(|one| one.check == check).unwrap();
        (found.outcome, found.causes) = (outcome, causes.to_vec());
    };
    set(check, Doubt, causes);
    if with_first {
        set(first.0, first.1, first.2);
    }
    apply(&View::new(&run, &context), &mut findings);
    let second = findings.iter().find(|one| one.check == check);
    second.unwrap().outcome
}

#[test]
fn an_explained_finding_is_not_a_doubt() {
    for case in EXPLAINED {
        assert_eq!(second(case, false), Doubt, "{case:?} alone");
        assert_eq!(second(case, true), NotChecked, "{case:?}");
    }
}

#[test]
fn a_finding_of_another_cause_stays_a_doubt() {
    for case in NOT_EXPLAINED {
        assert_eq!(second(case, true), Doubt, "{case:?}");
    }
}

/// The doubts that remain of these, each with its causes, in alphabetical order.
fn left(doubts: &[(&str, &[Cause])]) -> Vec<String> {
    let (run, context) = (good(), Context::default());
    let mut findings = crate::judge(&run, &context);
    for (check, causes) in doubts {
        let found = findings.iter_mut().find(|one| one.check == *check).unwrap();
        (found.outcome, found.causes) = (Doubt, causes.to_vec());
    }
    apply(&View::new(&run, &context), &mut findings);
    findings.retain(|one| one.outcome == Doubt);
    let mut left: Vec<String> = findings.into_iter().map(|one| one.check).collect();
    left.sort();
    left
}

#[test]
fn a_backup_is_named_by_exactly_one_doubt() {
    use Cause::{Backup, OtherProcesses, TableScans};
    let cycles: (&str, &[Cause]) = ("whole-cycles", &[Backup]);
    let scanned: (&str, &[Cause]) = ("steady-state", &[Backup, TableScans]);
    let shared: (&str, &[Cause]) = ("steady-state", &[Backup, OtherProcesses]);
    assert_eq!(left(&[("warm-up", &[Backup]), cycles]), ["warm-up"]);
    assert_eq!(left(&[scanned, cycles]), ["steady-state"]);
    assert_eq!(left(&[shared, cycles]), ["steady-state"]);
    // Another finding explains that of the rate, and does not name the backup.
    let busy = left(&[("other-load", &[]), shared, cycles]);
    assert_eq!(busy, ["other-load", "whole-cycles"]);
    let scans = left(&[("statistics", &[]), scanned, cycles]);
    assert_eq!(scans, ["statistics", "whole-cycles"]);
}

#[test]
fn rules_name_checks_that_exist() {
    let known = |check: &str| crate::checks().iter().any(|one| one.name == check);
    for symptom in RULES.iter().flat_map(|rule| rule.explains) {
        let (Of(check) | Naming(check, _) | Only(check, _) | Among(check, _)) = *symptom;
        assert!(known(check), "{check}");
    }
}

#[test]
fn a_stall_explains_unserved_events_only_if_it_lasts_to_the_end() {
    let stall = |from_s: f64, to_s: f64| {
        let mut run = good();
        let stall = values::event(from_s, Some(to_s), EventKind::Stall, "");
        run.events.push(stall);
        let context = Context::default();
        let view = View::new(&run, &context);
        (stalled_at_first(&view), stalled_at_the_end(&view))
    };
    assert_eq!(stall(12.0, 13.0), (false, false));
    assert_eq!(stall(28.5, 30.0), (false, true));
    assert_eq!(stall(2.5, 4.0), (true, false));
}

#[test]
fn a_run_that_failed_is_refused_once() {
    let finding = expect("work-done", NotChecked, |run| {
        let own = summary(run);
        own.totals = Default::default();
        own.end = dyno_core::summary::RunEnd::Failed("session 3: no such table".to_owned());
    });
    let why = "The run failed: see `errors`. No event ended";
    assert!(finding.evidence.starts_with(why), "{}", finding.evidence);
}

#[test]
fn a_script_that_fails_at_once_is_not_blamed_on_the_generator() {
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
