//! Single faults, in virtual time.

use dyno_core::finding::Outcome;
use dyno_core::interval::Interval;
use dyno_fleet::agent::Exit;
use dyno_fleet::bus::simulated::Faults;
use dyno_fleet::coordinator::{Calibration, FleetConfig, LossPolicy, Report};
use dyno_fleet::division::Division;
use dyno_fleet::finding::Kind;
use dyno_fleet::message::{Build, End};
use dyno_fleet::names::{AgentName, RunId};
use dyno_fleet::simulation::{Keep, Load, Scenario, Setup, Simulated, run};

const SECOND: u64 = 1_000_000_000;

/// Three agents without faults, ten seconds each.
fn scenario() -> Scenario {
    let names = ["gen1", "gen2", "gen3"].map(|name| AgentName::new(name).unwrap());
    let (run, division) = (RunId::new("r1").unwrap(), Division::equal(3).unwrap());
    Scenario {
        config: FleetConfig {
            plan: "{\"plan_version\":1}".to_owned(),
            length_ns: Some(10 * SECOND),
            ..FleetConfig::new(run, names.to_vec(), division)
        },
        hosts: vec![
            Setup {
                intervals: 10,
                ..Setup::default()
            };
            3
        ],
        load: Load {
            events: 500,
            operations: 2,
            interval_ns: SECOND,
        },
        faults: Faults {
            delay_ns: (50_000, 400_000),
            ..Faults::default()
        },
        keeps_recorded: true,
        coordinator_dies_at: None,
        until: 300 * SECOND,
        seed: 11,
    }
}

fn simulate(scenario: &Scenario) -> Simulated {
    run(scenario, &mut Keep).unwrap()
}

fn kinds(out: &Simulated) -> Vec<Kind> {
    out.findings.iter().map(|finding| finding.kind).collect()
}

fn report(out: &Simulated) -> &Report {
    out.report.as_ref().unwrap()
}

/// The sum of everything that the loads recorded.
fn recorded(out: &Simulated) -> Interval {
    let mut all = Interval::default();
    for interval in out.hosts.iter().flat_map(|host| &host.recorded) {
        all.merge_sums(interval);
    }
    all
}

#[test]
fn three_agents_act_as_one() {
    let out = simulate(&scenario());
    let report = report(&out);
    assert_eq!(report.failed, None);
    assert_eq!(kinds(&out), []);
    assert_eq!(report.total, recorded(&out));
    assert_eq!(report.total.counters.events, 15_000);
    assert_eq!(out.merged.len(), 10);
    for (merged, index) in out.merged.iter().zip(0..) {
        assert_eq!(
            (merged.index, merged.complete, merged.agents.len()),
            (index, true, 3)
        );
        assert_eq!(merged.interval.end - merged.interval.start, SECOND);
        assert_eq!(merged.interval.states.working, 6);
    }
    for (agent, host) in report.agents.iter().zip(&out.hosts) {
        assert_eq!(agent.end, Some(End::Completed));
        assert_eq!(agent.intervals, Some(10));
        assert_eq!(host.exit, Some(Exit::Done));
        assert!(agent.p99_ns > agent.p50_ns);
    }
}

#[test]
fn shares_follow_the_capacity_of_agents() {
    let mut scenario = scenario();
    scenario.config.calibration = Calibration::Shares;
    let out = simulate(&scenario);
    let report = report(&out);
    assert_eq!(report.failed, None);
    assert_eq!(report.total, recorded(&out));
    // The ceilings are 1,000 per second for the first agent, and two and three times that for the
    // others.
    let fractions: Vec<f64> = report.agents.iter().map(|agent| agent.fraction).collect();
    assert_eq!(fractions, [1.0 / 6.0, 2.0 / 6.0, 3.0 / 6.0]);
    let share = report.division.share(3);
    assert_eq!(Division::of(&share), Some(report.division.clone()));
    let ceilings: Vec<Option<f64>> = report
        .agents
        .iter()
        .map(|agent| agent.ceiling.as_ref().and_then(|ceiling| ceiling.per_s))
        .collect();
    assert_eq!(ceilings, [Some(1e3), Some(2e3), Some(3e3)]);
}

#[test]
fn clocks_may_be_an_hour_apart_and_drift() {
    let mut scenario = scenario();
    scenario.config.limits.burst_gap_ns = 2 * SECOND;
    for (host, (ahead, drift)) in
        scenario
            .hosts
            .iter_mut()
            .zip([(0, 0.0), (7_200, 200e-6), (3_600, -200e-6)])
    {
        host.clock_ns = (4_000 + ahead) * SECOND;
        host.drift = drift;
        host.intervals = 60;
    }
    scenario.config.length_ns = Some(60 * SECOND);
    let out = simulate(&scenario);
    let report = report(&out);
    assert_eq!(report.failed, None, "{:?}", out.findings);
    assert_eq!(report.total, recorded(&out));
    let begins = out.hosts.iter().map(|host| host.began_at.unwrap());
    let spread = begins.clone().max().unwrap() - begins.min().unwrap();
    // Within the error of exchanges of at most 0.8 ms, plus a second's drift.
    assert!(spread < 1_000_000, "{spread}");
    for (agent, setup) in report.agents.iter().zip(&scenario.hosts) {
        let clock = agent.clock.unwrap();
        assert!(clock.has_drift());
        assert!((clock.drift - setup.drift).abs() < 20e-6, "{clock:?}");
        assert!(
            clock.offset_at(0).abs_diff(setup.clock_ns as i64) < 2_000_000,
            "{clock:?}"
        );
    }
}

