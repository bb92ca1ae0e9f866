//! Each check of the generator: a run that passes, one that fails, and one that cannot be checked.

use dyno_core::finding::Cause;
use dyno_core::finding::Outcome::{self, Doubt, NotChecked, Pass, Refuse};
use dyno_core::plan::Arrivals;
use dyno_core::record::{EventKind, IdleSpan, RunRecord};
use dyno_core::states::{IdleIn, SessionState};
use dyno_core::summary::{ClientCost, EndpointSummary, RunEnd};
use dyno_samples::{
    self as samples, Product, assert_begins, assert_has, assert_lacks, closed, drop_fact,
    drop_series, fact, open_loop, scale, series, values,
};

use crate::context::{Calibration, Context};
use crate::tests::{expect, expect_with, judge_one, judged, summary};

fn calibrated(ceiling_per_s: f64) -> Option<Calibration> {
    Some(Calibration {
        ceiling_per_s,
        cpu_us_per_event: 90.0,
        p999_ms: 0.4,
        stall_ms_max: 3.0,
        sessions: 16,
        workers: 2,
        when_unix_s: 1_795_000_000.0,
    })
}

fn of(run: &RunRecord, check: &str) -> (Outcome, String) {
    let finding = judged(run, check);
    (finding.outcome, finding.evidence)
}

#[test]
fn the_rate_stays_below_the_generators_ceiling() {
    for (ceiling, outcome) in [(5000.0, Pass), (1300.0, Doubt), (1050.0, Refuse)] {
        let found = expect_with("generator-ceiling", outcome, |run, context| {
            client(run).worker_busy = vec![0.98];
            context.calibration = calibrated(ceiling);
        });
        assert_has(&found.evidence, "without a server");
    }
    // A calibration below the run's own rate is not a ceiling.
    let found = expect_with("generator-ceiling", Pass, |run, context| {
        client(run).worker_busy = vec![0.2, 0.3];
        context.calibration = calibrated(1010.0);
    });
    assert_has(&found.evidence, "by its CPU time per event in this run");
    expect("generator-ceiling", NotChecked, |_| {});
    let sqlite = samples::closed(&[1000.0; 10], samples::Product::Sqlite);
    let context = Context {
        calibration: calibrated(1000.0),
        ..Context::default()
    };
    let finding = judge_one(&sqlite, &context, "generator-ceiling");
    assert_eq!(finding.outcome, NotChecked);
}

fn client(run: &mut RunRecord) -> &mut ClientCost {
    summary(run).client.as_mut().unwrap()
}

#[test]
fn workers_have_time_to_spare() {
    expect("client-cpu", Pass, |_| {});
    expect("client-cpu", Doubt, |run| {
        client(run).worker_busy = vec![0.4, 0.97]
    });
    expect("client-cpu", Doubt, |run| client(run).stall_max_ms = 2500.0);
    expect("client-cpu", Doubt, |run| {
        series(run, "client.page_faults.major", &[50.0; 30]);
    });
    // Away from the sockets without computing.
    let blocked = expect("client-cpu", Doubt, |run| {
        client(run).worker_away = vec![0.95, 0.2];
    });
    assert!(blocked.evidence.contains("script blocked a worker"));
    // Its own wait for a CPU is not a blocking script's, and another worker's wait is not its own.
    let waited = |worker: usize| {
        move |run: &mut RunRecord| {
            client(run).worker_away = vec![0.7, 0.2];
            let name = format!("client.worker[{worker}].run_queue_wait");
            series(run, &name, &[0.45; 30]);
        }
    };
    expect("client-cpu", Pass, waited(0));
    expect("client-cpu", Doubt, waited(1));
    expect("client-cpu", Pass, |run| {
        client(run).worker_away = vec![0.8, 0.2];
        client(run).worker_busy = vec![0.75, 0.4];
    });
    expect("client-cpu", Doubt, |run| {
        series(run, "client.descriptors", &[1000.0; 30])
    });
    expect("client-cpu", NotChecked, |run| {
        drop_series(run, "client.");
        client(run).worker_busy.clear();
    });
}

