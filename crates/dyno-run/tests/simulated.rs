//! Makes whole runs in simulated time, from the script to the verdict. The results of minutes are
//! known exactly in advance.

#![allow(clippy::unwrap_used)]

mod common;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use common::run;
use dyno_core::clock::simulated::Simulation;
use dyno_core::finding::{Finding, Outcome};
use dyno_core::plan::{Arrivals, Drive, LoadSchedule, OpenLoop, Scheduled};
use dyno_core::summary::{PartSummary, RunSummary};

/// Runs a script of eight sessions in simulated time.
fn simulated(script: &str, drive: Drive) -> RunSummary {
    // A process has only one simulated clock.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let simulation = Simulation::begin(1_000_000_000).unwrap();
    let (measured, given) = run(script, drive, false);
    drop(simulation);
    let summary = measured.unwrap().summary;
    let counted = given.counters.events + summary.events_in_grace.unwrap();
    assert_eq!(counted, summary.totals.events);
    summary
}

fn of_seconds(seconds: u64) -> Drive {
    Drive {
        sessions: 8,
        workers: 2,
        time: Some(Duration::from_secs(seconds)),
        seed: 1,
        ..Drive::default()
    }
}

fn finding<'a>(summary: &'a RunSummary, check: &str) -> &'a Finding {
    let mut findings = summary.findings.iter();
    findings.find(|finding| finding.check == check).unwrap()
}

fn outcome(summary: &RunSummary, check: &str) -> Outcome {
    finding(summary, check).outcome
}

/// An event that sleeps for this time, which is a Lua expression of the age of the run in seconds.
fn sleeps(seconds: &str) -> String {
    format!(
        "local begun\n\
         function event()\n\
           begun = begun or dyno.now()\n\
           local age = dyno.now() - begun\n\
           dyno.sleep({seconds})\n\
         end"
    )
}

#[test]
fn two_minutes_without_a_fault_match_the_arithmetic() {
    let summary = simulated(&sleeps("0.1"), of_seconds(120));
    assert_eq!(summary.measured_s, 120.0);
    assert!(summary.totals.events.abs_diff(8 * 10 * 120) <= 8);
    assert_eq!(summary.intervals.len(), 120);
    for check in ["stalls", "steady-state", "warm-up", "unserved"] {
        let found = finding(&summary, check);
        assert_eq!(found.outcome, Outcome::Pass, "{found:?}");
    }
}

#[test]
fn a_stall_of_four_seconds_is_found_to_the_second() {
    // From second 20 to 24, all sessions wait for one another, as for a lock.
    let summary = simulated(
        &sleeps("(age >= 20 and age < 24) and 24 - age or 0.05"),
        of_seconds(60),
    );
    let found = finding(&summary, "stalls");
    assert_eq!(found.outcome, Outcome::Doubt, "{found:?}");
    assert!(found.evidence.contains("1 stall"), "{found:?}");
    assert!(summary.totals.events.abs_diff(8 * 20 * 56) <= 16);
}

#[test]
fn distinguishes_a_cold_start_from_a_drift() {
    let cold = simulated(&sleeps("age < 6 and 0.2 or 0.05"), of_seconds(60));
    assert_eq!(outcome(&cold, "warm-up"), Outcome::Doubt);
    let drifting = simulated(&sleeps("0.05 * (1 + age / 60)"), of_seconds(60));
    assert_eq!(outcome(&drifting, "steady-state"), Outcome::Doubt);
    assert_eq!(outcome(&drifting, "stalls"), Outcome::Pass);
}

#[test]
fn reports_an_open_loop_above_capacity_and_not_one_below() {
    let offered = |per_second| Drive {
        open_loop: Some(OpenLoop::new(per_second, Arrivals::Constant)),
        ..of_seconds(60)
    };
    // Eight sessions serve 80 events per second.
    let served = simulated(&sleeps("0.1"), offered(50.0));
    assert_eq!(outcome(&served, "offered-rate"), Outcome::Pass);
    assert_eq!(
        served.totals.events + served.events_unfinished.unwrap(),
        50 * 60
    );
    let overloaded = simulated(&sleeps("0.1"), offered(100.0));
    assert_eq!(outcome(&overloaded, "offered-rate"), Outcome::Doubt);
    let open = overloaded.open_loop.as_ref().unwrap();
    let backlog = open.backlog.unwrap();
    assert!(backlog.abs_diff(20 * 60) <= 16, "{open:?}");
}

fn against(part: &PartSummary, check: &str) -> bool {
    part.against.iter().any(|against| against.check == check)
}

fn by_rate(text: &str) -> Drive {
    let schedule = LoadSchedule::parse(text, Scheduled::Rate, None).unwrap();
    Drive {
        open_loop: Some(OpenLoop::new(schedule.mean(), Arrivals::Poisson)),
        time: Some(Duration::from_secs_f64(schedule.seconds())),
        schedule: Some(schedule),
        ..of_seconds(1)
    }
}

