use dyno_core::catalogue::names;
use dyno_core::finding::{Cause, Finding, Outcome};
use dyno_core::record::{Event, EventDetail, EventKind, RunRecord};
use dyno_samples as samples;
use dyno_samples::{assert_begins, assert_has};

use super::{server_host, server_host_limit};
use crate::context::Context;

/// A run with a server on another host with four CPUs, observed from there.
fn elsewhere() -> RunRecord {
    let mut run = samples::good();
    samples::drop_series(&mut run, "server.");
    samples::fact(&mut run, "server.same_host", "no");
    samples::fact(&mut run, names::SERVER_OBSERVER, "ssh:db1");
    samples::fact(&mut run, "host.boot_id", "here");
    samples::fact(&mut run, "server.host.boot_id", "there");
    samples::fact(&mut run, "server.host.cpu.threads", "4");
    for (name, value) in [
        ("server.host.cpu.idle", 40.0),
        ("server.host.cpu.iowait", 10.0),
        ("server.host.cpu.steal", 0.0),
        ("server.host.others.cpu", 0.1),
        ("server.cpu.user", 1.2),
        ("server.cpu.system", 0.4),
    ] {
        samples::series(&mut run, name, &[value; 30]);
    }
    run
}

fn finding_of(run: &RunRecord, check: &str) -> Finding {
    let all = crate::judge(run, &Context::default());
    let found = all.into_iter().find(|finding| finding.check == check);
    found.unwrap()
}

#[test]
fn reports_its_cpus_and_the_servers_share() {
    let run = elsewhere();
    let host = server_host(&run).unwrap();
    assert_eq!(host.observer, "ssh:db1");
    assert_eq!(host.cpus, Some(4.0));
    assert_eq!(host.busy_percent, Some(50.0));
    assert!((host.server_percent.unwrap() - 40.0).abs() < 1e-9);
    assert_eq!(server_host_limit(&run, &host), None);
    assert_eq!(server_host(&samples::good()), None);
}

#[test]
fn cpus_that_are_used_up_are_the_limit() {
    let mut run = elsewhere();
    samples::drop_series(&mut run, "server.host.cpu.");
    samples::series(&mut run, "server.host.cpu.idle", &[2.0; 30]);
    let host = server_host(&run).unwrap();
    assert_eq!(
        server_host_limit(&run, &host).as_deref(),
        Some("The CPUs of the server's host: 98 % busy, 40 % by the server itself.")
    );
    // This host is reported without an observer.
    samples::fact(&mut run, "server.host.boot_id", "here");
    assert_eq!(server_host_limit(&run, &host), None);
}

#[test]
fn neighbours_of_the_server_make_the_figure_doubtful() {
    let quiet = finding_of(&elsewhere(), "other-processes");
    assert_eq!(quiet.outcome, Outcome::Pass, "{}", quiet.evidence);
    let expected = " On the server's host: Other processes used 0.1 cores";
    assert_has(&quiet.evidence, expected);

    let mut run = elsewhere();
    samples::drop_series(&mut run, "server.host.others.cpu");
    samples::series(&mut run, "server.host.others.cpu", &[1.0; 30]);
    let loud = finding_of(&run, "other-processes");
    assert_eq!(loud.outcome, Outcome::Doubt);
    assert!(!loud.advice.is_empty());
    let number = "server's host: other processes, share";
    let share = loud.numbers.iter().find(|one| one.name == number);
    assert_eq!(share.unwrap().value, Some(25.0));
    // They took no CPU from the load generator on this host.
    for (others, outcome) in [(0.05, Outcome::Doubt), (1.0, Outcome::NotChecked)] {
        let mut starved = run.clone();
        samples::series(&mut starved, "client.worker[0].run_queue_wait", &[0.6; 30]);
        samples::series(&mut starved, "host.others.cpu", &[others; 30]);
        let found = finding_of(&starved, "client-cpu");
        assert_eq!(found.outcome, outcome, "{}", found.evidence);
    }
    // On the same host it would be reported twice.
    samples::fact(&mut run, "server.host.boot_id", "here");
    assert_eq!(finding_of(&run, "other-processes").outcome, Outcome::Pass);
}

#[test]
fn steal_and_kernel_log_problems_of_the_server_host_count() {
    let mut run = elsewhere();
    samples::drop_series(&mut run, "server.host.cpu.steal");
    samples::series(&mut run, "server.host.cpu.steal", &[12.0; 30]);
    let text = "On the server's host: kernel: I/O error, dev sda";
    run.events.push(Event {
        detail: EventDetail {
            on_server_host: true,
            ..EventDetail::of_kernel_log("I/O error, dev sda".to_owned())
        },
        ..samples::values::event(3.0, None, EventKind::Note, text)
    });
    let resources = finding_of(&run, "host-resources");
    assert_eq!(resources.outcome, Outcome::Doubt);
    assert_begins(&resources.evidence, "On the server's host: Steal 12 %");
    assert_has(&resources.evidence, " On this host: ");
    assert_eq!(resources.causes, [Cause::Steal]);
    let log = finding_of(&run, "kernel-log");
    assert_eq!(log.outcome, Outcome::Doubt);
    assert_has(
        &log.evidence,
        "On the server's host: The kernel's log says: I/O error",
    );
}

#[test]
fn checks_that_cannot_run_here_run_on_the_servers_host() {
    let mut run = elsewhere();
    samples::drop_series(&mut run, "host.");
    let resources = finding_of(&run, "host-resources");
    assert_eq!(resources.outcome, Outcome::Pass, "{}", resources.evidence);
    assert!(resources.evidence.starts_with("On the server's host: "));
    assert!(
        resources
            .numbers
            .iter()
            .any(|one| one.name.starts_with("threshold: "))
    );
}

#[test]
fn an_observer_that_fell_silent_is_missed_and_its_figures_are_not_the_runs() {
    let observers = |run: &RunRecord| finding_of(run, "observers");
    assert_eq!(observers(&elsewhere()).outcome, Outcome::Pass);
    let mut run = elsewhere();
    for series in &mut run.series {
        if series.key.name.starts_with("server.") {
            series.points.retain(|(at_s, _)| *at_s <= 4.0);
        }
    }
    let silent = observers(&run);
    assert_eq!(silent.outcome, Outcome::Doubt);
    assert_has(&silent.evidence, "samples of the server's host (");
    let host = server_host(&run).unwrap();
    assert_eq!((host.busy_percent, host.server_percent), (None, None));
    let costs = crate::costs(&run);
    let server = costs.iter().find(|cost| cost.name == "server CPU").unwrap();
    assert_eq!(server.value, None);
    assert_has(&server.source, "observed for only");
    // An observer that never reported is also missed.
    samples::drop_series(&mut run, "server.host.");
    assert_eq!(observers(&run).outcome, Outcome::Doubt);
}
