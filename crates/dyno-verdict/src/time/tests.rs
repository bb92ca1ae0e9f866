//! Each check of time: a run that passes, one that fails, and one that cannot be checked.

use dyno_core::catalogue::names;
use dyno_core::finding::Outcome::{self, Doubt, NotChecked, Pass};
use dyno_core::record::{EventKind, RunRecord};
use dyno_samples::{
    Product, assert_begins, assert_has, assert_lacks, closed, drop_series, noisy, open_loop,
    series, values,
};

use crate::tests::{check, expect, judged};

pub(super) fn rated(rates: &[f64]) -> RunRecord {
    closed(rates, Product::Mysql)
}

#[test]
fn a_warm_up_that_is_too_short_shows() {
    expect("warm-up", Pass, |_| {});
    for seconds in [12, 30, 120] {
        let mut rates = noisy(seconds, 1000.0, 0.04, 5);
        rates[0] *= 0.4;
        rates[1] *= 0.6;
        rates[2] *= 0.8;
        check(&rated(&rates), "warm-up", Doubt);
    }
    // A cold start is found in a run of an hour, and in one with stalls.
    let mut rates = noisy(3600, 3500.0, 0.1, 5);
    check(&rated(&rates), "warm-up", Pass);
    rates[..3].fill(525.0);
    let cold = check(&rated(&rates), "warm-up", Doubt);
    assert_has(&cold.evidence, "first 3 s had 52");
    rates[1000..1100].fill(0.0);
    check(&rated(&rates), "warm-up", Doubt);
    check(&rated(&[1000.0; 6]), "warm-up", NotChecked);
    check(&rated(&[1000.0; 20]), "warm-up", Pass);
}

/// Half the rate at first never passes, however uneven the rate. A run without it does.
#[test]
fn a_large_beginning_that_may_be_chance_is_not_checked() {
    let mut undecided = 0;
    for seed in 0..20 {
        let mut rates = noisy(30, 1000.0, 0.3, seed);
        rates[..3].iter_mut().for_each(|rate| *rate *= 0.5);
        let first = rates[..3].iter().sum::<f64>() / 3.0;
        let rest = rates[3..].iter().sum::<f64>() / 27.0;
        if first > rest * 0.65 {
            continue;
        }
        let found = judged(&rated(&rates), "warm-up");
        assert_ne!(found.outcome, Pass, "{seed}: {}", found.evidence);
        undecided += usize::from(found.evidence.contains("its rate too uneven"));
    }
    assert!(undecided > 0);
    for seed in 0..20 {
        let good = judged(&rated(&noisy(30, 1000.0, 0.05, seed)), "warm-up");
        assert_eq!(good.outcome, Pass, "{seed}: {}", good.evidence);
    }
    // Three seconds hardly matter to five minutes.
    let mut rates = noisy(300, 1000.0, 0.3, 3);
    rates[..3].iter_mut().for_each(|rate| *rate *= 0.6);
    let long = judged(&rated(&rates), "warm-up");
    assert_lacks(&long.evidence, "too uneven");
}

#[test]
fn sessions_that_still_start_are_a_ramp() {
    let ramp = expect("warm-up", Doubt, |run| run.intervals[0].sessions = Some(9));
    assert_has(&ramp.evidence, "9 ran");
    // A session that a busy host kept from reporting for a second is not starting.
    expect("warm-up", Pass, |run| run.intervals[1].sessions = Some(3));
    // Nor are sessions that end early.
    expect("warm-up", Pass, |run| run.intervals[29].sessions = Some(3));
}

#[test]
fn an_endless_ramp_is_not_steady() {
    expect("steady-state", Pass, |_| {});
    let noise = noisy(30, 1.0, 0.05, 8);
    let ramp: Vec<f64> = (0..30)
        .map(|s| (600.0 + 30.0 * f64::from(s)) * noise[s as usize])
        .collect();
    let drifting = check(&rated(&ramp), "steady-state", Doubt);
    assert_has(&drifting.evidence, "drifts");
    // A curve is far from the straight line through it, but still drifts.
    let curve: Vec<f64> = (0..15)
        .map(|s| 3000.0 / (2.0 + f64::from(s)) * noise[s as usize])
        .collect();
    let curved = check(&rated(&curve), "steady-state", Doubt);
    assert_has(&curved.evidence, "drifts");
    check(&rated(&[1000.0; 8]), "steady-state", NotChecked);
}