#[test]
fn a_starved_worker_differs_from_one_that_shares_with_its_server() {
    let waiting = |run: &mut RunRecord| {
        series(run, "client.worker[0].run_queue_wait", &[0.9; 30]);
    };
    expect("client-cpu", Pass, waiting);
    let explained = expect("client-cpu", NotChecked, |run| {
        waiting(run);
        series(run, "host.others.cpu", &[0.8; 30]);
    });
    assert!(explained.names(Cause::StarvedWorker));
    expect("client-cpu", Doubt, |run| {
        waiting(run);
        fact(run, "server.same_host", "no");
    });
    expect("client-cpu", Doubt, |run| {
        waiting(run);
        series(run, "host.cgroup.cpu_throttled", &[40.0; 30]);
    });
}

#[test]
fn the_schedules_lag_is_a_small_part_of_the_response_times() {
    let mut run = open_loop(30, 500.0, 3);
    assert_eq!(of(&run, "schedule-lag").0, Pass);
    let lag = |run: &mut RunRecord, factor: f64| {
        let open = summary(run).open_loop.as_mut().unwrap();
        scale(open.pacing_lag.as_mut().unwrap(), factor);
    };
    scale(summary(&mut run).response.as_mut().unwrap(), 10.0);
    lag(&mut run, 300.0);
    assert_eq!(of(&run, "schedule-lag").0, Doubt);
    lag(&mut run, 3.0);
    assert_eq!(of(&run, "schedule-lag").0, Refuse);
    expect("schedule-lag", NotChecked, |_| {});
}

#[test]
fn reports_an_offered_rate_that_is_not_achieved() {
    let mut run = open_loop(30, 500.0, 4);
    assert_eq!(of(&run, "offered-rate").0, Pass);
    let open = summary(&mut run).open_loop.as_mut().unwrap();
    open.achieved_per_s = 400.0;
    open.backlog = Some(3000);
    assert_eq!(of(&run, "offered-rate").0, Doubt);
    // Events not taken never ended, and latency grew: the same finding.
    assert_eq!(of(&run, "unserved").0, NotChecked);
    let mut growing = open_loop(30, 500.0, 4);
    for (second, interval) in growing.intervals.iter_mut().enumerate() {
        interval.backlog = Some(10 * second as u64);
    }
    assert_eq!(of(&growing, "offered-rate").0, Doubt);
    // A temporary queue after a stall is not overload.
    let mut stalled = open_loop(30, 500.0, 4);
    for second in 12..15 {
        stalled.intervals[second].backlog = Some(900);
    }
    assert_eq!(of(&stalled, "offered-rate").0, Pass);
    // Few arrivals by chance explain a low rate, but not a queue that is left at the end.
    let mut left = open_loop(30, 20.0, 4);
    let open = summary(&mut left).open_loop.as_mut().unwrap();
    open.achieved_per_s = 18.5;
    open.backlog = Some(2);
    assert_eq!(of(&left, "offered-rate").0, Pass);
    summary(&mut left).open_loop.as_mut().unwrap().backlog = Some(40);
    assert_eq!(of(&left, "offered-rate").0, Doubt);
    // What waits from the first second on was there before, but not in a log: its queue begins
    // empty.
    for interval in &mut left.intervals {
        interval.backlog = Some(40);
    }
    left.head.drive.as_mut().unwrap().warmup = std::time::Duration::ZERO;
    assert_eq!(of(&left, "offered-rate").0, Pass);
    left.head.source = dyno_core::record::Source::Sysbench;
    assert_eq!(of(&left, "offered-rate").0, Doubt);
    left.head.drive.as_mut().unwrap().warmup = std::time::Duration::from_secs(1);
    assert_eq!(of(&left, "offered-rate").0, Pass);
    expect("offered-rate", NotChecked, |_| {});
}

