//! Series that moved with a rate.

use dyno_core::finding::Cause;
use dyno_core::finding::Outcome::{Doubt, NotChecked};
use dyno_core::record::RunRecord;
use dyno_core::states::IdleIn;
use dyno_samples::values::idle;
use dyno_samples::{assert_has, assert_lacks, noisy, series};

use crate::tests::check;
use crate::time::tests::rated;

#[test]
fn names_series_that_moved_with_the_rate() {
    let mut rates = noisy(40, 1000.0, 0.03, 5);
    rates[22..].iter_mut().for_each(|rate| *rate *= 0.6);
    let mut run = rated(&rates);
    series(&mut run, "host.cpu.idle", &[30.0; 40]);
    check_says(
        &run,
        "steady-state",
        "From then on, nothing unusual was recorded.",
    );
    let from = |at: usize, before: f64, after: f64| {
        let values = (0..40).map(|second| if second < at { before } else { after });
        values.collect::<Vec<f64>>()
    };
    series(&mut run, "host.cpu.iowait", &from(22, 3.0, 45.0));
    series(
        &mut run,
        "db.innodb.history_list_length",
        &from(22, 2e3, 9e5),
    );
    series(&mut run, "host.disk[sda].write_await", &from(22, 0.4, 12.0));
    check_says(
        &run,
        "steady-state",
        "From then on: a write to sda took 12 ms instead of 400 µs, the CPUs waited for the disk: \
         45 instead of 3 % and purge fell behind: 900,000 instead of 2,000.",
    );
    // `warm-up` covers the beginning, and its cause.
    let mut rates = noisy(20, 1000.0, 0.03, 6);
    rates[..4].iter_mut().for_each(|rate| *rate *= 4.0);
    let mut run = rated(&rates);
    series(&mut run, "host.cpu.iowait", &from(4, 1.0, 40.0)[..20]);
    series(&mut run, "host.cpu.idle", &[30.0; 20]);
    check_says(&run, "warm-up", "The first 4 s had");
    check_says(
        &run,
        "warm-up",
        "; from then on: the CPUs waited for the disk: 40 instead of 1 %.",
    );
    check(&run, "steady-state", NotChecked);
}

#[test]
fn names_series_that_are_unusual_in_dips() {
    let mut rates = noisy(300, 1000.0, 0.02, 7);
    let mut flushed = vec![20.0; 300];
    for second in (7..300).step_by(10) {
        rates[second] *= 0.3;
        flushed[second] = 8_000.0;
    }
    let mut run = rated(&rates);
    let name = "db.status.innodb_buffer_pool_pages_flushed";
    series(&mut run, name, &flushed);
    series(&mut run, "host.cpu.idle", &[30.0; 300]);
    check_says(
        &run,
        "steady-state",
        "In the dips: pages were flushed: 8,000 instead of 20 per second.",
    );
}

#[test]
fn slower_cpus_show_in_the_clients_cpu_time_per_event() {
    let mut rates = noisy(40, 1000.0, 0.03, 5);
    rates[22..].iter_mut().for_each(|rate| *rate *= 0.6);
    let mut run = rated(&rates);
    series(&mut run, "host.cpu.idle", &[2.0; 40]);
    series(&mut run, "client.cpu.user", &[0.1; 40]);
    series(&mut run, "client.cpu.system", &[0.4; 40]);
    let words = "From then on: the CPUs were slower (their clock, or neighbours on the same \
                 machine): the client needed ";
    check_says(&run, "steady-state", words);
    // Answers of another size are other work.
    let mut other = run.clone();
    for (second, interval) in other.intervals.iter_mut().enumerate() {
        let counters = &mut interval.counters;
        counters.bytes_in = counters.events * if second < 22 { 4_000 } else { 100 };
        counters.reads = counters.events;
        counters.reads_empty = if second < 22 { 0 } else { counters.reads };
    }
    check_says(
        &other,
        "steady-state",
        "From then on: 100 % of the reads found no row instead of 0 %.",
    );
    // With idle CPUs a waiting client wakes up more often.
    series(&mut run, "host.cpu.idle", &[30.0; 40]);
    let nothing = "From then on, nothing unusual was recorded.";
    check_says(&run, "steady-state", nothing);
    // It does not if it waits equally often per event.
    let waits = "client.context_switches.voluntary";
    let per_event: Vec<f64> = rates.iter().map(|rate| rate * 16.0).collect();
    series(&mut run, waits, &per_event);
    check_says(&run, "steady-state", words);
    series(&mut run, waits, &[12_000.0; 40]);
    check_says(&run, "steady-state", nothing);
    // The client needed the same time per event: something else is slower.
    series(&mut run, "host.cpu.idle", &[2.0; 40]);
    let half: Vec<f64> = rates.iter().map(|rate| rate * 2.5e-4).collect();
    series(&mut run, "client.cpu.user", &half);
    series(&mut run, "client.cpu.system", &half);
    check_says(&run, "steady-state", nothing);
}

