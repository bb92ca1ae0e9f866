//! The load generator and its host: no CPU for it, and a script that uses all of it.

use std::process::Command;

use dyno_tests::Kind;
use dyno_tests::command::dyno_path;

use crate::common::{alone, judge, judged_while, private, shapes};
use crate::host::{a_cpu, burners, cpus};

/// Two fifths of one core on any machine: 2 ms of CPU time, then a pause of 3 ms.
const MODEST: &str = "-c 1 -t 4s --warmup 1s --cpu=0.002 --pause=0.003";

#[test]
fn reports_a_client_without_cpu() {
    let _turn = alone();
    let (server, url) = private(Kind::Mariadb);
    let line = format!("{} {MODEST}", shapes(&url));
    let pid = Some(server.pid());
    let healthy = judged_while(&line, pid, |_| {});
    healthy.passed("client-cpu");
    // On a large machine, one busy CPU is a small share of the host, so busy some others as well.
    let cpu = a_cpu();
    let mut load = burners(8, Some(&cpu));
    load.extend(burners(cpus() / 4, None));
    let starved = judge(&line, pid, |command| pin(command, &cpu), |_| {});
    drop(load);
    // A doubt about other processes replaces this one.
    let outcome = match starved.against().contains(&"other-processes") {
        true => "not_checked",
        false => "doubt",
    };
    let finding = starved.finding("client-cpu");
    let evidence = finding["evidence"].as_str().unwrap_or_default();
    let evidence = evidence.to_lowercase();
    assert!(
        finding["outcome"] == outcome && evidence.contains("a worker was starved of cpu"),
        "client-cpu should be {outcome}: {}",
        starved.findings_text()
    );
}

/// Pins the command to one CPU.
fn pin(command: &mut Command, cpu: &str) {
    let arguments: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    let mut pinned = Command::new("taskset");
    pinned.args(["-c", cpu]).arg(dyno_path()).args(arguments);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => pinned.env(name, value),
            None => pinned.env_remove(name),
        };
    }
    *command = pinned;
}

#[test]
fn a_generator_at_its_ceiling_does_not_measure_the_server() {
    let _turn = alone();
    let (server, url) = private(Kind::Mariadb);
    let shape = format!("{} --calibrate always", shapes(&url));
    let run = |more: &str| judged_while(&format!("{shape} {more}"), Some(server.pid()), |_| {});
    let healthy = run("-c 1 -t 2s --warmup 0 --cpu=0.0005 --pause=0.005");
    healthy.passed("generator-ceiling");
    healthy.passed("client-cpu");
    let at_ceiling = run("-c 1 -t 3s --warmup 0 --cpu=0.004 --pause=0");
    if at_ceiling.host.was_busy() {
        // Other processes or another guest of the hypervisor used its CPU, which leads to different
        // findings for the same fault.
        let found = [
            "generator-ceiling",
            "client-cpu",
            "host-resources",
            "other-load",
            "other-processes",
        ];
        let seen = at_ceiling.against();
        assert!(
            found.iter().any(|check| seen.contains(check)),
            "{}",
            at_ceiling.findings_text()
        );
        return;
    }
    at_ceiling.caught("generator-ceiling", "refuse", "% of the");
    at_ceiling.caught("client-cpu", "doubt", "no cpu time to spare");
}

#[test]
fn reports_a_script_that_blocks_its_worker_briefly_in_each_event() {
    let _turn = alone();
    let (server, url) = private(Kind::Mariadb);
    let line = format!("{} -c 4 --workers 1 -t 4s --warmup 0", shapes(&url));
    let run = |more: &str| judged_while(&format!("{line} {more}"), Some(server.pid()), |_| {});
    run("--pause=0.004").passed("client-cpu");
    let blocked = run("--pause=0.004 --block=1 --block-for=0.003");
    blocked.caught("client-cpu", "doubt", "blocked");
}