#[test]
fn arrivals_follow_the_declared_law() {
    for seed in 0..20 {
        assert_eq!(
            of(&open_loop(30, 500.0, seed), "arrivals").0,
            Pass,
            "{seed}"
        );
    }
    let declared = |run: &mut RunRecord, arrivals| {
        let drive = run.head.drive.as_mut().unwrap();
        drive.open_loop.as_mut().unwrap().arrivals = arrivals;
    };
    // Poisson arrivals are not constant, and bursts are not Poisson's.
    let mut run = open_loop(60, 500.0, 1);
    declared(&mut run, Arrivals::Constant);
    assert_eq!(of(&run, "arrivals").0, Doubt);
    let mut bursts = open_loop(60, 500.0, 1);
    for (second, interval) in bursts.intervals.iter_mut().enumerate() {
        interval.counters.events = if second % 4 == 0 { 1700 } else { 100 };
    }
    assert_eq!(of(&bursts, "arrivals").0, Doubt);
    for interval in &mut bursts.intervals {
        interval.counters.events = 500;
    }
    declared(&mut bursts, Arrivals::Constant);
    assert_eq!(of(&bursts, "arrivals").0, Pass);
    // A queue and events in flight are not missing arrivals.
    let mut queued = open_loop(30, 500.0, 2);
    let moved = queued.intervals[10].counters.events;
    queued.intervals[10].counters.events = 0;
    queued.intervals[10].backlog = Some(moved);
    queued.intervals[11].counters.events += moved;
    assert_eq!(of(&queued, "arrivals").0, Pass);
    assert_eq!(of(&open_loop(5, 500.0, 1), "arrivals").0, NotChecked);
}

#[test]
fn the_clock_is_fast_and_fine() {
    expect("clock", Pass, |_| {});
    expect("clock", Doubt, |run| fact(run, "host.clock.source", "hpet"));
    expect("clock", Doubt, |run| {
        fact(run, "host.clock.resolution_ns", "4000000")
    });
    let short = expect("clock", Doubt, |run| {
        samples::scale(&mut summary(run).service, 1e-6);
    });
    assert_has(&short.advice, "Let each event do more");
    expect("clock", NotChecked, |run| {
        drop_fact(run, "host.clock.source")
    });
}

#[test]
fn sessions_workers_and_endpoints_are_served_equally() {
    expect("fairness", Pass, |_| {});
    expect("fairness", Doubt, |run| {
        for session in &mut run.sessions {
            session.events = if session.session % 2 == 0 { 3800 } else { 100 };
        }
    });
    expect("fairness", Doubt, |run| run.sessions[7].events = 0);
    expect("fairness", Doubt, |run| {
        for session in run.sessions.iter_mut().filter(|s| s.worker == 1) {
            session.events = session.events * 2 / 5;
        }
    });
    expect("fairness", Doubt, |run| {
        let endpoint = |name: &str, queries| EndpointSummary {
            name: name.to_owned(),
            queries,
        };
        summary(run).endpoints = vec![endpoint("a:1", 90_000), endpoint("b:1", 20_000)];
    });
    expect("fairness", NotChecked, |run| {
        for session in &mut run.sessions {
            session.events = 3;
        }
    });
    expect("fairness", NotChecked, |run| run.sessions.truncate(1));
    // SQLite's lock for writing is not fair.
    for (writes, words) in [(20_000, "one session write at a time"), (0, "client-cpu")] {
        let mut run = closed(&[1000.0; 20], Product::Sqlite);
        summary(&mut run).totals.writes = writes;
        for session in run.sessions.iter_mut().filter(|s| s.worker == 1) {
            session.events = session.events * 2 / 5;
        }
        let found = judged(&run, "fairness");
        assert_eq!(found.outcome, Doubt, "{}", found.evidence);
        assert_has(&found.advice, words);
    }
}

fn idle(from_s: f64, to_s: f64, idle_in: IdleIn) -> Option<IdleSpan> {
    Some(values::idle(from_s, to_s, idle_in, 9))
}

#[test]
fn sessions_that_do_nothing_while_others_work_are_found() {
    expect("idle-sessions", Pass, |_| {});
    let found = expect("idle-sessions", Doubt, |run| {
        run.sessions[3].idle = idle(4.0, 12.0, IdleIn::Statement);
    });
    assert_has(&found.evidence, "session 3 waited for a statement");
    let found = expect("idle-sessions", Doubt, |run| {
        run.sessions[2].idle = idle(4.0, 12.0, IdleIn::Connecting);
    });
    assert_has(&found.evidence, "attempt 9");
    // Too short, and nobody worked meanwhile.
    expect("idle-sessions", Pass, |run| {
        run.sessions[3].idle = idle(4.0, 8.5, IdleIn::Statement);
    });
    expect("idle-sessions", Pass, |run| {
        run.sessions[3].idle = idle(4.0, 12.0, IdleIn::Statement);
        for interval in &mut run.intervals[4..12] {
            interval.counters.events = 0;
        }
    });
    expect("idle-sessions", Refuse, |run| {
        run.sessions[1].state = Some(SessionState::Lost);
    });
    let found = expect("idle-sessions", Refuse, |run| {
        run.sessions[1].state = Some(SessionState::Lost);
        run.sessions[1].idle = idle(4.0, 6.0, IdleIn::Worker);
    });
    let silent = "session 1 was on worker 1, which did not respond from second 4 to 6";
    assert_has(&found.evidence, silent);
    expect("idle-sessions", NotChecked, |run| {
        for session in &mut run.sessions {
            session.state = None;
        }
    });
}