#[test]
fn a_drift_names_dirty_pages_only_if_they_moved() {
    for (last, named) in [(6.0, false), (4_000.0, true)] {
        let rates: Vec<f64> = (0..30).map(|s| 1500.0 - 30.0 * f64::from(s)).collect();
        let mut run = rated(&rates);
        let mut dirty = [0.0; 30];
        dirty[29] = last;
        series(
            &mut run,
            names::DB_STATUS_INNODB_BUFFER_POOL_PAGES_DIRTY,
            &dirty,
        );
        let total = names::DB_STATUS_INNODB_BUFFER_POOL_PAGES_TOTAL;
        series(&mut run, total, &[16_384.0; 30]);
        let found = check(&run, "steady-state", Doubt);
        assert_has(&found.evidence, "drifts");
        let has = found.evidence.contains("dirty pages went from 0 to 4,000");
        assert_eq!(has, named, "{}", found.evidence);
    }
}

#[test]
fn a_run_too_short_to_show_a_drift_is_not_called_steady() {
    let short = check(
        &rated(&noisy(12, 1000.0, 0.3, 3)),
        "steady-state",
        NotChecked,
    );
    assert_has(&short.evidence, "be enough");
    // A noisy rate is level if the run is long enough.
    check(&rated(&noisy(1200, 1000.0, 0.3, 3)), "steady-state", Pass);
    check(&rated(&noisy(120, 1000.0, 0.05, 3)), "steady-state", Pass);
    // Half of the allowed drift is too much if it is certain.
    let noise = noisy(120, 1.0, 0.03, 8);
    let ramp = |by: f64| -> Vec<f64> {
        let at = |s: usize| 1000.0 * (1.0 + by * (s as f64 / 119.0 - 0.5));
        (0..120).map(|s| at(s) * noise[s]).collect()
    };
    check(&rated(&ramp(0.05)), "steady-state", Pass);
    check(&rated(&ramp(0.16)), "steady-state", Doubt);
}

#[test]
fn events_longer_than_intervals_leave_some_of_them_empty() {
    // 64 sessions in step, with events of 1.3 s.
    let waves = |second: usize| {
        let ended = |second: usize| second * 10 / 13;
        64.0 * (ended(second + 1) - ended(second)) as f64
    };
    let mut run = rated(&(0..60).map(waves).collect::<Vec<_>>());
    let mut outcome = |event_ms: f64| {
        let service = &mut run.summary.as_mut().unwrap().service;
        (service.min_ms, service.mean_ms) = (Some(event_ms), Some(event_ms));
        ["stalls", "steady-state"].map(|check| judged(&run, check).outcome)
    };
    assert!(!outcome(1300.0).contains(&Doubt));
    assert!(outcome(130.0).contains(&Doubt));
}

#[test]
fn slow_swings_are_not_steady() {
    let noise = noisy(3600, 1.0, 0.03, 8);
    for period in [200.0, 900.0] {
        let at = |s: usize| (s as f64 / period * std::f64::consts::TAU).sin();
        let rates: Vec<f64> = (0..3600)
            .map(|s| 3500.0 * (1.0 + 0.15 * at(s)) * noise[s])
            .collect();
        let swinging = check(&rated(&rates), "steady-state", Doubt);
        assert_has(&swinging.evidence, "swings slowly");
    }
}

#[test]
fn a_change_of_level_is_found() {
    let mut rates = noisy(60, 1000.0, 0.04, 9);
    for rate in &mut rates[30..] {
        *rate *= 0.6;
    }
    let stepped = check(&rated(&rates), "steady-state", Doubt);
    assert_has(&stepped.evidence, "rate steps by -4");
    assert_has(&stepped.evidence, "at 30 s");
    // It is not a drift, and the warm-up is not the cause.
    assert_lacks(&stepped.evidence, "rate drifts;");
    check(&rated(&rates), "warm-up", Pass);
    // A step to another level and back is a doubt, too.
    for rate in &mut rates[45..] {
        *rate /= 0.6;
    }
    let back = check(&rated(&rates), "steady-state", Doubt);
    let moved = ["The rate changes by", "The rate swings", "The rate steps"];
    let is_named = moved.iter().any(|part| back.evidence.contains(part));
    assert!(is_named, "{}", back.evidence);
}

