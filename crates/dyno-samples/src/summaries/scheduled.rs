//! A run whose load changes.

use std::time::Duration;

use dyno_core::finding::{Outcome, Verdict};
use dyno_core::plan::{Arrivals, Drive, LoadSchedule, OpenLoop, PlacedPart, Scheduled};
use dyno_core::summary::{Against, OpenLoopSummary, PartSummary, RunSummary};

use super::{judge_good, recorded};
use crate::values::finding;

/// A step, a ramp, a sine that exceeds the server's capacity, and a part that was not reached.
pub fn scheduled() -> RunSummary {
    let text = "100/s for 10s, 100/s..500/s over 10s, sine 400/s..800/s every 5s for 10s, \
                20/s for 5s";
    // The text is a constant of this file, so it can be parsed.
    let schedule = LoadSchedule::parse(text, Scheduled::Rate, None).unwrap();
    let drive = Drive {
        sessions: 8,
        time: Some(Duration::from_secs(35)),
        open_loop: Some(OpenLoop::new(schedule.mean(), Arrivals::Poisson)),
        schedule: Some(schedule.clone()),
        seed: 3,
        ..Drive::default()
    };
    let closed = Drive {
        sessions: 8,
        ..Drive::default()
    };
    let served = |at_s: f64| (schedule.level(at_s).min(650.0)) as u64;
    let mut run = recorded(
        closed.clone(),
        30,
        |second| served(second as f64 + 0.5),
        2_000_000,
    );
    run.response = Some(run.service.clone());
    run.open_loop = Some(OpenLoopSummary {
        offered_per_s: schedule.mean(),
        achieved_per_s: run.rates.events_per_s,
        backlog: Some(212),
        backlog_max: Some(340),
        pacing_lag: None,
    });
    run.drive = Some(drive);
    run.parts = parts(&schedule, &closed, served);
    judge_good(&mut run);
    run.verdict = Some(Verdict::Doubtful);
    run.findings.push(finding(
        "offered-rate",
        4,
        Outcome::Doubt,
        "In the part sine 400/s..800/s every 5s (20 to 30 s): of 600 events per second that were \
         due, 571 were served.",
    ));
    run
}

/// The parts, of which the last was not reached.
fn parts(schedule: &LoadSchedule, drive: &Drive, served: impl Fn(f64) -> u64) -> Vec<PartSummary> {
    let verdicts = [Some(Verdict::Valid), None, Some(Verdict::Doubtful), None];
    let part = |(number, placed): (usize, PlacedPart)| {
        let rate = |second: u64| served(placed.from_s + second as f64 + 0.5);
        let typical_ns = 2_000_000 + 1_000_000 * number as u64;
        let mut part = recorded(drive.clone(), 10, rate, typical_ns);
        let begun = number < 3;
        if !begun {
            part = RunSummary::default();
        }
        let against = Against {
            check: "offered-rate".to_owned(),
            outcome: Outcome::Doubt,
            evidence: "Of 600 events per second that were due, 571 were served.".to_owned(),
        };
        PartSummary {
            label: placed.label,
            from_s: placed.from_s,
            to_s: placed.to_s,
            offered_per_s: begun.then(|| placed.part.mean()),
            sessions: if begun { 8 } else { 0 },
            totals: part.totals,
            rates: part.rates,
            latency: part.service,
            verdict: verdicts[number],
            against: (number == 2).then_some(against).into_iter().collect(),
        }
    };
    schedule
        .placed()
        .into_iter()
        .enumerate()
        .map(part)
        .collect()
}
