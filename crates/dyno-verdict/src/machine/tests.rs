//! Each check of the machine: a run that passes, one that fails, and one that cannot be checked.

use dyno_core::finding::Outcome::{Doubt, NotChecked, Pass};
use dyno_core::record::{Event, EventDetail, EventKind, RunRecord};
use dyno_samples::{
    Product, assert_begins, assert_has, assert_lacks, closed, drop_fact, drop_series, fact, noisy,
    series, values,
};

use crate::context::Keeping;
use crate::tests::{check, expect, expect_with};

#[test]
fn a_cpu_that_slows_down_is_noticed() {
    let finding = expect("cpu-frequency", Pass, |_| {});
    assert_has(&finding.evidence, "governor performance");
    let falling: Vec<f64> = (0..30).map(|s| 3000.0 - 30.0 * f64::from(s)).collect();
    expect("cpu-frequency", Doubt, |run| {
        series(run, "host.cpu_frequency.max", &falling)
    });
    expect("cpu-frequency", NotChecked, |run| {
        drop_series(run, "host.cpu_frequency")
    });
}

#[test]
fn reports_resources_that_the_host_withheld() {
    expect("host-resources", Pass, |_| {});
    for (name, value) in [
        ("host.cpu.steal", 25.0),
        ("host.cgroup.cpu_throttled", 30.0),
        ("server.cgroup.cpu_throttled", 90.0),
        ("host.pressure.memory.some", 40.0),
        ("host.swap.out", 5e6),
    ] {
        expect("host-resources", Doubt, |run| {
            series(run, name, &[value; 30])
        });
    }
    expect("host-resources", NotChecked, |run| {
        for name in [
            "host.cpu.steal",
            "host.cgroup",
            "host.pressure",
            "host.swap",
        ] {
            drop_series(run, name);
        }
    });
}

#[test]
fn a_full_disk_and_a_burst_that_ends_are_noticed() {
    expect("disk", Pass, |_| {});
    expect("disk", Doubt, |run| {
        series(run, "host.filesystem.free", &[2e9; 30])
    });
    // `record` reports a results file that did not fit on it.
    expect_with("disk", Pass, |run, context| {
        series(run, "host.filesystem.free", &[2e4; 30]);
        context.keeping = Some(Keeping::Lost("no space left".to_owned()));
    });
    let step = |high: f64, low: f64| -> Vec<f64> {
        let noise = noisy(60, 1.0, 0.05, 4);
        let level = |s: usize| if s < 30 { high } else { low };
        (0..60).map(|s| level(s) * noise[s]).collect()
    };
    let mut run = closed(&step(1000.0, 400.0), Product::Mysql);
    series(&mut run, "host.disk[vda].utilisation", &[98.0; 60]);
    series(&mut run, "host.disk[vda].write_bytes", &step(2e8, 7e7));
    series(&mut run, "host.disk[vda].write_await", &step(1.0, 5.0));
    let finding = check(&run, "disk", Doubt);
    assert_has(&finding.evidence, "vda fell from");
    assert_has(&finding.advice, "burst");
    let mut backup = [0.0; 60];
    backup[29..].fill(1.0);
    series(&mut run, "db.backups", &backup);
    let finding = check(&run, "disk", Doubt);
    assert_has(&finding.evidence, "a backup ran from 30 s to 60 s");
    assert!(finding.names(dyno_core::finding::Cause::Backup));
    assert_lacks(&finding.advice, "burst");
    // With fewer requests a disk does not wait longer.
    series(&mut run, "host.disk[vda].write_await", &step(1.0, 0.5));
    check(&run, "disk", Pass);
    expect("disk", NotChecked, |run| {
        drop_series(run, "host.disk");
        drop_series(run, "host.filesystem");
    });
}

#[test]
fn reports_a_file_system_in_memory() {
    let found = expect("disk", Doubt, |run| {
        fact(run, "host.filesystem.type", "tmpfs");
        series(run, "host.filesystem.free", &[2e9; 30]);
    });
    let expected = "1.86 GiB of tmpfs (2 %) are free at the end";
    assert_begins(&found.evidence, expected);
    let expected = " Files on tmpfs are in memory: syncing them writes nothing, and a restart of \
         the host loses them.";
    assert!(found.evidence.ends_with(expected), "{}", found.evidence);
    assert_lacks(&found.advice, "burst");
    let found = expect("disk", Doubt, |run| {
        fact(run, "host.filesystem.type", "ext4");
        series(run, "host.filesystem.free", &[2e9; 30]);
    });
    assert_lacks(&found.evidence, "memory");
    assert_begins(&found.advice, "Free some space");
}