#[test]
fn a_step_in_a_short_run_is_reported_with_concurrent_events() {
    for (seconds, at, factor) in [(20, 12, 0.6), (30, 12, 0.7), (30, 20, 1.6)] {
        let mut rates = noisy(seconds, 1000.0, 0.05, 4);
        for rate in &mut rates[at..] {
            *rate *= factor;
        }
        let mut run = rated(&rates);
        let text = "innodb_io_capacity went from 2000 to 200";
        let lowered = values::event(at as f64 + 0.3, None, EventKind::Setting, text);
        run.events.push(lowered);
        let stepped = check(&run, "steady-state", Doubt);
        for part in [
            "The rate steps by",
            &format!("at {at} s (p < 0.001), when innodb_io_capacity went"),
        ] {
            assert_has(&stepped.evidence, part);
        }
        assert_lacks(&stepped.evidence, "rate drifts;");
    }
    // `warm-up` reports a beginning.
    let mut rates = noisy(30, 1000.0, 0.05, 4);
    for rate in &mut rates[..6] {
        *rate *= 0.3;
    }
    check(&rated(&rates), "warm-up", Doubt);
    let early = check(&rated(&rates), "steady-state", NotChecked);
    assert_lacks(&early.evidence, "steps");
}

#[test]
fn the_latency_of_an_open_loop_must_not_drift() {
    let mut run = open_loop(60, 500.0, 1);
    check(&run, "steady-state", Pass);
    for (second, interval) in run.intervals.iter_mut().enumerate() {
        interval.percentiles[0].value_ms = Some(2.0 + second as f64);
    }
    let drifting = check(&run, "steady-state", Doubt);
    assert_has(&drifting.evidence, "latency drifts");
}

#[test]
fn dips_that_recur_are_named() {
    let mut rates = noisy(300, 1000.0, 0.03, 5);
    for second in (4..300).step_by(10) {
        rates[second] *= 0.4;
    }
    let dips = check(&rated(&rates), "steady-state", Doubt);
    assert_begins(&dips.evidence, "The rate dips by 6");
    assert_has(&dips.evidence, "every 10 s (30 times), which costs 6");
    // A dip at the beginning is not a beginning.
    let mut rates = noisy(80, 1000.0, 0.01, 7);
    for second in (0..80).filter(|second| second % 8 < 2) {
        rates[second] *= 0.5;
    }
    let run = rated(&rates);
    check(&run, "steady-state", Doubt);
    let beginning = check(&run, "warm-up", NotChecked);
    assert!(beginning.evidence.contains("dips repeatedly"));
    // A checkpoint per minute is reported, without a doubt.
    let mut rates = noisy(600, 1000.0, 0.02, 5);
    for second in (30..600).step_by(60) {
        rates[second] *= 0.5;
    }
    let some = check(&rated(&rates), "steady-state", Pass);
    assert_has(&some.evidence, "every 60 s");
}

#[test]
fn stalls_are_listed_with_the_servers_activity() {
    expect("stalls", Pass, |_| {});
    let mut rates = noisy(30, 1000.0, 0.05, 2);
    rates[12..15].fill(0.0);
    let mut run = rated(&rates);
    let mut up = vec![1.0; 30];
    up[12..15].fill(0.0);
    series(&mut run, "db.up", &up);
    let mut cpu = vec![1.1; 30];
    cpu[12..16].fill(0.0);
    series(&mut run, "server.cpu.user", &cpu);
    series(&mut run, "server.cpu.system", &cpu);
    let text = "the server was stopped";
    let stopped = values::event(12.0, Some(15.0), EventKind::Disturbance, text);
    run.events.push(stopped);
    let stall = check(&run, "stalls", Doubt);
    for part in [
        "1 stall of 3 s",
        "from 12 s",
        "was stopped",
        "did not answer",
        "no CPU",
    ] {
        assert_has(&stall.evidence, part);
    }
    assert_begins(&stall.advice, "See the server's log and the kernel's");
    // The same silence is not a separate doubt.
    let silent = check(&run, "restarts", NotChecked);
    let why = "The server stalled: see `stalls`. The server was not restarted";
    assert_begins(&silent.evidence, why);
}

