//! Agents, coordinators and NATS servers that are stopped or killed.

use std::time::Duration;

use dyno_tests::command::Running;
use dyno_tests::{Database, Kind};

use super::common::{
    LIMIT, Lab, agents_check, children, has, is_alive, last, signal, wait_for_end,
};

/// A run with three agents in its measurement, its agents, and its NATS server.
struct Started {
    run: Running,
    agents: Vec<i32>,
    nats: Vec<i32>,
}

fn start(lab: &Lab, database: &Database, time: &str, more: &str) -> Started {
    let options = format!("--target {} --table-size 1000", database.url());
    lab.dyno(&format!("prepare oltp_point_select {options}"))
        .success();
    let mut run = lab.start(&format!(
        "run oltp_point_select {options} -c 6 -t {time} --warmup 0 --calibrate never \
         --agents local:3 --rate 300/s --orphan 3s {more}"
    ));
    run.measuring();
    let agents = children(run.pid(), "--stdin-key");
    let nats = children(run.pid(), "nats-server");
    assert_eq!((agents.len(), nats.len()), (3, 1));
    Started { run, agents, nats }
}

#[test]
fn an_agent_that_is_killed_fails_the_run_and_the_others_stop() {
    let lab = Lab::new();
    let database = Database::new(Kind::Mariadb);
    let Started { run, agents, nats } = start(&lab, &database, "60s", "");
    signal(agents[1], libc::SIGKILL);
    let ended = run.finish(LIMIT).failure(1);
    has(
        &ended,
        &["local2 was lost: its process has ended (signal: 9"],
    );
    wait_for_end(&agents, Duration::from_secs(10));
    wait_for_end(&nats, Duration::from_secs(10));
    // What was measured before the loss is kept, but refused.
    let run = last(&lab);
    assert!(run["totals"]["events"].as_u64().unwrap() > 0);
    let (outcome, evidence) = agents_check(&run);
    assert_eq!(outcome, "refuse");
    assert!(
        evidence.to_lowercase().contains("local2 was lost"),
        "{evidence}"
    );
    assert_eq!(run["agents"][1]["lost"], true);
    assert_eq!(run["agent_findings"][0]["kind"], "agent-lost");
    assert_eq!(run["verdict"], "refused");
    // The killed agent leaves no folder, either.
    let folder = format!("dyno-{}-", agents[1]);
    let names = std::fs::read_dir(std::env::temp_dir()).unwrap();
    let mut names = names.map(|one| one.unwrap().file_name().to_string_lossy().into_owned());
    assert!(!names.any(|name| name.starts_with(&folder)));
}

#[test]
fn a_run_that_may_degrade_continues_without_the_agent_and_reports_it() {
    let lab = Lab::new();
    let database = Database::new(Kind::Mariadb);
    let more = "--on-agent-loss degrade";
    let Started { run, agents, .. } = start(&lab, &database, "15s", more);
    signal(agents[1], libc::SIGKILL);
    run.finish(LIMIT).success();
    let run = last(&lab);
    assert_eq!(run["end"]["how"], "completed", "{run:#}");
    assert_eq!(run["agents"][1]["lost"], true);
    let (outcome, evidence) = agents_check(&run);
    assert_eq!(outcome, "doubt", "{evidence}");
    assert!(evidence.contains("Local2 was lost") || evidence.contains("local2 was lost"));
    let sum = |list: &serde_json::Value, of: &dyn Fn(&serde_json::Value) -> u64| {
        list.as_array().unwrap().iter().map(of).sum::<u64>()
    };
    let agents = sum(&run["agents"], &|one| one["events"].as_u64().unwrap());
    let intervals = sum(&run["intervals"], &|one| {
        one["counters"]["events"].as_u64().unwrap()
    });
    assert_eq!(agents, intervals);
    assert_eq!(run["totals"]["events"].as_u64().unwrap(), intervals);
    // Two thirds of the load continued to the end.
    let last = run["intervals"].as_array().unwrap();
    let rate = last[last.len() - 2]["counters"]["events"].as_u64().unwrap();
    assert!((120..280).contains(&rate), "{rate}");
}

#[test]
fn agents_whose_coordinator_is_killed_stop_by_themselves() {
    let lab = Lab::new();
    let database = Database::new(Kind::Mariadb);
    let Started { run, agents, nats } = start(&lab, &database, "120s", "");
    run.signal(libc::SIGKILL);
    let _ = run.finish(LIMIT);
    wait_for_end(&nats, Duration::from_secs(10));
    wait_for_end(&agents, Duration::from_secs(30));
}

#[test]
fn a_nats_server_that_is_killed_is_started_again_and_nothing_is_lost() {
    let lab = Lab::new();
    let database = Database::new(Kind::Mariadb);
    let Started { run, nats, .. } = start(&lab, &database, "8s", "");
    signal(nats[0], libc::SIGKILL);
    let ended = run.finish(LIMIT).success();
    has(&ended, &["nats-server ended (signal: 9", "was restarted"]);
    let run = last(&lab);
    assert_eq!(run["end"]["how"], "completed");
    assert_eq!(run["intervals"].as_array().unwrap().len(), 8);
    // The reader must be warned, but nothing is missing.
    assert_eq!(agents_check(&run).0, "pass");
    let findings = run["agent_findings"].as_array().unwrap();
    assert!(
        findings.iter().any(|one| one["kind"] == "bus-lost"),
        "{findings:?}"
    );
}

#[test]
fn an_agent_that_pauses_is_noticed_but_not_lost() {
    let lab = Lab::new();
    let database = Database::new(Kind::Mariadb);
    let Started { run, agents, .. } = start(&lab, &database, "10s", "--orphan 10s");
    signal(agents[2], libc::SIGSTOP);
    std::thread::sleep(Duration::from_secs(3));
    assert!(is_alive(agents[2]));
    signal(agents[2], libc::SIGCONT);
    run.finish(LIMIT).success();
    let run = last(&lab);
    assert_eq!(run["end"]["how"], "completed");
    assert!(
        run["agents"]
            .as_array()
            .unwrap()
            .iter()
            .all(|one| one["lost"] == false)
    );
    let findings = run["findings"].as_array().unwrap();
    let named = findings.iter().any(|one| {
        let evidence = one["evidence"].as_str().unwrap();
        one["outcome"] == "doubt" && evidence.contains("paused") || evidence.contains("not woken")
    });
    assert!(named, "{findings:#?}");
}

#[test]
fn ctrl_c_ends_all_agents_with_a_result() {
    let lab = Lab::new();
    let database = Database::new(Kind::Mariadb);
    let Started { run, agents, nats } = start(&lab, &database, "60s", "");
    run.signal(libc::SIGINT);
    run.finish(LIMIT).failure(130);
    wait_for_end(&agents, Duration::from_secs(10));
    wait_for_end(&nats, Duration::from_secs(10));
    let run = last(&lab);
    assert_eq!(run["end"]["how"], "interrupted");
    assert!(run["totals"]["events"].as_u64().unwrap() > 0);
}
