//! Information from the user that a log lacks.

use crate::common::{log, one, sysbench};
use dyno_core::plan::RandKind;
use dyno_core::record::RunRecord;
use dyno_import::{Options, Tool, point_in_time, utc_offset};

/// sysbench's output without a command line, a time of day or a report line.
const BARE: &str = "\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

SQL statistics:
    queries performed:
        read:                            1400
        write:                           400
        other:                           200
        total:                           2000
    transactions:                        100    (10.00 per sec.)
    queries:                             2000   (200.00 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          10.0000s
    total number of events:              100
";

fn read(options: &Options) -> RunRecord {
    let imported = sysbench(&[log(BARE)], None, None, options).unwrap();
    imported.runs.into_iter().next().unwrap()
}

#[test]
fn values_missing_from_a_bare_log_are_not_zero() {
    let run = read(&Options::default());
    let summary = run.summary.as_ref().unwrap();
    assert_eq!(summary.started_unix_s, None);
    assert!(summary.drive.is_none() && summary.rand.is_none());
    assert!(summary.client.is_none() && summary.fairness.is_none());
    assert_eq!(summary.service.stddev_ms, None);
    // The record's creation time is that of the import, not a start time.
    assert!(run.head.created_unix_s > 1.7e9);
    assert!(run.not_observed("counters.reconnects").is_none());
    // Version 0.4 does not count them.
    let line = "    reconnects:                          0      (0.00 per sec.)\n";
    let without = one(Tool::Sysbench, &BARE.replace(line, ""));
    assert!(without.not_observed("counters.reconnects").is_some());
}

#[test]
fn reads_the_requested_run_from_a_command_line() {
    let run = |options: &str| {
        let text = format!("+ sysbench oltp_read_write {options} --threads=4 run\n{BARE}");
        one(Tool::Sysbench, &text)
    };
    let summary = |run: &RunRecord| run.summary.clone().unwrap();
    let plain = run("--mysql-host=a");
    assert_eq!(plain.head.target.url, "mysql://a/");
    let kind = |run: &RunRecord| summary(run).rand.unwrap().kind;
    assert_eq!(kind(&plain), RandKind::Special);
    assert_eq!(kind(&run("--rand-type=zipfian")), RandKind::Zipfian);
    let other = run("--db-driver=pgsql --pgsql-host=b");
    assert_eq!(other.head.target.url, "postgres://b/");
    let unprepared = run("--db-ps-mode=disable --mysql-storage-engine=rocksdb");
    let changed = ["db_ps_mode", "mysql_storage_engine"];
    assert_eq!(unprepared.head.workload.changed, changed);
    let open = run("--rate=100");
    let drive = open.head.drive.as_ref().unwrap();
    assert_eq!(drive.open_loop.unwrap().per_second, 100.0);
    assert_eq!(summary(&open).open_loop.unwrap().offered_per_s, 100.0);
    assert_eq!(
        (drive.sessions, plain.head.drive.as_ref().unwrap().open_loop),
        (4, None)
    );
    // A file may set any limit.
    let from_file = run("--config-file=x.cfg");
    assert!(from_file.head.drive.is_none());
    let mut gaps = from_file.not_observed.iter();
    assert!(gaps.any(|gap| gap.what == "drive"));
    let typed = run("--config-file=x.cfg --time=10");
    let drive = typed.head.drive.unwrap();
    assert_eq!(drive.time.map(|time| time.as_secs()), Some(10));
}

#[test]
fn the_user_can_give_the_start_time() {
    let started_unix_s = point_in_time("2026-11-21 14:45:12", 3600.0);
    assert_eq!(started_unix_s, Some(1_795_268_712.0));
    let run = read(&Options {
        started_unix_s,
        ..Options::default()
    });
    assert_eq!(run.summary.unwrap().started_unix_s, started_unix_s);
}

#[test]
fn typed_times_and_zones_are_parsed() {
    let expected = Some(1_795_268_712.0);
    for text in [
        "2026-11-21T13:45:12Z",
        "2026-11-21T14:45:12+01:00",
        "1795268712",
    ] {
        assert_eq!(point_in_time(text, 7200.0), expected, "{text}");
    }
    for text in ["", "13:45:12", "yesterday", "2026-13-21 00:00:00"] {
        assert_eq!(point_in_time(text, 0.0), None, "{text}");
    }
    for (text, seconds) in [
        ("+02:00", 7200.0),
        ("+2", 7200.0),
        ("-0530", -19_800.0),
        ("-5", -18_000.0),
        ("Z", 0.0),
    ] {
        assert_eq!(utc_offset(text), Some(seconds), "{text}");
    }
    for text in ["", "2", "+", "+99:00", "+02:70", "CET", "+é"] {
        assert_eq!(utc_offset(text), None, "{text}");
    }
}