/// Locked for eleven of fourteen seconds: the median second is 0.
#[test]
fn a_run_stalled_for_most_of_its_time_is_doubted_for_that_alone() {
    for from in [0, 1, 3] {
        let mut rates = noisy(14, 3000.0, 0.05, 2);
        rates[from..from + 11].fill(0.0);
        let mut run = rated(&rates);
        let mut waiting = vec![0.0; 14];
        let mut idle = vec![5.0; 14];
        let mut written = vec![20e6; 14];
        for second in from..from + 11 {
            waiting[second] = 8.0;
            idle[second] = 97.0;
            written[second] = 180e6;
        }
        series(
            &mut run,
            "db.sessions[waiting_for_table_metadata_lock]",
            &waiting,
        );
        series(&mut run, "host.cpu.idle", &idle);
        series(&mut run, "host.disk[sda].write_bytes", &written);
        drop_series(&mut run, "server.cpu");
        let stall = check(&run, "stalls", Doubt);
        for part in [
            "1 stall of 11 s",
            "sessions were waiting for table metadata lock",
            "% idle",
        ] {
            assert_has(&stall.evidence, part);
        }
        assert_lacks(&stall.evidence, "sda");
        let steady = check(&run, "steady-state", NotChecked);
        assert_has(&steady.evidence, "stalled for 11 s of 14 s (see `stalls`)");
        check(&run, "warm-up", NotChecked);
        check(&run, "length", NotChecked);
    }
    // With 35 of 60 seconds locked the rest is enough to judge the beginning.
    let mut rates = noisy(60, 3000.0, 0.05, 2);
    rates[20..55].fill(0.0);
    check(&rated(&rates), "warm-up", Pass);
    check(&rated(&rates), "steady-state", NotChecked);
}

fn with_spans(rates: &[f64], kind: EventKind, spans: &[(f64, f64)]) -> RunRecord {
    let mut run = rated(rates);
    let event = |&(at_s, length_s): &(f64, f64)| {
        values::event(at_s, Some(at_s + length_s), kind, "nothing ended")
    };
    run.events.extend(spans.iter().map(event));
    run
}

#[test]
fn silences_are_stalls_whatever_seconds_they_span() {
    let level = noisy(20, 1000.0, 0.05, 3);
    let of = |spans: &[(f64, f64)]| with_spans(&level, EventKind::Stall, spans);
    let four = of(&[(2.3, 1.4), (6.1, 1.4), (12.2, 1.4), (17.9, 1.4)]);
    let stall = check(&four, "stalls", Doubt);
    for part in [
        "4 stalls of 5.6 s together, 28 % of the time",
        "1.4 s from 2.3 s",
    ] {
        assert_has(&stall.evidence, part);
    }
    let regular: Vec<(f64, f64)> = (0..6).map(|n| (1.0 + 3.0 * f64::from(n), 0.25)).collect();
    let stall = check(&of(&regular), "stalls", Doubt);
    assert_has(&stall.evidence, "every 3 s");
    // An occasional flush.
    let some = check(&of(&[(2.3, 0.3), (11.0, 0.25)]), "stalls", Pass);
    assert_has(&some.evidence, "0.3 s from 2.3 s");
    // A whole second with a known exact time is reported with that.
    let mut rates = level.clone();
    rates[5] = 0.0;
    let longer = with_spans(&rates, EventKind::Stall, &[(4.6, 1.9)]);
    let stall = check(&longer, "stalls", Doubt);
    assert_has(&stall.evidence, "1 stall of 1.9 s");
}

#[test]
fn a_pause_of_the_generator_is_not_a_stall_of_the_target() {
    let mut rates = noisy(20, 1000.0, 0.05, 3);
    rates[5] = 0.0;
    let run = with_spans(&rates, EventKind::Frozen, &[(5.9, 1.0)]);
    let stall = check(&run, "stalls", Pass);
    assert_has(&stall.evidence, "generator itself");
    let own = check(&run, "client-cpu", Doubt);
    assert_has(&own.evidence, "paused 1 time for 1 s");
}

#[test]
fn recurring_stalls_have_a_period() {
    let mut rates = noisy(2400, 1000.0, 0.05, 3);
    for second in (40..2400).step_by(400) {
        rates[second] = 0.0;
    }
    // Six single seconds are 0.25 % of the time: only their period is a doubt.
    let stall = check(&rated(&rates), "stalls", Doubt);
    assert_has(&stall.evidence, "every 400 s");
    let mut once = noisy(2400, 1000.0, 0.05, 3);
    once[700] = 0.0;
    check(&rated(&once), "stalls", Pass);
}