#[test]
fn reports_civil_clocks_without_using_them() {
    let mut scenario = scenario();
    scenario.hosts[1].civil_ahead_ns = 3_112_000_000;
    let out = simulate(&scenario);
    assert_eq!(kinds(&out), [Kind::CivilClocks]);
    assert!(
        out.findings[0].evidence.contains("gen2 is 3.112 s ahead"),
        "{:?}",
        out.findings
    );
    assert_eq!(report(&out).failed, None);
    let (ahead, bound) = report(&out).agents[1].civil_ahead_ns.unwrap();
    assert!(
        ahead.abs_diff(3_112_000_000) <= bound + 1000,
        "{ahead} {bound}"
    );
}

#[test]
fn a_bus_outage_loses_nothing() {
    let mut scenario = scenario();
    scenario.config.limits.lost_ns = 8 * SECOND;
    scenario.faults.away = vec![(5 * SECOND, 11 * SECOND)];
    let out = simulate(&scenario);
    assert_eq!(report(&out).failed, None, "{:?}", out.findings);
    assert_eq!(report(&out).total, recorded(&out));
    assert!(out.merged.iter().filter(|merged| merged.complete).count() == 10);
}

#[test]
fn occasional_loss_repetition_and_reordering_do_no_harm() {
    let mut scenario = scenario();
    scenario.faults = Faults {
        loss: 0.2,
        twice: 0.5,
        delay_ns: (100_000, 300_000_000),
        ..Faults::default()
    };
    scenario.config.limits.lost_ns = 10 * SECOND;
    let out = simulate(&scenario);
    assert_eq!(report(&out).failed, None, "{:?}", out.findings);
    assert_eq!(report(&out).total, recorded(&out));
}

#[test]
fn an_agent_that_dies_fails_the_run() {
    let mut scenario = scenario();
    scenario.config.limits.lost_ns = 5 * SECOND;
    scenario.hosts[2].dies_at = Some(6 * SECOND);
    let out = simulate(&scenario);
    assert!(kinds(&out).contains(&Kind::AgentLost));
    let failed = report(&out).failed.clone().unwrap();
    assert!(
        failed.contains("gen3 was lost: no message for 5."),
        "{failed}"
    );
    // The others were stopped, and their records are kept.
    for host in &out.hosts[..2] {
        assert!(host.recorded.len() < 10, "{}", host.recorded.len());
        assert_eq!(host.exit, Some(Exit::Done));
    }
    assert!(report(&out).total.counters.events > 0);
}

#[test]
fn a_degraded_run_continues_without_the_agent() {
    let mut scenario = scenario();
    scenario.config.on_loss = LossPolicy::Degrade;
    scenario.hosts[2].dies_at = Some(6 * SECOND);
    let out = simulate(&scenario);
    let report = report(&out);
    assert_eq!(report.failed, None);
    let finding = report
        .findings
        .iter()
        .find(|found| found.kind == Kind::AgentLost)
        .unwrap();
    assert_eq!(finding.outcome, Outcome::Doubt);
    assert!(
        finding
            .evidence
            .contains("the others continued with their own shares")
    );
    let alone: Vec<u64> = out
        .merged
        .iter()
        .filter(|m| m.missing == [2])
        .map(|m| m.index)
        .collect();
    assert!(alone.contains(&9) && !alone.contains(&0), "{alone:?}");
    // Their load is unchanged: they did not take over the lost agent's share.
    assert!(out.hosts[..2].iter().all(|host| host.recorded.len() == 10));
}

#[test]
fn an_agent_that_was_stopped_for_long_is_refused_when_it_is_back() {
    let mut scenario = scenario();
    scenario.config.on_loss = LossPolicy::Degrade;
    scenario.hosts[1].frozen = Some((5 * SECOND, 18 * SECOND));
    scenario.hosts[1].intervals = 20;
    scenario.hosts[0].intervals = 20;
    scenario.hosts[2].intervals = 20;
    scenario.config.length_ns = Some(20 * SECOND);
    let out = simulate(&scenario);
    assert!(kinds(&out).contains(&Kind::AgentLost));
    assert!(kinds(&out).contains(&Kind::AgentReturned));
    assert!(matches!(&out.hosts[1].exit, Some(Exit::Refused { why }) if why.contains("came back")));
    // Its measurements from that time are counted separately.
    let report = report(&out);
    let own: u64 = out.hosts[1]
        .recorded
        .iter()
        .map(|own| own.counters.events)
        .sum();
    let agent = &report.agents[1];
    assert!(agent.sums.counters.events + agent.apart.counters.events <= own);
    assert_eq!(report.failed, None);
}