/// A script may connect for each event: an observer then sees it connecting.
#[test]
fn sessions_that_connect_again_and_again_are_at_work() {
    let connecting = |run: &mut RunRecord| {
        for session in &mut run.sessions {
            session.state = Some(SessionState::Connecting);
        }
    };
    expect("idle-sessions", Pass, connecting);
    let gone = expect("idle-sessions", Refuse, |run| {
        connecting(run);
        let sessions = run.sessions.len() as u64;
        run.intervals.last_mut().unwrap().counters.connects_failed = sessions;
        let error = dyno_core::interval::ErrorCount {
            count: sessions,
            kind: dyno_core::db::ErrorKind::Refused,
            sample: "the connection was refused".to_owned(),
        };
        summary(run).connect_errors.insert("111".to_owned(), error);
    });
    let expected = "had no connection at the end (attempts failed: the connection was refused).";
    assert_has(&gone.evidence, expected);
    let advice = "Find out why the server accepted no connections: whether it was up";
    assert_begins(&gone.advice, advice);
    // Its attempts get no answer.
    expect("idle-sessions", Refuse, |run| {
        connecting(run);
        let end_s = run.intervals.last().unwrap().at_s;
        for session in &mut run.sessions {
            session.idle = Some(values::idle(end_s - 2.0, end_s, IdleIn::Connecting, 1));
        }
    });
}

#[test]
fn sessions_whose_script_failed_are_not_blamed_on_the_server() {
    let found = expect("idle-sessions", NotChecked, |run| {
        summary(run).end = RunEnd::Failed("session 1: near line 12: boom".to_owned());
        run.sessions[1].state = Some(SessionState::Lost);
    });
    assert_has(&found.evidence, "see `errors`");
    let found = expect("idle-sessions", Refuse, |run| {
        run.sessions[1].state = Some(SessionState::Lost);
    });
    assert_lacks(&found.advice, "PROCESSLIST");
}

#[test]
fn a_wait_of_all_sessions_is_a_long_event_or_a_dead_server() {
    // All sessions sometimes wait this long: it is the duration of an event.
    expect("idle-sessions", Pass, |run| {
        for session in &mut run.sessions {
            session.idle = idle(4.0, 10.0, IdleIn::Statement);
        }
        run.sessions[3].idle = idle(4.0, 14.0, IdleIn::Statement);
    });
    // If half of them hang, their wait is not the duration of an event.
    let found = expect("idle-sessions", Refuse, |run| {
        let half = run.sessions.len().div_ceil(2);
        for session in &mut run.sessions[..half] {
            session.idle = idle(4.0, 14.0, IdleIn::Statement);
        }
    });
    assert_has(&found.evidence, "waited for a statement's answer");
    // An unresponsive server holds all sessions to the end.
    let found = expect("idle-sessions", Refuse, |run| {
        let end_s = run.intervals.last().unwrap().at_s;
        for session in &mut run.sessions {
            session.idle = idle(end_s - 8.0, end_s, IdleIn::Statement);
        }
        for interval in run.intervals.iter_mut().rev().take(8) {
            interval.counters.events = 0;
        }
    });
    assert_lacks(&found.evidence, "others");
    // No event leaves sessions without a connection for that long.
    expect("idle-sessions", Refuse, |run| {
        for session in &mut run.sessions {
            session.idle = idle(4.0, 14.0, IdleIn::Connecting);
        }
    });
}