/// The file system is sampled rarely: for a short run, only in its warm-up.
#[test]
fn a_full_disk_is_reported_for_short_runs_too() {
    let before = |run: &mut RunRecord, free: f64| {
        series(run, "host.filesystem.free", &[free]);
        series(run, "host.filesystem.size", &[100e9]);
        for series in &mut run.series {
            if series.key.name.starts_with("host.filesystem") {
                series.points[0].0 = -1.5;
            }
        }
        drop_series(run, "host.disk");
    };
    let full = expect("disk", Doubt, |run| before(run, 2e9));
    assert_has(&full.evidence, "(2 %) were free before the measurement");
    expect("disk", Pass, |run| before(run, 50e9));
}

#[test]
fn a_network_that_loses_is_noticed() {
    let seen = expect("network", Pass, |_| {});
    assert_has(&seen.evidence, "round trip");
    expect("network", Doubt, |run| {
        series(run, "host.tcp.retransmits", &[2000.0; 30])
    });
    // On a quiet network, one lost segment of another process is a few percent.
    expect("network", Pass, |run| {
        series(run, "host.tcp.retransmits", &[0.5; 30]);
        series(run, "host.tcp.out_segments", &[20.0; 30]);
    });
    expect("network", Doubt, |run| {
        series(run, "host.network[lo].rx_drops", &[50.0; 30])
    });
    // The generator's end of the connection has no losses.
    let there = expect("network", Doubt, |run| {
        series(run, "server.tcp.retransmits", &[12.0; 30]);
        series(run, "server.tcp.out_segments", &[100.0; 30]);
    });
    let expected = "at the server's end 12 % of the segments were retransmitted";
    assert_has(&there.evidence, expected);
    expect("network", Doubt, |run| {
        series(run, "server.network[eth0].tx_drops", &[50.0; 30]);
    });
    expect("network", NotChecked, |run| {
        drop_series(run, "host.tcp");
        drop_series(run, "host.network");
    });
}

#[test]
fn the_kernels_problems_are_reported() {
    let event = |at_s, text, detail| Event {
        detail,
        ..values::event(at_s, None, EventKind::Note, text)
    };
    let line = || EventDetail::of_kernel_log("I/O error, dev vda, sector 8".to_owned());
    expect("kernel-log", Pass, |_| {});
    expect("kernel-log", Doubt, |run| {
        run.events.push(event(4.0, "", line()));
    });
    // The user's own note and an earlier message do not count.
    expect("kernel-log", Pass, |run| {
        let note = "kernel: the user's own words";
        run.events.push(event(4.0, note, EventDetail::default()));
        run.events.push(event(-60.0, "", line()));
        // A message of the server's host does not count for this one.
        let there = EventDetail {
            on_server_host: true,
            ..line()
        };
        run.events.push(event(4.0, "", there));
    });
    let mut kills = vec![3.0; 30];
    kills[20..].fill(4.0);
    expect("kernel-log", Doubt, |run| {
        series(run, "host.oom_kills", &kills)
    });
    expect("kernel-log", NotChecked, |run| {
        fact(run, "host.kernel_log.readable", "no")
    });
    expect("kernel-log", NotChecked, |run| {
        drop_fact(run, "host.kernel_log.readable")
    });
}

#[test]
fn other_processes_are_named() {
    expect("other-processes", Pass, |_| {});
    let seen = expect("other-processes", Doubt, |run| {
        series(run, "host.others.cpu", &[0.9; 30]);
        fact(run, "host.others.top", "rustc (77) 0.8 cores");
    });
    assert_has(&seen.evidence, "rustc (77)");
    for (cores, words) in [
        (
            "0.8",
            "% of the host's CPUs: many (7) 0.1 cores (over the whole run).",
        ),
        (
            "0.1",
            "CPUs: mostly processes that started and ended between two samples, and many (7)",
        ),
        (
            "0.00",
            "CPUs: processes that started and ended between two samples.",
        ),
    ] {
        let seen = expect("other-processes", Doubt, |run| {
            series(run, "host.others.cpu", &[0.9; 30]);
            fact(run, "host.others.top", "many (7) 0.1 cores");
            fact(run, "host.others.top_cores", cores);
        });
        assert_has(&seen.evidence, words);
    }
    expect("other-processes", NotChecked, |run| {
        drop_series(run, "host.others")
    });
}