#[test]
fn orphans_stop_by_themselves() {
    let mut scenario = scenario();
    scenario.coordinator_dies_at = Some(6 * SECOND);
    for host in &mut scenario.hosts {
        host.intervals = 100;
    }
    let out = simulate(&scenario);
    for host in &out.hosts {
        let ended = host.load_ended_at.unwrap();
        assert!((15 * SECOND..18 * SECOND).contains(&ended), "{ended}");
        // The bus stored everything for a later reader.
        assert_eq!(host.exit, Some(Exit::Orphaned { unconfirmed: 0 }));
    }
}

#[test]
fn a_second_process_of_a_name_is_refused_and_changes_nothing() {
    let mut scenario = scenario();
    scenario.hosts[0].twin_at = Some(5 * SECOND);
    let out = simulate(&scenario);
    assert_eq!(kinds(&out), [Kind::AgentTwice]);
    assert!(matches!(
        &out.hosts[0].twin_exit,
        Some(Exit::Refused { .. })
    ));
    assert_eq!(report(&out).failed, None);
    assert_eq!(report(&out).total, recorded(&out));
}

#[test]
fn another_program_is_refused_unless_it_is_allowed() {
    let mut scenario = scenario();
    scenario.hosts[1].build.version = "0.0.9".to_owned();
    let out = simulate(&scenario);
    assert_eq!(kinds(&out), [Kind::VersionSkew]);
    let failed = report(&out).failed.clone().unwrap();
    assert_eq!(
        failed,
        "gen2 runs a different build of Dyno than the coordinator: its version is 0.0.9, not \
         unknown; install the same Dyno there, or allow the difference with --allow-mixed-versions"
    );
    assert!(out.hosts.iter().all(|host| host.began_at.is_none()));
    scenario.config.allow_mixed_versions = true;
    let out = simulate(&scenario);
    assert_eq!(out.findings[0].outcome, Outcome::Doubt);
    assert_eq!(report(&out).failed, None);
    // Scripts are compared only if an agent has one.
    scenario.hosts[1].build = Build::default();
    scenario.config.build.script_sha256 = "abc".to_owned();
    assert_eq!(kinds(&simulate(&scenario)), []);
}

#[test]
fn reports_agents_that_do_not_join() {
    let mut scenario = scenario();
    scenario.hosts[0].dies_at = Some(0);
    scenario.hosts[2].dies_at = Some(0);
    let out = simulate(&scenario);
    assert_eq!(kinds(&out), [Kind::AgentMissing]);
    assert_eq!(
        report(&out).failed.as_deref(),
        Some("gen1, gen3 did not join")
    );
    assert!(out.hosts[1].exit.is_some());
}

#[test]
fn a_start_that_not_all_confirm_is_called_off_and_tried_again() {
    let mut scenario = scenario();
    // Agents are armed after the burst of probes; the second agent is cut off at that time.
    let armed = 310_000_000;
    scenario.faults.cut = vec![(2, armed, armed + 2 * SECOND)];
    let out = simulate(&scenario);
    let calls = kinds(&out)
        .iter()
        .filter(|kind| **kind == Kind::StartCalledOff)
        .count();
    assert!(calls >= 1, "{:?}", out.findings);
    assert!(
        out.findings[0].evidence.contains("gen2 did not confirm it"),
        "{:?}",
        out.findings
    );
    assert_eq!(report(&out).failed, None, "{:?}", out.findings);
    assert_eq!(report(&out).total, recorded(&out));
}

#[test]
fn reports_agents_that_do_not_do_their_shares() {
    let mut scenario = scenario();
    // All generate the same load, although the first should generate three times as much.
    scenario.config.division = Division::by_weights(&[3, 1, 1]).unwrap();
    let out = simulate(&scenario);
    let unequal = |kind: &&Kind| **kind == Kind::UnequalAgents;
    assert_eq!(kinds(&out).iter().filter(unequal).count(), 3);
    let reported = out.findings.iter().any(|found| {
        found.evidence == "gen1 did 56 % of its share of events" && found.outcome == Outcome::Doubt
    });
    assert!(reported, "{:?}", out.findings);
}

#[test]
fn reports_arrivals_that_need_better_clocks() {
    let mut scenario = scenario();
    scenario.config.constant_rate = Some(1e6);
    let out = simulate(&scenario);
    assert_eq!(kinds(&out), [Kind::UnevenArrivals]);
}

#[test]
fn refuses_clocks_whose_offsets_are_too_uncertain() {
    let mut scenario = scenario();
    scenario.faults.delay_ns = (600_000_000, 700_000_000);
    scenario.config.limits.gather_ns = 30 * SECOND;
    let out = simulate(&scenario);
    assert!(kinds(&out).contains(&Kind::Clocks), "{:?}", out.findings);
    assert!(
        report(&out)
            .failed
            .as_ref()
            .unwrap()
            .contains("do not cover the same second everywhere")
    );
}