fn by_sessions(text: &str) -> Drive {
    let schedule = LoadSchedule::parse(text, Scheduled::Sessions, None).unwrap();
    Drive {
        time: Some(Duration::from_secs_f64(schedule.seconds())),
        schedule: Some(schedule),
        ..of_seconds(1)
    }
}

#[test]
fn a_scheduled_step_is_not_a_finding_and_each_part_has_its_figures() {
    let summary = simulated(
        &sleeps("0.02"),
        by_rate("100/s for 60s, 300/s for 60s, 150/s for 60s"),
    );
    for check in [
        "steady-state",
        "warm-up",
        "stalls",
        "offered-rate",
        "arrivals",
    ] {
        let found = finding(&summary, check);
        assert_eq!(found.outcome, Outcome::Pass, "{found:?}");
    }
    assert_eq!(summary.parts.len(), 3);
    for (part, offered) in summary.parts.iter().zip([100.0, 300.0, 150.0]) {
        assert_eq!(part.offered_per_s, Some(offered), "{part:?}");
        let due = offered * 60.0;
        let served = part.totals.events as f64;
        // Four standard deviations of a Poisson count.
        assert!((served - due).abs() < 4.0 * due.sqrt(), "{part:?}");
        assert!(part.against.is_empty(), "{part:?}");
        assert_eq!(part.latency.count, part.totals.events);
        assert!(
            (part.latency.mean_ms.unwrap() / 20.0 - 1.0).abs() < 0.1,
            "{part:?}"
        );
    }
}

#[test]
fn reports_only_the_part_that_is_too_much() {
    // Eight sessions serve 80 events per second.
    let summary = simulated(&sleeps("0.1"), by_rate("40/s for 60s, 120/s for 60s"));
    let [low, high] = &summary.parts[..] else {
        unreachable!("{:?}", summary.parts);
    };
    assert!(!against(low, "offered-rate"), "{low:?}");
    assert!(against(high, "offered-rate"), "{high:?}");
    let found = finding(&summary, "offered-rate");
    assert!(
        found.evidence.starts_with("In part 120/s (60 to 120 s): "),
        "{found:?}"
    );
    assert!(found.outcome >= Outcome::Doubt && high.verdict >= low.verdict);
}

#[test]
fn reports_a_drift_within_a_part_for_that_part() {
    let script = sleeps("age < 60 and 0.05 or 0.05 * (1 + (age - 60) / 60)");
    let summary = simulated(&script, by_sessions("4 for 60s, 8 for 60s"));
    let found = finding(&summary, "steady-state");
    assert_eq!(found.outcome, Outcome::Doubt, "{found:?}");
    assert!(
        found.evidence.starts_with("In part 8 (60 to 120 s): "),
        "{found:?}"
    );
    assert_eq!(summary.parts[0].sessions, 4);
    let events: Vec<u64> = summary
        .parts
        .iter()
        .map(|part| part.totals.events)
        .collect();
    assert!(events[0].abs_diff(4 * 20 * 60) <= 8, "{events:?}");
    for check in ["idle-sessions", "fairness"] {
        assert_eq!(outcome(&summary, check), Outcome::NotChecked);
    }
}

#[test]
fn a_scheduled_pause_is_not_a_stall_and_is_not_judged() {
    for drive in [
        by_rate("100/s for 30s, 0/s for 10s, 100/s for 30s"),
        by_sessions("4 for 30s, 0 for 10s, 8 for 30s"),
    ] {
        let summary = simulated(&sleeps("0.02"), drive);
        for check in [
            "stalls",
            "steady-state",
            "warm-up",
            "length",
            "idle-sessions",
        ] {
            let found = finding(&summary, check);
            assert!(found.outcome < Outcome::Doubt, "{found:?}");
        }
        assert!(summary.warnings.is_empty(), "{:?}", summary.warnings);
        let pause = &summary.parts[1];
        // Events in flight when the pause began end in it.
        assert!(pause.totals.events <= 8, "{pause:?}");
        assert!(pause.verdict.is_none() && pause.against.is_empty());
        assert!(summary.parts[2].verdict.is_some());
    }
}

#[test]
fn a_changing_load_need_not_be_steady() {
    for drive in [
        by_rate("20/s..300/s over 60s"),
        by_rate("sine 100/s..300/s every 30s for 60s, 300/s..100/s over 60s"),
        by_sessions("1..8 over 60s"),
    ] {
        let summary = simulated(&sleeps("0.02"), drive);
        for check in ["steady-state", "warm-up", "length"] {
            let found = finding(&summary, check);
            assert_eq!(found.outcome, Outcome::NotChecked, "{found:?}");
            assert!(found.evidence.contains("as requested"), "{found:?}");
        }
        for check in ["idle-sessions", "fairness"] {
            let found = finding(&summary, check);
            assert!(found.outcome < Outcome::Doubt, "{found:?}");
        }
        assert_eq!(outcome(&summary, "unserved"), Outcome::Pass);
        assert!(summary.parts.iter().all(|part| part.totals.events > 1000));
        assert!(summary.warnings.is_empty(), "{:?}", summary.warnings);
    }
}
