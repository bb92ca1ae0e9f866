//! Checks of a run with several agents.

use dyno_core::finding::Outcome::{Doubt, NotChecked, Pass};
use dyno_core::record::{EventKind, RunRecord};
use dyno_core::summary::AgentSummary;
use dyno_samples::{
    assert_begins, assert_has, assert_lacks, drop_fact, drop_series, fact, scale, series, values,
};

use crate::tests::{expect, summary};

/// Two agents on these hosts; the coordinator is on `here`.
fn agents(run: &mut RunRecord, hosts: [&str; 2]) {
    fact(run, "host.name", "here");
    let agent = |host: &str| AgentSummary {
        host: host.to_owned(),
        cpu_cores: Some(0.25),
        ..AgentSummary::default()
    };
    summary(run).agents = hosts.map(agent).to_vec();
}

#[test]
fn load_generators_on_the_servers_host_count() {
    let finding = expect("same-host", Pass, |run| agents(run, ["here", "here"]));
    let expected = "the coordinator and 2 load generators used 0.8 cores";
    assert_has(&finding.evidence, expected);
    let finding = expect("same-host", Pass, |run| agents(run, ["there", "here"]));
    let expected = "the coordinator and 1 load generator used 0.55 cores";
    assert_has(&finding.evidence, expected);
    let finding = expect("same-host", Pass, |run| agents(run, ["there", "there"]));
    assert_lacks(&finding.evidence, "cores");
    // The CPU use of one is unknown.
    let finding = expect("same-host", Pass, |run| {
        agents(run, ["here", "here"]);
        summary(run).agents[1].cpu_cores = None;
    });
    assert_has(&finding.evidence, "was not observed");
    expect("same-host", Doubt, |run| {
        agents(run, ["here", "here"]);
        summary(run).agents[0].cpu_cores = Some(1.0);
        series(run, "host.cpu.idle", &[0.0; 30]);
        series(run, "host.cpu.iowait", &[0.0; 30]);
    });
}

#[test]
fn a_pause_of_one_agent_is_not_one_of_all_generators() {
    let paused = |of: &[usize]| {
        expect("client-cpu", Doubt, |run| {
            agents(run, ["here", "here"]);
            for (agent, name) in summary(run).agents.iter_mut().zip(["gen1", "gen2"]) {
                agent.name = name.to_owned();
            }
            for &agent in of {
                summary(run).agents[agent].frozen_s = 1.5;
            }
            let frozen = values::event(12.2, Some(13.7), EventKind::Frozen, "");
            run.events.push(frozen);
        })
    };
    for (of, expected) in [
        (&[][..], "A load generator paused 1 time for 1.5 s"),
        (&[1], "The load generator gen2 paused 1 time for 1.5 s"),
        (&[0, 1], "The load generators gen1 and gen2 paused 1 time"),
    ] {
        let found = paused(of);
        assert_begins(&found.evidence, expected);
    }
}

#[test]
fn lost_sessions_were_not_outside_of_events() {
    let half = |run: &mut RunRecord| {
        agents(run, ["here", "here"]);
        scale(&mut summary(run).service, 0.5);
    };
    expect("work-done", Doubt, half);
    expect("work-done", Pass, |run| {
        half(run);
        summary(run).agents[1].lost = true;
    });
}

#[test]
fn agents_are_not_neighbours_of_a_server_on_an_unknown_host() {
    expect("other-processes", NotChecked, |run| {
        drop_series(run, "host.others");
        drop_fact(run, "server.same_host");
        agents(run, ["here", "here"]);
    });
}

#[test]
fn nothing_is_divided_by_the_events_of_a_run_that_lost_one() {
    let costs = |lost: bool| {
        let mut run = dyno_samples::good();
        agents(&mut run, ["here", "here"]);
        summary(&mut run).agents[1].lost = lost;
        crate::costs(&run)
    };
    let server = |lost: bool| {
        let all = costs(lost);
        all.into_iter()
            .find(|cost| cost.name == "server CPU")
            .unwrap()
    };
    assert!(server(false).value.is_some());
    assert!(costs(true).iter().all(|cost| cost.value.is_none()));
    assert!(server(true).source.contains("a load generator was lost"));
}
