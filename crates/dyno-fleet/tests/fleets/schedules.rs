//! Random schedules. The bus loses, delays, repeats and reorders messages, and disconnects; agents
//! die, stall, start twice, and have wrong clocks; the coordinator dies. In all cases sums are
//! right, nothing hangs, and each problem is reported.

use std::collections::BTreeMap;

use dyno_core::finding::Outcome;
use dyno_core::interval::Interval;
use dyno_core::rand::Stream;
use dyno_fleet::agent::Exit;
use dyno_fleet::bus::simulated::Faults;
use dyno_fleet::coordinator::{Calibration, FleetConfig, Limits, LossPolicy};
use dyno_fleet::division::Division;
use dyno_fleet::finding::Kind;
use dyno_fleet::merge::Merged;
use dyno_fleet::message::{Build, End};
use dyno_fleet::names::{AgentName, RunId};
use dyno_fleet::simulation::{Keep, Load, Scenario, Setup, Simulated, run};

/// Number of schedules; `DYNO_FLEET_SCHEDULES` overrides it.
const SCHEDULES: u64 = 10_000;

const SECOND: u64 = 1_000_000_000;
/// Short intervals keep a schedule short.
const INTERVAL: u64 = SECOND / 2;
/// Every run and agent has ended after this time.
const UNTIL: u64 = 400 * SECOND;

#[test]
fn no_schedule_makes_a_wrong_sum_or_hangs() {
    let asked = std::env::var("DYNO_FLEET_SCHEDULES").ok();
    let count = asked.map_or(SCHEDULES, |text| text.parse().unwrap());
    let first: u64 = std::env::var("DYNO_FLEET_SEED").map_or(0, |text| text.parse().unwrap());
    let mut tally = BTreeMap::new();
    let mut kinds = BTreeMap::new();
    for seed in first..first + count {
        let scenario = draw(seed);
        let out = run(&scenario, &mut Keep).unwrap();
        let what = check(seed, &scenario, &out);
        *tally.entry(what).or_insert(0_u64) += 1;
        for finding in &out.findings {
            *kinds.entry(finding.kind).or_insert(0_u64) += 1;
        }
    }
    println!("{tally:?}\n{kinds:?}");
    if count < SCHEDULES {
        return;
    }
    // Schedules with only one kind of ending would test too little.
    for what in ["complete", "degraded", "failed", "coordinator died"] {
        assert!(
            tally
                .get(what)
                .is_some_and(|count| *count >= SCHEDULES / 100),
            "{what}: {tally:?}"
        );
    }
    for kind in [
        Kind::AgentMissing,
        Kind::AgentLost,
        Kind::AgentReturned,
        Kind::AgentTwice,
        Kind::VersionSkew,
        Kind::StartCalledOff,
        Kind::AgentEndedEarly,
        Kind::CivilClocks,
    ] {
        assert!(kinds.contains_key(&kind), "{kind}: {kinds:?}");
    }
}

/// Draws a schedule: half of them with a reliable bus, and most hosts without faults.
fn draw(seed: u64) -> Scenario {
    let mut stream = Stream::new(seed, 77);
    let agents = 1 + stream.below(3) as usize;
    let intervals = 2 + stream.below(5);
    let faults = faults(&mut stream, agents);
    let hosts: Vec<Setup> = (0..agents).map(|_| host(&mut stream, intervals)).collect();
    let mut below = |n: u64| stream.below(n);
    let weights: Vec<u32> = (0..agents).map(|_| 1 + below(3) as u32).collect();
    let names = (1..=agents).map(|number| AgentName::new(format!("gen{number}")).unwrap());
    let run = RunId::new(format!("r{seed}")).unwrap();
    let division = Division::by_weights(&weights).unwrap();
    Scenario {
        config: FleetConfig {
            calibration: [
                Calibration::None,
                Calibration::Compared,
                Calibration::Shares,
            ][below(3) as usize],
            allow_mixed_versions: below(2) == 0,
            on_loss: if below(2) == 0 {
                LossPolicy::Fail
            } else {
                LossPolicy::Degrade
            },
            interval_ns: INTERVAL,
            length_ns: Some(intervals * INTERVAL + SECOND),
            limits: Limits {
                gather_ns: 10 * SECOND,
                ready_ns: 20 * SECOND,
                drain_ns: 20 * SECOND,
                lost_ns: (3 + below(6)) * SECOND,
                orphan_ns: (2 + below(9)) * SECOND,
                probes: 4,
                probe_gap_ns: 5_000_000,
                ..Limits::default()
            },
            ..FleetConfig::new(run, names.collect(), division)
        },
        hosts,
        load: Load {
            events: 3 + below(20) as u32,
            operations: 0,
            interval_ns: INTERVAL,
        },
        faults,
        keeps_recorded: true,
        coordinator_dies_at: (below(12) == 0).then(|| below(9 * SECOND)),
        until: UNTIL,
        seed,
    }
}