/// A run with a rate that falls by 40 % at second 22, and series that change at a given second.
fn falls_at_22(others: &[(&str, usize, f64, f64)]) -> RunRecord {
    let mut rates = noisy(40, 1000.0, 0.03, 5);
    rates[22..].iter_mut().for_each(|rate| *rate *= 0.6);
    let mut run = rated(&rates);
    series(&mut run, "host.cpu.idle", &[1.0; 40]);
    for (name, at, before, after) in others.iter().copied() {
        let values = (0..40).map(|second| if second < at { before } else { after });
        series(&mut run, name, &values.collect::<Vec<f64>>());
    }
    run
}

#[test]
fn a_cause_begins_before_its_effect() {
    let named = |at: usize| {
        let run = falls_at_22(&[("host.cpu.iowait", at, 3.0, 45.0)]);
        check(&run, "steady-state", Doubt).names(Cause::Disk)
    };
    assert!(named(21) && named(22) && named(24));
    // Most of the slower time was over by then.
    assert!(!named(32));
    let of_disk = |name: &str, at: usize, before: f64, after: f64| {
        let run = falls_at_22(&[(name, at, before, after)]);
        check(&run, "steady-state", Doubt).names(Cause::Disk)
    };
    for (name, before, after) in [
        ("host.disk[vda].utilisation", 10.0, 100.0),
        ("host.disk[vda].write_bytes", 1e6, 90e6),
        ("host.disk[vda].read_await", 0.5, 40.0),
    ] {
        assert!(of_disk(name, 22, before, after), "{name}");
        assert!(!of_disk(name, 32, before, after), "{name}");
    }
    let of_vacuum = |name: &str, at: usize| {
        let run = falls_at_22(&[(name, at, 0.0, 1.0)]);
        check(&run, "steady-state", Doubt).names(Cause::Vacuum)
    };
    assert!(of_vacuum("db.backends.autovacuum", 22));
    assert!(!of_vacuum("db.backends.autovacuum", 30));
    // Some ended then.
    assert!(!of_vacuum("db.tables.autovacuums", 22));
}

#[test]
fn other_processes_are_a_cause_only_if_no_cpu_was_idle() {
    let others = ("host.others.cpu", 22, 0.05, 0.9);
    let named = |idle: f64, outcome| {
        let run = falls_at_22(&[others, ("host.cpu.idle", 22, 5.0, idle)]);
        check(&run, "steady-state", outcome).names(Cause::OtherProcesses)
    };
    // `other-load` explains it.
    assert!(named(2.0, NotChecked));
    // The fall itself had freed the CPUs that they used.
    assert!(!named(70.0, Doubt));
}

#[test]
fn a_server_that_was_silent_for_a_moment_is_not_the_cause_of_the_rest() {
    for (name, usual, then) in [("db.up", 1.0, 0.0), ("server.stopped", 0.0, 1.0)] {
        let named = |seconds: std::ops::Range<usize>| {
            let mut run = falls_at_22(&[("host.cpu.iowait", 22, 3.0, 45.0)]);
            let mut values = [usual; 40];
            values[seconds].fill(then);
            series(&mut run, name, &values);
            check(&run, "steady-state", Doubt).names(Cause::ServerSilent)
        };
        assert!(!named(30..31), "{name}");
        assert!(named(22..40), "{name}");
    }
}

#[test]
fn connections_that_all_ended_are_the_cause_of_the_fall() {
    let mut run = falls_at_22(&[]);
    run.intervals[22].counters.reconnects = 8;
    let found = check(&run, "steady-state", Doubt);
    assert!(found.names(Cause::LostConnections), "{found:?}");
}

fn check_says(run: &RunRecord, name: &str, words: &str) {
    let found = check(run, name, Doubt);
    assert_has(&found.evidence, words);
}

/// Four of sixteen sessions wait for a statement from one second to another, and the others work.
fn four_wait(from: usize, to: usize) -> RunRecord {
    let mut rates = noisy(40, 1000.0, 0.02, 6);
    rates[from..to].iter_mut().for_each(|rate| *rate *= 0.75);
    let mut run = rated(&rates);
    assert_eq!(run.sessions.len(), 16);
    for session in &mut run.sessions[3..7] {
        session.idle = Some(idle(from as f64, to as f64, IdleIn::Statement, 0));
    }
    run
}