#[test]
fn quiet_seconds_of_rare_events_are_not_stalls() {
    check(&rated(&[3.0; 30]), "stalls", NotChecked);
    let short = check(&rated(&[1000.0; 4]), "stalls", NotChecked);
    assert_has(&short.evidence, "least 5");
}

#[test]
fn a_run_is_long_enough_for_its_mean() {
    expect("length", Pass, |_| {});
    // A moving level has a separate finding: each cause is reported once.
    let stepped: Vec<f64> = (0..24)
        .map(|s| if s < 9 { 1700.0 } else { 300.0 })
        .collect();
    check(&rated(&stepped), "steady-state", Doubt);
    check(&rated(&stepped), "length", NotChecked);
    let swinging: Vec<f64> = (0..24)
        .map(|s| if s % 8 < 3 { 1700.0 } else { 300.0 })
        .collect();
    let swinging = check(&rated(&swinging), "length", Doubt);
    assert_has(&swinging.advice, "Measure longer");
    let short = check(&rated(&[1000.0; 5]), "length", Doubt);
    assert_begins(&short.evidence, "5 s are");
    // Faults in it could not have been found.
    let uneven = noisy(20, 1000.0, 0.17, 4);
    check(&rated(&uneven), "steady-state", NotChecked);
    let uneven = check(&rated(&uneven), "length", Doubt);
    assert_has(&uneven.advice, "about");
    // An estimate from so few values would contradict the interval, which allows for more.
    let few = check(&rated(&noisy(59, 1000.0, 0.01, 3)), "length", Pass);
    assert_lacks(&few.evidence, "independent");
    let many = check(&rated(&noisy(90, 1000.0, 0.05, 3)), "length", Pass);
    assert_has(&many.evidence, "independent");
    assert_lacks(&many.evidence, "lines");
    // A log may have many events outside its lines.
    let mut log = rated(&noisy(90, 1000.0, 0.05, 3));
    log.head.source = dyno_core::record::Source::Sysbench;
    log.summary.as_mut().unwrap().rates.events_per_s = 1500.0;
    let log = check(&log, "length", Pass);
    assert_has(&log.evidence, "the mean rate of the log's lines is");
}

#[test]
fn other_load_for_a_while_is_noticed() {
    expect("other-load", Pass, |_| {});
    let mut others = vec![0.05; 30];
    others[20..24].fill(0.9);
    let seen = expect("other-load", Doubt, |run| {
        series(run, "host.others.cpu", &others)
    });
    assert_has(&seen.evidence, "4 in a row from 21 s");
    // For a part of the time, and most of the host: reported once, with its time and its name.
    let mut half = vec![0.05; 30];
    half[15..].fill(1.6);
    let crowded = |run: &mut RunRecord| series(run, "host.others.cpu", &half);
    let seen = expect("other-load", Doubt, crowded);
    assert!(seen.evidence.contains("15 in a row from"));
    expect("other-processes", NotChecked, crowded);
    let always = |run: &mut RunRecord| series(run, "host.others.cpu", &[1.6; 30]);
    expect("other-load", NotChecked, always);
    expect("other-processes", Doubt, always);
    let mut moment = vec![0.05; 30];
    moment[20] = 0.9;
    expect("other-load", Pass, |run| {
        series(run, "host.others.cpu", &moment)
    });
    expect("other-load", NotChecked, |run| {
        drop_series(run, "host.others")
    });
}

#[test]
fn a_log_that_reports_an_unsteady_load_is_doubted() {
    let mut run = dyno_samples::imported();
    assert_ne!(check_of(&run), Doubt);
    dyno_samples::fact(&mut run, names::IMPORT_UNSTEADY, "1 of 3 users had ended");
    let found = check(&run, "steady-state", Doubt);
    assert_has(&found.evidence, "1 of 3 users had ended");
    // A Dyno run has no such statement.
    let mut own = rated(&noisy(120, 1000.0, 0.04, 5));
    dyno_samples::fact(&mut own, names::IMPORT_UNSTEADY, "x");
    assert_ne!(check_of(&own), Doubt);
}

fn check_of(run: &RunRecord) -> Outcome {
    judged(run, "steady-state").outcome
}