fn faults(stream: &mut Stream, agents: usize) -> Faults {
    let mut below = |n: u64| stream.below(n);
    let bad = below(2) == 1;
    Faults {
        loss: if bad { below(30) as f64 / 100.0 } else { 0.0 },
        twice: if bad { below(40) as f64 / 100.0 } else { 0.0 },
        delay_ns: (
            20_000,
            100_000
                + if bad {
                    below(120_000_000)
                } else {
                    below(1_000_000)
                },
        ),
        away: match below(4) {
            0 => {
                let from = below(8 * SECOND);
                vec![(from, from + below(14 * SECOND))]
            }
            _ => Vec::new(),
        },
        cut: match below(6) {
            0 => {
                let from = below(8 * SECOND);
                vec![(
                    below(agents as u64 + 1) as usize,
                    from,
                    from + below(14 * SECOND),
                )]
            }
            _ => Vec::new(),
        },
    }
}

fn host(stream: &mut Stream, intervals: u64) -> Setup {
    let mut below = |n: u64| stream.below(n);
    let mut rarely = |of: u64, within: u64| (below(of) == 0).then(|| below(within));
    let frozen = rarely(10, 6 * SECOND);
    Setup {
        dies_at: rarely(12, 9 * SECOND),
        twin_at: rarely(12, 6 * SECOND),
        build: Build {
            version: if rarely(60, 1).is_some() { "other" } else { "" }.to_owned(),
            ..Build::default()
        },
        civil_ahead_ns: below(4 * SECOND) as i64 - 2 * SECOND as i64,
        clock_ns: 4_000 * SECOND + below(7_200 * SECOND),
        drift: (below(401) as f64 - 200.0) * 1e-6,
        frozen: frozen.map(|from| (from, from + below(10 * SECOND))),
        intervals,
    }
}

/// Checks all properties; returns how the run ended.
fn check(seed: u64, scenario: &Scenario, out: &Simulated) -> &'static str {
    sums_are_right(seed, scenario, out);
    nobody_hangs(seed, scenario, out);
    let Some(report) = &out.report else {
        // Killed before the run was over.
        assert!(scenario.coordinator_dies_at.is_some(), "{seed}: no report");
        return "coordinator died";
    };
    let refusals = report
        .findings
        .iter()
        .any(|found| found.outcome == Outcome::Refuse);
    let lost = report.agents.iter().any(|agent| agent.lost);
    let early = report
        .agents
        .iter()
        .any(|agent| agent.end != Some(End::Completed));
    assert_eq!(report.failed.is_some(), refusals, "{seed}: {report:?}");
    if let Some(why) = &report.failed {
        assert!(!why.is_empty(), "{seed}");
        return "failed";
    }
    if lost || early {
        assert_eq!(scenario.config.on_loss, LossPolicy::Degrade, "{seed}");
        let doubts = report
            .findings
            .iter()
            .any(|found| found.outcome == Outcome::Doubt);
        assert!(doubts, "{seed}: nothing is said of a loss");
        return "degraded";
    }
    // Nothing is missing: the record is the sum of everything measured.
    let mut all = Interval::default();
    for interval in out.hosts.iter().flat_map(|host| &host.recorded) {
        all.merge_sums(interval);
    }
    assert_eq!(report.total, all, "{seed}");
    assert!(
        out.merged
            .iter()
            .filter(|merged| merged.complete)
            .all(|m| m.missing.is_empty())
    );
    for (agent, host) in report.agents.iter().zip(&out.hosts) {
        assert_eq!(agent.intervals, Some(host.recorded.len() as u64), "{seed}");
        assert_eq!(agent.end, Some(End::Completed), "{seed}");
    }
    together(seed, scenario, out);
    "complete"
}