/// The server is behind a relay.
fn unplaced(run: &mut RunRecord) {
    fact(run, "server.same_host", "unknown");
    let gap = values::gap("server.cpu", "a proxy stands between");
    run.not_observed.push(gap);
    drop_series(run, "server.");
}

#[test]
fn a_server_that_cannot_be_placed_may_be_one_of_the_others() {
    let busy = |run: &mut RunRecord| {
        unplaced(run);
        series(run, "host.others.cpu", &[1.66; 30]);
        fact(run, "host.others.top", "cc1 (77) 1.10 cores");
    };
    let found = expect("other-processes", Doubt, busy);
    let expected = "Other processes used 1.66 cores, 83 % of the host's CPUs: cc1 (77) 1.10 cores \
         (over the whole run); the server may be one of them, which could not be determined: a \
         proxy stands between.";
    assert_eq!(found.evidence, expected);
    assert_has(&found.advice, "UNIX socket");
    let found = expect("other-load", Doubt, |run| {
        busy(run);
        let mut some = [0.1; 30];
        some[3..12].fill(1.5);
        series(run, "host.others.cpu", &some);
    });
    assert_has(&found.evidence, "the server may be one of them");
    expect("other-processes", Pass, |run| {
        unplaced(run);
        series(run, "host.others.cpu", &[0.1; 30]);
    });
    let own = expect("same-host", NotChecked, unplaced);
    let expected = "could not be determined: a proxy stands between.";
    assert!(own.evidence.ends_with(expected), "{}", own.evidence);
}

#[test]
fn names_a_process_with_the_servers_name_and_age() {
    let check = |cores: f64, outcome| {
        let found = expect("other-processes", outcome, |run| {
            unplaced(run);
            series(run, "host.others.cpu", &[cores; 30]);
            fact(run, "server.presumed", "mariadbd (9) 1.50 cores");
            fact(run, "server.proxy", "haproxy (8) 0.20 cores");
        });
        let ends = " By its name and age the server is mariadbd (9) 1.50 cores, which is not \
                    counted among them; haproxy (8) 0.20 cores is in between.";
        assert!(found.evidence.ends_with(ends), "{}", found.evidence);
        assert_lacks(&found.evidence, "may be");
    };
    check(0.1, Pass);
    check(0.9, Doubt);
}

#[test]
fn all_processes_count_if_the_server_is_unknown() {
    let never = |run: &mut RunRecord| {
        drop_fact(run, "server.same_host");
        drop_series(run, "server.");
        drop_series(run, "host.others");
    };
    let idle = |run: &mut RunRecord, percent: f64| {
        series(run, "host.cpu.idle", &[percent; 30]);
        series(run, "host.cpu.iowait", &[0.0; 30]);
    };
    let found = expect("other-processes", Doubt, |run| {
        never(run);
        idle(run, 0.0);
    });
    let expected = "Other processes used 1.7 cores, 85 % of the host's CPUs";
    assert_begins(&found.evidence, expected);
    expect("other-processes", Pass, |run| {
        never(run);
        idle(run, 80.0);
    });
    // A server elsewhere is not one of them.
    expect("other-processes", NotChecked, |run| {
        never(run);
        idle(run, 0.0);
        fact(run, "server.same_host", "no");
    });
}

#[test]
fn a_wall_clock_that_is_set_is_noticed() {
    expect("clock-steps", Pass, |_| {});
    let mut offsets = vec![0.1; 30];
    offsets[17..].fill(3600.0);
    let set = expect("clock-steps", Doubt, |run| {
        series(run, "host.clock.step", &offsets)
    });
    assert_has(&set.evidence, "at 18 s");
    // A slew of a tenth of a millisecond per second accumulates but is not a step.
    let slewing: Vec<f64> = (0..30).map(|s| f64::from(s) * 0.5).collect();
    expect("clock-steps", Pass, |run| {
        series(run, "host.clock.step", &slewing)
    });
    expect("clock-steps", NotChecked, |run| {
        drop_series(run, "host.clock")
    });
}