#[test]
fn every_event_is_accounted_for() {
    expect("unserved", Pass, |_| {});
    expect("unserved", Doubt, |run| {
        summary(run).events_unfinished = Some(600)
    });
    // A short queue at the end of a slow run does not affect the percentiles shown.
    for (missing, outcome) in [(6, Pass), (20, Doubt)] {
        expect("unserved", outcome, |run| {
            summary(run).totals.events = 2_655;
            summary(run).events_unfinished = Some(missing);
        });
    }
    // A few of many thousand, but all sessions.
    let found = expect("unserved", Doubt, |run| {
        summary(run).totals.events = 1_000_000;
        summary(run).events_unfinished = Some(run.sessions.len() as u64);
    });
    assert_has(&found.advice, "still answered");
    // The user ended it because nothing happened any more.
    expect("unserved", Doubt, |run| {
        run.state = dyno_core::record::RunState::Interrupted;
        let end_s = run.intervals.last().unwrap().at_s;
        for session in &mut run.sessions {
            session.idle = idle(end_s - 4.0, end_s, IdleIn::Statement);
        }
    });
    expect("unserved", Doubt, |run| run.summary = None);
    expect("unserved", Pass, |run| {
        summary(run).events_unfinished = Some(600);
        run.state = dyno_core::record::RunState::Interrupted;
    });
    assert_eq!(of(&samples::imported(), "unserved").0, NotChecked);
}

#[test]
fn percentiles_need_enough_latencies_within_the_histogram() {
    expect("samples", Pass, |_| {});
    expect("samples", Doubt, |run| summary(run).service.clipped = 1);
    expect("samples", Refuse, |run| summary(run).service.clipped = 5000);
    expect("samples", Doubt, |run| summary(run).service.count = 80);
    // An omitted percentile cannot mislead.
    expect("samples", Pass, |run| {
        let service = &mut summary(run).service;
        service.count = 400;
        service.percentiles[2].value_ms = None;
    });
    let shown = expect("samples", Doubt, |run| summary(run).service.count = 400);
    assert_has(&shown.evidence, "p99");
    expect("samples", NotChecked, |run| run.summary = None);
}

#[test]
fn a_shared_host_is_reported_but_is_not_a_doubt_by_itself() {
    let finding = expect("same-host", Pass, |_| {});
    assert_has(&finding.evidence, "the generator used 0.3 cores");
    expect("same-host", Pass, |run| fact(run, "server.same_host", "no"));
    // A closed loop saturates a host by design.
    expect("same-host", Pass, |run| {
        series(run, "host.cpu.idle", &[0.0; 30]);
        series(run, "host.cpu.iowait", &[0.0; 30]);
    });
    expect("same-host", Doubt, |run| {
        series(run, "host.cpu.idle", &[0.0; 30]);
        series(run, "host.cpu.iowait", &[0.0; 30]);
        series(run, "client.cpu.user", &[1.2; 30]);
    });
    expect("same-host", NotChecked, |run| {
        drop_fact(run, "server.same_host")
    });
}

#[test]
fn a_paused_generator_waited_for_a_cpu_only_if_it_did_so_meanwhile() {
    let waited = |waits: Option<&[f64]>, starved: Option<bool>, words: &str| {
        let found = expect("client-cpu", Doubt, |run| {
            match waits {
                Some(waits) => series(run, "client.worker[0].run_queue_wait", waits),
                None => drop_series(run, "client.worker["),
            }
            let mut event = values::event(12.2, Some(13.7), EventKind::Frozen, "");
            event.detail.starved = starved;
            run.events.push(event);
        });
        assert_has(&found.evidence, words);
        assert!(found.names(Cause::Frozen));
        found.names(Cause::StarvedWorker)
    };
    const STOPPED: &str = "like a stopped process";
    const STARVED: &str = "while its threads waited for a CPU";
    let mut waits = [0.1; 30];
    assert!(!waited(Some(&waits), None, STOPPED));
    assert!(!waited(Some(&[0.5; 30]), None, STOPPED));
    waits[12..14].fill(0.8);
    assert!(waited(Some(&waits), None, STARVED));
    assert!(!waited(None, None, "had no CPU or because it was stopped"));
    // The generator's own record needs no observer.
    assert!(waited(None, Some(true), STARVED));
    assert!(!waited(None, Some(false), STOPPED));
}