/// Each interval is the sum of its agents' recordings, and includes each agent once.
fn sums_are_right(seed: u64, scenario: &Scenario, out: &Simulated) {
    let mut complete = BTreeMap::new();
    for merged in &out.merged {
        let mut sum = Interval::default();
        for (agent, sums) in &merged.agents {
            let own = &out.hosts[*agent].recorded[merged.index as usize];
            assert_eq!(sums.counters, own.counters, "{seed}");
            sum.merge(own);
        }
        let shifted = Interval {
            start: sum.start,
            end: sum.end,
            start_unix_ns: 0,
            ..merged.interval.clone()
        };
        assert_eq!(shifted, sum, "{seed}: interval {}", merged.index);
        let length = merged.interval.end - merged.interval.start;
        assert_eq!(length, INTERVAL, "{seed}");
        let agents: Vec<usize> = merged.agents.iter().map(|(agent, _)| *agent).collect();
        let mut once = agents.clone();
        once.dedup();
        assert_eq!(agents, once, "{seed}: somebody counts twice");
        if merged.complete {
            let twice = complete.insert(merged.index, merged);
            assert!(
                twice.is_none(),
                "{seed}: interval {} was completed twice",
                merged.index
            );
        }
    }
    let Some(report) = &out.report else {
        return;
    };
    let mut all = Interval::default();
    for merged in complete.values() {
        all.merge_sums(&merged.interval);
    }
    assert_eq!(
        report.total, all,
        "{seed}: the total is not the sum of the intervals"
    );
    assert_eq!(report.agents.len(), scenario.hosts.len());
    let events: u64 = report
        .agents
        .iter()
        .map(|agent| agent.sums.counters.events)
        .sum();
    assert_eq!(events, all.counters.events, "{seed}");
}

/// The coordinator ends, agents exit, and no load continues without it.
fn nobody_hangs(seed: u64, scenario: &Scenario, out: &Simulated) {
    let limits = scenario.config.limits;
    assert!(
        out.over_at.is_some() || scenario.coordinator_dies_at.is_some(),
        "{seed}: the coordinator hangs"
    );
    for (host, setup) in out.hosts.iter().zip(&scenario.hosts) {
        assert!(!host.is_loading, "{seed}: a load goes on for ever");
        let killed = setup.dies_at.is_some();
        assert!(killed || host.exit.is_some(), "{seed}: an agent stays");
        let (Some(began), Some(ended)) = (host.began_at, host.load_ended_at) else {
            continue;
        };
        let planned = began + setup.intervals * INTERVAL;
        let halted = setup.frozen.map_or(0, |(from, to)| to - from);
        let slack = 2 * SECOND + halted;
        assert!(
            ended <= planned + slack,
            "{seed}: a load went on beyond its end"
        );
        if let Some(died) = scenario.coordinator_dies_at {
            let orphaned = died + limits.orphan_ns + slack;
            assert!(
                ended <= planned.min(orphaned) + slack,
                "{seed}: an orphan goes on"
            );
        }
        if let Some(Exit::Refused { why }) = &host.exit {
            assert!(!why.is_empty());
        }
    }
}

/// All began at the same time, within the precision of the clocks.
fn together(seed: u64, scenario: &Scenario, out: &Simulated) {
    let report = out.report.as_ref().unwrap();
    let start = out
        .merged
        .first()
        .map(|merged: &Merged| merged.interval.start);
    let first = start.unwrap() - out.merged[0].index * INTERVAL;
    for ((agent, host), setup) in report.agents.iter().zip(&out.hosts).zip(&scenario.hosts) {
        let late = agent.late_ns.unwrap();
        let off = host.began_at.unwrap() as i128 - i128::from(first) - i128::from(late);
        // The error of the slowest exchange, out and back, and the drift of a clock until then.
        let halted = setup.frozen.map_or(0, |(from, to)| to - from);
        let bound = 2 * scenario.faults.delay_ns.1 + SECOND / 100 + halted;
        let shown = (off.unsigned_abs() as u64, bound);
        assert!(shown.0 <= shown.1, "{seed}: {shown:?} {setup:?}");
    }
}