#[test]
fn sessions_that_hang_alone_are_the_cause_of_a_lower_rate() {
    let run = four_wait(0, 6);
    check(&run, "idle-sessions", Doubt);
    let beginning = check(&run, "warm-up", NotChecked);
    assert!(
        beginning.evidence.starts_with("Sessions hung: see"),
        "{}",
        beginning.evidence
    );
    assert!(beginning.names(Cause::IdleSessions), "{beginning:?}");
    let run = four_wait(28, 40);
    check(&run, "idle-sessions", Doubt);
    let later = check(&run, "steady-state", NotChecked);
    assert!(later.names(Cause::IdleSessions), "{later:?}");
    // Too short for `idle-sessions`, but still the cause.
    let beginning = check(&four_wait(0, 4), "warm-up", Doubt);
    let expected = "4 sessions did nothing; for example, session 3 waited for a statement's answer";
    assert!(
        beginning.evidence.contains(expected),
        "{}",
        beginning.evidence
    );
    assert!(
        beginning.advice.contains("those sessions waited for"),
        "{}",
        beginning.advice
    );
    // One session of sixteen does not halve the rate.
    let mut run = four_wait(0, 6);
    for session in &mut run.sessions[4..7] {
        session.idle = None;
    }
    for interval in &mut run.intervals[..6] {
        interval.counters.events = interval.counters.events * 2 / 3;
    }
    let beginning = check(&run, "warm-up", Doubt);
    assert!(!beginning.names(Cause::IdleSessions), "{beginning:?}");
}

#[test]
fn a_session_that_hangs_before_its_first_event_has_not_started() {
    let mut run = four_wait(0, 6);
    for interval in &mut run.intervals[..6] {
        interval.sessions = Some(12);
    }
    let beginning = check(&run, "warm-up", NotChecked);
    assert!(beginning.names(Cause::IdleSessions), "{beginning:?}");
    assert!(
        beginning.evidence.contains("12 ran at the end"),
        "{}",
        beginning.evidence
    );
}

/// A run that stalls from 20 s to 25 s, with series that change meanwhile.
fn stalls_at_20(others: &[(&str, f64, f64)]) -> RunRecord {
    let mut rates = noisy(40, 1000.0, 0.03, 5);
    rates[20..25].fill(0.0);
    let mut run = rated(&rates);
    series(&mut run, "host.cpu.idle", &[1.0; 40]);
    for (name, usual, then) in others.iter().copied() {
        let values = (0..40).map(|second| match (20..25).contains(&second) {
            true => then,
            false => usual,
        });
        series(&mut run, name, &values.collect::<Vec<f64>>());
    }
    run
}

#[test]
fn waits_for_locks_are_the_cause_and_the_rest_is_coincidence() {
    let disk = ("host.disk[vda].write_bytes", 18e6, 273e6);
    let others = ("host.others.cpu", 0.1, 1.6);
    let waiting = ("db.sessions[lock]", 0.0, 12.0);
    let blocked = check(&stalls_at_20(&[disk, others, waiting]), "stalls", Doubt);
    assert_has(&blocked.evidence, "(12 sessions were waiting for a lock");
    assert_lacks(&blocked.evidence, "vda");
    assert_eq!(blocked.causes[0], Cause::LockWaits);
    assert!(!blocked.names(Cause::Disk) && !blocked.names(Cause::OtherProcesses));
    // A few waits for locks may follow from a slow disk, and come first.
    let few = ("db.locks.waiting", 0.0, 2.0);
    let slowed = check(&stalls_at_20(&[disk, few]), "stalls", Doubt);
    assert!(slowed.names(Cause::Disk), "{}", slowed.evidence);
    assert_eq!(slowed.causes[0], Cause::LockWaits, "{}", slowed.evidence);
    // The holder of a lock within the server may wait for the disk.
    let within = ("db.sessions[lwlock]", 0.0, 12.0);
    let slowed = check(&stalls_at_20(&[disk, within]), "stalls", Doubt);
    assert!(slowed.names(Cause::Disk), "{}", slowed.evidence);
    // Waits for rows that are as usual do not explain a stall.
    let hot = ("db.status.innodb_row_lock_current_waits", 12.0, 13.0);
    let slowed = check(&stalls_at_20(&[disk, hot]), "stalls", Doubt);
    assert!(slowed.names(Cause::Disk), "{}", slowed.evidence);
}

#[test]
fn a_stopped_server_is_reported_as_stopped() {
    let up = ("db.up", 1.0, 0.0);
    let silent = check(&stalls_at_20(&[up]), "stalls", Doubt);
    assert_has(&silent.evidence, "the server did not answer its observer");
    for (stopped, all, words) in [
        (1.0, 1.0, "the server's process was stopped (state T)"),
        (
            9.0,
            30.0,
            "9 of 30 processes of the server were stopped (state T)",
        ),
    ] {
        let series = [
            up,
            ("server.stopped", 0.0, stopped),
            ("server.processes", all, all),
        ];
        let found = check(&stalls_at_20(&series), "stalls", Doubt);
        assert_has(&found.evidence, words);
        assert_lacks(&found.evidence, "did not answer");
        assert!(found.names(Cause::ServerSilent), "{found:?}");
    }
    // It shows even if the observer waited for its answer.
    let waited = check(
        &stalls_at_20(&[("server.stopped", 0.0, 1.0)]),
        "stalls",
        Doubt,
    );
    assert!(waited.names(Cause::ServerSilent), "{}", waited.evidence);
}
